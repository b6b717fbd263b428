"""Rows of the distribution table: discrete."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dimtensor.dist.formulas import JKK, log_choose, whole
from dimtensor.dist.gammas import log_rising
from dimtensor.dist.probabilities import (
    log_betainc,
    log_betaincc,
    log_gammainc,
    log_gammaincc,
    log_part,
    rounding,
    unit,
)
from dimtensor.dist.rows.cells import finite_above, instead, tails
from dimtensor.dist.supports import Integers, plain_bound
from dimtensor.dist.table import NO_CLOSED_FORM, Row, also, params
from dimtensor.tensor.elementwise import (
    abs,
    betaln,
    ceil,
    exp,
    expm1,
    gammaln,
    log,
    log1mexp,
    log1p,
    maximum,
    minimum,
    power,
    round,
    sigmoid,
    softplus,
    square,
    where,
    xlog1py,
    xlogy,
)


def log_p(p: Any) -> Any:
    """Logarithm of a probability that may have been given as log odds."""
    return -softplus(-p.logit_p) if p.has("logit_p") else log(p.p)


def log_q(p: Any) -> Any:
    """Logarithm of the probability of the contrary."""
    return -softplus(p.logit_p) if p.has("logit_p") else log1p(-p.p)


LOGIT = "logit_p: real | log odds, log p - log(1 - p)"
LOG_ODDS = instead("p", LOGIT, by=lambda p: sigmoid(p.logit_p))


def _bernoulli_logp(x: Any, p: Any) -> Any:
    one = x > 0.5
    return where(one, log_p(p), log_q(p))


def _binomial_logp(k: Any, p: Any) -> Any:
    if p.has("logit_p"):
        return log_choose(p.n, k) + k * log_p(p) + (p.n - k) * log_q(p)
    return log_choose(p.n, k) + xlogy(k, p.p) + xlog1py(p.n - k, -p.p)


def _geometric_logp(k: Any, p: Any) -> Any:
    if p.has("logit_p"):
        return log_p(p) + (k - 1.0) * log_q(p)
    return log_p(p) + xlog1py(k - 1.0, -p.p)


def _geometric_logsf(k: Any, p: Any) -> Any:
    return k * log_q(p) if p.has("logit_p") else xlog1py(k, -p.p)


def _geometric_logcdf(k: Any, p: Any) -> Any:
    if p.has("logit_p"):
        return log1mexp(_geometric_logsf(k, p))
    large = p.p > 0.5  # up to 1, where the logarithm of the contrary has no slope
    far = log1mexp(xlog1py(k, -where(large, 0.5, p.p)))
    return where(large, log1p(-power(1.0 - where(large, p.p, 0.5), k)), far)


def _ceiling(x: Any, off: Any) -> Any:
    """Round up, unless x exceeds a whole number by a rounding error only."""
    nearest = round(x)
    return where(abs(x - nearest) <= off, nearest, ceil(x))


def _bernoulli_icdf(q: Any, p: Any) -> Any:
    zero = (q - rounding(q) <= 1.0 - p.p) & ((q < 1.0) | (p.p <= 0.0))
    return where(zero, 0.0 * q, 1.0)


def _discrete_uniform_parts(k: Any, p: Any) -> tuple[Any, Any]:
    """Probabilities of values up to one and above it."""
    n = p.upper - p.lower + 1.0
    return (k - p.lower + 1.0) / n, (p.upper - k) / n


def _discrete_uniform_icdf(q: Any, p: Any) -> Any:
    n = p.upper - p.lower + 1.0
    return maximum(p.lower + _ceiling(q * n, rounding(q) * n) - 1.0, p.lower)


def _geometric_icdf(q: Any, p: Any) -> Any:
    rate = -log_q(p)
    x = -log1p(-q) / rate
    off = rounding(q) / ((1.0 - q) * rate) + unit(q) * x
    # of a sure success the first trial is the last one
    return where(rate < math.inf, maximum(_ceiling(x, off), 1.0), 1.0)


def _discrete_weibull_icdf(q: Any, p: Any) -> Any:
    y, power_of = -log1p(-q), 1.0 / p.beta
    x = power(y / -log(p.q), power_of)
    share = rounding(q) / ((1.0 - q) * where(y > 0.0, y, 1.0)) + unit(q)
    return maximum(_ceiling(x, x * (power_of * share + unit(q))) - 1.0, 0.0)


def _shares(p: Any) -> tuple[Any, Any]:
    """Alpha / (mu + alpha), and mu / (mu + alpha)."""
    return p.alpha / (p.mu + p.alpha), p.mu / (p.mu + p.alpha)


def _beta_binomial_logp(k: Any, p: Any) -> Any:
    """By rising factorials, whose large parts are the binomial's logarithms."""
    total = p.alpha + p.beta
    rising = log_rising(p.alpha, k) + log_rising(p.beta, p.n - k) - log_rising(total, p.n)
    binomial = xlogy(k, p.alpha / total) + xlogy(p.n - k, p.beta / total)
    return log_choose(p.n, k) + rising + binomial


