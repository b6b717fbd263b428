"""Formulas of Student's t distribution, and of its skewed form by Jones and Faddy."""

from __future__ import annotations

import math
from typing import Any

from dimtensor.dist.formulas import HALF_LOG_2PI, LOG_2, log1p_square
from dimtensor.dist.gammas import log_half_rising, log_rising
from dimtensor.dist.probabilities import beta_quantile, log_beta_quantile, log_betainc_of_logs
from dimtensor.tensor.elementwise import (
    abs,
    betaincinv,
    betaln,
    erfinv,
    exp,
    expm1,
    log,
    log1p,
    log_ndtr,
    maximum,
    minimum,
    ndtri,
    sqrt,
    square,
    stop_gradient,
    where,
)


def student_logp(z: Any, nu: Any) -> Any:
    """Log density of the standard t distribution.

    The logarithm of Γ((nu + 1) / 2) / (Γ(nu / 2) √(nu / 2)) does not cancel for large nu.
    """
    ratio = log_rising(0.5 * nu, 0.5) - HALF_LOG_2PI
    return ratio - 0.5 * (nu + 1.0) * log1p_square(z / sqrt(nu))


MANY = 1e5  # degrees of freedom from which expansions around the normal are exact


def student_normal(size: Any, nu: Any) -> Any:
    """Map a Student t variable to a normal one with the same probability, for large nu.

    G. W. Hill, Algorithm 395, Communications of the ACM 13, 617-619 (1970).
    """
    a = nu - 0.5
    b = 48.0 * square(a)
    y = a * log1p_square(size / sqrt(nu))
    above = ((-0.4 * y - 3.3) * y - 24.0) * y - 85.5
    term = (above / (0.8 * square(y) + 100.0 + b) + y + 3.0) / b
    return (term + 1.0) * sqrt(y)


def student_log_tail(size: Any, nu: Any) -> Any:
    """Log probability of values above a positive one."""
    many = nu > MANY
    few, nu = where(many, 1.0, nu), where(many, nu, 2.0 * MANY)
    normal = log_ndtr(-student_normal(size, nu))
    z = size / sqrt(few)
    log_x = -log1p_square(z)
    part = log_betainc_of_logs(0.5 * few, 0.0 * few + 0.5, log_x, 2.0 * log(z) + log_x)
    return where(many, normal, part - LOG_2)


