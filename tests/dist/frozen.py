"""Distributions that SciPy lacks, made of those that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as st


class Improper:
    """A density without an integral."""

    def __init__(self, low: float = -np.inf):
        self.low = low

    def support(self) -> tuple[float, float]:
        return self.low, np.inf

    def ppf(self, q: Any) -> Any:
        return st.norm.ppf(q) if np.isinf(self.low) else st.expon.ppf(q)

    def logpdf(self, x: Any) -> Any:
        return np.where(np.asarray(x) < self.low, -np.inf, 0.0)


class Mapped:
    """The distribution of an increasing function of a variable that SciPy knows.

    ``inverse`` gives that variable back, ``log_slope`` the logarithm of the derivative of the
    inverse. ``low`` and ``high`` are the ends of the support.
    """

    def __init__(
        self,
        base: Any,
        forward: Callable[[Any], Any],
        inverse: Callable[[Any], Any],
        log_slope: Callable[[Any], Any],
        low: float,
        high: float,
    ):
        self.base, self.forward, self.inverse = base, forward, inverse
        self.log_slope, self.low, self.high = log_slope, low, high

    def support(self) -> tuple[float, float]:
        return self.low, self.high

    def _inside(self, x: Any) -> tuple[Any, Any]:
        x = np.asarray(x, dtype=float)
        inside = (x > self.low) & (x < self.high)
        between = self.forward(self.base.ppf(0.5))
        return inside, np.where(inside, x, between)

    def ppf(self, q: Any) -> Any:
        return self.forward(self.base.ppf(q))

    def logpdf(self, x: Any) -> Any:
        inside, x = self._inside(x)
        return np.where(inside, self.base.logpdf(self.inverse(x)) + self.log_slope(x), -np.inf)

    def logcdf(self, x: Any) -> Any:
        inside, y = self._inside(x)
        ends = np.where(np.asarray(x) >= self.high, 0.0, -np.inf)
        return np.where(inside, self.base.logcdf(self.inverse(y)), ends)

    def logsf(self, x: Any) -> Any:
        inside, y = self._inside(x)
        ends = np.where(np.asarray(x) <= self.low, 0.0, -np.inf)
        return np.where(inside, self.base.logsf(self.inverse(y)), ends)

    def cdf(self, x: Any) -> Any:
        return np.exp(self.logcdf(x))

    def _moment(self, power: int) -> float:
        grid = (np.arange(200_000) + 0.5) / 200_000  # the midpoint rule, over probabilities
        return float(np.mean(self.ppf(grid) ** power))

    def mean(self) -> float:
        return self._moment(1)

    def var(self) -> float:
        return self._moment(2) - self._moment(1) ** 2


class Folded:
    """The absolute value of a variable that is symmetric around 0."""

    def __init__(self, base: Any):
        self.base = base

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf

    def ppf(self, q: Any) -> Any:
        return -self.base.ppf((1 - np.asarray(q)) / 2)

    def logpdf(self, x: Any) -> Any:
        return np.where(np.asarray(x) < 0, -np.inf, np.log(2) + self.base.logpdf(x))

    def cdf(self, x: Any) -> Any:
        x = np.maximum(x, 0.0)
        return self.base.cdf(x) - self.base.cdf(-x)

    def logcdf(self, x: Any) -> Any:
        return np.log(self.cdf(x))

    def logsf(self, x: Any) -> Any:
        return np.log(2) + self.base.logsf(np.maximum(x, 0.0))

    def mean(self) -> float:
        return float(2 * self.base.expect(lambda x: x, lb=0))

    def var(self) -> float:
        return float(self.base.var() - self.mean() ** 2)