def _draw_beta_binomial(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    share, rng = rng.beta(p.alpha, p.beta, dims=dims)
    return rng.binomial(whole(p.n), share, dims=dims)


def _draw_beta_negative(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    share, rng = rng.beta(p.alpha, p.beta, dims=dims)
    return rng.negative_binomial(p.n, share, dims=dims)


def _hypergeometric_support(p: Any) -> Integers:
    N, k, n = plain_bound(p.N), plain_bound(p.k), plain_bound(p.n)
    if all(isinstance(x, float) for x in (N, k, n)):
        return Integers(max(0.0, n - N + k), min(k, n))
    return Integers(maximum(0.0, n - N + k), minimum(k, n))


def _hypergeometric_share(p: Any) -> Any:
    """Return the share of successes in a population, which may be empty."""
    return p.k / maximum(p.N, 1.0)


def _discrete_laplace_logcdf(k: Any, p: Any) -> Any:
    left = k < 0.0
    below = p.a * where(left, k, -1.0) - log1p(exp(-p.a))
    above = log1p(-exp(-p.a * where(left, 0.0, k) - softplus(p.a)))
    return where(left, below, above)


def _discrete_laplace_icdf(q: Any, p: Any) -> Any:
    left = q < 1.0 / (1.0 + exp(-p.a))
    low, high = log(where(left, q, 0.25)), -log1p(-where(left, 0.25, q))
    step = softplus(p.a)
    x = where(left, (low + step) / p.a - 1.0, (high - step) / p.a)
    share = rounding(q) / where(left, maximum(q, float(np.finfo(q.dtype).tiny)), 1.0 - q)
    off = (share + unit(q) * (where(left, -low, high) + step)) / p.a + unit(q)
    return _ceiling(x, off)


def _draw_discrete_laplace(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = rng.geometric(-expm1(-p.a), dims=dims)
    y, rng = rng.geometric(-expm1(-p.a), dims=dims)
    return x - y, rng


def _draw_yule_simon(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    w, rng = rng.exponential(1.0 / p.alpha, dims=dims)
    return rng.geometric(exp(-w), dims=dims)


def _log_series_variance(p: Any) -> Any:
    """(r - 1) / ((1 - p) r)², where r is -log(1 - p) / p."""
    near = p.p < 0.05
    small, far = where(near, p.p, 0.0), where(near, 0.5, p.p)
    more: Any = 0.0
    for k in range(14, 1, -1):
        more = (1.0 / k + more) * small
    more = where(near, more, -log1p(-far) / far - 1.0)
    return more / square((1.0 - p.p) * (1.0 + more))


_ROWS = [
    Row(
        name="Bernoulli",
        doc="One trial: 1 with a probability, else 0.",
        density="p^k (1 - p)^(1 - k)",
        params=params("p: probability | probability of 1"),
        alternatives=LOG_ODDS,
        support=lambda p: Integers(0, 1),
        logp=_bernoulli_logp,
        logcdf=lambda x, p: log_q(p) + 0.0 * x,
        logsf=lambda x, p: log_p(p) + 0.0 * x,
        icdf=_bernoulli_icdf,
        mean=lambda p: p.p,
        variance=lambda p: p.p * (1.0 - p.p),
        draw=lambda rng, p, dims: rng.binomial(1, p.p, dims=dims),
        source=f"{JKK}, section 3.2",
        example={"p": 0.3},
        window=(0, 1),
    ),
    Row(
        name="Binomial",
        doc="Number of successes in independent trials.",
        density="C(n, k) p^k (1 - p)^(n - k)",
        params=params("n: count | number of trials", "p: probability | probability of success"),
        alternatives=LOG_ODDS,
        support=lambda p: Integers(0, plain_bound(p.n)),
        logp=_binomial_logp,
        logcdf=lambda k, p: log_betainc(p.n - k, k + 1.0, 1.0 - p.p, p.p),
        logsf=lambda k, p: log_betainc(k + 1.0, p.n - k, p.p),
        icdf=NO_CLOSED_FORM,
        mean=lambda p: p.n * p.p,
        variance=lambda p: p.n * p.p * (1.0 - p.p),
        draw=lambda rng, p, dims: rng.binomial(whole(p.n), p.p, dims=dims),
        source=f"{JKK}, chapter 3",
        example={"n": 9, "p": 0.35},
        window=(0, 9),
    ),
    Row(
        name="DiscreteUniform",
        doc="The discrete uniform distribution, with both ends.",
        density="1 / (upper - lower + 1)",
        params=params("lower: whole | lower end", "upper: whole | upper end"),
        increasing=("lower", "upper"),
        support=lambda p: Integers(plain_bound(p.lower), plain_bound(p.upper)),
        logp=lambda k, p: -log(p.upper - p.lower + 1.0) + 0.0 * k,
        **tails(_discrete_uniform_parts, log_part),
        icdf=_discrete_uniform_icdf,
        mean=lambda p: 0.5 * (p.lower + p.upper),
        variance=lambda p: (square(p.upper - p.lower + 1.0) - 1.0) / 12.0,
        draw=lambda rng, p, dims: rng.integers(whole(p.lower), whole(p.upper) + 1, dims=dims),
        source=f"{JKK}, section 6.10.1",
        example={"lower": -2, "upper": 5},
        window=(-2, 5),
    ),
    Row(
        name="Geometric",
        doc="Number of trials up to the first success, with it.",
        density="p (1 - p)^(k - 1)",
        params=params("p: probability | probability of success"),
        alternatives=LOG_ODDS,
        support=lambda p: Integers(1),
        logp=_geometric_logp,
        logcdf=_geometric_logcdf,
        logsf=_geometric_logsf,
        icdf=_geometric_icdf,
        mean=lambda p: 1.0 / p.p,
        variance=lambda p: (1.0 - p.p) / square(p.p),
        draw=lambda rng, p, dims: rng.geometric(p.p, dims=dims),
        source=f"{JKK}, section 5.2",
        example={"p": 0.3},
        window=(1, 14),
    ),
    Row(
        name="NegativeBinomial",
        doc="A Poisson variable whose rate is a gamma variable; failures before n successes.",
        density="Γ(k + alpha) / (k! Γ(alpha)) (alpha / (mu + alpha))^alpha (mu / (mu + alpha))^k",
        params=params("mu: positive | mean", "alpha: positive | shape of the rate"),
        alternatives=(
            also("n: positive | number of successes, alpha", "p: between 0 and 1 | probability",
                 by=lambda p: {"mu": p.n * (1.0 - p.p) / p.p, "alpha": p.n}),
            also("n: positive | number of successes, alpha", LOGIT,
                 by=lambda p: {"mu": p.n * exp(-p.logit_p), "alpha": p.n}),
        ),
        support=lambda p: Integers(0),
        logp=lambda k, p: (
            log_rising(p.alpha, k) + xlogy(k, p.mu) - (k + p.alpha) * log1p(p.mu / p.alpha)
            - gammaln(k + 1.0)
        ),
        logcdf=lambda k, p: log_betainc(p.alpha, k + 1.0, *_shares(p)),
        logsf=lambda k, p: log_betaincc(p.alpha, k + 1.0, *_shares(p)),
        icdf=NO_CLOSED_FORM,
        mean=lambda p: p.mu,
        variance=lambda p: p.mu + square(p.mu) / p.alpha,
        draw=lambda rng, p, dims: rng.negative_binomial(p.alpha, _shares(p)[0], dims=dims),
        source=f"{JKK}, chapter 5",
        example={"mu": 3.5, "alpha": 2.5},
        window=(0, 14),
    ),
    Row(
        name="BetaBinomial",
        doc="A binomial variable whose probability is a beta variable.",
        density="C(n, k) B(k + alpha, n - k + beta) / B(alpha, beta)",
        params=params("alpha: positive | shape of successes", "beta: positive | shape of failures",
                      "n: count | number of trials"),
        keyword_only=("alpha", "beta", "n"),
        support=lambda p: Integers(0, plain_bound(p.n)),
        logp=_beta_binomial_logp,
        logcdf=NO_CLOSED_FORM,
        icdf=NO_CLOSED_FORM,
        mean=lambda p: p.n * p.alpha / (p.alpha + p.beta),
        variance=lambda p: (
            p.n * p.alpha * p.beta * (p.alpha + p.beta + p.n)
            / (square(p.alpha + p.beta) * (p.alpha + p.beta + 1.0))
        ),
        draw=_draw_beta_binomial,
        source=f"{JKK}, section 6.2.2",
        example={"alpha": 1.5, "beta": 3.0, "n": 10},
        window=(0, 10),
    ),
    Row(
        name="BetaNegativeBinomial",
        doc="A negative binomial variable whose probability is a beta variable.",
        density="Γ(n + k) / (k! Γ(n)) B(alpha + n, beta + k) / B(alpha, beta)",
        params=params("n: positive | number of successes", "alpha: positive | shape of successes",
                      "beta: positive | shape of failures"),
        support=lambda p: Integers(0),
        logp=lambda k, p: (
            gammaln(p.n + k) - gammaln(p.n) - gammaln(k + 1.0)
            + betaln(p.alpha + p.n, p.beta + k) - betaln(p.alpha, p.beta)
        ),
        logcdf=NO_CLOSED_FORM,
        icdf=NO_CLOSED_FORM,
        mean=lambda p: p.n * p.beta * finite_above(1.0, p.alpha, lambda a: 1.0 / (a - 1.0)),
        variance=lambda p: finite_above(
            2.0, p.alpha, lambda a: p.n * (p.n + a - 1.0) * p.beta * (p.beta + a - 1.0)
            / ((a - 2.0) * square(a - 1.0))
        ),
        draw=_draw_beta_negative,
        source=f"{JKK}, section 6.2.3",
        example={"n": 4.0, "alpha": 5.5, "beta": 2.0},
        window=(0, 12),
    ),
    Row(
        name="HyperGeometric",
        doc="Number of successes among n draws without replacement.",
        density="C(k, x) C(N - k, n - x) / C(N, n)",
        params=params("N: count | size of the population", "k: count | successes in it",
                      "n: count | number of draws"),
        support=_hypergeometric_support,
        logp=lambda x, p: (
            log_choose(p.k, x) + log_choose(p.N - p.k, p.n - x) - log_choose(p.N, p.n)
        ),
        logcdf=NO_CLOSED_FORM,
        icdf=NO_CLOSED_FORM,
        mean=lambda p: p.n * _hypergeometric_share(p),
        variance=lambda p: (
            p.n * _hypergeometric_share(p) * (1.0 - _hypergeometric_share(p)) * (p.N - p.n)
            / maximum(p.N - 1.0, 1.0)
        ),
        draw=lambda rng, p, dims: rng.hypergeometric(
            whole(p.k), whole(p.N - p.k), whole(p.n), dims=dims
        ),
        source=f"{JKK}, chapter 6",
        example={"N": 30, "k": 12, "n": 9},
        window=(0, 9),
    ),
    Row(
        name="DiscreteWeibull",
        doc="The discrete Weibull distribution, of lifetimes in whole steps.",
        density="q^(k^beta) - q^((k + 1)^beta)",
        params=params("q: between 0 and 1 | probability of surviving a step",
                      "beta: positive | shape"),
        support=lambda p: Integers(0),
        logp=lambda k, p: power(k, p.beta) * log(p.q) + log1mexp(
            (power(k + 1.0, p.beta) - power(k, p.beta)) * log(p.q)
        ),
        logcdf=lambda k, p: log1mexp(power(k + 1.0, p.beta) * log(p.q)),
        logsf=lambda k, p: power(k + 1.0, p.beta) * log(p.q),
        icdf=_discrete_weibull_icdf,
        mean=NO_CLOSED_FORM,
        variance=NO_CLOSED_FORM,
        source="Nakagawa and Osaki, IEEE Transactions on Reliability 24, 300-301 (1975)",
        example={"q": 0.85, "beta": 1.4},
        window=(0, 9),
    ),
    Row(
        name="DiscreteLaplace",
        doc="The difference of two geometric variables.",
        density="tanh(a / 2) exp(-a |k|)",
        params=params("a: positive | rate"),
        support=lambda p: Integers(),
        logp=lambda k, p: log(-expm1(-p.a)) - log1p(exp(-p.a)) - p.a * abs(k),
        logcdf=_discrete_laplace_logcdf,
        logsf=lambda k, p: _discrete_laplace_logcdf(-k - 1.0, p),
        icdf=_discrete_laplace_icdf,
        mean=lambda p: 0.0 * p.a,
        variance=lambda p: 2.0 * exp(-p.a) / square(expm1(-p.a)),
        draw=_draw_discrete_laplace,
        source="Inusah and Kozubowski, Statistical Planning and Inference 136, 1090-1102 (2006)",
        example={"a": 0.6},
        window=(-8, 8),
    ),
    Row(
        name="LogSeries",
        doc="The logarithmic series distribution.",
        density="-p^k / (k log(1 - p))",
        params=params("p: between 0 and 1 | ratio of the series"),
        support=lambda p: Integers(1),
        logp=lambda k, p: k * log(p.p) - log(k) - log(-log1p(-p.p)),
        logcdf=NO_CLOSED_FORM,
        icdf=NO_CLOSED_FORM,
        mean=lambda p: -p.p / ((1.0 - p.p) * log1p(-p.p)),
        variance=_log_series_variance,
        draw=lambda rng, p, dims: rng.logseries(p.p, dims=dims),
        source=f"{JKK}, chapter 7",
        example={"p": 0.7},
        window=(1, 12),
    ),
    Row(
        name="YuleSimon",
        doc="The Yule-Simon distribution, of frequencies that feed on themselves.",
        density="alpha B(k, alpha + 1)",
        params=params("alpha: positive | shape"),
        support=lambda p: Integers(1),
        logp=lambda k, p: log(p.alpha) + betaln(k, p.alpha + 1.0),
        logcdf=lambda k, p: log1mexp(log(k) + betaln(k, p.alpha + 1.0)),
        logsf=lambda k, p: log(k) + betaln(k, p.alpha + 1.0),
        icdf=NO_CLOSED_FORM,
        mean=lambda p: finite_above(1.0, p.alpha, lambda a: a / (a - 1.0)),
        variance=lambda p: finite_above(
            2.0, p.alpha, lambda a: square(a / (a - 1.0)) / (a - 2.0)
        ),
        draw=_draw_yule_simon,
        source=f"{JKK}, section 6.10.3",
        example={"alpha": 3.5},
        window=(1, 8),
    ),
    Row(
        name="Poisson",
        doc="Number of independent events in an interval.",
        density="mu^k exp(-mu) / k!",
        params=params("mu: not negative | expected number"),
        support=lambda p: Integers(0),
        logp=lambda k, p: xlogy(k, p.mu) - p.mu - gammaln(k + 1.0),
        logcdf=lambda k, p: log_gammaincc(k + 1.0, p.mu),
        logsf=lambda k, p: log_gammainc(k + 1.0, p.mu),
        icdf=NO_CLOSED_FORM,
        mean=lambda p: p.mu,
        variance=lambda p: p.mu,
        draw=lambda rng, p, dims: rng.poisson(p.mu, dims=dims),
        source=f"{JKK}, chapter 4",
        example={"mu": 3.2},
        window=(0, 11),
    ),
]  # fmt: skip

DISCRETE: list[Row] = [replace(row, discrete=True) for row in _ROWS]
