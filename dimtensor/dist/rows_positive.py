"""Rows of the distribution table: continuous, on positive numbers."""

from __future__ import annotations

import math

from dimtensor.dist.formulas import HALF_LOG_2PI, JKB1, LOG_2, log_gammainc, log_gammaincc
from dimtensor.dist.supports import positive
from dimtensor.dist.table import Row, also, params
from dimtensor.tensor.elementwise import (
    exp,
    expm1,
    gammaincinv,
    gammaln,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    ndtri,
    sqrt,
    square,
    xlogy,
)

POSITIVE: list[Row] = [
    Row(
        name="HalfNormal",
        doc="The normal distribution around 0, of absolute values.",
        density="√2 exp(-x² / (2 sigma²)) / (sigma √π)",
        params=params("sigma: positive = 1 | scale"),
        alternatives=(
            also("tau: positive | precision, 1 / sigma²",
                 by=lambda p: {"sigma": 1.0 / sqrt(p.tau)}),
        ),
        support=lambda p: positive,
        logp=lambda x, p: (
            LOG_2 - HALF_LOG_2PI - 0.5 * square(x / p.sigma) - log(p.sigma)
        ),
        logcdf=lambda x, p: log1mexp(LOG_2 + log_ndtr(-x / p.sigma)),
        logsf=lambda x, p: LOG_2 + log_ndtr(-x / p.sigma),
        icdf=lambda q, p: -p.sigma * ndtri(0.5 * (1.0 - q)),
        mean=lambda p: p.sigma * math.sqrt(2.0 / math.pi),
        variance=lambda p: square(p.sigma) * (1.0 - 2.0 / math.pi),
        draw=lambda rng, p, dims: _absolute(*rng.normal(0.0, p.sigma, dims=dims)),
        source=f"{JKB1}, section 13.10.1",
        example={"sigma": 1.5},
        window=(0, 5),
    ),
    Row(
        name="Exponential",
        doc="The exponential distribution.",
        density="lam exp(-lam x)",
        params=params("lam: positive = 1 | rate"),
        alternatives=(
            also("scale: positive | 1 / lam", by=lambda p: {"lam": 1.0 / p.scale}),
        ),
        support=lambda p: positive,
        logp=lambda x, p: log(p.lam) - p.lam * x,
        logcdf=lambda x, p: log1mexp(-p.lam * x),
        logsf=lambda x, p: -p.lam * x,
        icdf=lambda q, p: -log1p(-q) / p.lam,
        mean=lambda p: 1.0 / p.lam,
        variance=lambda p: 1.0 / square(p.lam),
        draw=lambda rng, p, dims: rng.exponential(1.0 / p.lam, dims=dims),
        source=f"{JKB1}, chapter 19",
        example={"lam": 0.7},
        window=(0, 6),
    ),
    Row(
        name="Gamma",
        doc="The gamma distribution.",
        density="beta^alpha x^(alpha - 1) exp(-beta x) / Γ(alpha)",
        params=params("alpha: positive | shape", "beta: positive = 1 | rate"),
        alternatives=(
            also("mu: positive | mean", "sigma: positive | standard deviation",
                 by=lambda p: {"alpha": square(p.mu / p.sigma), "beta": p.mu / square(p.sigma)}),
            also("alpha: positive | shape", "scale: positive | 1 / beta",
                 by=lambda p: {"beta": 1.0 / p.scale}),
        ),
        support=lambda p: positive,
        logp=lambda x, p: (
            p.alpha * log(p.beta) - gammaln(p.alpha) + xlogy(p.alpha - 1.0, x) - p.beta * x
        ),
        logcdf=lambda x, p: log_gammainc(p.alpha, p.beta * x),
        logsf=lambda x, p: log_gammaincc(p.alpha, p.beta * x),
        icdf=lambda q, p: gammaincinv(p.alpha, q) / p.beta,
        mean=lambda p: p.alpha / p.beta,
        variance=lambda p: p.alpha / square(p.beta),
        draw=lambda rng, p, dims: rng.gamma(p.alpha, 1.0 / p.beta, dims=dims),
        source=f"{JKB1}, chapter 17",
        example={"alpha": 2.5, "beta": 1.3},
        window=(0, 7),
    ),
    Row(
        name="LogNormal",
        doc="The distribution of exp(y) where y is normal.",
        density="exp(-(log x - mu)² / (2 sigma²)) / (x sigma √(2π))",
        params=params("mu: real = 0 | mean of log x", "sigma: positive = 1 | its deviation"),
        alternatives=(
            also("mu: real = 0 | mean of log x", "tau: positive | precision, 1 / sigma²",
                 by=lambda p: {"sigma": 1.0 / sqrt(p.tau)}),
        ),
        support=lambda p: positive,
        ends="(]",
        logp=lambda x, p: (
            -0.5 * square((log(x) - p.mu) / p.sigma) - log(x) - log(p.sigma) - HALF_LOG_2PI
        ),
        logcdf=lambda x, p: log_ndtr((log(x) - p.mu) / p.sigma),
        logsf=lambda x, p: log_ndtr((p.mu - log(x)) / p.sigma),
        icdf=lambda q, p: exp(p.mu + p.sigma * ndtri(q)),
        mean=lambda p: exp(p.mu + 0.5 * square(p.sigma)),
        variance=lambda p: expm1(square(p.sigma)) * exp(2.0 * p.mu + square(p.sigma)),
        draw=lambda rng, p, dims: rng.lognormal(p.mu, p.sigma, dims=dims),
        source=f"{JKB1}, chapter 14",
        example={"mu": 0.2, "sigma": 0.5},
        window=(0, 5),
    ),
]  # fmt: skip


def _absolute(value, rng):
    return abs(value), rng
