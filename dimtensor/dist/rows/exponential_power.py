"""Formulas of the exponential power distribution, the generalized normal."""

from __future__ import annotations

from typing import Any

from dimtensor.dist.formulas import LOG_2, of_sign
from dimtensor.dist.probabilities import log_gammaincc
from dimtensor.tensor.elementwise import (
    abs,
    equal,
    exp,
    gammainccinv,
    gammaincinv,
    gammaln,
    log,
    log1p,
    power,
    where,
)

SMALL = 0.01  # where the series has all digits after a few terms


def power_logcdf(z: Any, p: Any) -> Any:
    a, zero = 1.0 / p.beta, equal(z, 0.0)
    u = where(zero, 0.0, power(where(zero, 1.0, abs(z)), p.beta))
    middle = u < SMALL
    tail = log_gammaincc(a, where(middle, 1.0, u)) - LOG_2
    return where(
        middle, log(0.5 + 0.5 * z * _power_series(a, u)), where(z < 0.0, tail, log1p(-exp(tail)))
    )


def _power_series(a: Any, u: Any) -> Any:
    """Compute P(a, u) / u^a of the regularized lower incomplete gamma function (DLMF 8.7.1).

    It has a slope where u is 0.
    """
    total, term = 1.0, 1.0
    for k in range(1, 9):
        term = term * -u / k
        total = total + term * a / (a + k)
    return total / exp(gammaln(a + 1.0))


def power_icdf(q: Any, p: Any) -> Any:
    """By the smaller one of two probabilities, and near the middle by two terms of the series."""
    a, left = 1.0 / p.beta, q < 0.5
    rest, within = 2.0 * where(left, q, 1.0 - q), 2.0 * abs(q - 0.5)
    z = 2.0 * (q - 0.5) * exp(gammaln(a + 1.0))
    zero = equal(z, 0.0)
    u = where(zero, 0.0, power(where(zero, 1.0, abs(z)), p.beta))
    middle, near = u < 1e-8, within < 0.5
    inner = gammaincinv(a, where(near & ~middle, within, 0.5))
    size = power(where(near, inner, gammainccinv(a, where(near, 0.5, rest))), a)
    return where(middle, z * (1.0 + u * a / (a + 1.0)), where(left, -size, size))


def draw_power(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    size, rng = rng.gamma(1.0 / p.beta, 1.0, dims=dims)
    u, rng = rng.uniform(0.0, 1.0, dims=dims)
    return of_sign(u) * power(size, 1.0 / p.beta), rng
