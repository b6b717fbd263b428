"""Rows of the distribution table: on positive numbers, of gamma variables and functions of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dimtensor.dist.formulas import JKB1, LOG_2, LOG_PI
from dimtensor.dist.gammas import log_gamma_bend, log_half_rising, log_rising
from dimtensor.dist.probabilities import (
    gamma_icdf_power,
    log_gammainc,
    log_gammainc_power,
    log_gammaincc,
    log_gammaincc_power,
)
from dimtensor.dist.rows.cells import finite_above, instead
from dimtensor.dist.supports import positive
from dimtensor.dist.table import Row, also, params
from dimtensor.tensor.elementwise import (
    exp,
    expm1,
    gammainccinv,
    gammaincinv,
    gammaln,
    log,
    power,
    sqrt,
    square,
    xlogy,
)

DEGREES = "nu: positive | degrees of freedom"


def _inverse_gamma(shape: Any, scale: Any) -> dict[str, Any]:
    """Cells of one divided by a gamma variable, whose parameters are computed."""

    def draw(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
        x, rng = rng.gamma(shape(p), 1.0, dims=dims)
        return scale(p) / x, rng

    return {
        "support": lambda p: positive,
        "ends": "(]",
        "logp": lambda x, p: (
            shape(p) * log(scale(p)) - gammaln(shape(p)) - (shape(p) + 1.0) * log(x) - scale(p) / x
        ),
        "logcdf": lambda x, p: log_gammaincc(shape(p), scale(p) / x),
        "logsf": lambda x, p: log_gammainc(shape(p), scale(p) / x),
        "icdf": lambda q, p: scale(p) / gammainccinv(shape(p), q),
        "mean": lambda p: finite_above(1.0, shape(p), lambda a: scale(p) / (a - 1.0)),
        "variance": lambda p: finite_above(
            2.0, shape(p), lambda a: square(scale(p) / (a - 1.0)) / (a - 2.0)
        ),
        "draw": draw,
    }


def _gamma(shape: Any, rate: Any) -> dict[str, Any]:
    """Cells of a gamma variable, whose parameters are computed."""
    return {
        "support": lambda p: positive,
        "logp": lambda x, p: (
            shape(p) * log(rate(p)) - gammaln(shape(p)) + xlogy(shape(p) - 1.0, x) - rate(p) * x
        ),
        "logcdf": lambda x, p: log_gammainc(shape(p), rate(p) * x),
        "logsf": lambda x, p: log_gammaincc(shape(p), rate(p) * x),
        "icdf": lambda q, p: gammaincinv(shape(p), q) / rate(p),
        "mean": lambda p: shape(p) / rate(p),
        "variance": lambda p: shape(p) / square(rate(p)),
    }


def _power_tails(parts: Callable[[Any, Any], tuple[Any, Any, Any]]) -> dict[str, Any]:
    """Make the cells of both tails of a power of a gamma variable.

    Parameters
    ----------
    parts : callable
        From a value and the parameters to the shape, the gamma variable and its logarithm.
    """
    return {
        "logcdf": lambda x, p: log_gammainc_power(*parts(x, p)),
        "logsf": lambda x, p: log_gammaincc_power(*parts(x, p)),
    }


def _like(x: Any, value: float) -> Any:
    """Convert a number to the dtype of a tensor, so that functions of it are not of doubles."""
    return 0.0 * x + value


def _chi_mean(nu: Any) -> Any:
    return sqrt(nu) * exp(log_half_rising(0.5 * nu))


def _nakagami_mean(p: Any) -> Any:
    return sqrt(p.omega) * exp(log_half_rising(p.m))


def _draw_nakagami(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = rng.gamma(p.m, p.omega / p.m, dims=dims)
    return sqrt(x), rng


def _draw_root(scale: Any, shape: Any) -> Any:
    """Draw the square root of a gamma variable with scale 2, times a scale."""

    def draw(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
        x, rng = rng.gamma(shape(p), 2.0, dims=dims)
        return scale(p) * sqrt(x), rng

    return draw


def _draw_generalized(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = rng.gamma(p.a, 1.0, dims=dims)
    return p.scale * power(x, 1.0 / p.c), rng


def _generalized_mean(p: Any) -> Any:
    t = 1.0 / p.c
    return p.scale * exp(log_rising(p.a, t) + t * log(p.a))


def _generalized_variance(p: Any) -> Any:
    return square(_generalized_mean(p)) * expm1(log_gamma_bend(p.a, 1.0 / p.c))


GAMMA: list[Row] = [
    Row(
        name="Gamma",
        doc="The gamma distribution.",
        density="beta^alpha x^(alpha - 1) exp(-beta x) / Γ(alpha)",
        params=params("alpha: positive | shape", "beta: positive = 1 | rate"),
        alternatives=(
            also("mu: positive | mean", "sigma: positive | standard deviation",
                 by=lambda p: {"alpha": square(p.mu / p.sigma), "beta": p.mu / square(p.sigma)}),
            *instead("beta", "scale: positive | 1 / beta", by=lambda p: 1.0 / p.scale),
        ),
        **_gamma(lambda p: p.alpha, lambda p: p.beta),
        draw=lambda rng, p, dims: rng.gamma(p.alpha, 1.0 / p.beta, dims=dims),
        source=f"{JKB1}, chapter 17",
        example={"alpha": 2.5, "beta": 1.3},
        window=(0, 7),
    ),
    Row(
        name="ChiSquared",
        doc="The chi-squared distribution.",
        density="x^(nu/2 - 1) exp(-x/2) / (2^(nu/2) Γ(nu/2))",
        params=params(DEGREES),
        **_gamma(lambda p: 0.5 * p.nu, lambda p: 0.5 + 0.0 * p.nu),
        draw=lambda rng, p, dims: rng.chisquare(p.nu, dims=dims),
        source=f"{JKB1}, chapter 18",
        example={"nu": 3.5},
        window=(0, 12),
    ),
    Row(
        name="Chi",
        doc="The chi distribution: the root of a chi-squared variable.",
        density="x^(nu - 1) exp(-x²/2) / (2^(nu/2 - 1) Γ(nu/2))",
        params=params(DEGREES),
        support=lambda p: positive,
        logp=lambda x, p: (
            LOG_2 * (1.0 - 0.5 * p.nu) - gammaln(0.5 * p.nu) + xlogy(p.nu - 1.0, x)
            - 0.5 * square(x)
        ),
        **_power_tails(lambda x, p: (0.5 * p.nu, 0.5 * square(x), 2.0 * log(x) - LOG_2)),
        icdf=lambda q, p: math.sqrt(2.0) * gamma_icdf_power(q, 0.5 * p.nu, 0.5),
        mean=lambda p: _chi_mean(p.nu),
        variance=lambda p: -p.nu * expm1(2.0 * log_half_rising(0.5 * p.nu)),
        draw=_draw_root(lambda p: 1.0, lambda p: 0.5 * p.nu),
        source=f"{JKB1}, section 18.10.3",
        example={"nu": 3.0},
        window=(0, 4.5),
    ),
    Row(
        name="Maxwell",
        doc="The Maxwell distribution: the length of a normal vector of three elements.",
        density="√(2/π) x² exp(-x² / (2 a²)) / a³",
        params=params("a: positive = 1 | scale"),
        support=lambda p: positive,
        logp=lambda x, p: (
            0.5 * LOG_2 - 0.5 * LOG_PI + 2.0 * log(x) - 3.0 * log(p.a) - 0.5 * square(x / p.a)
        ),
        **_power_tails(
            lambda x, p: (_like(x, 1.5), 0.5 * square(x / p.a), 2.0 * log(x / p.a) - LOG_2)
        ),
        icdf=lambda q, p: p.a * sqrt(2.0 * gammaincinv(_like(q, 1.5), q)),
        mean=lambda p: 2.0 * p.a * math.sqrt(2.0 / math.pi),
        variance=lambda p: square(p.a) * (3.0 - 8.0 / math.pi),
        draw=_draw_root(lambda p: p.a, lambda p: 1.5),
        source=f"{JKB1}, section 18.10.2",
        example={"a": 1.2},
        window=(0, 5.5),
    ),
    Row(
        name="Nakagami",
        doc="The Nakagami distribution: the root of a gamma variable.",
        density="2 m^m x^(2m - 1) exp(-m x² / omega) / (Γ(m) omega^m)",
        params=params("m: positive | shape", "omega: positive = 1 | mean of the square"),
        support=lambda p: positive,
        logp=lambda x, p: (
            LOG_2 + p.m * log(p.m / p.omega) - gammaln(p.m) + xlogy(2.0 * p.m - 1.0, x)
            - p.m * square(x) / p.omega
        ),
        **_power_tails(
            lambda x, p: (p.m, p.m * square(x) / p.omega, 2.0 * log(x) + log(p.m / p.omega))
        ),
        icdf=lambda q, p: sqrt(p.omega / p.m) * gamma_icdf_power(q, p.m, 0.5),
        mean=_nakagami_mean,
        variance=lambda p: -p.omega * expm1(2.0 * log_half_rising(p.m)),
        draw=_draw_nakagami,
        source="Nakagami, Statistical Methods in Radio Wave Propagation, 3-36 (1960)",
        example={"m": 1.7, "omega": 2.0},
        window=(0, 4),
    ),
    Row(
        name="InverseGamma",
        doc="The distribution of one divided by a gamma variable.",
        density="beta^alpha x^(-alpha - 1) exp(-beta / x) / Γ(alpha)",
        params=params("alpha: positive | shape", "beta: positive = 1 | scale"),
        alternatives=(
            also("mu: positive | mean", "sigma: positive | standard deviation",
                 by=lambda p: {
                     "alpha": square(p.mu / p.sigma) + 2.0,
                     "beta": p.mu * (square(p.mu / p.sigma) + 1.0),
                 }),
        ),
        **_inverse_gamma(lambda p: p.alpha, lambda p: p.beta),
        source=f"{JKB1}, section 17.8.4",
        example={"alpha": 3.5, "beta": 2.0},
        window=(0, 4),
    ),
    Row(
        name="InverseChiSquared",
        doc="The distribution of one divided by a chi-squared variable.",
        density="x^(-nu/2 - 1) exp(-1 / (2x)) / (2^(nu/2) Γ(nu/2))",
        params=params(DEGREES),
        **_inverse_gamma(lambda p: 0.5 * p.nu, lambda p: 0.5 + 0.0 * p.nu),
        source="Gelman et al., Bayesian Data Analysis (2013), appendix A",
        example={"nu": 6.0},
        window=(0, 1.2),
    ),
    Row(
        name="ScaledInverseChiSquared",
        doc="The distribution of nu tau² divided by a chi-squared variable.",
        density="(nu tau²/2)^(nu/2) x^(-nu/2 - 1) exp(-nu tau² / (2x)) / Γ(nu/2)",
        params=params(DEGREES, "tau: positive = 1 | scale"),
        **_inverse_gamma(lambda p: 0.5 * p.nu, lambda p: 0.5 * p.nu * square(p.tau)),
        source="Gelman et al., Bayesian Data Analysis (2013), appendix A",
        example={"nu": 6.0, "tau": 1.2},
        window=(0, 8),
    ),
    Row(
        name="GeneralizedGamma",
        doc="The distribution of a power of a gamma variable.",
        density="c z^(a c - 1) exp(-z^c) / (scale Γ(a)), z = x / scale",
        params=params("a: positive | shape", "c: positive | power", "scale: positive = 1 | scale"),
        support=lambda p: positive,
        logp=lambda x, p: (
            log(p.c / p.scale) - gammaln(p.a) + xlogy(p.a * p.c - 1.0, x / p.scale)
            - power(x / p.scale, p.c)
        ),
        **_power_tails(lambda x, p: (p.a, power(x / p.scale, p.c), p.c * log(x / p.scale))),
        icdf=lambda q, p: p.scale * gamma_icdf_power(q, p.a, 1.0 / p.c),
        mean=_generalized_mean,
        variance=_generalized_variance,
        draw=_draw_generalized,
        source="Stacy, Annals of Mathematical Statistics 33, 1187-1192 (1962)",
        example={"a": 1.5, "c": 2.5, "scale": 1.4},
        window=(0, 4),
    ),
]  # fmt: skip
