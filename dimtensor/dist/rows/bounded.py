"""Rows of the distribution table: between bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dimtensor.dist.formulas import HALF_LOG_2PI, JKB1, JKB2, LOG_2, LOG_PI, log_odds
from dimtensor.dist.gammas import log_gamma_bend, log_rising
from dimtensor.dist.probabilities import beta_icdf, log_below, log_betainc, log_betaincc, log_part
from dimtensor.dist.rows.cells import PRECISION, first, tails
from dimtensor.dist.supports import Bounded, Support, plain_bound, unit
from dimtensor.dist.table import NO_CLOSED_FORM, Row, also, params
from dimtensor.tensor.elementwise import (
    abs,
    arcsin,
    betaln,
    cosh,
    exp,
    expm1,
    gammaln,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    maximum,
    ndtri,
    power,
    sigmoid,
    sin,
    sinh,
    sqrt,
    square,
    where,
    xlog1py,
    xlogy,
)


def between(low: str, high: str) -> Callable[[Any], Support]:
    """Return the support between two parameters."""
    return lambda p: Bounded(plain_bound(getattr(p, low)), plain_bound(getattr(p, high)))


def _by_count(mean: Any, count: Any) -> dict[str, Any]:
    return {"alpha": mean * count, "beta": (1.0 - mean) * count}


def scaled_beta(shapes: Callable[[Any], tuple[Any, Any]]) -> dict[str, Any]:
    """Cells of a beta variable between the parameters lower and upper."""

    def place(x: Any, p: Any) -> tuple[Any, Any, Any, Any]:
        a, b = shapes(p)
        width = p.upper - p.lower
        return a, b, (x - p.lower) / width, (p.upper - x) / width

    def logp(x: Any, p: Any) -> Any:
        a, b, y, rest = place(x, p)
        return xlogy(a - 1.0, y) + xlogy(b - 1.0, rest) - betaln(a, b) - log(p.upper - p.lower)

    def mean(p: Any) -> Any:
        a, b = shapes(p)
        return p.lower + (p.upper - p.lower) * a / (a + b)

    def variance(p: Any) -> Any:
        a, b = shapes(p)
        return square((p.upper - p.lower) / (a + b)) * a * b / (a + b + 1.0)

    def draw(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
        y, rng = rng.beta(*shapes(p), dims=dims)
        return p.lower + (p.upper - p.lower) * y, rng

    return {
        "support": between("lower", "upper"),
        "logp": logp,
        "logcdf": lambda x, p: log_betainc(*place(x, p)),
        "logsf": lambda x, p: log_betaincc(*place(x, p)),
        "icdf": lambda q, p: p.lower + (p.upper - p.lower) * beta_icdf(q, *shapes(p)),
        "mean": mean,
        "variance": variance,
        "draw": draw,
    }


def _pert_shapes(p: Any) -> tuple[Any, Any]:
    width = p.upper - p.lower
    return 1.0 + p.lam * (p.mode - p.lower) / width, 1.0 + p.lam * (p.upper - p.mode) / width


def _log_ratio(low: Any, high: Any) -> Any:
    """log(high / low), with all digits where they are close, too."""
    close = high < 2.0 * low
    near = log1p(where(close, high - low, low) / low)
    return where(close, near, log(where(close, 2.0 * low, high) / low))


def _log_uniform_variance(p: Any) -> Any:
    """Compute the variance without cancellation of the second moment and the squared mean.

    With 2 h the logarithm of the ratio it is lower upper (sinh(h) / h) (cosh(h) - sinh(h) / h).
    """
    h = 0.5 * _log_ratio(p.lower, p.upper)
    near = h < 0.5
    small, far = where(near, h, 0.5), where(near, 0.5, h)
    s = square(small)
    total: Any = 0.0
    for k in range(8, 0, -1):
        total = (2.0 * k / math.factorial(2 * k + 1) + total) * s
    apart = where(near, total, cosh(far) - sinh(far) / far)
    return p.lower * p.upper * sinh(h) / h * apart


def _log_uniform_parts(x: Any, p: Any) -> tuple[Any, Any]:
    """Probabilities of smaller values and of larger ones."""
    whole = _log_ratio(p.lower, p.upper)
    return _log_ratio(p.lower, x) / whole, _log_ratio(x, p.upper) / whole


def _log_uniform_icdf(q: Any, p: Any) -> Any:
    """From the bound that is nearer."""
    width, low = _log_ratio(p.lower, p.upper), q < 0.5
    return where(low, p.lower, p.upper) * exp(where(low, q, q - 1.0) * width)


def _kumaraswamy_logsf(x: Any, p: Any) -> Any:
    """Compute the cdf so that its complement near 1 is precise."""
    log_power = p.a * log(x)
    low = log_power < -1.0
    near = log1mexp(where(low, -1.0, log_power))
    return p.b * where(low, log1p(-where(low, power(x, p.a), 0.0)), near)


def _kumaraswamy_logcdf(x: Any, p: Any) -> Any:
    log_power = p.a * log(x)
    far = log_power < -40.0
    u = where(far, log_power, log(-log1mexp(where(far, -1.0, log_power))))
    return log_below(log(p.b) + u)


def _kumaraswamy_icdf(q: Any, p: Any) -> Any:
    return power(-expm1(log1p(-q) / p.b), 1.0 / p.a)


def _kumaraswamy_mean(p: Any) -> Any:
    t = 1.0 / p.a
    return exp(gammaln(1.0 + t) - log_rising(p.b, 1.0 + t) - t * log(p.b))


def _kumaraswamy_variance(p: Any) -> Any:
    t = 1.0 / p.a
    apart = log_gamma_bend(0.0 * t + 1.0, t) - log_gamma_bend(1.0 + p.b, t)
    return square(_kumaraswamy_mean(p)) * expm1(apart)


def _logit_normal_z(x: Any, p: Any) -> Any:
    return (log_odds(x) - p.mu) / p.sigma


def _triangle_sides(x: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return whether a value is below the mode, and its distance from the end on its side."""
    below = x < p.c
    return below, where(below, x - p.lower, p.c - p.lower), where(below, p.upper - p.c, p.upper - x)


