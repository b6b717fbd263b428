"""Rows of the distribution table: above a bound, of lifetimes, extremes and tails of powers."""

from __future__ import annotations

import math
from typing import Any

from dimtensor.dist.formulas import HALF_LOG_2PI, JKB1, JKB2, expm1_over, log1p_over
from dimtensor.dist.gammas import gamma_spread, log_gamma_bend, log_rising
from dimtensor.dist.probabilities import (
    beta_quantile,
    log_below,
    log_betainc,
    log_betaincc,
    log_normal_beyond,
    log_normal_within,
    log_softplus,
    normal_beyond_quantile,
)
from dimtensor.dist.rows.cells import finite_above, standardized
from dimtensor.dist.rows.positive import above
from dimtensor.dist.rows.real import LOCATION, SCALE
from dimtensor.dist.supports import Bounded, Support, plain_bound, positive
from dimtensor.dist.table import NO_CLOSED_FORM, Row, params
from dimtensor.tensor.elementwise import (
    arcsinh,
    betaln,
    exp,
    expm1,
    gammaln,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    ndtri,
    power,
    softplus,
    sqrt,
    square,
    where,
    xlogy,
)


def _weibull_power(x: Any, p: Any) -> Any:
    return power(x / p.beta, p.alpha)


def _draw_weibull(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = rng.weibull(p.alpha, dims=dims)
    return p.beta * x, rng


def _weibull_mean(p: Any) -> Any:
    return exp(gammaln(1.0 + 1.0 / p.alpha))


def _frechet_variance(alpha: Any) -> Any:
    return exp(2.0 * gammaln(1.0 - 1.0 / alpha)) * gamma_spread(1.0 / alpha) / square(alpha)


def _pareto_support(p: Any) -> Support:
    mu, sigma, xi = plain_bound(p.mu), plain_bound(p.sigma), plain_bound(p.xi)
    if isinstance(xi, float):
        return Bounded(mu) if xi >= 0.0 else Bounded(mu, mu - sigma / xi)
    return Bounded(mu, where(xi < 0.0, mu - sigma / where(xi < 0.0, xi, -1.0), math.inf))


def _pareto_variance(p: Any) -> Any:
    half = where(p.xi < 0.5, p.xi, 0.0)
    return where(p.xi < 0.5, 1.0 / (square(1.0 - half) * (1.0 - 2.0 * half)), math.inf)


def _draw_beta_prime(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = rng.gamma(p.alpha, 1.0, dims=dims)
    y, rng = rng.gamma(p.beta, 1.0, dims=dims)
    return x / y, rng


def _beta_prime_quantile(q: Any, a: Any, b: Any) -> Any:
    """Odds of the quantile of a beta variable."""
    y, rest = beta_quantile(q, a, b)
    return y / rest


def _snedecor_odds(x: Any, p: Any) -> tuple[Any, Any, Any, Any]:
    odds = p.d1 * x / p.d2
    return 0.5 * p.d1, 0.5 * p.d2, odds / (1.0 + odds), 1.0 / (1.0 + odds)


def _snedecor_logp(x: Any, p: Any) -> Any:
    a, b = 0.5 * p.d1, 0.5 * p.d2
    ratio = p.d1 / p.d2
    return a * log(ratio) + xlogy(a - 1.0, x) - (a + b) * log1p(ratio * x) - betaln(a, b)


def _snedecor_variance(p: Any) -> Any:
    def value(d2: Any) -> Any:
        return 2.0 * square(d2) * (p.d1 + d2 - 2.0) / (p.d1 * square(d2 - 2.0) * (d2 - 4.0))

    return finite_above(4.0, p.d2, value)


def _burr_mean(p: Any) -> Any:
    t = 1.0 / p.c

    def value(cd: Any) -> Any:
        left = (cd - 1.0) * t
        return exp(gammaln(1.0 + t) - log_rising(left, t) - t * log(left))

    return finite_above(1.0, p.c * p.d, value)


def _burr_variance(p: Any) -> Any:
    t = 1.0 / p.c

    def value(cd: Any) -> Any:
        bend = log_gamma_bend(0.0 * t + 1.0, t) + log_gamma_bend((cd - 2.0) * t, t)
        return square(where(cd > 2.0, _burr_mean(p), 1.0)) * expm1(bend)

    return finite_above(2.0, p.c * p.d, value)


def _log_logistic_mean(beta: Any) -> Any:
    return exp(gammaln(1.0 - 1.0 / beta) + gammaln(1.0 + 1.0 / beta))


def _log_logistic_variance(beta: Any) -> Any:
    t = 1.0 / beta
    one, other = gamma_spread(t), gamma_spread(-t)
    return square(_log_logistic_mean(beta) * t) * (one + other + square(t) * one * other)


def _draw_levy(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = rng.normal(0.0, 1.0, dims=dims)
    return 1.0 / square(x), rng


def _fatigue(x: Any, p: Any) -> Any:
    root = sqrt(x / p.beta)
    return (root - 1.0 / root) / p.alpha


def _fatigue_logp(x: Any, p: Any) -> Any:
    root = sqrt(x / p.beta)
    slope = log(root + 1.0 / root) - log(2.0 * p.alpha) - log(x)
    return slope - HALF_LOG_2PI - 0.5 * square(_fatigue(x, p))


TAILS: list[Row] = [
    Row(
        name="Weibull",
        doc="The Weibull distribution, of lifetimes.",
        density="alpha/beta (x/beta)^(alpha - 1) exp(-(x/beta)^alpha)",
        params=params("alpha: positive | shape", "beta: positive = 1 | scale"),
        support=lambda p: positive,
        logp=lambda x, p: (
            log(p.alpha / p.beta) + xlogy(p.alpha - 1.0, x / p.beta) - _weibull_power(x, p)
        ),
        logcdf=lambda x, p: log_below(p.alpha * log(x / p.beta)),
        logsf=lambda x, p: -_weibull_power(x, p),
        icdf=lambda q, p: p.beta * power(-log1p(-q), 1.0 / p.alpha),
        mean=lambda p: p.beta * _weibull_mean(p),
        variance=lambda p: (
            square(p.beta * _weibull_mean(p) / p.alpha) * gamma_spread(-1.0 / p.alpha)
        ),
        draw=_draw_weibull,
        source=f"{JKB1}, chapter 21",
        example={"alpha": 1.7, "beta": 1.3},
        window=(0, 4),
    ),
    Row(
        name="Frechet",
        doc="The Fréchet or inverse Weibull distribution.",
        density="alpha/s (x/s)^(-1 - alpha) exp(-(x/s)^(-alpha))",
        params=params("alpha: positive | shape", "s: positive = 1 | scale"),
        support=lambda p: positive,
        ends="(]",
        logp=lambda x, p: (
            log(p.alpha / p.s) - (1.0 + p.alpha) * log(x / p.s) - power(x / p.s, -p.alpha)
        ),
        logcdf=lambda x, p: -power(x / p.s, -p.alpha),
        logsf=lambda x, p: log_below(-p.alpha * log(x / p.s)),
        icdf=lambda q, p: p.s * power(-log(q), -1.0 / p.alpha),
        mean=lambda p: p.s * finite_above(1.0, p.alpha, lambda a: exp(gammaln(1.0 - 1.0 / a))),
        variance=lambda p: square(p.s) * finite_above(2.0, p.alpha, _frechet_variance),
        source=f"{JKB2}, chapter 22",
        example={"alpha": 3.5, "s": 1.3},
        window=(0, 5),
    ),
    Row(
        name="Pareto",
        doc="The Pareto distribution, from m on.",
        density="alpha m^alpha / x^(alpha + 1)",
        params=params("alpha: positive | shape", "m: positive = 1 | smallest value"),
        support=lambda p: above(p.m),
        logp=lambda x, p: log(p.alpha / p.m) - (p.alpha + 1.0) * log(x / p.m),
        logcdf=lambda x, p: log1mexp(-p.alpha * log(x / p.m)),
        logsf=lambda x, p: -p.alpha * log(x / p.m),
        icdf=lambda q, p: p.m * exp(-log1p(-q) / p.alpha),
        mean=lambda p: p.m * finite_above(1.0, p.alpha, lambda a: a / (a - 1.0)),
        variance=lambda p: square(p.m) * finite_above(
            2.0, p.alpha, lambda a: a / (square(a - 1.0) * (a - 2.0))
        ),
        source=f"{JKB1}, chapter 20",
        example={"alpha": 3.5, "m": 1.2},
        window=(1, 4),
    ),
    Row(
        name="Lomax",
        doc="The Lomax distribution: a Pareto variable from 0 on.",
        density="alpha/lam (1 + x/lam)^(-alpha - 1)",
        params=params("alpha: positive | shape", "lam: positive = 1 | scale"),
        support=lambda p: positive,
        logp=lambda x, p: log(p.alpha / p.lam) - (p.alpha + 1.0) * log1p(x / p.lam),
        logcdf=lambda x, p: log1mexp(-p.alpha * log1p(x / p.lam)),
        logsf=lambda x, p: -p.alpha * log1p(x / p.lam),
        icdf=lambda q, p: p.lam * expm1(-log1p(-q) / p.alpha),
        mean=lambda p: p.lam * finite_above(1.0, p.alpha, lambda a: 1.0 / (a - 1.0)),
        variance=lambda p: square(p.lam) * finite_above(
            2.0, p.alpha, lambda a: a / (square(a - 1.0) * (a - 2.0))
        ),
        source=f"{JKB1}, section 20.3",
        example={"alpha": 3.5, "lam": 2.0},
        window=(0, 5),
    ),
    standardized(
        "mu", "sigma",
        name="GeneralizedPareto",
        doc="The distribution of what exceeds a high threshold mu.",
        density="(1 + xi z)^(-1/xi - 1) / sigma, z = (x - mu) / sigma",
        params=params(LOCATION, SCALE, "xi: real | shape"),
        support=_pareto_support,
        ends="[)",
        inner=lambda p: p.mu,
        logp=lambda z, p: -(1.0 + p.xi) * log1p_over(p.xi, z),
        logcdf=lambda z, p: log1mexp(-log1p_over(p.xi, z)),
        logsf=lambda z, p: -log1p_over(p.xi, z),
        icdf=lambda q, p: expm1_over(p.xi, -log1p(-q)),
        mean=lambda p: where(p.xi < 1.0, 1.0 / (1.0 - where(p.xi < 1.0, p.xi, 0.0)), math.inf),
        variance=_pareto_variance,
        source="Coles, Statistical Modeling of Extreme Values (2001), chapter 4",
        example={"mu": 0.5, "sigma": 1.2, "xi": 0.2},
        window=(0, 8),
    ),
    Row(
        name="BetaPrime",
        doc="The distribution of the odds of a beta variable.",
        density="x^(alpha - 1) (1 + x)^(-alpha - beta) / B(alpha, beta)",
        params=params("alpha: positive | shape at 0", "beta: positive | shape of the tail"),
        support=lambda p: positive,
        logp=lambda x, p: (
            xlogy(p.alpha - 1.0, x) - (p.alpha + p.beta) * log1p(x) - betaln(p.alpha, p.beta)
        ),
        logcdf=lambda x, p: log_betainc(p.alpha, p.beta, x / (1.0 + x), 1.0 / (1.0 + x)),
        logsf=lambda x, p: log_betaincc(p.alpha, p.beta, x / (1.0 + x), 1.0 / (1.0 + x)),
        icdf=lambda q, p: _beta_prime_quantile(q, p.alpha, p.beta),
        mean=lambda p: p.alpha * finite_above(1.0, p.beta, lambda b: 1.0 / (b - 1.0)),
        variance=lambda p: finite_above(
            2.0, p.beta,
            lambda b: p.alpha * (p.alpha + b - 1.0) / (square(b - 1.0) * (b - 2.0)),
        ),
        draw=_draw_beta_prime,
        source=f"{JKB2}, section 25.7",
        example={"alpha": 2.0, "beta": 3.5},
        window=(0, 4),
    ),
    Row(
        name="FisherSnedecor",
        doc="The F distribution, of the ratio of two variances.",
        density="(d1/d2)^(d1/2) x^(d1/2 - 1) (1 + d1 x / d2)^(-(d1 + d2)/2) / B(d1/2, d2/2)",
        params=params("d1: positive | degrees of freedom above", "d2: positive | those below"),
        support=lambda p: positive,
        logp=_snedecor_logp,
        logcdf=lambda x, p: log_betainc(*_snedecor_odds(x, p)),
        logsf=lambda x, p: log_betaincc(*_snedecor_odds(x, p)),
        icdf=lambda q, p: p.d2 / p.d1 * _beta_prime_quantile(q, 0.5 * p.d1, 0.5 * p.d2),
        mean=lambda p: finite_above(2.0, p.d2, lambda d2: d2 / (d2 - 2.0)),
        variance=_snedecor_variance,
        draw=lambda rng, p, dims: rng.f(p.d1, p.d2, dims=dims),
        source=f"{JKB2}, chapter 27",
        example={"d1": 5.0, "d2": 9.0},
        window=(0, 5),
    ),
    Row(
        name="Burr",
        doc="The Burr distribution of type XII.",
        density="c d x^(c - 1) (1 + x^c)^(-d - 1)",
        params=params("c: positive | shape at 0", "d: positive | shape of the tail"),
        support=lambda p: positive,
        ends="(]",
        logp=lambda x, p: (
            log(p.c * p.d) + xlogy(p.c - 1.0, x) - (p.d + 1.0) * softplus(p.c * log(x))
        ),
        logcdf=lambda x, p: log_below(log(p.d) + log_softplus(p.c * log(x))),
        logsf=lambda x, p: -p.d * softplus(p.c * log(x)),
        icdf=lambda q, p: power(expm1(-log1p(-q) / p.d), 1.0 / p.c),
        mean=_burr_mean,
        variance=_burr_variance,
        source=f"{JKB1}, section 12.4.5",
        example={"c": 2.5, "d": 1.5},
        window=(0, 3.5),
    ),
    Row(
        name="LogLogistic",
        doc="The distribution of exp(y) where y is logistic.",
        density="beta/alpha z^(beta - 1) / (1 + z^beta)², z = x / alpha",
        params=params("alpha: positive = 1 | scale, the median", "beta: positive | shape"),
        support=lambda p: positive,
        ends="(]",
        logp=lambda x, p: (
            log(p.beta / p.alpha) + xlogy(p.beta - 1.0, x / p.alpha)
            - 2.0 * softplus(p.beta * log(x / p.alpha))
        ),
        logcdf=lambda x, p: -softplus(-p.beta * log(x / p.alpha)),
        logsf=lambda x, p: -softplus(p.beta * log(x / p.alpha)),
        icdf=lambda q, p: p.alpha * exp((log(q) - log1p(-q)) / p.beta),
        mean=lambda p: p.alpha * finite_above(1.0, p.beta, _log_logistic_mean),
        variance=lambda p: square(p.alpha) * finite_above(2.0, p.beta, _log_logistic_variance),
        source=f"{JKB2}, section 23.11",
        example={"alpha": 1.3, "beta": 4.5},
        window=(0, 4),
    ),
    standardized(
        "mu", "c",
        name="Levy",
        doc="The Lévy distribution: one divided by the square of a normal variable.",
        density="exp(-1 / (2 z)) / (c √(2π z³)), z = (x - mu) / c",
        params=params("mu: real = 0 | lower end", "c: positive = 1 | scale"),
        support=lambda p: above(p.mu),
        ends="(]",
        logp=lambda z, p: -HALF_LOG_2PI - 1.5 * log(z) - 0.5 / z,
        logcdf=lambda z, p: log_normal_beyond(sqrt(1.0 / z)),
        logsf=lambda z, p: log_normal_within(sqrt(1.0 / z)),
        icdf=lambda q, p: 1.0 / square(normal_beyond_quantile(q)),
        mean=lambda p: math.inf,
        variance=lambda p: math.inf,
        draw=_draw_levy,
        source="Feller, An Introduction to Probability Theory 2 (1971), section II.4",
        example={"mu": 0.3, "c": 0.8},
        window=(0, 8),
    ),
    Row(
        name="Gompertz",
        doc="The Gompertz distribution, of lifetimes whose hazard grows exponentially.",
        density="b eta exp(eta + b x - eta exp(b x))",
        params=params("eta: positive | shape", "b: positive = 1 | rate"),
        support=lambda p: positive,
        logp=lambda x, p: log(p.b * p.eta) + p.b * x - p.eta * expm1(p.b * x),
        logcdf=lambda x, p: log1mexp(-p.eta * expm1(p.b * x)),
        logsf=lambda x, p: -p.eta * expm1(p.b * x),
        icdf=lambda q, p: log1p(-log1p(-q) / p.eta) / p.b,
        mean=NO_CLOSED_FORM,
        variance=NO_CLOSED_FORM,
        source=f"{JKB2}, section 22.8",
        example={"eta": 0.3, "b": 1.2},
        window=(0, 4),
    ),
    Row(
        name="BirnbaumSaunders",
        doc="The Birnbaum-Saunders distribution, of lifetimes under fatigue.",
        density="(r + 1/r) φ((r - 1/r) / alpha) / (2 alpha x), r = √(x / beta)",
        params=params("alpha: positive | shape", "beta: positive = 1 | scale, the median"),
        support=lambda p: positive,
        ends="(]",
        logp=_fatigue_logp,
        logcdf=lambda x, p: log_ndtr(_fatigue(x, p)),
        logsf=lambda x, p: log_ndtr(-_fatigue(x, p)),
        icdf=lambda q, p: p.beta * exp(2.0 * arcsinh(0.5 * p.alpha * ndtri(q))),
        mean=lambda p: p.beta * (1.0 + 0.5 * square(p.alpha)),
        variance=lambda p: square(p.alpha * p.beta) * (1.0 + 1.25 * square(p.alpha)),
        source=f"{JKB2}, section 33.2",
        example={"alpha": 0.7, "beta": 1.4},
        window=(0, 6),
    ),
]  # fmt: skip
