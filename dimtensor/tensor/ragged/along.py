"""Operations that order or accumulate the positions of each parent of a ragged dim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, SortedDim, ancestors, without
from dimtensor.errors import DtypeError
from dimtensor.graph.dtypes import is_complex, result_dtype
from dimtensor.graph.optable import TABLE
from dimtensor.graph.rebuilding.parents import plain
from dimtensor.tensor.check import check
from dimtensor.tensor.constructors import arange, full, length
from dimtensor.tensor.control.loops import cumulate
from dimtensor.tensor.handle import elemwise, renamed, widened, wrap
from dimtensor.tensor.ragged.layout import (
    flat_place,
    from_flat,
    numbers,
    owner_codes,
    ragged_cumulated,
    ragged_position,
    ragged_quantile,
    ragged_ranks,
    sizes,
    starts,
    to_flat,
)
from dimtensor.tensor.ragged.reductions import grouped, target
from dimtensor.tensor.ragged.selection import flat_places
from dimtensor.tensor.reductions.order_statistics import with_an_element

if TYPE_CHECKING:
    from dimtensor.graph import Node
    from dimtensor.tensor.core import DimTensor

flat_place.provides()(flat_places)


@ragged_cumulated.provides()
def cumulated(dim: Dim, x: Node, name: str) -> DimTensor:
    """Return cumulative sums or products that start anew for each parent."""
    dtype = result_dtype(TABLE[name].dtype, (x.dtype,), name)
    operation, neutral = ("add", 0) if name == "cumsum" else ("multiply", 1)
    elements = widened(wrap(x).astype(dtype))
    start = full(without(x.dims, (dim,)), neutral, elements.dtype)
    total = cumulate(lambda state, each: elemwise(operation, state, each), start, elements, dim)
    return total.astype(dtype)


@ragged_position.provides()
def position(dim: Dim, x: DimTensor, name: str) -> DimTensor:
    """Return the number of the extreme within each parent; a parent without elements has none."""
    above = dim._within
    assert above is not None
    if is_complex(x.dtype):
        raise DtypeError(f"{name} is not defined for {x.dtype}")
    by = grouped(dim, to_flat(x, dim), above)
    at = by._position("max" if name == "argmax" else "min")
    number, (along,) = with_an_element(to_flat(numbers(dim), dim), (plain(dim),), 0)
    found = renamed(number.isel({along: elemwise("maximum", at, 0)}), {plain(above): above})
    text = f"{name}: one of {above._title} has no elements along {dim._title}"
    return check(elemwise("greater", sizes(dim), 0), text, found)


@ragged_quantile.provides()
def quantile(x: DimTensor, level: Any, dims: Dims, method: Any, skipna: bool) -> DimTensor:
    """Return quantiles over dims that include ragged ones."""
    ragged = [dim for dim in x.dims if dim in dims and dim._within is not None]
    gone = {above for dim in ragged for above in ancestors(dim)}
    (dim, *more) = ragged
    above = target(dim, dims, "quantile")
    for one in ragged:
        if one is not dim or above is None:
            x = to_flat(x, one)
    over = tuple(plain(each) for each in dims if each not in gone)
    if above is None or more:
        return x.quantile(level, over, method=method, skipna=skipna)
    by = grouped(dim, to_flat(x, dim), above)
    return renamed(by.quantile(level, over, method=method, skipna=skipna), {plain(above): above})


@ragged_ranks.provides()
def ranks(dim: Dim, x: DimTensor) -> tuple[DimTensor, DimTensor]:
    """Return the numbers of elements of the parent below each one, and up to it."""
    flat, above = plain(dim), dim._within
    assert above is not None
    x = to_flat(x, dim)
    codes = owner_codes(dim, above)
    sort = SortedDim(flat)
    # one sort of unique integers: by parent, then by rank among all elements
    place = renamed(x.argsort(flat).argsort(sort), {SortedDim(sort): flat})
    order = renamed((codes * length(flat) + place).argsort(flat), {sort: flat})
    ordered, of = x.isel({flat: order}), codes.isel({flat: order})
    at = arange(flat)
    new = elemwise("not_equal", ordered, ordered.shift({flat: 1}))
    new = new | elemwise("not_equal", of, of.shift({flat: 1}, fill_value=-1))
    ends = new.shift({flat: -1}, fill_value=True)
    none = full(without(ordered.dims, (flat,)), 0, "int64")
    first = _running("maximum", none, elemwise("where", new, at, 0), flat, reverse=False)
    most = none + length(flat)
    last = _running("minimum", most, elemwise("where", ends, at, length(flat)), flat, reverse=True)
    back = renamed(order.argsort(flat), {sort: flat})
    begin = to_flat(starts(dim) + numbers(dim) * 0, dim)
    below, upto = (each.isel({flat: back}) - begin for each in (first, last + 1))
    return from_flat(below, dim), from_flat(upto, dim)


def _running(name: str, start: Any, x: Any, flat: Dim, *, reverse: bool) -> DimTensor:
    return cumulate(lambda best, at: elemwise(name, best, at), start, x, flat, reverse=reverse)
