"""Probabilities of angles, counted from -π on."""

from __future__ import annotations

import math
from typing import Any

from dimtensor.dist.formulas import LOG_2, LOG_PI, REACH, integral
from dimtensor.dist.probabilities import log_of_two
from dimtensor.tensor.elementwise import (
    arcsin,
    arctan2,
    cos,
    exp,
    floor,
    i0e,
    log,
    maximum,
    minimum,
    sin,
    sqrt,
    square,
    stop_gradient,
    where,
)


def turns(angle: Any) -> Any:
    """Return the number of whole turns by which an angle lies outside of -π to π."""
    return floor(angle / (2.0 * math.pi) + 0.5)


def von_mises_logcdf(x: Any, p: Any) -> Any:
    """By quadrature of the density, to about 1e-13."""
    mu = p.mu - 2.0 * math.pi * turns(p.mu)
    log_whole = LOG_2 + LOG_PI + log(i0e(p.kappa))
    below, above = _log_from_start(x, mu, p.kappa), _log_from_start(-x, -mu, p.kappa)
    return log_of_two(minimum(below - log_whole, 0.0), minimum(above - log_whole, 0.0))


def von_mises_logsf(x: Any, p: Any) -> Any:
    """By the symmetry of the density."""
    return von_mises_logcdf(-x, _Turned(-p.mu, p.kappa))


class _Turned:
    """Parameters of the distribution of -x."""

    def __init__(self, mu: Any, kappa: Any):
        self.mu, self.kappa = mu, kappa


def _log_from_start(x: Any, mu: Any, kappa: Any) -> Any:
    """Log integral of exp(kappa (cos(t - mu) - 1)) from -π to x, where mu is between -π and π.

    The interval is split where the density is largest and where it is smallest. Each part is
    integrated from the end with the larger density to where the density is negligible.
    """
    largest = maximum(_exponent(math.pi + mu, kappa), _exponent(x - mu, kappa))
    top = stop_gradient(where(x > mu, 0.0, largest))  # of the density between -π and x

    def part(near: Any, far: Any) -> Any:
        """Between two distances from a maximum."""

        def height(s: Any) -> Any:
            return exp(_exponent(near + s, kappa) - top)

        size = square(sin(0.5 * near)) + 0.25 * REACH / maximum(kappa, 1e-3)
        whole = far - near
        cut = stop_gradient(2.0 * arcsin(sqrt(minimum(size, 1.0))) - near)
        return integral(height, where((whole < cut) | (size > 1.0), whole, cut))

    positive = mu > 0.0
    smallest = where(positive, mu - math.pi, mu + math.pi)
    rising = part(mu - minimum(x, mu), where(positive, math.pi, mu + math.pi))
    falling = part(0.0 * x, minimum(x - mu, where(positive, math.pi - mu, math.pi)))
    # around the maximum at mu - 2π or at mu + 2π
    other = part(
        where(positive, math.pi - mu, mu + 2.0 * math.pi - maximum(x, smallest)),
        where(positive, minimum(x, smallest) - mu + 2.0 * math.pi, math.pi),
    )
    return log(rising + falling + other) + top


def _exponent(angle: Any, kappa: Any) -> Any:
    return -2.0 * kappa * square(sin(0.5 * angle))


def wrapped_cauchy_parts(x: Any, p: Any) -> tuple[Any, Any]:
    """Probabilities of smaller angles and of larger ones.

    The distribution is that of twice the angle of a vector whose second coordinate is divided by
    (1 + rho) / (1 - rho), where the direction of the vector is uniform.
    """
    turn, half = 0.5 * (x - p.mu), 0.5 * p.mu
    narrow, wide = square(1.0 - p.rho), square(1.0 + p.rho)
    # the sine of half the distance from -π, or of that from π, whichever is smaller
    across = (1.0 - p.rho) * (1.0 + p.rho) * sin(0.5 * (math.pi - where(x < 0.0, -x, x)))
    along = narrow * sin(half) * cos(turn) + wide * cos(half) * sin(turn)
    return arctan2(across, -along) / math.pi, arctan2(across, along) / math.pi


def wrapped_cauchy_icdf(q: Any, p: Any) -> Any:
    """In closed form."""
    s, c = sin(0.5 * p.mu), cos(0.5 * p.mu)
    ratio = (1.0 + p.rho) / (1.0 - p.rho)
    low = q < 0.5
    part = where(low, q, 1.0 - q)
    # of the distance from -π, or from π, in which mu is turned the other way around
    slope = where(low, s * c, -s * c) * (1.0 / ratio - ratio)
    across = sin(math.pi * part) * (square(s) / ratio + square(c) * ratio)
    distance = 2.0 * arctan2(across, cos(math.pi * part) + sin(math.pi * part) * slope)
    return where(low, distance - math.pi, math.pi - distance)
