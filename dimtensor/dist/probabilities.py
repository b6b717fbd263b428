"""Logarithms of probabilities, and quantiles, with their digits at both ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dist.formulas import LOG_2, by_sides
from dimtensor.dist.gammas import log_beta
from dimtensor.tensor.elementwise import (
    betainc,
    betaincinv,
    ceil,
    erf,
    erfinv,
    exp,
    gammainc,
    gammaincc,
    gammaincinv,
    gammaln,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    maximum,
    ndtri,
    power,
    softplus,
    where,
)

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def log_part(part: Any, rest: Any) -> Any:
    """Compute the log of a probability from it and its complement: precise at both ends."""
    small = part < 0.5
    return where(small, log(where(small, part, 1.0)), log1p(-where(small, 0.0, rest)))


def log_of_two(log_part: Any, log_rest: Any) -> Any:
    """Logarithm of a probability by those of it and of its contrary: precise at both ends."""
    small = log_part < -LOG_2
    return where(small, log_part, log1p(-exp(where(small, -1.0, log_rest))))


def unit(x: Any) -> float:
    """Four units in the last place of 1."""
    return 4.0 * float(np.finfo(x.dtype).eps)


def rounding(q: Any) -> Any:
    """Return the rounding error of a probability computed as the exponential of its log."""
    return unit(q) * q * (1.0 - log(maximum(q, float(np.finfo(q.dtype).tiny))))


def log_below(log_u: Any) -> Any:
    """log(1 - exp(-u)) of the logarithm of u, also where u is too small for a number.

    It is that of the probability that a standard exponential variable is below u.
    """
    far = log_u < _TINY
    return where(far, log_u, log1mexp(-exp(where(far, 0.0, log_u))))


_TINY = -40.0  # the log of a number that is negligible beside 1


def log_softplus(x: Any) -> Any:
    """Logarithm of softplus(x), also where that is too small for a number."""
    far = x < _TINY
    return where(far, x, log(softplus(where(far, 0.0, x))))


def log_gammainc_power(k: Any, x: Any, log_x: Any) -> Any:
    """Compute log_gammainc(a, x), from log x where x underflows.

    By the first term of the series (NIST Digital Library of Mathematical Functions, 8.7.1).
    """
    far = log_x < _TINY
    return where(far, _first(k, log_x, far), log_gammainc(k, where(far, 1.0, x)))


def log_gammaincc_power(k: Any, x: Any, log_x: Any) -> Any:
    """Compute log_gammaincc(a, x), from log x where x underflows."""
    far = log_x < _TINY
    near = log_gammaincc(k, where(far, 1.0, x))
    return where(far, log1p(-exp(_first(k, log_x, far))), near)


def _first(k: Any, log_x: Any, far: Any) -> Any:
    return k * where(far, log_x, -1.0) - gammaln(k + 1.0)


def log_gammainc(k: Any, x: Any) -> Any:
    """Logarithm of the regularized lower incomplete gamma function."""
    return _log_tail(gammainc(k, x), gammaincc(k, x), _log_gammainc_far, (k, x), (1.0, 1.0))


def log_gammaincc(k: Any, x: Any) -> Any:
    """Logarithm of the regularized upper incomplete gamma function."""
    return _log_tail(gammaincc(k, x), gammainc(k, x), _log_gammaincc_far, (k, x), (1.0, 1.0))


def _log_tail(part: Any, rest: Any, far_out: Any, operands: Any, plain: Any) -> Any:
    """Compute log_part, from a formula of the log where a probability nearly underflows.

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
    return a * log(x) + b * log(y) - log_beta(a, b) - log(a * fraction)


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
    far = first < _TINY
    return where(far, first, log(gammaincinv(c, where(far, 0.5, q))))


def gamma_icdf_power(q: Any, c: Any, power_of: Any) -> Any:
    """Compute a power of gammaincinv(c, q), also where that underflows."""
    first = (log(q) + gammaln(c + 1.0)) / c
    far = first < _TINY
    near = power(gammaincinv(c, where(far, 0.5, q)), power_of)
    return where(far, exp(power_of * where(far, first, -1.0)), near)


def log_betainc(a: Any, b: Any, x: Any, y: Any = None) -> Any:
    """Logarithm of the regularized incomplete beta function of x, where y is 1 - x."""
    y = 1.0 - x if y is None else y
    parts = betainc(a, b, x), betainc(b, a, y)
    return _log_tail(*parts, _log_betainc_far, (a, b, x, y), (1.0, 1.0, 0.5, 0.5))


