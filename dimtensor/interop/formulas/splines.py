"""B-splines that refuse to extrapolate beyond their knots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dimtensor.errors import InputError

if TYPE_CHECKING:
    from dimtensor.interop.formulas.design import EvaluatedFormula

Outside = Literal["raise", "clip"]


class BoundedSpline:
    """Fitted basis ``bs(x, ...)`` of formulae, restricted to its outermost knots.

    Attributes
    ----------
    outside : {"raise", "clip"}
        Values beyond the knots raise an error, or are clipped to the outermost knots.
    """

    def __init__(self, basis: Any, text: str):
        self.basis, self.text = basis, text
        self.outside: Outside = "raise"
        self.range: tuple[float, float] | None = None  # of the table that the model was made with

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        values = np.asarray(x, dtype=float)
        if self.range is None:
            given = signature(self.basis).bind(x, *args, **kwargs).arguments
            low, high = given.get("lower_bound"), given.get("upper_bound")
            self.range = (
                float(values.min() if low is None else low),
                float(values.max() if high is None else high),
            )
        low, high = self.range
        beyond = values[(values < low) | (values > high)]
        if len(beyond) and self.outside == "raise":
            many = f"{len(beyond)} of {len(values)}, from {beyond.min():g} to {beyond.max():g}"
            raise InputError(
                f"{self.text} has values outside of its knots, where its polynomials run away",
                [("knots", f"from {low:g} to {high:g}"), ("outside", many)],
                "predict(..., outside='clip') takes the nearest knot; knots further out are "
                "given by lower_bound= and upper_bound=; a spline with straight ends is cr(x)",
            )
        return self.basis(np.clip(values, low, high), *args, **kwargs)


def bound_splines(design: EvaluatedFormula, table: Any) -> list[BoundedSpline]:
    """Replace the B-splines in the terms of a design by bounded ones, and check its rows."""
    found = []
    for term in design.terms().values():
        for component in term.components:
            call: Any = getattr(component, "call", None)
            splines = list(_splines(call))
            found += splines
            if splines:
                call.eval(table, component.env)
    return found


def _splines(call: Any) -> Iterator[BoundedSpline]:
    arguments: Iterable[Any] = getattr(call, "args", ())
    for argument in [*arguments, *getattr(call, "kwargs", {}).values()]:
        yield from _splines(argument)
    basis = getattr(call, "stateful_transform", None)
    if getattr(basis, "__transform_name__", None) == "bs":
        call.stateful_transform = BoundedSpline(basis, str(call))
        yield call.stateful_transform
