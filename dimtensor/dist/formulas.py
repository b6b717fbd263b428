"""Pieces that formulas of several distributions share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dimtensor.tensor.elementwise import (
    abs,
    betainc,
    betaincinv,
    betaln,
    equal,
    erf,
    exp,
    expm1,
    floor,
    gammainc,
    gammaincc,
    gammaincinv,
    gammaln,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    maximum,
    minimum,
    reciprocal,
    square,
    where,
)

LOG_2 = math.log(2.0)
LOG_PI = math.log(math.pi)
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
EULER = 0.5772156649015329

JKB1 = "Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994)"
JKB2 = "Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995)"
JKK = "Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005)"


def log_part(part: Any, rest: Any) -> Any:
    """Logarithm of a probability of which the contrary is known as well: precise at both ends."""
    small = part < 0.5
    return where(small, log(where(small, part, 1.0)), log1p(-where(small, 0.0, rest)))


def log_gammainc(k: Any, x: Any) -> Any:
    """Logarithm of the regularised lower incomplete gamma function."""
    return _log_tail(gammainc(k, x), gammaincc(k, x), _log_gammainc_far, (k, x), (1.0, 1.0))


def log_gammaincc(k: Any, x: Any) -> Any:
    """Logarithm of the regularised upper incomplete gamma function."""
    return _log_tail(gammaincc(k, x), gammainc(k, x), _log_gammaincc_far, (k, x), (1.0, 1.0))


def _log_tail(part: Any, rest: Any, far_out: Any, operands: Any, plain: Any) -> Any:
    """As log_part, and by a formula of the logarithm where a probability is hardly a number.

    The formula sees plain operands elsewhere. Where one is 0 or infinite, so is the logarithm.
    """
    far = part < (1e-30 if getattr(part, "dtype", "") == "float32" else 1e-290)
    pairs = list(zip(operands, plain, strict=True))
    for x in (x for x in operands if not isinstance(x, float)):
        far = far & (x > 0.0) & (x < math.inf)
    inside = (x if isinstance(x, float) else where(far, x, one) for x, one in pairs)
    return where(far, far_out(*inside), log_part(where(far, 0.25, part), rest))


_LEVELS = range(6, 0, -1)  # of continued fractions, which have all digits far out in a tail


def _log_gammainc_far(k: Any, x: Any) -> Any:
    """By a continued fraction (Cuyt et al., Handbook of Continued Fractions (2008), 12.6.30)."""
    fraction = k + 6.0 - x
    for n in _LEVELS:
        fraction = k + (n - 1.0) - x + n * x / fraction
    return k * log(x) - x - gammaln(k) - log(fraction)


def _log_gammaincc_far(k: Any, x: Any) -> Any:
    """By a continued fraction (NIST Digital Library of Mathematical Functions, 8.9.2)."""
    fraction = x - k + 13.0
    for n in _LEVELS:
        fraction = x - k + (2.0 * n - 1.0) - n * (n - k) / fraction
    return k * log(x) - x - gammaln(k) - log(fraction)


def _log_betainc_far(a: Any, b: Any, x: Any, y: Any) -> Any:
    """By a continued fraction (NIST Digital Library of Mathematical Functions, 8.17.22)."""
    fraction: Any = 1.0
    for n in _LEVELS:
        fraction = 1.0 + n * (b - n) * x / ((a + (2.0 * n - 1.0)) * (a + 2.0 * n)) / fraction
        m = n - 1.0
        fraction = (
            1.0 - (a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)) / fraction
        )
    return a * log(x) + b * log(y) - betaln(a, b) - log(a * fraction)


def log_gamma_cdf(c: Any, z: Any) -> Any:
    """Logarithm of gammainc(c, exp(z)), also where that is too small for a number."""
    return by_sides(
        lambda z: _log_gamma_below(c, z), lambda z: log_gammainc(c, exp(z)), z, _FEW_TERMS
    )


def log_gamma_sf(c: Any, z: Any) -> Any:
    """Logarithm of gammaincc(c, exp(z))."""
    return by_sides(
        lambda z: log1mexp(_log_gamma_below(c, z)),
        lambda z: log_gammaincc(c, exp(z)),
        z,
        _FEW_TERMS,
    )


_FEW_TERMS = -5.0


def _log_gamma_below(c: Any, z: Any) -> Any:
    """Six terms of the series (NIST Digital Library of Mathematical Functions, 8.7.1)."""
    x = exp(z)
    rest = x / (c + 6.0)
    for n in (5.0, 4.0, 3.0, 2.0, 1.0):
        rest = x / (c + n) * (1.0 + rest)
    return c * z - x - gammaln(c + 1.0) + log1p(rest)


def log_gamma_icdf(q: Any, c: Any) -> Any:
    """Logarithm of gammaincinv(c, q)."""
    first = (log(q) + gammaln(c + 1.0)) / c
    far = first < -40.0
    return where(far, first, log(gammaincinv(c, where(far, 0.5, q))))


def log_betainc(a: Any, b: Any, x: Any, y: Any = None) -> Any:
    """Logarithm of the regularised incomplete beta function of x, where y is 1 - x."""
    y = 1.0 - x if y is None else y
    parts = betainc(a, b, x), betainc(b, a, y)
    return _log_tail(*parts, _log_betainc_far, (a, b, x, y), (1.0, 1.0, 0.5, 0.5))


def log_betaincc(a: Any, b: Any, x: Any, y: Any = None) -> Any:
    """Logarithm of 1 - betainc(a, b, x), where y is 1 - x."""
    return log_betainc(b, a, 1.0 - x if y is None else y, x)


def beta_quantile(q: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The quantile of a beta variable and 1 less it, of which the smaller one has all digits."""
    x, rest = betaincinv(a, b, q), betaincinv(b, a, 1.0 - q)
    low = x < 0.5
    return where(low, x, 1.0 - rest), where(low, 1.0 - x, rest)


