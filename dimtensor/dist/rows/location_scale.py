"""Rows of families of a location and a scale, made from formulas of the standardized value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dimtensor.dist.table import Formula, Missing, Moment, Row
from dimtensor.tensor.elementwise import log


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