def student_quantile(rest: Any, within: Any, nu: Any) -> Any:
    """Compute the two-sided quantile from a probability and its complement.

    For many degrees of freedom by an expansion (Abramowitz and Stegun, 26.7.5).
    """
    far = rest < 0.5  # the smaller probability has the digits
    rest, within = where(far, rest, 0.5), where(far, 0.5, within)
    many = nu > MANY
    few, nu = where(many, 1.0, nu), where(many, nu, 2.0 * MANY)
    z = where(far, -ndtri(0.5 * rest), math.sqrt(2.0) * erfinv(within))
    s = square(z)
    first, second = (s + 1.0) / 4.0, ((5.0 * s + 16.0) * s + 3.0) / 96.0
    third = (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0
    normal = z * (1.0 + (first + (second + third / nu) / nu) / nu)
    # near 0, where squares vanish, the density is constant
    near = 0.5 * within * exp(betaln(0.5 * few, 0.5))
    tiny = near < 1e-9
    log_x, power = log_beta_quantile(rest, 0.5 * few, 0.0 * few + 0.5)  # far out the tail is one
    x = betaincinv(0.5 * few, 0.5, where(power, 0.5, rest))
    y = betaincinv(0.5, 0.5 * few, where(tiny, 0.5, within))
    ratio = where(tiny, near, sqrt(where(far, (1.0 - x) / x, y / (1.0 - y))))
    ratio = where(power, exp(-0.5 * where(power, log_x, -1.0)), ratio)
    return where(many, normal, sqrt(few) * ratio)


def student_logcdf(z: Any, p: Any) -> Any:
    middle = square(z) * (1.0 + 1.0 / p.nu) < 2.0 * SMALL
    tail = student_log_tail(where(middle, 1.0, abs(z)), p.nu)
    return where(middle, _student_middle(z, p.nu), where(z < 0.0, tail, log1p(-exp(tail))))


SMALL = 0.01  # where series in it have all digits after a few terms


def _student_middle(z: Any, nu: Any) -> Any:
    """Log probability of values up to one near 0, where the incomplete beta function has no slope.

    The odd series of the integral of the density: z p(0) F(1/2, (nu + 1)/2; 3/2; -z²/nu) with the
    hypergeometric function (Abramowitz and Stegun, 15.1.1 and 26.7).
    """
    w = -square(z) / nu
    total: Any = 1.0
    for k in reversed(range(8)):
        factor = (k + 0.5) * (0.5 * (nu + 1.0) + k) / ((k + 1.5) * (k + 1.0))
        total = 1.0 + factor * w * total
    density = exp(log_rising(0.5 * nu, 0.5) - HALF_LOG_2PI)
    return log(0.5 + z * density * total)


def student_icdf(q: Any, p: Any) -> Any:
    left = q < 0.5
    rest = 2.0 * where(left, q, 1.0 - q)
    size = student_quantile(rest, 1.0 - rest, p.nu)
    return where(left, -size, size)


def student_variance(nu: Any) -> Any:
    """Infinite up to 2 degrees of freedom; there is none up to 1."""
    return where(nu > 2.0, nu / (nu - 2.0), where(nu > 1.0, math.inf * nu, math.nan))


def _skew_logs(t: Any, p: Any) -> tuple[Any, Any]:
    """Logarithms of 1 + u and 1 - u, where u = t / √(a + b + t²)."""
    c = p.a + p.b
    size = stop_gradient(maximum(abs(t), 1.0))  # whose square may be too large for a number
    r = size * sqrt(c / size / size + square(t / size))
    u = t / r
    narrow = log(c) - 2.0 * log(r) - log1p(abs(u))
    return where(u > -0.5, log1p(u), narrow), where(u < 0.5, log1p(-u), narrow)


def skew_student_logp(t: Any, p: Any) -> Any:
    upper, lower = _skew_logs(t, p)
    constant = (p.a + p.b - 1.0) * LOG_2 + betaln(p.a, p.b) + 0.5 * log(p.a + p.b)
    return (p.a + 0.5) * upper + (p.b + 0.5) * lower - constant


def skew_student_part(turned: bool) -> Any:
    def formula(t: Any, p: Any) -> Any:
        upper, lower = _skew_logs(t, p)
        given = (p.a, upper - LOG_2), (p.b, lower - LOG_2)
        (a, log_x), (b, log_y) = given[::-1] if turned else given
        return log_betainc_of_logs(a, b, log_x, log_y)

    return formula


def _skew_size(log_y: Any, p: Any) -> Any:
    """Compute the absolute value of a quantile with a tiny share, or complement of it."""
    return 0.5 * sqrt(p.a + p.b) * exp(-0.5 * log_y)


def _skew_back(y: Any, rest: Any, p: Any) -> Any:
    return (y - rest) * sqrt(p.a + p.b) / (2.0 * sqrt(y) * sqrt(rest))


def skew_student_icdf(q: Any, p: Any) -> Any:
    low, left = log_beta_quantile(q, p.a, p.b)
    high, right = log_beta_quantile(1.0 - q, p.b, p.a)
    near = _skew_back(*beta_quantile(where(left | right, 0.5, q), p.a, p.b), p)
    low, high = where(left, low, -1.0), where(right, high, -1.0)
    return where(left, -_skew_size(low, p), where(right, _skew_size(high, p), near))


def _skew_student_mean(a: Any, b: Any) -> Any:
    a, b, half = a - 0.5, b - 0.5, 0.5 * (a - b) * sqrt(a + b)
    return half * exp(-log_half_rising(a) - log_half_rising(b)) / (sqrt(a) * sqrt(b))


def skew_student_mean(p: Any) -> Any:
    """Infinite where one of the shapes is up to 1/2, whose tail is heavy; there is none of two."""
    finite = minimum(p.a, p.b) > 0.5
    a, b = where(finite, p.a, 1.0), where(finite, p.b, 1.0)
    value = _skew_student_mean(a, b)
    value = where(p.b > 0.5, where(p.a > 0.5, value, -math.inf), math.inf)
    return where(maximum(p.a, p.b) > 0.5, value, math.nan)


def skew_student_variance(p: Any) -> Any:
    """Infinite where one of the shapes is up to 1; there is none of one up to 1/2."""
    least = minimum(p.a, p.b)
    finite = least > 1.0
    a, b = where(finite, p.a, 2.0), where(finite, p.b, 2.0)
    # the second moment less the square of the mean, without their difference
    log_ratio = -2.0 * (log_half_rising(a - 0.5) + log_half_rising(b - 0.5))
    log_ratio = log_ratio + log1p(-0.5 / (a - 0.5)) + log1p(-0.5 / (b - 0.5))
    apart = a + b - 2.0 - square(a - b) * expm1(log_ratio)
    value = 0.25 * (a + b) / (a - 1.0) * apart / (b - 1.0)
    return where(least > 0.5, where(finite, value, math.inf), math.nan)


def draw_skew_student(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    y, rng = rng.beta(p.a, p.b, dims=dims)
    return _skew_back(y, 1.0 - y, p), rng
