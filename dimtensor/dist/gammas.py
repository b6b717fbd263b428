"""Ratios of gamma functions, with the digits that the difference of two logarithms lacks."""

from __future__ import annotations

from typing import Any

from dimtensor.dist.formulas import EULER, expm1_over
from dimtensor.tensor.elementwise import (
    abs,
    arctanh,
    exp,
    expm1,
    gammaln,
    log,
    log1p,
    maximum,
    minimum,
    reciprocal,
    sinh,
    square,
    where,
)


def log_rising(a: Any, k: Any) -> Any:
    """log(Γ(a + k) / (Γ(a) aᵏ)), which vanishes for large a.

    From 20 on by Stirling's series, whose large terms are put together (NIST Digital Library of
    Mathematical Functions, 5.11.1): the difference of the logarithms would cancel.
    """
    large = a > 20.0
    far = where(large, a, 21.0)
    series = (far + k - 0.5) * log1p(k / far) - k + _stirling(far + k) - _stirling(far)
    near = where(large, 1.0, a)
    return where(large, series, gammaln(near + k) - gammaln(near) - k * log(near))


def log_beta(a: Any, b: Any) -> Any:
    """Logarithm of the beta function, also where one operand is far larger than the other."""
    small, large = minimum(a, b), maximum(a, b)
    return gammaln(small) - log_rising(large, small) - small * log(large)


def log_half_rising(a: Any) -> Any:
    """log(Γ(a + 1/2) / (Γ(a) √a)), with the digits that it has for large a, where it vanishes.

    From 20 on by its series in 1 / a (NIST Digital Library of Mathematical Functions, 5.11.8).
    """
    large = a > 20.0
    r = reciprocal(where(large, a, 21.0))
    s = square(r)
    series = s * (17.0 / 14336.0 - s * (31.0 / 18432.0 - s * 691.0 / 180224.0))
    series = -r * (1.0 / 8.0 - s * (1.0 / 192.0 - s * (1.0 / 640.0 - series)))
    return where(large, series, log_rising(where(large, 1.0, a), 0.5))


def gamma_step(xi: Any) -> Any:
    """(Γ(1 - xi) - 1) / xi, which is Euler's constant where xi is 0."""
    near = abs(xi) < 0.05
    small, c = where(near, xi, 0.0), where(near, 0.5, xi)
    return where(
        near, expm1_over(small, _series_of(_STEP, small)), (exp(gammaln(1.0 - c)) - 1.0) / c
    )


def gamma_spread(xi: Any) -> Any:
    """(Γ(1 - 2 xi) / Γ(1 - xi)² - 1) / xi², which is π² / 6 where xi is 0."""
    near = abs(xi) < 0.05
    small, c = where(near, xi, 0.0), where(near, 0.25, xi)
    far = expm1(gammaln(1.0 - 2.0 * c) - 2.0 * gammaln(1.0 - c)) / square(c)
    return where(near, expm1_over(square(small), _series_of(_SPREAD, small)), far)


# Riemann's zeta function of 2, 3, …
_ZETA = [
    1.6449340668482264, 1.2020569031595942, 1.0823232337111381, 1.03692775514337,
    1.0173430619844492, 1.008349277381923, 1.0040773561979444, 1.0020083928260821,
    1.000994575127818, 1.0004941886041194, 1.000246086553308, 1.0001227133475785,
    1.0000612481350588, 1.000030588236307, 1.0000152822594086, 1.0000076371976379,
    1.000003817293265,
]  # fmt: skip
# of log Γ(1 - x) / x, and of (log Γ(1 - 2 x) - 2 log Γ(1 - x)) / x² (NIST Digital Library of
# Mathematical Functions, 5.7.3)
_STEP = [EULER, *(z / k for k, z in enumerate(_ZETA, 2))]
_SPREAD = [z * (2.0**k - 2.0) / k for k, z in enumerate(_ZETA, 2)]


def _series_of(coefficients: list[float], x: Any) -> Any:
    total: Any = 0.0
    for one in reversed(coefficients):
        total = one + x * total
    return total


def _stirling(x: Any) -> Any:
    """Compute gammaln(x) - (x - ½) log x + x - ½ log 2π, Stirling's remainder, for x ≥ 20."""
    r = reciprocal(x)
    s = square(r)
    return r * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0))))


_SHIFT = 12  # from where on Stirling's series has all digits
# of Stirling's series: of 1 / c, 1 / c³, … (NIST Digital Library of Mathematical Functions, 5.11.1)
_STIRLING = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0]


def log_gamma_bend(x: Any, h: Any) -> Any:
    """log(Γ(x) Γ(x + 2 h) / Γ(x + h)²), of positive x and h, with all of its digits.

    By the recurrence of the gamma function all terms are positive up to where Stirling's series
    holds (NIST Digital Library of Mathematical Functions, 5.5.1 and 5.11.1), whose second
    difference is written without one: with c the middle and r = h / c, that of 1 / cᵏ is
    4 (1 - r²)^(-k/2) sinh(k artanh(r) / 2)² + 2 ((1 - r²)^(-k/2) - 1) times 1 / cᵏ.
    """
    total: Any = 0.0
    for n in range(_SHIFT):
        low, middle, high = x + float(n), x + h + float(n), x + 2.0 * h + float(n)
        share = square(h / middle)
        near = share < 0.5
        far = log(where(near, 1.0, low / middle * (high / middle)))
        total = total - where(near, log1p(-where(near, share, 0.0)), far)
    c = x + h + float(_SHIFT)
    r = h / c
    width, log_rest = arctanh(r), log1p(-square(r))
    total = total + (c - 0.5) * log_rest + 2.0 * h * width
    for k, one in zip(range(1, 10, 2), _STIRLING, strict=True):
        root = exp(-0.5 * k * log_rest)
        bend = 4.0 * root * square(sinh(0.5 * k * width)) + 2.0 * expm1(-0.5 * k * log_rest)
        total = total + one * bend * reciprocal(c) ** k
    return total
