"""Chains by sums of products: probabilities of any size without a logarithm in the loop.

A number is ``mantissa * 2**(128 * level)``, where the mantissa is between 2**-64 and 2**64, and the
level is a whole number, of each state by itself. Exponentials of what factors say are taken once,
outside of the loop. A sum over states takes terms whose level is near the highest one as they are;
each of the others is less than 2**-128 times the largest term.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dim, Dims
from dimtensor.graph.rebuilding.substitute import expand_node, relabel_node
from dimtensor.marginal.chains import (
    Chain,
    Lag,
    initial,
    joined_tables,
    lag_dim,
    loop_tables,
    state_dims,
)
from dimtensor.marginal.elimination import Cost, log_sum
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.elementwise import exp, log, maximum, minimum, stop_gradient, where
from dimtensor.tensor.handle import elemwise, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

UNIT = 2.0**-128
STEP = 128 * math.log(2.0)
# logarithms up to 1e17, which are known to 16; smaller ones are taken for -inf
HIGHEST = 2.0**50
# products of more factors are brought back to mantissas of one unit
MOST_UNITS = 5


class Scaled(NamedTuple):
    """A table of numbers.

    Attributes
    ----------
    mantissa, level : DimTensor
        Whatever the level is, a mantissa of 0 is 0; that of an exponential has the lowest level.
    units : int
        Mantissas that are not 0 are between 2**-64 and 2**64 to the power of it.
    """

    mantissa: DimTensor
    level: DimTensor
    units: int = 1

    @property
    def dims(self) -> Dims:
        """Dims of one or the other."""
        return tuple(dict.fromkeys((*self.level.dims, *self.mantissa.dims)))

    def over(self, dims: Sequence[Dim]) -> Scaled:
        """With more dims."""
        mantissa, level = (wrap(expand_node(x.node, tuple(dims))) for x in self[:2])
        return Scaled(mantissa, level, self.units)

    def relabelled(self, pairs: Sequence[tuple[Dim, Dim]]) -> Scaled:
        """With other dims in the place of some."""
        mantissa, level = (
            wrap(relabel_node(x.node, *(pair for pair in pairs if pair[0] in x.dims)))
            for x in self[:2]
        )
        return Scaled(mantissa, level, self.units)

    def sum(self, dim: Dim) -> Scaled:
        """Summed over a dim."""
        whole = self.over([dim])
        highest = whole.level.max(dim)
        below = highest - whole.level
        weight: Any = 0.0
        for units in range(self.units, -1, -1):
            weight = where(below < units + 0.5, UNIT**units, weight)
        return Scaled((whole.mantissa * weight).sum(dim), highest, self.units)

    def normal(self) -> Scaled:
        """The same numbers with mantissas of one unit."""
        x, most = self.mantissa, self.units // 2
        moved: Any = float(-most)
        scale: Any = UNIT**-most
        for by in range(1 - most, most + 1):
            above = x > UNIT ** (0.5 - by)
            moved, scale = where(above, float(by), moved), where(above, UNIT**by, scale)
        return Scaled(x * scale, self.level + moved)

    def log(self) -> DimTensor:
        """Logarithms."""
        nothing = self.mantissa == 0.0
        found = log(where(nothing, 1.0, self.mantissa)) + STEP * self.level
        return where(nothing, -math.inf, found)


def exponential(x: DimTensor) -> Scaled:
    """The exponential of logarithms; their slopes pass through the mantissas."""
    nearest = elemwise("round", stop_gradient(x) / STEP)
    level = minimum(maximum(nearest, -HIGHEST), HIGHEST)
    return Scaled(exp(x - STEP * level), level)


def product(tables: Sequence[Scaled]) -> Scaled:
    """The product of tables."""
    first, *rest = tables
    for table in rest:
        if first.units + table.units > MOST_UNITS:
            first, table = first.normal(), table.normal()
        units = first.units + table.units
        first = Scaled(first.mantissa * table.mantissa, first.level + table.level, units)
    return first


def through(chain: Chain) -> DimTensor | None:
    """Logarithms of the table after the last position; None for numbers of single precision."""
    start, _ = initial(chain, log_sum)
    sequences, same = loop_tables(chain)
    moving = joined_tables([x.node for x in sequences.values()])
    fixed = joined_tables(same)
    if any(node.dtype != "float64" for node in (start.node, *moving, *fixed)):
        return None
    state = exponential(start)
    elements = {str(k): exponential(wrap(node))[:2] for k, node in enumerate(moving)}
    known = [exponential(wrap(node)) for node in fixed]

    def step(before: Any, xs: Any) -> tuple[Any, None]:
        here = [Scaled(*x) for x in (xs or {}).values()]
        return _after(chain, [Scaled(*before), *here, *known])[:2], None

    (mantissa, level), _ = scan(step, state[:2], elements or None, dim=chain.following)
    return Scaled(mantissa, level).log()


def _after(chain: Chain, tables: list[Scaled]) -> Scaled:
    """The table after a position: the oldest states are summed out, the cheapest first."""
    left = [lag_dim(Lag(u, chain.orders[u])) for u in chain.eliminated]
    while left:
        dim = min(left, key=lambda dim: _size(tables, dim))
        left.remove(dim)
        having = [table for table in tables if dim in table.dims]
        tables = [table for table in tables if dim not in table.dims]
        tables.append(product(having or [exponential(zeros(dim))]).sum(dim))
    lags = chain.kept()
    moved = [(lag_dim(Lag(lag.unknown, lag.by - 1)), lag_dim(lag)) for lag in lags]
    whole = product(tables).normal().over([old for old, _ in moved])
    return whole.relabelled(moved).over(state_dims(chain))


def _size(tables: Sequence[Scaled], dim: Dim) -> int:
    dims = {d for table in tables if dim in table.dims for d in table.dims}
    return Cost(tuple(dims), ()).number
