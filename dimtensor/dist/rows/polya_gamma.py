"""The row of Pólya-gamma variables: infinite sums of gamma variables.

The density is the inverse Laplace transform of cosh(√(t / 2))^-h, an integral along a contour in
the complex plane. The contour is a parabola through the saddle point, open to the left as the
singularities are, on which the integrand falls like a normal density: no terms of either sign
cancel, as they do in the series of N. G. Polson, J. G. Scott and J. Windle, Journal of the American
Statistical Association 108, 1339-1349 (2013), theorem 1, for many degrees of freedom. The parabola
is walked as by a hyperbolic sine, and the trapezoidal rule converges exponentially (L. N. Trefethen
and J. A. C. Weideman, SIAM Review 56, 385-458, 2014, section 15).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dimtensor.dims import Dim
from dimtensor.dist.formulas import log_cosh
from dimtensor.dist.supports import positive
from dimtensor.dist.table import NO_CLOSED_FORM, Row, params
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import (
    abs,
    arcsinh,
    arctan2,
    clip,
    cos,
    cosh,
    exp,
    log,
    log1mexp,
    log1p,
    maximum,
    minimum,
    power,
    sin,
    sinh,
    sqrt,
    square,
    stop_gradient,
    tan,
    tanh,
    where,
)

_NODE = Dim("node of PolyaGamma", length=64)
_TERM = Dim("term of PolyaGamma", length=64)
_POLE = 0.5 * math.pi**2  # the nearest singularity is at minus this
_LEAST = 1e-6  # probabilities underflow where x / h or h / x is below it
_FAR = 6.2  # exp(-6.2²) is nothing


def _slope(t: Any) -> Any:
    """tanh(w) / w of w = √(t / 2), which is a tangent for negative t; 1 for 0."""
    tiny = abs(t) < 1e-4
    w = sqrt(0.5 * abs(where(tiny, 1.0, t)))
    curve = where(t > 0.0, tanh(w), tan(minimum(w, 0.5 * math.pi)))
    return where(tiny, 1.0 - t / 6.0, curve / w)


def _saddle(x: Any, h: Any) -> Any:
    """Near the point where the derivative of x t - h log cosh √(t / 2) vanishes.

    Any point will do, this one loses no digits: an approximation, and two steps of Newton's method.
    """
    ratio = clip(4.0 * x / h, 1e-7, 1e7)
    small, large = minimum(ratio, 1.0), maximum(ratio, 1.0)
    left = 2.0 / square(small) * (1.0 - power(small, 3.1))
    right = 4.0 / (large - 0.15) - _POLE
    t = where(ratio < 1.0, left, right)
    for _ in range(2):
        g = _slope(t)
        tiny = abs(t) < 1e-2
        derivative = (1.0 - g - 0.5 * t * square(g)) / (2.0 * where(tiny, 1.0, t))
        derivative = where(tiny, -1.0 / 6.0 + t / 30.0, derivative)
        step = (1.0 / ratio - 1.0 / g) * square(g) / derivative
        t = maximum(t - step, 3.0 / maximum(ratio, 3.0) - _POLE)
    return t


def _contour(x: Any, saddle: Any) -> tuple[Any, ...]:
    """Return the quadrature nodes relative to the saddle point, log cosh there, and weights."""
    width = sqrt(0.5 * (saddle + _POLE))
    node = arange(_NODE, x.dtype)
    last = arcsinh(_FAR / (sqrt(2.0 * x) * width)) / float(len(_NODE) - 1)
    v = width * sinh(node * last)
    weight = where(node > 0.0, 0.0 * node + 1.0, 0.5) * width * cosh(node * last) * last
    back, up = -2.0 * square(v), 4.0 * width * v
    # the root w = p + i q of half of saddle + back + i up
    at = saddle + back
    larger = sqrt(0.25 * (sqrt(square(at) + square(up)) + abs(at)))
    smaller = where(larger > 0.0, 0.25 * up / where(larger > 0.0, larger, 1.0), 0.0)
    p, q = where(at > 0.0, larger, smaller), where(at > 0.0, smaller, larger)
    # log cosh w = w - log 2 + log(1 + exp(-2 w))
    fall = exp(-2.0 * p)
    size = p - math.log(2.0) + 0.5 * log1p(fall * (2.0 * cos(2.0 * q) + fall))
    angle = q - arctan2(fall * sin(2.0 * q), 1.0 + fall * cos(2.0 * q))
    return back, up, v, width, size, angle, weight


def _logp(x: Any, p: Any) -> Any:
    saddle = _saddle(stop_gradient(x), stop_gradient(p.h))
    return _log_inverse(x, p, saddle, lambda real, imaginary, distance: imaginary)


def _log_inverse(x: Any, p: Any, saddle: Any, part: Callable[[Any, Any, Any], Any]) -> Any:
    """Logarithm of the tilted inverse Laplace transform, by the contour through `saddle`.

    `part` maps the integrand, as its real and its imaginary part, and t - z² / 2, as a pair of
    them, to the imaginary part that is summed.
    """
    # the integral does not depend on the contour, and neither do its derivatives
    found = _contour(stop_gradient(x), saddle)
    saddle, back, up, v, width, size, angle, weight = map(stop_gradient, (saddle, *found))
    size_there = size.isel({_NODE: 0})
    height = exp(x * back - p.h * (size - size_there))
    phase = x * up - p.h * angle
    phase = phase - phase.isel({_NODE: 0})
    tilt = 0.5 * square(p.z)
    real, imaginary = (
        -v * cos(phase) - width * sin(phase),
        width * cos(phase) - v * sin(phase),
    )
    total = (weight * height * part(real, imaginary, (saddle - tilt + back, up))).sum(_NODE)
    plain = x * saddle - p.h * size_there + log(total) + math.log(4.0 / math.pi)
    return plain - tilt * x + p.h * log_cosh(0.5 * p.z)


def _log_side(x: Any, p: Any) -> tuple[Any, Any]:
    """Log probability of smaller values than x, where it is below the mean, or of larger ones.

    The Laplace transform of the cdf is that of the density divided by t - z² / 2. With the pole
    to the left of the contour the integral is the cdf, with the pole to its right it is minus the
    survival function. The contour passes the pole at a distance of 1 / (standard deviation), or
    half way to the singularities.
    """
    whole, x = x, clip(x, p.h * _LEAST, p.h / _LEAST)
    at, h, z = map(stop_gradient, (x, p.h, p.z))
    low = at < h * _mean(z)
    pole = 0.5 * square(z)
    apart = 1.0 / sqrt(h * _variance(z))
    saddle = _saddle(at, h)
    nearest = maximum(pole - apart, 0.5 * (pole - _POLE))
    saddle = where(low, maximum(saddle, pole + apart), minimum(saddle, nearest))

    def part(real: Any, imaginary: Any, distance: Any) -> Any:
        a, b = distance
        size = (imaginary * a - real * b) / (square(a) + square(b))
        return where(low, size, -size)

    # far out, where probabilities underflow, the leading term of the logarithm is extrapolated
    left = 0.5 * square(p.h) * (1.0 / minimum(whole, x) - 1.0 / x)
    right = (_POLE + 0.5 * square(p.z)) * (maximum(whole, x) - x)
    return minimum(_log_inverse(x, p, saddle, part) - left - right, 0.0), low


def _logcdf(x: Any, p: Any) -> Any:
    side, low = _log_side(x, p)
    return where(low, side, log1mexp(where(low, -1.0, side)))


def _logsf(x: Any, p: Any) -> Any:
    side, low = _log_side(x, p)
    return where(low, log1mexp(where(low, side, -1.0)), side)


def _mean(z: Any) -> Any:
    """Compute the mean at h = 1."""
    tiny = abs(z) < 1e-4
    safe = where(tiny, 1.0, z)
    return where(tiny, 0.25 - square(z) / 48.0, tanh(0.5 * safe) / (2.0 * safe))


def _variance(z: Any) -> Any:
    """Compute the variance at h = 1."""
    tiny = abs(z) < 0.02
    size = abs(where(tiny, 1.0, z))
    tail = exp(-size)
    narrow = 4.0 * tail / square(1.0 + tail)  # 1 / cosh(z / 2)²
    near = 1.0 / 24.0 - square(z) * (1.0 / 120.0 - 17.0 / 13440.0 * square(z))
    return where(tiny, near, (2.0 * tanh(0.5 * size) - size * narrow) / (4.0 * size**3))


def _draw(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    """Draw the first terms of the series, and the rest as a gamma variable with their moments."""
    place = arange(_TERM, "float64") + 0.5
    share = 0.5 / (math.pi**2 * square(place) + 0.25 * square(p.z))
    terms, rng = rng.gamma(p.h, 1.0, dims=[*dims, _TERM])
    mean = _mean(p.z) - share.sum(_TERM)
    variance = _variance(p.z) - square(share).sum(_TERM)
    rest, rng = rng.gamma(p.h * square(mean) / variance, variance / mean, dims=dims)
    return (terms * share).sum(_TERM) + rest, rng


POLYA_GAMMA: list[Row] = [
    Row(
        name="PolyaGamma",
        doc="The Pólya-gamma distribution: an infinite sum of gamma variables.",
        density=(
            "cosh(z/2)^h exp(-z² x/2) 2^(h - 1) / Γ(h) Σ (-1)^n Γ(n + h) / n! (2n + h) / "
            "√(2π x³) exp(-(2n + h)² / (8x))"
        ),
        params=params("h: positive = 1 | shape", "z: real = 0 | tilt"),
        support=lambda p: positive,
        ends="(]",
        logp=_logp,
        logcdf=_logcdf,
        logsf=_logsf,
        icdf=NO_CLOSED_FORM,
        mean=lambda p: p.h * _mean(p.z),
        variance=lambda p: p.h * _variance(p.z),
        draw=_draw,
        source=(
            "Polson, Scott and Windle, Journal of the American Statistical Association 108, "
            "1339-1349 (2013)"
        ),
        example={"h": 1.5, "z": 1.0},
        window=(0, 1.6),
    ),
]
