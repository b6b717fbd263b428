"""Layout of ragged dims as tensors: parents, sizes, starts and numbers of positions.

Operations for each parent work on the plain dim of all positions, ``dim.flat``, sorted by parent.
What is known is data; the layout of a dim whose lengths or parents arrive with a call is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.dims import Dim, RaggedDim, SortedDim
from dimtensor.dims.ragged import owner_tensor
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import (
    AlongAttrs,
    IndexItem,
    ReduceAttrs,
    SortAttrs,
    UpdateAttrs,
)
from dimtensor.graph.rebuilding.parents import (
    ancestor_node,
    layout_node,
    owner_node,
    owners_between,
    plain,
)
from dimtensor.graph.rebuilding.substitute import expand_node, relabel_node
from dimtensor.hooks import Hook
from dimtensor.tensor.check import check
from dimtensor.tensor.handle import TensorHandle, cast, constant, elemwise, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

ragged_scan = Hook("a loop along a ragged dim")
ragged_reduced = Hook("a reduction over a ragged dim")
ragged_count = Hook("the number of positions along ragged dims")
ragged_cumulated = Hook("the cumulative sum or product along a ragged dim")
ragged_position = Hook("the numbers of extremes within the parents of a ragged dim")
flat_place = Hook("positions among all of those at numbers within parents")
ragged_quantile = Hook("quantiles over ragged dims")
ragged_ranks = Hook("the ranks within the parents of a ragged dim")
ragged_groups = Hook("the groups of a ragged dim")
element_at = Hook("the elements at numbers within the parents of a ragged dim")
ragged_selected = Hook("a selection along a ragged dim")


def to_flat(x: TensorHandle, dim: Dim) -> DimTensor:
    """Replace a ragged dim by the plain dim of all its positions."""
    return wrap(relabel_node(x.node, (dim, plain(dim))))


def from_flat(x: TensorHandle, dim: Dim) -> DimTensor:
    """Replace the plain dim of all positions by the ragged dim."""
    return wrap(relabel_node(x.node, (plain(dim), dim)))


def _base(dim: Dim) -> RaggedDim:
    base = dim._unrenamed
    assert isinstance(base, RaggedDim)
    return base


def _known(dim: Dim, field: str) -> DimTensor | None:
    """Return an array of the layout along the plain dim or the parent, None if it comes late."""
    base = _base(dim)
    return None if base.layout is None else wrap(layout_node(base, field))


def owner_codes(dim: Dim, above: Dim) -> DimTensor:
    """Return positions of the ancestors along the plain dims of both."""
    node = make("codes", (ancestor_node(dim, above),), None)
    return to_flat(wrap(node), dim)


def sizes(dim: Dim) -> DimTensor:
    """Return the number of positions of each parent, along the dim of the parents."""
    base = _base(dim)
    known = _known(dim, "sizes")
    if known is not None:
        return known
    if base._source is not None:
        return wrap(cast(base._source, "int64"))
    codes, within = owner_codes(base, base.within).node, plain(base.within)
    none = expand_node(constant(0, "int64"), (within,))
    counted = _added(none, within, codes, constant(1, "int64"))
    return wrap(relabel_node(counted, (within, base.within)))


def _added(x: Node, dim: Dim, places: Node, value: Node) -> Node:
    attrs = UpdateAttrs("inc", (IndexItem(dim, "tensor", 0),))
    return make("update", (x, expand_node(value, places.dims), places), attrs)


def starts(dim: Dim) -> DimTensor:
    """Return the number of positions of the parents before each one."""
    known = _known(dim, "starts")
    if known is not None:
        return known
    counts, within = sizes(dim), dim._within
    assert within is not None
    flat = relabel_node(counts.node, (within, plain(within)))
    total = make("cumulate", (flat,), AlongAttrs("cumsum", plain(within)))
    return elemwise("subtract", wrap(relabel_node(total, (plain(within), within))), counts)


def order(dim: Dim) -> DimTensor | None:
    """Return the positions sorted by parent, along the plain dim; None if they are sorted."""
    if _base(dim).is_sorted:
        return None
    known = _known(dim, "order")
    if known is not None:
        return to_flat(known, _base(dim))
    flat, within = plain(dim), dim._within
    assert within is not None
    n = wrap(make("length", (), flat))
    codes = owner_codes(dim, within)
    keys = elemwise("add", elemwise("multiply", codes, n), wrap(make("positions", (), flat)))
    return _argsort(keys, flat)


def _argsort(x: DimTensor, flat: Dim) -> DimTensor:
    ranks = SortedDim(flat)
    return wrap(relabel_node(make("argsort", (x.node,), SortAttrs(flat, ranks)), (ranks, flat)))


def sorted_places(dim: Dim) -> DimTensor:
    """Return the place of each position among those sorted by parent, along the ragged dim."""
    if _base(dim).layout is None:
        ordered, flat = order(dim), plain(dim)
        places = wrap(make("positions", (), flat)) if ordered is None else _argsort(ordered, flat)
        return from_flat(places, dim)
    return elemwise("add", starts(dim), numbers(dim))


def numbers(dim: Dim) -> DimTensor:
    """Return the number of each position within its parent, along the ragged dim."""
    known = _known(dim, "numbers")
    if known is not None:
        return wrap(relabel_node(known.node, (_base(dim), dim)))
    return elemwise("subtract", sorted_places(dim), starts(dim))


@owner_tensor.provides()
def _of_dim(dim: RaggedDim, what: str) -> DimTensor:
    if what == "lengths":
        return sizes(dim)
    late_lengths = dim.layout is None and dim._source is not None
    return _owner_by_lengths(dim) if late_lengths else wrap(owner_node(dim))


def _owner_by_lengths(dim: RaggedDim) -> DimTensor:
    """Compute the parents of positions from lengths, which add up to the length of the dim."""
    within = dim.within
    ends = elemwise("add", starts(dim), sizes(dim))
    plain_ends = relabel_node(ends.node, (within, plain(within)))
    whole = make("reduce", (plain_ends,), ReduceAttrs("supremum", (plain(within),)))
    n = wrap(make("length", (), plain(dim)))
    text = f"the lengths of {dim._title} add up to its length"
    owners = wrap(owners_between(dim, ends.node))
    codes = check(elemwise("equal", wrap(whole), n), text, owners.codes)
    return wrap(make("codes", (codes.node,), within))
