"""Reductions of elements sorted by group: quantiles, cumulative sums and products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dimtensor.dims import Dim, SortedDim, without
from dimtensor.tensor.constructors import arange, length, zeros
from dimtensor.tensor.control.loops import cumulate
from dimtensor.tensor.handle import elemwise, renamed, widened
from dimtensor.tensor.reductions.order_statistics import with_an_element
from dimtensor.tensor.reductions.quantiles import in_order

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def group_quantile(
    x: DimTensor,
    codes: DimTensor,
    along: Dim,
    start: DimTensor,
    size: DimTensor,
    q: float | DimTensor,
    method: str,
) -> DimTensor:
    """Compute a quantile of each group from its smallest elements; NaN are sorted last.

    Parameters
    ----------
    x : DimTensor
        Floats.
    codes : DimTensor
        The group of each position along `along`.
    along : Dim
    start : DimTensor
        Number of elements in the groups before.
    size : DimTensor
        Number of elements of each group that count.
    q : float or DimTensor
    method : str
    """
    # one sort of unique integers: by group, then by rank among all elements
    ranks = SortedDim(along)
    order = (codes * length(along) + _places(x.argsort(along), along)).argsort(along)
    ordered = x.isel({along: order})

    elements, (longer,) = with_an_element(ordered, (ranks,), np.nan)
    end = elemwise("maximum", elemwise("subtract", length(along), 1), 0)

    def element(rank: DimTensor) -> DimTensor:
        return elements.isel({longer: elemwise("minimum", elemwise("add", start, rank), end)})

    value = in_order(size, q, x.dtype, element, method)
    return elemwise("where", elemwise("greater", size, 0), value, np.nan)


def _places(order: DimTensor, along: Dim) -> DimTensor:
    """Return the inverse permutation of an order of positions."""
    ranks = SortedDim(along)
    return renamed(order.argsort(ranks), {SortedDim(ranks): along})


class Running:
    """Cumulative sums or products of each group, by one loop over the elements sorted by group.

    Parameters
    ----------
    x : DimTensor
    codes : DimTensor
        The group of each position along `along`.
    along : Dim
    operation : {"add", "multiply"}
    """

    def __init__(self, x: DimTensor, codes: DimTensor, along: Dim, operation: str):
        self._along, self._ranks, dtype = along, SortedDim(along), x.dtype
        x = widened(x)
        self._order = (codes * length(along) + arange(along)).argsort(along)
        of = codes.isel({along: self._order})
        begins = elemwise("not_equal", of, of.shift({self._ranks: 1}, fill_value=-1))

        def step(total: DimTensor, now: tuple[DimTensor, DimTensor]) -> DimTensor:
            first, element = now
            return elemwise("where", first, element, elemwise(operation, total, element))

        start = zeros(without(x.dims, (along,)), dtype=x.dtype)
        elements = x.isel({along: self._order})
        totals = cumulate(step, start, (begins, elements), self._ranks)
        self._totals = totals.astype(dtype)

    def at_elements(self) -> DimTensor:
        """Return the cumulative totals at the positions of the elements."""
        return self._totals.isel({self._ranks: _places(self._order, self._along)})

    def at_ends(self, start: DimTensor, size: DimTensor, nothing: float) -> DimTensor:
        """Return the total of each group, `nothing` for an empty one."""
        totals, (longer,) = with_an_element(self._totals, (self._ranks,), nothing)
        end = elemwise("maximum", elemwise("subtract", elemwise("add", start, size), 1), 0)
        return elemwise("where", elemwise("greater", size, 0), totals.isel({longer: end}), nothing)
