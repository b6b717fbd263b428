"""Rows of the distribution table: continuous, on all real numbers."""

from __future__ import annotations

import math
from typing import Any

from dimtensor.dist.formulas import (
    EULER,
    HALF_LOG_2PI,
    JKB1,
    JKB2,
    LOG_2,
    LOG_PI,
    by_sides,
    log1p_square,
)
from dimtensor.dist.probabilities import log_below
from dimtensor.dist.rows.cells import PRECISION, standardized, symmetric
from dimtensor.dist.supports import real
from dimtensor.dist.table import NO_MOMENT, Row, params
from dimtensor.tensor.elementwise import (
    abs,
    arctan,
    exp,
    log,
    log1p,
    log_ndtr,
    ndtri,
    softplus,
    square,
    tan,
    where,
)

LOCATION = "mu: real = 0 | location"
SCALE = "sigma: positive = 1 | scale"


def _cauchy_logcdf(z: Any, p: Any) -> Any:
    # beyond 1 the sum 1/2 + arctan(z)/π would cancel, or be 1
    left, right = z < -1.0, z > 1.0
    far = left | right
    tail = arctan(1.0 / where(far, abs(z), 1.0)) / math.pi
    middle = log(0.5 + arctan(where(far, 0.0, z)) / math.pi)
    return where(left, log(tail), where(right, log1p(-tail), middle))


def _cauchy_icdf(q: Any, p: Any) -> Any:
    low, high = q < 0.25, q > 0.75
    far = 1.0 / tan(math.pi * where(low, q, where(high, 1.0 - q, 0.25)))
    return where(low, -far, where(high, far, tan(math.pi * (q - 0.5))))


def _laplace_logcdf(z: Any, p: Any) -> Any:
    return by_sides(lambda z: z - LOG_2, lambda z: log1p(-0.5 * exp(-z)), z)


def _laplace_icdf(q: Any, p: Any) -> Any:
    low = q < 0.5
    return where(low, log(2.0 * where(low, q, 0.5)), -log(2.0 * (1.0 - where(low, 0.5, q))))


REAL: list[Row] = [
    standardized(
        "mu", "sigma",
        name="Normal",
        doc="The normal or Gaussian distribution.",
        density="exp(-(x - mu)² / (2 sigma²)) / (sigma √(2π))",
        params=params("mu: real = 0 | mean", "sigma: positive = 1 | standard deviation"),
        alternatives=PRECISION,
        support=lambda p: real,
        logp=lambda z, p: -0.5 * square(z) - HALF_LOG_2PI,
        **symmetric(lambda z, p: log_ndtr(z)),
        icdf=lambda q, p: ndtri(q),
        mean=lambda p: 0.0,
        variance=lambda p: 1.0,
        draw=lambda rng, p, dims: rng.normal(0.0, 1.0, dims=dims),
        source=f"{JKB1}, chapter 13",
        example={"mu": 0.5, "sigma": 1.5},
        window=(-4, 5),
    ),
    standardized(
        "mu", "sigma",
        name="Cauchy",
        doc="The Cauchy or Lorentz distribution.",
        density="1 / (π sigma (1 + ((x - mu) / sigma)²))",
        params=params(LOCATION, SCALE),
        support=lambda p: real,
        logp=lambda z, p: -LOG_PI - log1p_square(z),
        **symmetric(_cauchy_logcdf),
        icdf=_cauchy_icdf,
        mean=NO_MOMENT,
        variance=NO_MOMENT,
        draw=lambda rng, p, dims: rng.standard_cauchy(dims=dims),
        source=f"{JKB1}, chapter 16",
        example={"mu": -0.5, "sigma": 0.8},
        window=(-6, 5),
    ),
    standardized(
        "mu", "b",
        name="Laplace",
        doc="The Laplace or double exponential distribution.",
        density="exp(-|x - mu| / b) / (2 b)",
        params=params(LOCATION, "b: positive = 1 | scale"),
        support=lambda p: real,
        logp=lambda z, p: -abs(z) - LOG_2,
        **symmetric(_laplace_logcdf),
        icdf=_laplace_icdf,
        mean=lambda p: 0.0,
        variance=lambda p: 2.0,
        draw=lambda rng, p, dims: rng.laplace(0.0, 1.0, dims=dims),
        source=f"{JKB2}, chapter 24",
        example={"mu": 0.5, "b": 0.7},
        window=(-4, 5),
    ),
    standardized(
        "mu", "s",
        name="Logistic",
        doc="The logistic distribution.",
        density="exp(-z) / (s (1 + exp(-z))²), z = (x - mu) / s",
        params=params(LOCATION, "s: positive = 1 | scale"),
        support=lambda p: real,
        logp=lambda z, p: -abs(z) - 2.0 * log1p(exp(-abs(z))),
        logcdf=lambda z, p: -softplus(-z),
        logsf=lambda z, p: -softplus(z),
        icdf=lambda q, p: log(q) - log1p(-q),
        mean=lambda p: 0.0,
        variance=lambda p: math.pi**2 / 3.0,
        draw=lambda rng, p, dims: rng.logistic(0.0, 1.0, dims=dims),
        source=f"{JKB2}, chapter 23",
        example={"mu": 0.5, "s": 0.6},
        window=(-4, 5),
    ),
    standardized(
        "mu", "beta",
        name="Gumbel",
        doc="The Gumbel distribution, of maxima.",
        density="exp(-z - exp(-z)) / beta, z = (x - mu) / beta",
        params=params(LOCATION, "beta: positive = 1 | scale"),
        support=lambda p: real,
        ends="()",
        logp=lambda z, p: -z - exp(-z),
        logcdf=lambda z, p: -exp(-z),
        logsf=lambda z, p: log_below(-z),
        icdf=lambda q, p: -log(-log(q)),
        mean=lambda p: EULER,
        variance=lambda p: math.pi**2 / 6.0,
        draw=lambda rng, p, dims: rng.gumbel(0.0, 1.0, dims=dims),
        source=f"{JKB2}, chapter 22",
        example={"mu": 0.5, "beta": 0.9},
        window=(-3, 6),
    ),
]  # fmt: skip
