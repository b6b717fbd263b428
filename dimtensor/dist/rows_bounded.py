"""Rows of the distribution table: continuous, between bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dimtensor.dist.formulas import JKB2, log_betainc, log_betaincc
from dimtensor.dist.supports import Bounded, Support, unit
from dimtensor.dist.table import Row, also, params
from dimtensor.tensor.elementwise import (
    betaincinv,
    betaln,
    log,
    square,
    xlog1py,
    xlogy,
)


def number_of(x: Any) -> Any:
    """A constant as a number; another tensor as it is."""
    return x.node.attrs.value.item() if x.node.kind == "constant" else x


def between(low: str, high: str) -> Callable[[Any], Support]:
    """The support between two parameters."""
    return lambda p: Bounded(number_of(getattr(p, low)), number_of(getattr(p, high)))


BOUNDED: list[Row] = [
    Row(
        name="Uniform",
        doc="The uniform distribution.",
        density="1 / (upper - lower)",
        params=params("lower: real = 0 | lower end", "upper: real = 1 | upper end"),
        increasing=("lower", "upper"),
        support=between("lower", "upper"),
        logp=lambda x, p: -log(p.upper - p.lower) + 0.0 * x,
        logcdf=lambda x, p: log((x - p.lower) / (p.upper - p.lower)),
        logsf=lambda x, p: log((p.upper - x) / (p.upper - p.lower)),
        icdf=lambda q, p: p.lower + q * (p.upper - p.lower),
        mean=lambda p: 0.5 * (p.lower + p.upper),
        variance=lambda p: square(p.upper - p.lower) / 12.0,
        draw=lambda rng, p, dims: rng.uniform(p.lower, p.upper, dims=dims),
        source=f"{JKB2}, chapter 26",
        example={"lower": -1.0, "upper": 2.0},
        window=(-1.5, 2.5),
    ),
    Row(
        name="Beta",
        doc="The beta distribution.",
        density="x^(alpha - 1) (1 - x)^(beta - 1) / B(alpha, beta)",
        params=params("alpha: positive | shape at 0", "beta: positive | shape at 1"),
        alternatives=(
            also("mu: between 0 and 1 | mean", "sigma: positive | standard deviation",
                 by=lambda p: _by_count(p.mu, p.mu * (1.0 - p.mu) / square(p.sigma) - 1.0)),
            also("mu: between 0 and 1 | mean", "nu: positive | alpha + beta",
                 by=lambda p: _by_count(p.mu, p.nu)),
        ),
        support=lambda p: unit,
        logp=lambda x, p: (
            xlogy(p.alpha - 1.0, x) + xlog1py(p.beta - 1.0, -x) - betaln(p.alpha, p.beta)
        ),
        logcdf=lambda x, p: log_betainc(p.alpha, p.beta, x),
        logsf=lambda x, p: log_betaincc(p.alpha, p.beta, x),
        icdf=lambda q, p: betaincinv(p.alpha, p.beta, q),
        mean=lambda p: p.alpha / (p.alpha + p.beta),
        variance=lambda p: (
            p.alpha * p.beta / (square(p.alpha + p.beta) * (p.alpha + p.beta + 1.0))
        ),
        draw=lambda rng, p, dims: rng.beta(p.alpha, p.beta, dims=dims),
        source=f"{JKB2}, chapter 25",
        example={"alpha": 2.0, "beta": 3.5},
        window=(0, 1),
    ),
]  # fmt: skip


def _by_count(mean: Any, count: Any) -> dict[str, Any]:
    return {"alpha": mean * count, "beta": (1.0 - mean) * count}
