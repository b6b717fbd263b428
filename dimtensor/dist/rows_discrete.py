"""Rows of the distribution table: discrete."""

from __future__ import annotations

from dimtensor.dist.formulas import JKK, log_betainc, log_choose, log_gammainc, log_gammaincc
from dimtensor.dist.rows_bounded import number_of
from dimtensor.dist.supports import Integers
from dimtensor.dist.table import NO_CLOSED_FORM, Row, also, params
from dimtensor.tensor.elementwise import (
    gammaln,
    log,
    log1p,
    sigmoid,
    softplus,
    where,
    xlog1py,
    xlogy,
)


def log_p(p):
    """Logarithm of a probability that may have been given as log odds."""
    return -softplus(-p.logit_p) if p.has("logit_p") else log(p.p)


def log_q(p):
    """Logarithm of the probability of the contrary."""
    return -softplus(p.logit_p) if p.has("logit_p") else log1p(-p.p)


LOGIT = "logit_p: real | log odds, log p - log(1 - p)"


def by_logit(p):
    """The probability of log odds."""
    return {"p": sigmoid(p.logit_p)}


def _bernoulli_logp(x, p):
    one = x > 0.5
    return where(one, log_p(p), log_q(p))


def _binomial_logp(k, p):
    if p.has("logit_p"):
        return log_choose(p.n, k) + k * log_p(p) + (p.n - k) * log_q(p)
    return log_choose(p.n, k) + xlogy(k, p.p) + xlog1py(p.n - k, -p.p)


DISCRETE: list[Row] = [
    Row(
        name="Bernoulli",
        doc="One trial: 1 with a probability, else 0.",
        density="p^k (1 - p)^(1 - k)",
        params=params("p: probability | probability of 1"),
        alternatives=(also(LOGIT, by=by_logit),),
        support=lambda p: Integers(0, 1),
        discrete=True,
        logp=_bernoulli_logp,
        logcdf=lambda x, p: log_q(p) + 0.0 * x,
        logsf=lambda x, p: log_p(p) + 0.0 * x,
        icdf=lambda q, p: where(q <= 1.0 - p.p, 0.0 * q, 1.0),
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
        alternatives=(also("n: count | number of trials", LOGIT, by=by_logit),),
        support=lambda p: Integers(0, number_of(p.n)),
        discrete=True,
        logp=_binomial_logp,
        logcdf=lambda k, p: log_betainc(p.n - k, k + 1.0, 1.0 - p.p, p.p),
        logsf=lambda k, p: log_betainc(k + 1.0, p.n - k, p.p),
        icdf=NO_CLOSED_FORM,
        mean=lambda p: p.n * p.p,
        variance=lambda p: p.n * p.p * (1.0 - p.p),
        draw=lambda rng, p, dims: rng.binomial(p.n, p.p, dims=dims),
        source=f"{JKK}, chapter 3",
        example={"n": 9, "p": 0.35},
        window=(0, 9),
    ),
    Row(
        name="Poisson",
        doc="Number of independent events in an interval.",
        density="mu^k exp(-mu) / k!",
        params=params("mu: not negative | expected number"),
        support=lambda p: Integers(0),
        discrete=True,
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