def _triangular_logp(x: Any, p: Any) -> Any:
    below, left, right = _triangle_sides(x, p)
    width = p.upper - p.lower
    rise, fall = where(below, p.c - p.lower, 1.0), where(below, 1.0, p.upper - p.c)
    top = (fall == 0.0) & (x == p.c)  # the density is largest at an end
    return (
        LOG_2
        - log(width)
        + where(
            below, log(left / rise), log(where(top, 1.0, right / where(fall == 0.0, 1.0, fall)))
        )
    )


def _triangular_parts(x: Any, p: Any) -> tuple[Any, Any]:
    """Log probabilities of smaller values and of larger ones."""
    below, left, right = _triangle_sides(x, p)
    width, rise, fall = p.upper - p.lower, p.c - p.lower, p.upper - p.c
    near, far = where(below, left, right), where(below, rise, fall)
    far = where(far > 0.0, far, 1.0)  # the mode may be an end, with all values on one side
    tail = 2.0 * log(near) - log(width) - log(far)
    # swap the sides of the mode
    rest = where(below, fall, rise) + abs(p.c - x) * (1.0 + near / far)
    rest = log_part(rest / width, near / width * (near / far))
    return where(below, tail, rest), where(below, rest, tail)


def _triangular_icdf(q: Any, p: Any) -> Any:
    width, rise, fall = p.upper - p.lower, p.c - p.lower, p.upper - p.c
    below = q < rise / width
    low = p.lower + sqrt(q * width * rise)
    # from the mode on: upper - sqrt((1 - q) width fall), without the difference
    root = fall + sqrt((1.0 - q) * width * fall)
    share = where(root > 0.0, fall / where(root > 0.0, root, 1.0), 0.0)
    return where(below, low, p.c + maximum(q * width - rise, 0.0) * share)


def _triangular_variance(p: Any) -> Any:
    rise, fall = p.c - p.lower, p.upper - p.c
    return (square(rise) + rise * fall + square(fall)) / 18.0


def _share(x: Any, p: Any) -> tuple[Any, Any]:
    """Return the shares of the distance between two bounds below and above a value."""
    width = p.upper - p.lower
    return (x - p.lower) / width, (p.upper - x) / width


def _arcsine_parts(x: Any, p: Any) -> tuple[Any, Any]:
    """Probabilities of smaller values and of larger ones."""
    y, rest = (2.0 / math.pi * arcsin(sqrt(each)) for each in _share(x, p))
    return y, rest


def _arcsine_logp(x: Any, p: Any) -> Any:
    y, rest = _share(x, p)
    return -LOG_PI - log(p.upper - p.lower) - 0.5 * (log(y) + log(rest))


