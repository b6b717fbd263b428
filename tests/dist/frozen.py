"""Distributions that SciPy lacks, made of those that it has."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import scipy.integrate
import scipy.special
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


def log_integral(logpdf: Callable[[Any], Any], ends: list[float]) -> float:
    """Logarithm of the integral of a density, by quadrature of each part between ends."""
    if not ends[0] < ends[-1]:
        return -np.inf
    peak = max(map(logpdf, ends))
    parts = [
        scipy.integrate.quad(
            lambda t: np.exp(logpdf(t) - peak), a, b, epsabs=0, epsrel=1e-12, limit=200
        )[0]
        for a, b in itertools.pairwise(ends)
    ]
    return float(peak + np.log(math.fsum(parts)))


class Rice:
    """The Rice distribution with logarithms of probabilities that are no differences from 1."""

    def __init__(self, nu: Any, sigma: Any):
        self.base = st.rice(nu / sigma, 0, sigma)
        self.nu, self.sigma = np.ravel(nu)[0], np.ravel(sigma)[0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)

    def _between(self, low: float, high: float) -> float:
        places = self.nu + self.sigma * np.array([-8.0, -2.0, 0.0, 2.0, 8.0])
        inside = places[(places > low) & (places < high)]
        return log_integral(self.base.logpdf, [low, *inside, high])

    def logcdf(self, x: Any) -> Any:
        last = self.nu + 30 * self.sigma
        return np.array([self._between(0.0, min(at, last)) for at in x])

    def logsf(self, x: Any) -> Any:
        last = self.nu + 30 * self.sigma
        return np.array([self._between(max(at, 0.0), last) for at in x])


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


class OnCircle:
    """A density on a circle, turned by an angle."""

    def __init__(self, base: Any, angle: float):
        self.base, self.angle = base, angle

    def support(self) -> tuple[float, float]:
        return -np.pi, np.pi

    def _turned_cdf(self, angle: Any) -> Any:
        """Of the density before it is turned, which goes on from turn to turn."""
        low = max(self.base.support()[0], -np.pi)
        turns = np.floor((angle - low) / (2 * np.pi))
        return turns + self.base.cdf(angle - 2 * np.pi * turns)

    def ppf(self, q: Any) -> Any:
        q = np.asarray(q) + self._turned_cdf(-np.pi - self.angle)
        turns = np.floor(q)
        found = self.angle + self.base.ppf(q - turns) + 2 * np.pi * turns
        return np.clip(found, -np.pi, np.pi)

    def _between(self, low: float, high: float) -> float:
        extremes = self.angle + np.pi * np.arange(-8, 9)
        inside = extremes[(extremes > low) & (extremes < high)]
        return log_integral(self.logpdf, [low, *inside, high])

    def logcdf(self, x: Any) -> Any:
        return np.array([self._between(-np.pi, min(at, np.pi)) for at in x])

    def logsf(self, x: Any) -> Any:
        return np.array([self._between(max(at, -np.pi), np.pi) for at in x])

    def logpdf(self, x: Any) -> Any:
        x = np.asarray(x, dtype=float)
        inside = np.abs(x) <= np.pi
        turned = (np.where(inside, x, 0.0) - self.angle) % (2 * np.pi)
        return np.where(inside, self.base.logpdf(turned), -np.inf)

    def cdf(self, x: Any) -> Any:
        grid = np.linspace(-np.pi, np.pi, 20_001)
        density = np.exp(self.logpdf(grid))
        steps = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid)))
        return np.interp(x, grid, steps)


class Tilted:
    """The density proportional to exp(x log(lam / (1 - lam))) between 0 and 1."""

    def __init__(self, lam: Any):
        lam = np.ravel(lam)[0]
        self.eta = np.log(lam) - np.log1p(-lam)

    def support(self) -> tuple[float, float]:
        return 0.0, 1.0

    def _integral(self, x: Any) -> Any:
        return x if self.eta == 0 else np.expm1(self.eta * x) / self.eta

    def ppf(self, q: Any) -> Any:
        q = np.asarray(q)
        return q if self.eta == 0 else np.log1p(q * np.expm1(self.eta)) / self.eta

    def logpdf(self, x: Any) -> Any:
        x = np.asarray(x)
        inside = (x >= 0) & (x <= 1)
        return np.where(inside, self.eta * x - np.log(self._integral(1.0)), -np.inf)

    def cdf(self, x: Any) -> Any:
        return self._integral(np.clip(x, 0, 1)) / self._integral(1.0)

    def logcdf(self, x: Any) -> Any:
        return np.log(self.cdf(x))

    def logsf(self, x: Any) -> Any:
        return np.log1p(-self.cdf(x))

    def mean(self) -> float:
        return float(scipy.integrate.quad(lambda x: x * np.exp(self.logpdf(x)), 0, 1)[0])

    def var(self) -> float:
        mean = self.mean()
        return float(
            scipy.integrate.quad(lambda x: (x - mean) ** 2 * np.exp(self.logpdf(x)), 0, 1)[0]
        )


class Steps:
    """A distribution on 0, 1, … of the logarithm of the probability of larger values."""

    def __init__(self, log_survival: Callable[[Any], Any]):
        self.log_survival = log_survival

    def support(self) -> tuple[float, float]:
        return 0, np.inf

    def ppf(self, q: Any) -> Any:
        k = np.arange(5000)
        return np.searchsorted(self.cdf(k), np.asarray(q)).astype(float)

    def logsf(self, x: Any) -> Any:
        x = np.floor(np.asarray(x, dtype=float))
        return np.where(x < 0, 0.0, self.log_survival(np.maximum(x, 0.0)))

    def logcdf(self, x: Any) -> Any:
        return np.log(self.cdf(x))

    def cdf(self, x: Any) -> Any:
        return -np.expm1(self.logsf(x))

    def logpmf(self, x: Any) -> Any:
        x = np.asarray(x, dtype=float)
        whole = np.isfinite(x) & (x == np.floor(x)) & (x >= 0)
        x = np.where(whole, x, 0.0)
        return np.where(whole, np.log(np.exp(self.logsf(x - 1)) - np.exp(self.logsf(x))), -np.inf)

    def pmf(self, x: Any) -> Any:
        return np.exp(self.logpmf(x))


class BetaNegative:
    """SciPy's, but for numbers of successes that are not whole, which it does not take."""

    def __init__(self, n: Any, alpha: Any, beta: Any):
        self.parameters = n, alpha, beta
        self.base = st.betanbinom(n, alpha, beta)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)

    def logpmf(self, k: Any) -> Any:
        n, a, b = self.parameters
        inside = np.isfinite(k) & (k == np.floor(k)) & (np.asarray(k) >= 0)
        k = np.where(inside, k, 0.0)
        ways = np.log(scipy.special.poch(n, k)) - scipy.special.gammaln(k + 1)
        beta = scipy.special.betaln(a + n, b + k) - scipy.special.betaln(a, b)
        return np.where(inside, ways + beta, -np.inf)