def log_choose(n: Any, k: Any) -> Any:
    """Logarithm of the number of ways to choose k of n."""
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def by_sides(
    below: Callable[[Any], Any], above: Callable[[Any], Any], x: Any, at: float = 0.0
) -> Any:
    """One formula up to a number and another one above it; each sees values of its side only."""
    right = x > at
    return where(right, above(where(right, x, at)), below(where(right, at, x)))


def log1p_square(x: Any) -> Any:
    """log(1 + x²) of numbers whose squares overflow, too.

    It is the sum of two logarithms, one of which is 0: a choice between them would keep the loop
    around it from working on several elements at once.
    """
    far = 1e15 if getattr(x, "dtype", "") == "float32" else 1e150
    return log1p(minimum(square(x), far * far)) + log(maximum(square(x / far), 1.0))


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
    """What gammaln(x) is beside (x - 1/2) log x - x + log(2π) / 2, for x from 20 on."""
    r = reciprocal(x)
    s = square(r)
    return r * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0))))


def log1p_over(xi: Any, z: Any) -> Any:
    """log(1 + xi z) / xi, which is z where xi is 0."""
    tiny = abs(xi) < 1e-5
    c = where(tiny, 1.0, xi)
    near = z * (1.0 - xi * z * (0.5 - xi * z / 3.0))
    return where(tiny, near, log1p(where(tiny, 0.0, c * z)) / c)


def expm1_over(xi: Any, y: Any) -> Any:
    """(exp(xi y) - 1) / xi, which is y where xi is 0.

    By a series where the product is small; where it is not a number, xi is 0 and y is infinite.
    """
    product = xi * y
    tiny = abs(product) < 1e-5
    near, small = tiny | equal(xi, 0.0), where(tiny, product, 0.0)
    series = where(near, y, 0.0) * (1.0 + small * (0.5 + small / 6.0))
    c = where(near, 1.0, xi)
    return where(near, series, expm1(where(near, 0.0, c * y)) / c)


def log_expm1_over(x: Any) -> Any:
    """log((exp(x) - 1) / x), which is 0 where x is."""
    tiny = abs(x) < 1e-2
    size = abs(where(tiny, 1.0, x))
    near = x * (0.5 + x * (1.0 / 24.0 - square(x) * (1.0 / 2880.0 - square(x) / 181440.0)))
    return where(tiny, near, where(x > 0.0, x, 0.0) + log(-expm1(-size) / size))


def log_normal_within(z: Any) -> Any:
    """Logarithm of the probability of the standard normal between -z and z, also for tiny z."""
    small = z < 1.0
    near = log(erf(where(small, z, 1.0) * math.sqrt(0.5)))
    return where(small, near, log1mexp(LOG_2 + log_ndtr(-where(small, 1.0, z))))


def log_between(a: Any, b: Any) -> Any:
    """Logarithm of the probability of the standard normal between a and b, in either tail.

    A bound may be a Python number that is infinite.
    """
    if isinstance(a, float) and a == -math.inf:
        return log_ndtr(b)
    if isinstance(b, float) and b == math.inf:
        return log_ndtr(-a)
    right = a + b > 0.0
    low, high = log_ndtr(where(right, -b, a)), log_ndtr(where(right, -a, b))
    return high + log1mexp(low - high)


def difference(larger: Any, smaller: Any) -> Any:
    """log(exp(larger) - exp(smaller)); minus infinity where they are equal.

    What is computed while compiling and what is computed later may differ in the last digit, so
    that the smaller of two equal numbers can be the larger one.
    """
    nothing = larger <= smaller
    apart = where(nothing, -1.0, smaller - larger)
    return where(nothing, -math.inf, larger + log1mexp(apart))


def of_sign(u: Any) -> Any:
    """-1 or 1 of a uniform number."""
    return 2.0 * floor(2.0 * u) - 1.0


def log_cosh(x: Any) -> Any:
    """log(cosh(x)) without overflow."""
    size = abs(x)
    return size + log1p(exp(-2.0 * size)) - LOG_2


def magnitude(drawn: tuple[Any, Any]) -> tuple[Any, Any]:
    """The absolute value of a draw, and the generator after it."""
    value, rng = drawn
    return abs(value), rng


def whole(x: Any) -> Any:
    """A parameter as the integers that it holds."""
    return x.astype("int64")


def log_odds(x: Any) -> Any:
    """log(x / (1 - x)), precise for tiny x."""
    return log(x) - log1p(-x)
