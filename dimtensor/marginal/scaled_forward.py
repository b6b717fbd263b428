"""Forward algorithm on scaled probabilities, without logarithms in the loop.

A probability is ``mantissa * 2**(128 * level)`` with a mantissa between 2**-64 and 2**64 and an
integer level of its own. The exponentials of log factors are computed once, before the loop. A sum
over states uses the terms whose level is near the highest one; each dropped term is less than
2**-128 times the largest.
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
    initial_table,
    joined_tables,
    lag_dim,
    loop_tables,
    state_dims,
)
from dimtensor.marginal.moves import joined_size, log_sum
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.elementwise import exp, log, maximum, minimum, stop_gradient, where
from dimtensor.tensor.handle import elemwise, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

UNIT = 2.0**-128
STEP = 128 * math.log(2.0)
# bound of levels: logarithms of magnitude 1e17, precise to about 16; below it they become -inf
HIGHEST = 2.0**50
# products that exceed it are normalized to mantissas of one unit
MOST_UNITS = 5


class ScaledTable(NamedTuple):
    """Table of probabilities as mantissas and levels.

    Attributes
    ----------
    mantissa, level : DimTensor
        A mantissa of 0 means 0 at any level; `exponential` gives it the lowest one.
    units : int
        Nonzero mantissas are between 2**(-64 * units) and 2**(64 * units).
    """

    mantissa: DimTensor
    level: DimTensor
    units: int = 1

    @property
    def dims(self) -> Dims:
        """Dims of the mantissas and levels."""
        return tuple(dict.fromkeys((*self.level.dims, *self.mantissa.dims)))

    def over(self, dims: Sequence[Dim]) -> ScaledTable:
        """Return the table broadcast to more dims."""
        mantissa, level = (wrap(expand_node(x.node, tuple(dims))) for x in self[:2])
        return ScaledTable(mantissa, level, self.units)

    def relabeled(self, pairs: Sequence[tuple[Dim, Dim]]) -> ScaledTable:
        """Return the table with some dims replaced."""
        mantissa, level = (
            wrap(relabel_node(x.node, *(pair for pair in pairs if pair[0] in x.dims)))
            for x in self[:2]
        )
        return ScaledTable(mantissa, level, self.units)

    def sum(self, dim: Dim) -> ScaledTable:
        """Sum over a dim."""
        whole = self.over([dim])
        highest = whole.level.max(dim)
        below = highest - whole.level
        weight: Any = 0.0
        for units in range(self.units, -1, -1):
            weight = where(below < units + 0.5, UNIT**units, weight)
        return ScaledTable((whole.mantissa * weight).sum(dim), highest, self.units)

    def normal(self) -> ScaledTable:
        """Normalize the mantissas to one unit."""
        x, most = self.mantissa, self.units // 2
        moved: Any = float(-most)
        scale: Any = UNIT**-most
        for by in range(1 - most, most + 1):
            above = x > UNIT ** (0.5 - by)
            moved, scale = where(above, float(by), moved), where(above, UNIT**by, scale)
        return ScaledTable(x * scale, self.level + moved)

    def log(self) -> DimTensor:
        """Return the logarithms."""
        nothing = self.mantissa == 0.0
        found = log(where(nothing, 1.0, self.mantissa)) + STEP * self.level
        return where(nothing, -math.inf, found)


def exponential(x: DimTensor) -> ScaledTable:
    """Convert logarithms to scaled numbers; gradients flow through the mantissas."""
    nearest = elemwise("round", stop_gradient(x) / STEP)
    level = minimum(maximum(nearest, -HIGHEST), HIGHEST)
    return ScaledTable(exp(x - STEP * level), level)


def product(tables: Sequence[ScaledTable]) -> ScaledTable:
    """Multiply tables, normalizing mantissas where their product would overflow."""
    first, *rest = tables
    for table in rest:
        if first.units + table.units > MOST_UNITS:
            first, table = first.normal(), table.normal()
        units = first.units + table.units
        first = ScaledTable(first.mantissa * table.mantissa, first.level + table.level, units)
    return first


def scaled_forward(chain: Chain) -> DimTensor | None:
    """Return the log-space table after the last position, or None in single precision."""
    start, _ = initial_table(chain, log_sum)
    sequences, same = loop_tables(chain)
    moving = joined_tables(sequences)
    fixed = joined_tables(same)
    if any(node.dtype != "float64" for node in (start.node, *moving, *fixed)):
        return None
    state = exponential(start)
    elements = {str(k): exponential(wrap(node))[:2] for k, node in enumerate(moving)}
    known = [exponential(wrap(node)) for node in fixed]

    def step(before: Any, xs: Any) -> tuple[Any, None]:
        here = [ScaledTable(*x) for x in (xs or {}).values()]
        return _after(chain, [ScaledTable(*before), *here, *known])[:2], None

    (mantissa, level), _ = scan(step, state[:2], elements or None, dim=chain.loop_dim)
    return ScaledTable(mantissa, level).log()


def _after(chain: Chain, tables: list[ScaledTable]) -> ScaledTable:
    """Advance the table by one position: sum out the oldest states, the cheapest first."""
    left = [lag_dim(Lag(u, chain.orders[u])) for u in chain.eliminated]
    while left:
        dim = min(left, key=lambda dim: joined_size(tables, dim))
        left.remove(dim)
        having = [table for table in tables if dim in table.dims]
        tables = [table for table in tables if dim not in table.dims]
        tables.append(product(having or [exponential(zeros(dim))]).sum(dim))
    lags = chain.carried_lags()
    moved = [(lag_dim(Lag(lag.unknown, lag.by - 1)), lag_dim(lag)) for lag in lags]
    whole = product(tables).normal().over([old for old, _ in moved])
    return whole.relabeled(moved).over(state_dims(chain))