class PolyaGamma:
    """By the series of Polson, Scott and Windle (2013), for a few degrees of freedom."""

    def __init__(self, h: Any, z: Any):
        self.h, self.z = np.asarray(h, dtype=float), np.asarray(z, dtype=float)

    def support(self) -> tuple[float, float]:
        return 0.0, np.inf

    def logpdf(self, x: Any) -> Any:
        x = np.asarray(x, dtype=float)
        inside = (x > 0) & np.isfinite(x)
        x, h, z = np.broadcast_arrays(np.where(inside, x, 1.0), self.h, self.z)
        n = np.arange(100.0).reshape(-1, *[1] * x.ndim)
        ratios = scipy.special.gammaln(n + h) - scipy.special.gammaln(n + 1)
        sizes = np.exp(ratios - (2 * n + h) ** 2 / (8 * x)) * (2 * n + h) * (-1) ** n
        total = np.apply_along_axis(math.fsum, 0, sizes)
        constant = (h - 1) * np.log(2) - scipy.special.gammaln(h) - np.log(2 * np.pi * x**3) / 2
        tilt = h * np.log(np.cosh(z / 2)) - z**2 * x / 2
        with np.errstate(all="ignore"):
            return np.where(inside, np.log(total) + constant + tilt, -np.inf)

    @property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        scale = self.mean()
        x = np.linspace(0.0, 1.0, 4001) ** 2 * (8 * scale + 30 / (5 + self.z**2 / 2))
        density = np.exp(np.where(x > scale / 500, self.logpdf(np.maximum(x, scale / 500)), -800))
        return x, scipy.integrate.cumulative_simpson(density, x=x, initial=0.0)

    def cdf(self, x: Any) -> Any:
        return np.interp(x, *self._table)

    def ppf(self, q: Any) -> Any:
        return np.where(np.asarray(q) > 0, np.interp(q, *self._table[::-1]), 0.0)

    def _smaller(self, x: float) -> Any:
        """Probability of smaller values by mpmath's inversion of its Laplace transform."""
        if x <= 0 or x == np.inf:
            return mpmath.mpf(float(x > 0))
        h, z = mpmath.mpf(float(self.h)), mpmath.mpf(float(self.z))

        def log_cosh(w: Any) -> Any:
            return w - mpmath.log(2) + mpmath.log1p(mpmath.exp(-2 * w))

        def transform(t: Any) -> Any:
            w = mpmath.sqrt((t + z**2 / 2) / 2)
            return mpmath.exp(h * (log_cosh(abs(z) / 2) - log_cosh(w))) / t

        return mpmath.re(mpmath.invertlaplace(transform, x, method="talbot", degree=50))

    def logcdf(self, x: Any) -> Any:
        with mpmath.workdps(40):
            return np.array([float(mpmath.log(self._smaller(at))) for at in x])

    def logsf(self, x: Any) -> Any:
        with mpmath.workdps(40):
            return np.array([float(mpmath.log(1 - self._smaller(at))) for at in x])

    def mean(self) -> float:
        if self.z == 0:
            return float(self.h) / 4
        return float(self.h / (2 * self.z) * np.tanh(self.z / 2))

    def var(self) -> float:
        if self.z == 0:
            return float(self.h) / 24
        z = self.z
        return float(self.h / (4 * z**3) * (np.sinh(z) - z) / np.cosh(z / 2) ** 2)