def log_betaincc(a: Any, b: Any, x: Any, y: Any = None) -> Any:
    """Logarithm of 1 - betainc(a, b, x), where y is 1 - x."""
    return log_betainc(b, a, 1.0 - x if y is None else y, x)


def log_betainc_far(a: Any, b: Any, log_x: Any) -> Any:
    """Compute the log of the regularized incomplete beta function where x is far below 1 / b.

    The first term of its series (NIST Digital Library of Mathematical Functions, 8.17.7).
    """
    return a * log_x - log(a) - log_beta(a, b)


def log_betainc_of_logs(a: Any, b: Any, log_x: Any, log_y: Any) -> Any:
    """Compute log_betainc from log x and log(1 - x), either of which may underflow."""
    below, above = log_x < _TINY - log(maximum(b, 1.0)), log_y < _TINY - log(maximum(a, 1.0))
    known = below | above
    inside = log_betainc(a, b, *(exp(where(known, -LOG_2, each)) for each in (log_x, log_y)))
    tail = log_betainc_far(a, b, where(below, log_x, -1.0))
    rest = log_betainc_far(b, a, where(above, log_y, -1.0))
    return where(below, tail, where(above, log1p(-exp(rest)), inside))


def log_beta_quantile(q: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Logarithm of the quantile of a beta variable, and where it holds: where that is tiny."""
    first = (log(q) + log(a) + log_beta(a, b)) / a
    return first, first < _TINY - log(maximum(b, 1.0))


def beta_icdf(q: Any, a: Any, b: Any) -> Any:
    """Compute the quantile of a beta distribution, also where it underflows."""
    first, far = log_beta_quantile(q, a, b)
    return where(far, exp(where(far, first, -1.0)), betaincinv(a, b, where(far, 0.5, q)))


def beta_quantile(q: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Compute the quantile of a beta distribution and its complement, the smaller one precisely."""
    x, rest = beta_icdf(q, a, b), beta_icdf(1.0 - q, b, a)
    low = x < 0.5
    return where(low, x, 1.0 - rest), where(low, 1.0 - x, rest)


def log_normal_within(z: Any) -> Any:
    """Logarithm of the probability of the standard normal between -z and z, also for tiny z."""
    small = z < 1.0
    near = log(erf(where(small, z, 1.0) * math.sqrt(0.5)))
    return where(small, near, log1mexp(LOG_2 + log_ndtr(-where(small, 1.0, z))))


def log_normal_beyond(z: Any) -> Any:
    """Logarithm of the probability of the standard normal below -z and above z."""
    small = z < 1.0
    near = log1p(-erf(where(small, z, 1.0) * math.sqrt(0.5)))
    return where(small, near, LOG_2 + log_ndtr(-where(small, 1.0, z)))


def normal_beyond_quantile(q: Any) -> Any:
    """Compute the two-sided quantile of the standard normal distribution."""
    small = q < 0.5
    near = math.sqrt(2.0) * erfinv(1.0 - where(small, 1.0, q))
    return where(small, -ndtri(0.5 * where(small, q, 0.5)), near)


def log_mills_apart(u: Any, gap: Any) -> Any:
    """log(m(u) - m(u + gap)) of Mills' ratio m(u) = Φ(-u) / φ(u), for u from 20 on.

    By its asymptotic series (NIST Digital Library of Mathematical Functions, 7.12.1) of 1 / u less
    that of 1 / (u + gap), with the difference of the two taken out of all powers.
    """
    one, other = 1.0 / u, 1.0 / (u + gap)
    powers, last, total, factor = 1.0 + 0.0 * one, other, 0.0, 1.0
    for n in range(11):
        total = total + factor * powers
        factor *= -(2.0 * n + 1.0)
        for _ in range(2):
            powers, last = one * powers + last, other * last
    return log(gap) + log(one) + log(other) + log(total)


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


def at_most_zero(method: Callable[..., Any]) -> Callable[..., Any]:
    """Round the log probabilities that a method returns to at most 0; NaN stays NaN.

    Sums of probabilities and differences of logarithms exceed it in the last digit, by which
    depends on the backend and on the processor.
    """

    @wraps(method)
    def rounded(self: Any, x: Any) -> Any:
        value = method(self, x)
        # A minimum would split the slope at 0 between both operands.
        return where(value > 0.0, 0.0, value)

    return rounded


def count_below(x: float | DimTensor) -> Any:
    """Return the largest integer below a number, in the dtype of the number."""
    return (math.ceil(x) if isinstance(x, (int, float)) else ceil(x)) - 1.0