BOUNDED: list[Row] = [
    Row(
        name="Uniform",
        doc="The uniform distribution.",
        density="1 / (upper - lower)",
        params=params("lower: real = 0 | lower end", "upper: real = 1 | upper end"),
        increasing=("lower", "upper"),
        support=between("lower", "upper"),
        logp=lambda x, p: -log(p.upper - p.lower) + 0.0 * x,
        **tails(_share, log_part),
        icdf=lambda q, p: p.lower + q * (p.upper - p.lower),
        mean=lambda p: 0.5 * (p.lower + p.upper),
        variance=lambda p: square(p.upper - p.lower) / 12.0,
        draw=lambda rng, p, dims: rng.uniform(p.lower, p.upper, dims=dims),
        source=f"{JKB2}, chapter 26",
        example={"lower": -1.0, "upper": 2.0},
        window=(-1.5, 2.5),
    ),
    Row(
        name="Beta",
        doc="The beta distribution.",
        density="x^(alpha - 1) (1 - x)^(beta - 1) / B(alpha, beta)",
        params=params("alpha: positive | shape at 0", "beta: positive | shape at 1"),
        alternatives=(
            also("mu: between 0 and 1 | mean", "sigma: positive | standard deviation",
                 by=lambda p: _by_count(p.mu, p.mu * (1.0 - p.mu) / square(p.sigma) - 1.0)),
            also("mu: between 0 and 1 | mean", "nu: positive | alpha + beta",
                 by=lambda p: _by_count(p.mu, p.nu)),
        ),
        support=lambda p: unit,
        logp=lambda x, p: (
            xlogy(p.alpha - 1.0, x) + xlog1py(p.beta - 1.0, -x) - betaln(p.alpha, p.beta)
        ),
        logcdf=lambda x, p: log_betainc(p.alpha, p.beta, x),
        logsf=lambda x, p: log_betaincc(p.alpha, p.beta, x),
        icdf=lambda q, p: beta_icdf(q, p.alpha, p.beta),
        mean=lambda p: p.alpha / (p.alpha + p.beta),
        variance=lambda p: (
            p.alpha * p.beta / (square(p.alpha + p.beta) * (p.alpha + p.beta + 1.0))
        ),
        draw=lambda rng, p, dims: rng.beta(p.alpha, p.beta, dims=dims),
        source=f"{JKB2}, chapter 25",
        example={"alpha": 2.0, "beta": 3.5},
        window=(0, 1),
    ),
    Row(
        name="BetaScaled",
        doc="The beta distribution between two bounds.",
        density="y^(alpha - 1) (1 - y)^(beta - 1) / (B(alpha, beta) (upper - lower)), "
        "y = (x - lower) / (upper - lower)",
        params=params("alpha: positive | shape at the lower end",
                      "beta: positive | shape at the upper end",
                      "lower: real = 0 | lower end", "upper: real = 1 | upper end"),
        increasing=("lower", "upper"),
        **scaled_beta(lambda p: (p.alpha, p.beta)),
        source=f"{JKB2}, chapter 25",
        example={"alpha": 2.0, "beta": 3.5, "lower": -1.0, "upper": 3.0},
        window=(-1, 3),
    ),
    Row(
        name="PERT",
        doc="The beta distribution of a smallest, a most likely and a largest value.",
        density="y^(a - 1) (1 - y)^(b - 1) / (B(a, b) (upper - lower)), "
        "y = (x - lower) / (upper - lower), a = 1 + lam (mode - lower) / (upper - lower), "
        "b = 2 + lam - a",
        params=params("lower: real | smallest value", "mode: real | most likely value",
                      "upper: real | largest value", "lam: positive = 4 | weight of the mode"),
        increasing=("lower", "mode", "upper"),
        **scaled_beta(_pert_shapes),
        source="Vose, Risk Analysis (2008), appendix III",
        example={"lower": -1.0, "mode": 0.5, "upper": 3.0, "lam": 4.0},
        window=(-1, 3),
    ),
    Row(
        name="Arcsine",
        doc="The arcsine distribution.",
        density="1 / (π √((x - lower) (upper - x)))",
        params=params("lower: real = 0 | lower end", "upper: real = 1 | upper end"),
        increasing=("lower", "upper"),
        support=between("lower", "upper"),
        logp=_arcsine_logp,
        **tails(_arcsine_parts, log_part),
        icdf=lambda q, p: p.lower + (p.upper - p.lower) * square(sin(0.5 * math.pi * q)),
        mean=lambda p: 0.5 * (p.lower + p.upper),
        variance=lambda p: square(p.upper - p.lower) / 8.0,
        source=f"{JKB2}, section 25.3",
        example={"lower": -1.0, "upper": 2.0},
        window=(-1, 2),
    ),
    Row(
        name="PowerFunction",
        doc="The power function distribution: the largest of alpha uniform variables.",
        density="alpha x^(alpha - 1)",
        params=params("alpha: positive | power"),
        support=lambda p: unit,
        logp=lambda x, p: log(p.alpha) + xlogy(p.alpha - 1.0, x),
        logcdf=lambda x, p: p.alpha * log(x),
        icdf=lambda q, p: power(q, 1.0 / p.alpha),
        mean=lambda p: p.alpha / (p.alpha + 1.0),
        variance=lambda p: p.alpha / (square(p.alpha + 1.0) * (p.alpha + 2.0)),
        draw=lambda rng, p, dims: rng.power(p.alpha, dims=dims),
        source=f"{JKB1}, section 20.8",
        example={"alpha": 2.5},
        window=(0, 1),
    ),
    Row(
        name="LogUniform",
        doc="The distribution whose logarithm is uniform.",
        density="1 / (x log(upper / lower))",
        params=params("lower: positive | lower end", "upper: positive | upper end"),
        increasing=("lower", "upper"),
        support=between("lower", "upper"),
        logp=lambda x, p: -log(x) - log(_log_ratio(p.lower, p.upper)),
        **tails(_log_uniform_parts, log_part),
        icdf=_log_uniform_icdf,
        mean=lambda p: (p.upper - p.lower) / _log_ratio(p.lower, p.upper),
        variance=_log_uniform_variance,
        source="Hamming, Bell System Technical Journal 49, 1609-1625 (1970)",
        example={"lower": 0.5, "upper": 4.0},
        window=(0.3, 4.2),
    ),
    Row(
        name="Kumaraswamy",
        doc="The Kumaraswamy distribution.",
        density="a b x^(a - 1) (1 - x^a)^(b - 1)",
        params=params("a: positive | shape at 0", "b: positive | shape at 1"),
        support=lambda p: unit,
        logp=lambda x, p: (
            log(p.a * p.b) + xlogy(p.a - 1.0, x) + xlog1py(p.b - 1.0, -power(x, p.a))
        ),
        logcdf=_kumaraswamy_logcdf,
        logsf=_kumaraswamy_logsf,
        icdf=_kumaraswamy_icdf,
        mean=_kumaraswamy_mean,
        variance=_kumaraswamy_variance,
        source="Kumaraswamy, Journal of Hydrology 46, 79-88 (1980)",
        example={"a": 2.0, "b": 3.0},
        window=(0, 1),
    ),
    Row(
        name="LogitNormal",
        doc="The distribution of the probability whose log odds are normal.",
        density="φ((logit x - mu) / sigma) / (sigma x (1 - x))",
        params=params("mu: real = 0 | mean of the log odds",
                      "sigma: positive = 1 | their deviation"),
        alternatives=PRECISION,
        support=lambda p: unit,
        ends="()",
        logp=lambda x, p: (
            -HALF_LOG_2PI - 0.5 * square(_logit_normal_z(x, p)) - log(p.sigma) - log(x) - log1p(-x)
        ),
        logcdf=lambda x, p: log_ndtr(_logit_normal_z(x, p)),
        logsf=lambda x, p: log_ndtr(-_logit_normal_z(x, p)),
        icdf=lambda q, p: sigmoid(p.mu + p.sigma * ndtri(q)),
        mean=NO_CLOSED_FORM,
        variance=NO_CLOSED_FORM,
        source=f"{JKB1}, section 12.4.3",
        example={"mu": 0.4, "sigma": 0.9},
        window=(0, 1),
    ),
    Row(
        name="Triangular",
        doc="The triangular distribution.",
        density="2 (x - lower) / ((upper - lower) (c - lower)) below c, "
        "2 (upper - x) / ((upper - lower) (upper - c)) above",
        params=params("lower: real = 0 | lower end", "upper: real = 1 | upper end",
                      "c: real = 0.5 | mode"),
        increasing=("lower", "c", "upper"),
        support=between("lower", "upper"),
        logp=_triangular_logp,
        **tails(_triangular_parts, first),
        icdf=_triangular_icdf,
        mean=lambda p: (p.lower + p.upper + p.c) / 3.0,
        variance=_triangular_variance,
        draw=lambda rng, p, dims: rng.triangular(p.lower, p.c, p.upper, dims=dims),
        source=f"{JKB2}, section 26.9",
        example={"lower": -1.0, "upper": 2.0, "c": 0.3},
        window=(-1.2, 2.2),
    ),
]  # fmt: skip
