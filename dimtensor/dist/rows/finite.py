"""Rows of the distribution table: between bounds, truncated, circular and tilted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dimtensor.dist.formulas import (
    HALF_LOG_2PI,
    JKB1,
    LOG_2,
    LOG_PI,
    NODE,
    REACH,
    log_expm1_over,
    log_odds,
    places_and_weights,
)
from dimtensor.dist.probabilities import difference, log_between, log_of_two, log_part
from dimtensor.dist.rows.cells import PRECISION, instead, standardized, symmetric, tails
from dimtensor.dist.rows.circular import (
    turns,
    von_mises_logcdf,
    von_mises_logsf,
    wrapped_cauchy_icdf,
    wrapped_cauchy_parts,
)
from dimtensor.dist.supports import Bounded, Support, plain_bound, real, unit
from dimtensor.dist.table import NO_CLOSED_FORM, Missing, Row, params
from dimtensor.tensor.elementwise import (
    abs,
    arccos,
    betaincinv,
    cos,
    exp,
    expm1,
    i0e,
    log,
    log1p,
    log_ndtr,
    logaddexp,
    maximum,
    minimum,
    ndtri_exp,
    power,
    reciprocal,
    sigmoid,
    sin,
    sinh,
    softplus,
    sqrt,
    square,
    where,
)

CIRCLE = Missing("it is a distribution on a circle")


def _around(location: str, scale: str) -> Callable[[Any], Support]:
    """Return the support from a scale below a location to a scale above it."""

    def support(p: Any) -> Support:
        at, width = plain_bound(getattr(p, location)), plain_bound(getattr(p, scale))
        return Bounded(at - width, at + width)

    return support


def on_circle(p: Any) -> Support:
    """Return the support of angles."""
    return Bounded(-math.pi, math.pi)


def _truncated(p: Any) -> tuple[Any, Any]:
    """Return the standardized bounds, as Python numbers where they are infinite."""
    found = []
    for bound in (plain_bound(p.lower), plain_bound(p.upper)):
        infinite = isinstance(bound, float) and math.isinf(bound)
        found.append(bound if infinite else (bound - p.mu) / p.sigma)
    return found[0], found[1]


def _truncated_support(p: Any) -> Support:
    lower, upper = plain_bound(p.lower), plain_bound(p.upper)
    known = isinstance(lower, float) and isinstance(upper, float)
    return real if known and lower == -upper == -math.inf else Bounded(lower, upper)


def _truncated_logp(x: Any, p: Any) -> Any:
    peak = -HALF_LOG_2PI - 0.5 * square((x - p.mu) / p.sigma) - log(p.sigma)
    return peak - _log_mass(*_truncated(p))


def _log_mass(a: Any, b: Any) -> Any:
    if isinstance(a, float) and isinstance(b, float):
        return 0.0
    return log_between(a, b)


def _truncated_logs(x: Any, p: Any) -> tuple[Any, Any]:
    """Log probabilities of smaller values and of larger ones."""
    a, b = _truncated(p)
    z, mass = (x - p.mu) / p.sigma, _log_mass(a, b)
    return _log_part_between(a, z) - mass, _log_part_between(z, b) - mass


def _log_part_between(a: Any, b: Any) -> Any:
    """Compute log_between, with minus infinity where the bounds are equal."""
    if isinstance(a, float) or isinstance(b, float):
        return log_between(a, b)
    right = a + b > 0.0
    return difference(log_ndtr(where(right, -a, b)), log_ndtr(where(right, -b, a)))


def _truncated_icdf(q: Any, p: Any) -> Any:
    """By the logarithm of the probability in the tail that is nearer."""
    a, b = _truncated(p)
    mass = _log_mass(a, b)
    left = log(q) + mass
    if not (isinstance(a, float) and a == -math.inf):
        left = logaddexp(log_ndtr(a), left)
    right = log1p(-q) + mass
    if not (isinstance(b, float) and b == math.inf):
        right = logaddexp(log_ndtr(-b), right)
    from_left = left < -LOG_2
    z = where(
        from_left,
        ndtri_exp(where(from_left, left, -1.0)),
        -ndtri_exp(where(from_left, -1.0, right)),
    )
    value = p.mu + p.sigma * z  # rounded, it may be beyond a bound
    value = value if isinstance(a, float) and a == -math.inf else maximum(value, p.lower)
    return value if isinstance(b, float) and b == math.inf else minimum(value, p.upper)


def _truncated_moments(p: Any) -> tuple[Any, Any]:
    """Mean and variance in standard deviations, by Gauss and Legendre's quadrature.

    In the terms of densities at the bounds both cancel far in a tail, and between close bounds.
    """
    a, b = _truncated(p)
    if isinstance(a, float) and isinstance(b, float):
        return 0.0, 1.0
    peak = 0.0 if isinstance(a, float) else maximum(a, 0.0)
    peak = peak if isinstance(b, float) else minimum(b, peak)
    reach = REACH / (sqrt(square(peak) + REACH) + abs(peak))
    left = reach if isinstance(a, float) else minimum(peak - a, reach)
    right = reach if isinstance(b, float) else minimum(b - peak, reach)
    places, weights = places_and_weights(reach.dtype)
    y = 0.5 * (right - left) + 0.5 * (right + left) * places
    weights = weights * exp(-y * (peak + 0.5 * y))
    share = weights / weights.sum(NODE)
    mean = (share * y).sum(NODE)
    return peak + mean, (share * square(y - mean)).sum(NODE)


def _von_mises_logp(x: Any, p: Any) -> Any:
    # κ (cos x - 1), without the difference
    turn = -2.0 * p.kappa * square(sin(0.5 * (x - p.mu)))
    return turn - LOG_2 - LOG_PI - log(i0e(p.kappa))


def _wrapped_cauchy_logp(x: Any, p: Any) -> Any:
    apart = square(1.0 - p.rho) + 4.0 * p.rho * square(sin(0.5 * (x - p.mu)))
    return log((1.0 - p.rho) * (1.0 + p.rho)) - LOG_2 - LOG_PI - log(apart)


def _draw_wrapped_cauchy(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    z, rng = rng.standard_cauchy(dims=dims)
    angle = p.mu - log(p.rho) * z
    return angle - 2.0 * math.pi * turns(angle), rng


def _raised_logp(z: Any, p: Any) -> Any:
    return 2.0 * log(abs(cos(0.5 * math.pi * z)))


def _without_sine(y: Any) -> Any:
    """Y - sin(y), by a series where it cancels."""
    near = y < 0.3
    small = where(near, y, 0.0)
    s = square(small)
    series = small * s * (1.0 / 6.0 - s * (1.0 / 120.0 - s * (1.0 / 5040.0 - s / 362880.0)))
    return where(near, series, y - sin(y))


def _raised_cdf(z: Any) -> Any:
    return _without_sine(math.pi * (1.0 + z)) / (2.0 * math.pi)


def _semicircle_cdf(z: Any) -> Any:
    """Share of a disc to the left of a chord."""
    return _without_sine(2.0 * arccos(-z)) / (2.0 * math.pi)


def _draw_semicircle(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    y, rng = rng.beta(1.5, 1.5, dims=dims)
    return 2.0 * y - 1.0, rng


def _by_symmetry(cdf: Callable[[Any], Any], z: Any) -> Any:
    """Log probability of smaller values, where the density is symmetric around 0."""
    left = z < 0.0
    tail = cdf(where(left, z, -z))
    return where(left, log(tail), log1p(-tail))


def _odds(p: Any) -> Any:
    return p.logit_lam if p.has("logit_lam") else log_odds(p.lam)


_WIDE = 700.0


def _tilted_logs(x: Any, eta: Any, rest: Any = None) -> tuple[Any, Any]:
    """Log probabilities of smaller values and of larger ones."""
    rest = 1.0 - x if rest is None else rest

    def below(x: Any, eta: Any) -> Any:
        return log(x) + log_expm1_over(eta * x) - log_expm1_over(eta)

    return below(x, eta), below(rest, -eta)


def _tilted_icdf(q: Any, p: Any) -> Any:
    """Compute the quantile as a distance from the end at which the density is smaller."""
    eta = _odds(p)
    tiny, rising, low = abs(eta) < 1e-6, eta > 0.0, q < 0.5
    size = abs(where(tiny, 1.0, eta))
    wide = size > _WIDE  # the power would be infinite
    up = log1p(q * expm1(where(wide, _WIDE, size)))
    up = where(wide, softplus(log(q) + size), up)
    down = where(low, -log1p(where(low, q, 0.5) * expm1(-size)), -log(1.0 - q + q * exp(-size)))
    return where(tiny, q + 0.5 * eta * q * (1.0 - q), where(rising, up, down) / size)


def _tilted_mean(p: Any) -> Any:
    eta = _odds(p)
    tiny = abs(eta) < 1e-2
    c = where(tiny, 1.0, eta)
    return where(tiny, 0.5 + eta / 12.0 - power(eta, 3.0) / 720.0, _middle(c))


def _middle(c: Any) -> Any:
    """1 / (1 - exp(-c)) - 1 / c."""
    return -reciprocal(expm1(-c)) - reciprocal(c)


def _tilted_variance(p: Any) -> Any:
    eta = _odds(p)
    tiny = abs(eta) < 5e-2
    c = where(tiny, 1.0, eta)
    near = 1.0 / 12.0 - square(eta) / 240.0 + square(square(eta)) / 6048.0
    return where(tiny, near, 1.0 / square(c) - 0.25 / square(sinh(0.5 * c)))


FINITE: list[Row] = [
    Row(
        name="TruncatedNormal",
        doc="The normal distribution between two bounds.",
        density="φ((x - mu) / sigma) / (sigma (Φ((upper - mu) / sigma) - Φ((lower - mu) / sigma)))",
        params=params("mu: real = 0 | mean without bounds",
                      "sigma: positive = 1 | standard deviation without bounds",
                      f"lower: bound = {-math.inf} | lower bound",
                      f"upper: bound = {math.inf} | upper bound"),
        alternatives=PRECISION,
        increasing=("lower", "upper"),
        support=_truncated_support,
        logp=_truncated_logp,
        **tails(_truncated_logs, log_of_two),
        icdf=_truncated_icdf,
        mean=lambda p: p.mu + p.sigma * _truncated_moments(p)[0],
        variance=lambda p: square(p.sigma) * _truncated_moments(p)[1],
        source=f"{JKB1}, section 13.10.1",
        example={"mu": 0.5, "sigma": 1.2, "lower": -1.0, "upper": 2.0},
        window=(-1.2, 2.2),
    ),
    Row(
        name="VonMises",
        doc="The von Mises distribution, of angles around mu.",
        density="exp(kappa cos(x - mu)) / (2π I₀(kappa))",
        params=params("mu: real = 0 | direction", "kappa: not negative | concentration"),
        support=on_circle,
        logp=_von_mises_logp,
        logcdf=von_mises_logcdf,
        logsf=von_mises_logsf,
        icdf=NO_CLOSED_FORM,
        mean=CIRCLE,
        variance=CIRCLE,
        draw=lambda rng, p, dims: rng.vonmises(p.mu, p.kappa, dims=dims),
        source="Mardia and Jupp, Directional Statistics (1999), section 3.5.4",
        example={"mu": 0.7, "kappa": 2.0},
        window=(-3.1, 3.1),
    ),
    Row(
        name="WrappedCauchy",
        doc="The Cauchy distribution wrapped around a circle.",
        density="(1 - rho²) / (2π (1 + rho² - 2 rho cos(x - mu)))",
        params=params("mu: real = 0 | direction", "rho: between 0 and 1 | concentration"),
        support=on_circle,
        logp=_wrapped_cauchy_logp,
        **tails(wrapped_cauchy_parts, log_part),
        icdf=wrapped_cauchy_icdf,
        mean=CIRCLE,
        variance=CIRCLE,
        draw=_draw_wrapped_cauchy,
        source="Mardia and Jupp, Directional Statistics (1999), section 3.5.7",
        example={"mu": 0.7, "rho": 0.4},
        window=(-3.1, 3.1),
    ),
    standardized(
        "mu", "s",
        name="RaisedCosine",
        doc="The raised cosine distribution, from mu - s to mu + s.",
        density="(1 + cos(π z)) / (2 s), z = (x - mu) / s",
        params=params("mu: real = 0 | location", "s: positive = 1 | half of the width"),
        support=_around("mu", "s"),
        ends="()",
        logp=_raised_logp,
        **symmetric(lambda z, p: _by_symmetry(_raised_cdf, z)),
        icdf=NO_CLOSED_FORM,
        mean=lambda p: 0.0,
        variance=lambda p: 1.0 / 3.0 - 2.0 / math.pi**2,
        draw=Missing("there is no short recipe"),
        source="Rinne, Location-Scale Distributions (2010), section 5.2.3",
        example={"mu": 0.5, "s": 2.0},
        window=(-1.6, 2.6),
    ),
    standardized(
        "mu", "r",
        name="Semicircle",
        doc="The semicircle distribution of Wigner, from mu - r to mu + r.",
        density="2 √(1 - z²) / (π r), z = (x - mu) / r",
        params=params("mu: real = 0 | location", "r: positive = 1 | radius"),
        support=_around("mu", "r"),
        logp=lambda z, p: LOG_2 - LOG_PI + 0.5 * log((1.0 - z) * (1.0 + z)),
        **symmetric(lambda z, p: _by_symmetry(_semicircle_cdf, z)),
        icdf=lambda q, p: 2.0 * betaincinv(1.5 + 0.0 * q, 1.5 + 0.0 * q, q) - 1.0,
        mean=lambda p: 0.0,
        variance=lambda p: 0.25,
        draw=_draw_semicircle,
        source="Rinne, Location-Scale Distributions (2010), section 5.2.2",
        example={"mu": 0.5, "r": 2.0},
        window=(-1.6, 2.6),
    ),
    Row(
        name="ContinuousBernoulli",
        doc="The exponential distribution, rising or falling, between 0 and 1.",
        density="lam^x (1 - lam)^(1 - x) / ∫ lam^t (1 - lam)^(1 - t) dt over 0 < t < 1",
        params=params("lam: between 0 and 1 | shape"),
        alternatives=instead(
            "lam", "logit_lam: real | log odds of lam", by=lambda p: sigmoid(p.logit_lam)
        ),
        support=lambda p: unit,
        logp=lambda x, p: _odds(p) * x - log_expm1_over(_odds(p)),
        logcdf=lambda x, p: log_of_two(*_tilted_logs(x, _odds(p))),
        logsf=lambda x, p: log_of_two(*_tilted_logs(1.0 - x, -_odds(p), x)),
        icdf=_tilted_icdf,
        mean=_tilted_mean,
        variance=_tilted_variance,
        source="Loaiza-Ganem and Cunningham, Neural Information Processing Systems 32 (2019)",
        example={"lam": 0.8},
        window=(0, 1),
    ),
]  # fmt: skip
