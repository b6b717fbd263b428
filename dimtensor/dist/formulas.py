"""Pieces that formulas of several distributions share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dimtensor.tensor.elementwise import betainc, gammainc, gammaincc, gammaln, log, log1p, where

LOG_2 = math.log(2.0)
LOG_PI = math.log(math.pi)
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
EULER = 0.5772156649015329
SQRT_2 = math.sqrt(2.0)

JKB1 = "Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994)"
JKB2 = "Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995)"
JKK = "Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005)"


def log_part(part: Any, rest: Any) -> Any:
    """Logarithm of a probability of which the contrary is known as well: precise at both ends."""
    small = part < 0.5
    return where(small, log(where(small, part, 1.0)), log1p(-where(small, 0.0, rest)))


def log_gammainc(k: Any, x: Any) -> Any:
    """Logarithm of the regularised lower incomplete gamma function."""
    return log_part(gammainc(k, x), gammaincc(k, x))


def log_gammaincc(k: Any, x: Any) -> Any:
    """Logarithm of the regularised upper incomplete gamma function."""
    return log_part(gammaincc(k, x), gammainc(k, x))


def log_betainc(a: Any, b: Any, x: Any, y: Any = None) -> Any:
    """Logarithm of the regularised incomplete beta function of x, where y is 1 - x."""
    return log_part(betainc(a, b, x), betainc(b, a, 1.0 - x if y is None else y))


def log_betaincc(a: Any, b: Any, x: Any, y: Any = None) -> Any:
    """Logarithm of 1 - betainc(a, b, x), where y is 1 - x."""
    return log_part(betainc(b, a, 1.0 - x if y is None else y), betainc(a, b, x))


def log_choose(n: Any, k: Any) -> Any:
    """Logarithm of the number of ways to choose k of n."""
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def by_sides(below: Callable[[Any], Any], above: Callable[[Any], Any], x: Any, at: float = 0.0) -> Any:
    """One formula up to a number and another one above it; each sees values of its side only."""
    right = x > at
    return where(right, above(where(right, x, at)), below(where(right, at, x)))
