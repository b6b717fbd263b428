"""Formulas that several distributions share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim
from dimtensor.tensor.elementwise import (
    abs,
    equal,
    exp,
    expm1,
    floor,
    gammaln,
    log,
    log1p,
    maximum,
    minimum,
    sqrt,
    square,
    where,
)
from dimtensor.tensor.inputs import data

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

LOG_2 = math.log(2.0)
LOG_PI = math.log(math.pi)
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
EULER = 0.5772156649015329

JKB1 = "Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994)"
JKB2 = "Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995)"
JKK = "Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005)"


def log_choose(n: Any, k: Any) -> Any:
    """Return the log of the binomial coefficient."""
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def by_sides(
    below: Callable[[Any], Any], above: Callable[[Any], Any], x: Any, at: float = 0.0
) -> Any:
    """Select between two formulas at a number; each is evaluated at values of its side only."""
    right = x > at
    return where(right, above(where(right, x, at)), below(where(right, at, x)))


def log1p_square(x: Any) -> Any:
    """Compute log(1 + x²), also where x² overflows.

    It is the sum of two logarithms, one of which is 0: a choice between them would keep the loop
    around it from working on several elements at once.
    """
    far = 1e15 if getattr(x, "dtype", "") == "float32" else 1e150
    return log1p(minimum(square(x), far * far)) + log(maximum(square(x / far), 1.0))


def log1p_over(xi: Any, z: Any) -> Any:
    """Compute log(1 + xi z) / xi, with the limit z where xi is 0."""
    tiny = abs(xi) < 1e-5
    c = where(tiny, 1.0, xi)
    near = z * (1.0 - xi * z * (0.5 - xi * z / 3.0))
    return where(tiny, near, log1p(where(tiny, 0.0, c * z)) / c)


def expm1_over(xi: Any, y: Any) -> Any:
    """Compute (exp(xi y) - 1) / xi, with the limit y where xi is 0.

    By a series where the product is small; where it is not a number, xi is 0 and y is infinite.
    """
    product = xi * y
    tiny = abs(product) < 1e-5
    near, small = tiny | equal(xi, 0.0), where(tiny, product, 0.0)
    series = where(near, y, 0.0) * (1.0 + small * (0.5 + small / 6.0))
    c = where(near, 1.0, xi)
    return where(near, series, expm1(where(near, 0.0, c * y)) / c)


def log_expm1_over(x: Any) -> Any:
    """Compute log((exp(x) - 1) / x), with the limit 0 where x is 0."""
    tiny = abs(x) < 1e-2
    size = abs(where(tiny, 1.0, x))
    near = x * (0.5 + x * (1.0 / 24.0 - square(x) * (1.0 / 2880.0 - square(x) / 181440.0)))
    return where(tiny, near, where(x > 0.0, x, 0.0) + log(-expm1(-size) / size))


def of_sign(u: Any) -> Any:
    """Map a uniform number to -1 or 1."""
    return 2.0 * floor(2.0 * u) - 1.0


def log_cosh(x: Any) -> Any:
    """Compute log(cosh(x)) without overflow."""
    size = abs(x)
    return size + log1p(exp(-2.0 * size)) - LOG_2


def magnitude(drawn: tuple[Any, Any]) -> tuple[Any, Any]:
    """Take the absolute value of a draw."""
    value, rng = drawn
    return abs(value), rng


def whole(x: Any) -> Any:
    """Cast a whole parameter to integers."""
    return x.astype("int64")


def log_odds(x: Any) -> Any:
    """Compute log(x / (1 - x)), precise for tiny x."""
    return log(x) - log1p(-x)


NODE = Dim("node of a quadrature", length=64)
REACH = 90.0  # where it falls by exp(-45), a density has no digits of an integral


@cache
def _rule() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(NODE.length)


def places_and_weights(dtype: str) -> tuple[DimTensor, DimTensor]:
    """Return the nodes of Gauss-Legendre quadrature between -1 and 1, and their weights."""
    places, weights = _rule()
    return data(places, dims=NODE).astype(dtype), data(weights, dims=NODE).astype(dtype)


def integral(height: Callable[[Any], Any], width: Any) -> Any:
    """Integrate a smooth function from 0 to a width; the integral is 0 where the width is negative.

    It has about 13 digits where the function falls by up to exp(-REACH / 2) on the way.
    """
    half = 0.5 * maximum(width, 0.0)
    places, weights = places_and_weights(half.dtype)
    return half * (weights * height(half * (1.0 + places))).sum(NODE)


def normal_reach(z: Any) -> Any:
    """Return the distance from z over which a normal density falls by exp(-REACH / 2)."""
    size = abs(z)
    return REACH / (sqrt(square(size) + REACH) + size)
