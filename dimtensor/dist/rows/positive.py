"""Rows of the distribution table: on positive numbers, of normal, logistic and other variables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dimtensor.dist.formulas import (
    HALF_LOG_2PI,
    JKB1,
    JKB2,
    LOG_2,
    LOG_PI,
    REACH,
    by_sides,
    integral,
    log1p_square,
    magnitude,
    normal_reach,
)
from dimtensor.dist.gammas import log_rising
from dimtensor.dist.probabilities import (
    log_below,
    log_betainc_of_logs,
    log_mills_apart,
    log_normal_beyond,
    log_normal_within,
    log_of_two,
    log_part,
)
from dimtensor.dist.rows.cells import INVERSE_SQUARE, PRECISION, first, instead, tails
from dimtensor.dist.rows.gamma import DEGREES
from dimtensor.dist.rows.student import (
    MANY,
    student_logp,
    student_normal,
    student_quantile,
    student_variance,
)
from dimtensor.dist.supports import Bounded, plain_bound, positive
from dimtensor.dist.table import IMPROPER, NO_CLOSED_FORM, Row, also, params
from dimtensor.tensor.elementwise import (
    abs,
    arctan,
    arctanh,
    erfinv,
    exp,
    expm1,
    i0e,
    i1e,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    logaddexp,
    maximum,
    minimum,
    ndtri,
    power,
    sqrt,
    square,
    stop_gradient,
    tan,
    where,
)


def _cauchy_parts(z: Any) -> tuple[Any, Any]:
    """Probabilities of smaller and larger absolute values."""
    return arctan(z) * (2.0 / math.pi), arctan(1.0 / z) * (2.0 / math.pi)


def _scaled(scale: Any, drawn: tuple[Any, Any]) -> tuple[Any, Any]:
    value, rng = drawn
    return scale * value, rng


def above(low: Any) -> Bounded:
    """Return the support above a parameter."""
    return Bounded(plain_bound(low))


def _half_student_mean(nu: Any) -> Any:
    many = where(nu > 1.0, nu, 2.0)
    ratio = exp(log_rising(0.5 * many, 0.5)) * sqrt(0.5 * many)
    return where(nu > 1.0, 2.0 * sqrt(many / math.pi) * ratio / (many - 1.0), math.inf)


def _half_student_parts(z: Any, nu: Any) -> tuple[Any, Any]:
    """Log probabilities of smaller absolute values and of larger ones."""
    many, given = nu > MANY, nu
    normal = student_normal(z, where(many, nu, 2.0 * MANY))
    nu = where(many, 1.0, nu)
    log_y = -log1p_square(z / sqrt(nu))
    logs = 2.0 * log(z / sqrt(nu)) + log_y, log_y
    half = 0.0 * nu + 0.5
    below = log_betainc_of_logs(half, 0.5 * nu, *logs)
    above = log_betainc_of_logs(0.5 * nu, half, *logs[::-1])
    below = where(many, log_normal_within(normal), below)
    above = where(many, log_normal_beyond(normal), above)
    near = z * sqrt(1.0 + 1.0 / nu) < 1e-9  # the density is constant, and squares vanish
    first = log(where(near, z, 1.0)) + LOG_2 - HALF_LOG_2PI + log_rising(0.5 * given, 0.5)
    return where(near, first, below), where(near, log1p(-exp(first)), above)


def _rice_mean(p: Any) -> Any:
    t = 0.5 * square(p.nu / p.sigma)
    bessel = (1.0 + t) * i0e(0.5 * t) + t * i1e(0.5 * t)
    return p.sigma * math.sqrt(math.pi / 2.0) * bessel


def _rice_variance(p: Any) -> Any:
    """By the series of the mean for large t (NIST DLMF, 13.7.2): squares would cancel."""
    t = 0.5 * square(p.nu / p.sigma)
    far = t > 50.0
    inverse = 1.0 / where(far, t, 50.0)
    u: Any = 0.0  # the mean is nu (1 + u / t)
    for one in reversed(_RICE):
        u = one + u * inverse
    near = 2.0 + where(far, 1.0, 2.0 * t - square(_rice_mean(p) / p.sigma))
    return square(p.sigma) * where(far, 2.0 - 2.0 * u * (2.0 + u * inverse), near)


# products of ((2 k - 3) / 2)² / k for k from 1 to n
_RICE = [math.prod((k - 1.5) ** 2 / k for k in range(1, n + 1)) for n in range(1, 14)]


def _rice_logp(x: Any, p: Any) -> Any:
    t = x * p.nu / square(p.sigma)
    near = abs(t) - 0.5 * (square(x) + square(p.nu)) / square(p.sigma)  # smooth in nu at 0
    peak = where(t < 1.0, near, -0.5 * square((x - p.nu) / p.sigma))
    return log(x) - 2.0 * log(p.sigma) + peak + log(i0e(t))


def _rice_logs(x: Any, p: Any) -> tuple[Any, Any]:
    """Log probabilities of smaller values and of larger ones, by quadrature, to about 1e-13.

    In units of sigma the density is t i0e(a t) exp(-(t - a)² / 2). The product of the first two
    factors increases with t, no faster than t itself, so that the last factor tells where the
    density is negligible.
    """
    z, a, y = x / p.sigma, p.nu / p.sigma, (x - p.nu) / p.sigma
    below, above = minimum(y, 0.0), maximum(y, 0.0)  # of x and nu the smaller and the larger one
    most = math.sqrt(REACH)

    def part(t: Any, direction: float, apart: Any, width: Any, unit: Any) -> Any:
        """Integral from t on, or from t down, at a distance from a, in units of the density."""

        def height(s: Any) -> Any:
            at = t + direction * s
            return at / unit * i0e(a * at) * exp(-s * (apart + 0.5 * s))

        return integral(height, width)

    # of those parts that begin at a, the width is 0 where x is on the other side
    low, high = minimum(z, a), maximum(z, a)
    # units by which t is divided, as its integral may be too small for a number
    least = float(np.finfo(z.dtype).tiny)
    unit, higher = maximum(z, least), maximum(high, least)
    smaller = part(low, -1.0, -below, minimum(low, stop_gradient(normal_reach(below))), unit)
    smaller = smaller + part(a, 1.0, 0.0, minimum(above, most), higher)
    larger = part(high, 1.0, above, stop_gradient(normal_reach(above)), 1.0)
    larger = larger + part(a, -1.0, 0.0, minimum(-below, most), 1.0)
    return (
        minimum(log(smaller) + log(unit) - 0.5 * square(below), 0.0),
        minimum(log(larger) - 0.5 * square(above), 0.0),
    )


def _draw_rice(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = rng.normal(p.nu, p.sigma, dims=dims)
    y, rng = rng.normal(0.0, p.sigma, dims=dims)
    return sqrt(square(x) + square(y)), rng


def _wald_logp(x: Any, p: Any) -> Any:
    y = x - p.alpha
    square_of = p.lam * square(y - p.mu) / (square(p.mu) * y)
    return 0.5 * log(p.lam) - HALF_LOG_2PI - 1.5 * log(y) - 0.5 * square_of


def _wald_parts(x: Any, p: Any) -> tuple[Any, Any]:
    y = x - p.alpha
    root = sqrt(p.lam / y)
    return root * (y / p.mu - 1.0), 2.0 * p.lam / p.mu + log_ndtr(-root * (y / p.mu + 1.0))


def _wald_logcdf(x: Any, p: Any) -> Any:
    a, rest = _wald_parts(x, p)
    return logaddexp(log_ndtr(a), rest)


def _wald_logsf(x: Any, p: Any) -> Any:
    """Far out by the difference of two of Mills' ratios, which the two terms are."""
    y = x - p.alpha
    root = sqrt(p.lam / y)
    a = root * (y / p.mu - 1.0)
    far = a > 20.0
    tail = log_mills_apart(where(far, a, 20.0), 2.0 * root) - HALF_LOG_2PI - 0.5 * square(a)
    a, rest = _wald_parts(where(far, p.alpha + p.mu, x), p)
    whole = log_ndtr(-a)
    return where(far, tail, whole + log1mexp(rest - whole))


