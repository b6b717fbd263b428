"""Distributions of the distribution table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dims
from dimtensor.dist.conditions import Condition, at_ends, either
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.modifiers.inversion import inverted
from dimtensor.dist.parameters import (
    Values,
    as_float,
    as_number,
    common_dims,
    float_dtype,
    read_arguments,
)
from dimtensor.dist.rows import TABLE
from dimtensor.dist.supports import Support, value_between
from dimtensor.dist.table import Missing, Row
from dimtensor.errors import GraphError, build_message, named_after
from dimtensor.graph.dtypes import is_float
from dimtensor.spellings import spelled
from dimtensor.tensor.constructors import full
from dimtensor.tensor.elementwise import (
    equal,
    floor,
    isneginf,
    isposinf,
    log1mexp,
    logical_not,
    where,
)
from dimtensor.tensor.handle import TensorHandle, constant, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class TableDistribution(Distribution):
    """Univariate distribution: a row of the distribution table with parameters."""

    def __init__(self, row: Row, arguments: Mapping[str, Any]):
        self.row = row
        self.name = row.name
        self.discrete = row.discrete
        self._parametrization, self._given = read_arguments(row, arguments)

    def _state(self) -> dict[str, Any]:
        return {"family": self.name, **self.parameters}

    @classmethod
    def _from_state(cls, state: Mapping[str, Any]) -> TableDistribution:
        given = dict(state)
        return cls(TABLE[given.pop("family")], given)

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        return {name: wrap(node) for name, node in self._given.items()}

    @property
    def dims(self) -> Dims:
        return common_dims(self.name, self._given)

    @property
    def support(self) -> Support:
        return self.row.support(self._values(float_dtype(self._nodes)))

    def _values(self, dtype: str) -> Values:
        given = {name: as_float(node, dtype) for name, node in self._given.items()}
        return Values(given, self._parametrization)

    def _with(self, x: Any, what: str) -> tuple[DimTensor, Values]:
        """Convert a value and the parameters to one dtype."""
        known = self._tensor_nodes
        beside = [node for node in known if is_float(node.dtype)]
        node = as_number(x, beside, f"the value of {self.name}.{what}")
        dtype = float_dtype(known if node.kind == "constant" else [node, *known])
        return as_float(node, dtype), self._values(dtype)

    def logp(self, x: Any) -> DimTensor:
        x, p = self._with(x, "logp")
        below, above = self._outside(x, p, self.row.ends)
        outside = either(below, above)
        if self.discrete and self._may_be_broken(x):
            broken = logical_not(equal(x, floor(x)))
            outside = broken if outside is None else outside | broken
        value = self._within(self.row.logp, x, p, outside)
        if outside is None:
            return value
        # added, not chosen: of two values a compiler computes one, and then one element at a time
        zero, nothing = (wrap(constant(number, x.dtype)) for number in (0.0, -math.inf))
        return value + where(outside, nothing, zero)

    def _may_be_broken(self, x: DimTensor) -> bool:
        node = x.node
        while node.kind == "cast":
            node = node.inputs[0]
        return is_float(node.dtype)

    def logcdf(self, x: Any) -> DimTensor:
        return self._tail("logcdf", x)

    def logsf(self, x: Any) -> DimTensor:
        if self.row.logsf is None:
            return log1mexp(self.logcdf(x))
        return self._tail("logsf", x)

    def _tail(self, what: str, x: Any) -> DimTensor:
        formula = self._cell(what)
        x, p = self._with(x, what)
        if self.discrete and self._may_be_broken(x):
            x = floor(x)
        # the probability of everything is 1 from the upper end on
        below, above = self._outside(x, p, self.row.ends[0] + ")")
        value = self._within(formula, x, p, either(below, above))
        first, last = (-math.inf, 0.0) if what == "logcdf" else (0.0, -math.inf)
        if below is not None:
            value = where(below, first, value)
        return value if above is None else where(above, last, value)

    def icdf(self, q: Any) -> DimTensor:
        q, p = self._with(q, "icdf")
        if not self.implements("icdf") and self.implements("logcdf"):
            return inverted(self, q)
        formula = self._cell("icdf")
        possible = (q >= 0.0) & (q <= 1.0)
        return where(possible, formula(where(possible, q, 0.5), p), math.nan)

    def mean(self) -> DimTensor:
        return self._moment("mean")

    def variance(self) -> DimTensor:
        return self._moment("variance")

    def _moment(self, what: str) -> DimTensor:
        formula, dtype = self._cell(what), float_dtype(self._tensor_nodes)
        value = formula(self._values(dtype))
        if not isinstance(value, TensorHandle):
            return full(self.dims, float(value), dtype)
        return full(self.dims, value)

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        p, whole = self._values(float_dtype(self._tensor_nodes)), self._draw_dims(dims)
        if self.row.draw == "icdf":
            u, rng = rng.uniform(0.0, 1.0, dims=whole)
            value = self._cell("icdf")(u, p)
            return value.astype("int64") if self.discrete else value, rng
        return self._cell("draw")(rng, p, whole)

    def _conditions(self, x: DimTensor) -> list[Condition]:
        return [*super()._conditions(x), *at_ends(self, x)]

    def implements(self, what: str) -> bool:
        return callable(getattr(self.row, what))

    def _cell(self, what: str) -> Callable[..., Any]:
        cell = getattr(self.row, what)
        if isinstance(cell, Missing):
            raise GraphError(
                build_message(
                    f"{self.name} has no {'draws' if what == 'draw' else what}: {cell}",
                    [("distribution", repr(self))],
                )
            )
        return cell

    # -- the ends of the support -------------------------------------------------------------------

    def _outside(self, x: DimTensor, p: Values, ends: str) -> tuple[Any, Any]:
        """Return masks of values below and above the support; None if there are none."""
        low, high = self.row.support(p).bounds()
        below = above = None
        if low is not None:
            below = x < low if ends[0] == "[" else x <= low
        if high is not None:
            above = x > high if ends[1] == "]" else x >= high
        if low is None and high is None and ends == "[]" and not self.discrete:
            return None, None  # formulas for all numbers hold at infinity
        below = isneginf(x) if below is None else below
        return below, isposinf(x) if above is None else above

    def _within(self, formula: Any, x: DimTensor, p: Values, outside: Any) -> DimTensor:
        """Evaluate a formula inside of the support; elsewhere its argument is replaced."""
        if outside is None:
            return formula(x, p)
        return formula(where(outside, self._inner(p), x), p)

    def _inner(self, p: Values) -> Any:
        """Return a value inside of the support."""
        if self.row.inner is not None:
            return self.row.inner(p)
        low, high = self.row.support(p).bounds()
        if self.discrete:
            return next((end for end in (low, high) if end is not None), 0.0)
        return value_between(low, high)


named_after(TableDistribution, "Distribution")


def row_constructor[**P](signature: Callable[P, None]) -> Callable[P, TableDistribution]:
    """Make the constructor of the row that a signature is named after.

    Parameters
    ----------
    signature : function
        With a docstring and nothing else in its body.
    """
    row, names = TABLE[signature.__name__], signature.__code__.co_varnames
    signature.__annotations__["return"] = TableDistribution.__name__
    check_arguments = spelled("distribution")(signature)

    @wraps(signature)
    def constructor(*args: P.args, **kwargs: P.kwargs) -> TableDistribution:
        check_arguments(*args, **kwargs)
        return TableDistribution(row, {**dict(zip(names, args, strict=False)), **kwargs})

    return constructor
