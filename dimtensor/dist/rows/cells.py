"""Cells that rows of the distribution table share, and rows of a location and a scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dimtensor.dist.table import Formula, Missing, Moment, Replacement, Row, params
from dimtensor.tensor.elementwise import log, sqrt, where


def instead(of: str, line: str, by: Callable[[Any], Any]) -> tuple[Replacement]:
    """Make the alternatives of a row in which a parameter replaces another.

    The line of the parameter is in the notation of :func:`params`.
    """
    (param,) = params(line)
    return (Replacement(of, param, by),)


PRECISION = instead(
    "sigma", "tau: positive | precision, 1 / sigma²", by=lambda p: 1.0 / sqrt(p.tau)
)
INVERSE_SQUARE = instead("sigma", "lam: positive | 1 / sigma²", by=lambda p: 1.0 / sqrt(p.lam))


def tails(parts: Callable[..., tuple[Any, Any]], log_of: Callable[..., Any]) -> dict[str, Any]:
    """Make the cells of both tails.

    Parameters
    ----------
    parts : callable
        From a value and the parameters to the probabilities of smaller and of larger values, or to
        what the logarithms of both are computed from.
    log_of : callable
        From these to the logarithm of the first.
    """
    return {
        "logcdf": lambda x, p: log_of(*parts(x, p)),
        "logsf": lambda x, p: log_of(*parts(x, p)[::-1]),
    }


def first(part: Any, rest: Any) -> Any:
    """Return the first of two logarithms, for :func:`tails` of logarithms."""
    return part


def symmetric(logcdf: Formula) -> dict[str, Any]:
    """Make the cells of both tails of a density that is symmetric around 0."""
    return {"logcdf": logcdf, "logsf": lambda z, p: logcdf(-z, p)}


def finite_above(order: float, shape: Any, value: Callable[[Any], Any]) -> Any:
    """Return a moment that is finite where a shape exceeds its order."""
    return where(shape > order, value(where(shape > order, shape, order + 1.0)), math.inf)


def standardized(
    location: str,
    scale: str | Callable[[Any], Any],
    *,
    logp: Formula,
    logcdf: Formula | Missing,
    icdf: Formula | Missing,
    mean: Moment | Missing,
    variance: Moment | Missing,
    logsf: Formula | Missing | None = None,
    draw: Callable[..., Any] | str | Missing = "icdf",
    **cells: Any,
) -> Row:
    """Make a location-scale family from the formulas of its standard member.

    Parameters
    ----------
    location, scale : str
        Names of the parameters; the scale may be computed of them.
    """

    def width(p: Any) -> Any:
        return scale(p) if callable(scale) else getattr(p, scale)

    def z(x: Any, p: Any) -> Any:
        return (x - getattr(p, location)) / width(p)

    def back(value: Any, p: Any) -> Any:
        return getattr(p, location) + width(p) * value

    def of_value(formula: Any) -> Any:
        return (lambda x, p: formula(z(x, p), p)) if callable(formula) else formula

    def drawn(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
        assert callable(draw)
        value, rng = draw(rng, p, dims)
        return back(value, p), rng

    return Row(
        logp=lambda x, p: logp(z(x, p), p) - log(width(p)),
        logcdf=of_value(logcdf),
        logsf=of_value(logsf),
        icdf=(lambda q, p: back(icdf(q, p), p)) if callable(icdf) else icdf,
        mean=(lambda p: back(mean(p), p)) if callable(mean) else mean,
        variance=(lambda p: width(p) ** 2 * variance(p)) if callable(variance) else variance,
        draw=drawn if callable(draw) else draw,
        **cells,
    )