def _draw_wald(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = rng.wald(p.mu, p.lam, dims=dims)
    return x + p.alpha, rng


POSITIVE: list[Row] = [
    Row(
        name="HalfNormal",
        doc="The normal distribution around 0, of absolute values.",
        density="√2 exp(-x² / (2 sigma²)) / (sigma √π)",
        params=params("sigma: positive = 1 | scale"),
        alternatives=PRECISION,
        support=lambda p: positive,
        logp=lambda x, p: (
            LOG_2 - HALF_LOG_2PI - 0.5 * square(x / p.sigma) - log(p.sigma)
        ),
        logcdf=lambda x, p: log_normal_within(x / p.sigma),
        logsf=lambda x, p: log_normal_beyond(x / p.sigma),
        icdf=lambda q, p: math.sqrt(2.0) * p.sigma * erfinv(q),
        mean=lambda p: p.sigma * math.sqrt(2.0 / math.pi),
        variance=lambda p: square(p.sigma) * (1.0 - 2.0 / math.pi),
        draw=lambda rng, p, dims: magnitude(rng.normal(0.0, p.sigma, dims=dims)),
        source=f"{JKB1}, section 13.10.1",
        example={"sigma": 1.5},
        window=(0, 5),
    ),
    Row(
        name="Exponential",
        doc="The exponential distribution.",
        density="lam exp(-lam x)",
        params=params("lam: positive = 1 | rate"),
        alternatives=instead("lam", "scale: positive | 1 / lam", by=lambda p: 1.0 / p.scale),
        support=lambda p: positive,
        logp=lambda x, p: log(p.lam) - p.lam * x,
        logcdf=lambda x, p: log1mexp(-p.lam * x),
        logsf=lambda x, p: -p.lam * x,
        icdf=lambda q, p: -log1p(-q) / p.lam,
        mean=lambda p: 1.0 / p.lam,
        variance=lambda p: 1.0 / square(p.lam),
        draw=lambda rng, p, dims: rng.exponential(1.0 / p.lam, dims=dims),
        source=f"{JKB1}, chapter 19",
        example={"lam": 0.7},
        window=(0, 6),
    ),
    Row(
        name="LogNormal",
        doc="The distribution of exp(y) where y is normal.",
        density="exp(-(log x - mu)² / (2 sigma²)) / (x sigma √(2π))",
        params=params("mu: real = 0 | mean of log x", "sigma: positive = 1 | its deviation"),
        alternatives=PRECISION,
        support=lambda p: positive,
        ends="(]",
        logp=lambda x, p: (
            -0.5 * square((log(x) - p.mu) / p.sigma) - log(x) - log(p.sigma) - HALF_LOG_2PI
        ),
        logcdf=lambda x, p: log_ndtr((log(x) - p.mu) / p.sigma),
        logsf=lambda x, p: log_ndtr((p.mu - log(x)) / p.sigma),
        icdf=lambda q, p: exp(p.mu + p.sigma * ndtri(q)),
        mean=lambda p: exp(p.mu + 0.5 * square(p.sigma)),
        variance=lambda p: expm1(square(p.sigma)) * exp(2.0 * p.mu + square(p.sigma)),
        draw=lambda rng, p, dims: rng.lognormal(p.mu, p.sigma, dims=dims),
        source=f"{JKB1}, chapter 14",
        example={"mu": 0.2, "sigma": 0.5},
        window=(0, 5),
    ),
    Row(
        name="HalfFlat",
        doc="The improper density that is 1 on all positive numbers.",
        density="1",
        params=(),
        support=lambda p: positive,
        logp=lambda x, p: 0.0 * x,
        logcdf=IMPROPER,
        icdf=IMPROPER,
        mean=IMPROPER,
        variance=IMPROPER,
        draw=IMPROPER,
        source="Gelman et al., Bayesian Data Analysis (2013), section 2.8",
        example={},
        window=(0, 3),
    ),
    Row(
        name="HalfCauchy",
        doc="The Cauchy distribution around 0, of absolute values.",
        density="2 / (π beta (1 + (x / beta)²))",
        params=params("beta: positive = 1 | scale"),
        support=lambda p: positive,
        logp=lambda x, p: LOG_2 - LOG_PI - log(p.beta) - log1p_square(x / p.beta),
        **tails(lambda x, p: _cauchy_parts(x / p.beta), log_part),
        icdf=lambda q, p: p.beta * where(
            q < 0.5, tan(0.5 * math.pi * q), 1.0 / tan(0.5 * math.pi * (1.0 - q))
        ),
        mean=lambda p: math.inf * p.beta,
        variance=lambda p: math.inf * p.beta,
        draw=lambda rng, p, dims: _scaled(p.beta, magnitude(rng.standard_cauchy(dims=dims))),
        source="Gelman, Bayesian Analysis 1, 515-534 (2006)",
        example={"beta": 1.3},
        window=(0, 8),
    ),
    Row(
        name="HalfStudentT",
        doc="Student's t distribution around 0, of absolute values.",
        density="2 Γ((nu+1)/2) / (Γ(nu/2) sigma √(nu π)) (1 + (x / sigma)²/nu)^(-(nu+1)/2)",
        params=params(DEGREES, "sigma: positive = 1 | scale"),
        alternatives=INVERSE_SQUARE,
        support=lambda p: positive,
        logp=lambda x, p: LOG_2 + student_logp(x / p.sigma, p.nu) - log(p.sigma),
        **tails(lambda x, p: _half_student_parts(x / p.sigma, p.nu), first),
        icdf=lambda q, p: p.sigma * student_quantile(1.0 - q, q, p.nu),
        mean=lambda p: p.sigma * _half_student_mean(p.nu),
        variance=lambda p: square(p.sigma) * (
            student_variance(p.nu) - square(_half_student_mean(p.nu))
        ),
        draw=lambda rng, p, dims: _scaled(p.sigma, magnitude(rng.standard_t(p.nu, dims=dims))),
        source="Gelman, Bayesian Analysis 1, 515-534 (2006)",
        example={"nu": 4.0, "sigma": 1.3},
        window=(0, 7),
    ),
    Row(
        name="HalfLogistic",
        doc="The logistic distribution around 0, of absolute values.",
        density="2 exp(-z) / (s (1 + exp(-z))²), z = x / s",
        params=params("s: positive = 1 | scale"),
        support=lambda p: positive,
        logp=lambda x, p: LOG_2 - log(p.s) - x / p.s - 2.0 * log1p(exp(-x / p.s)),
        logcdf=lambda x, p: log1mexp(-x / p.s) - log1p(exp(-x / p.s)),
        logsf=lambda x, p: by_sides(
            lambda z: -log1p(0.5 * expm1(z)), lambda z: LOG_2 - z - log1p(exp(-z)), x / p.s, 1.0
        ),
        icdf=lambda q, p: 2.0 * p.s * arctanh(q),
        mean=lambda p: 2.0 * LOG_2 * p.s,
        variance=lambda p: (math.pi**2 / 3.0 - 4.0 * LOG_2**2) * square(p.s),
        draw=lambda rng, p, dims: magnitude(rng.logistic(0.0, p.s, dims=dims)),
        source=f"{JKB2}, section 23.11",
        example={"s": 1.2},
        window=(0, 7),
    ),
    Row(
        name="Rayleigh",
        doc="The Rayleigh distribution: the length of a normal vector of two elements.",
        density="x exp(-x² / (2 sigma²)) / sigma²",
        params=params("sigma: positive = 1 | scale"),
        support=lambda p: positive,
        logp=lambda x, p: log(x) - 2.0 * log(p.sigma) - 0.5 * square(x / p.sigma),
        logcdf=lambda x, p: log_below(2.0 * log(x / p.sigma) - LOG_2),
        logsf=lambda x, p: -0.5 * square(x / p.sigma),
        icdf=lambda q, p: p.sigma * sqrt(-2.0 * log1p(-q)),
        mean=lambda p: p.sigma * math.sqrt(math.pi / 2.0),
        variance=lambda p: square(p.sigma) * (2.0 - math.pi / 2.0),
        draw=lambda rng, p, dims: rng.rayleigh(p.sigma, dims=dims),
        source=f"{JKB1}, section 18.10.1",
        example={"sigma": 1.2},
        window=(0, 5),
    ),
    Row(
        name="Rice",
        doc="The Rice distribution: the length of a normal vector that is not around 0.",
        density="x exp(-(x² + nu²) / (2 sigma²)) I₀(x nu / sigma²) / sigma²",
        params=params("nu: not negative | length of the mean", "sigma: positive = 1 | scale"),
        alternatives=instead("nu", "b: not negative | nu / sigma", by=lambda p: p.b * p.sigma),
        support=lambda p: positive,
        logp=_rice_logp,
        **tails(_rice_logs, log_of_two),
        icdf=NO_CLOSED_FORM,
        mean=_rice_mean,
        variance=_rice_variance,
        draw=_draw_rice,
        source="Rice, Bell System Technical Journal 24, 46-156 (1945)",
        example={"nu": 1.5, "sigma": 0.9},
        window=(0, 5),
    ),
    Row(
        name="Wald",
        doc="The inverse Gaussian distribution, from alpha on.",
        density="√(lam / (2π y³)) exp(-lam (y - mu)² / (2 mu² y)), y = x - alpha",
        params=params("mu: positive | mean of y", "lam: positive = 1 | shape",
                      "alpha: real = 0 | shift"),
        keyword_only=("alpha",),
        alternatives=(
            *instead("lam", "phi: positive | lam / mu", by=lambda p: p.mu * p.phi),
            also("lam: positive | shape", "phi: positive | lam / mu", "alpha: real = 0 | shift",
                 by=lambda p: {"mu": p.lam / p.phi}),
        ),
        support=lambda p: above(p.alpha),
        ends="(]",
        logp=_wald_logp,
        logcdf=_wald_logcdf,
        logsf=_wald_logsf,
        icdf=NO_CLOSED_FORM,
        mean=lambda p: p.mu + p.alpha,
        variance=lambda p: power(p.mu, 3.0) / p.lam,
        draw=_draw_wald,
        source=f"{JKB1}, chapter 15",
        example={"mu": 1.5, "lam": 2.0, "alpha": 0.0},
        window=(0, 6),
    ),
]  # fmt: skip
