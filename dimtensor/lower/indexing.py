"""Lowering of selections and of updates through selections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.dims import Dim, Dims, sort_dims, without
from dimtensor.dims.selection import LateSlice, Positions, Slice
from dimtensor.graph import Node
from dimtensor.graph.attrs import IndexItem, LabelPosition
from dimtensor.graph.checking.checks import check_messages
from dimtensor.lower.context import Lowering, lowers, transpose
from dimtensor.lower.layout.preferences import Estimates, Found, Preference, prefers, same_order
from dimtensor.ops.nodes import alloc, selected
from dimtensor.ops.positions import inhabited
from dimtensor.tuning import COLUMN_WRITTEN, ROW_ACROSS


def _within(ctx: Lowering, node: Node, indexer: Node, variable: Variable, dim: Dim) -> Variable:
    """Clip an indexer that the host does not check; a violation is reported after the run."""
    if indexer.categories is dim or indexer.kind == "group_position":
        return variable
    if ctx.are_checked(indexer) and not ctx.is_late(dim):
        return variable
    if _is_clipped_into(indexer, dim):
        return variable
    return _clipped(ctx, node, variable, dim)


def _clipped(ctx: Lowering, node: Node, at: Variable, dim: Dim) -> Variable:
    length = ctx.length(dim)
    ctx.check(node, pt.all(pt.and_(pt.ge(at, -length), pt.lt(at, length))), dim)
    if not dim.length:
        length = inhabited(pt.as_tensor_variable(length, dtype="int64"), pt.gt(at.size, 0))
    return pt.clip(at, -length, pt.maximum(length - 1, 0))


def _static(ctx: Lowering, node: Node, item: IndexItem) -> Any:
    """Return the constant positions of an item as an index for PyTensor.

    The host checks them, unless it does not know the length or whether the code runs; then they are
    clipped and checked at run time.
    """
    payload = item.payload.array if isinstance(item.payload, Positions) else item.payload
    if not ctx.is_late(item.dim) or item.dim not in check_messages(node):
        return payload
    return _clipped(ctx, node, pt.constant(payload, dtype="int64"), item.dim)


def _is_clipped_into(indexer: Node, dim: Dim) -> bool:
    """Return True for an indexer ``min(max(..., 0), max(length - 1, 0))`` of a non-empty dim."""
    if indexer.kind != "elemwise" or indexer.attrs != "minimum":
        return False
    low, last = indexer.inputs
    if not _is_at_least_zero(low) or not _is_at_least_zero(last):
        return False
    (before, _) = last.inputs
    if (
        before.kind != "elemwise"
        or before.attrs != "subtract"
        or not _is_number(before.inputs[1], 1)
    ):
        return False
    length = before.inputs[0]
    if length.kind != "length":
        return False
    if length.attrs is dim:
        return bool(dim.length)
    return dim._is_longer_than(length.attrs)


def _is_at_least_zero(node: Node) -> bool:
    return node.kind == "elemwise" and node.attrs == "maximum" and _is_number(node.inputs[1], 0)


def _is_number(node: Node, value: int) -> bool:
    return node.kind == "constant" and node.attrs.value == value


def _is_view(item: IndexItem) -> bool:
    return item.kind == "int" or (
        item.kind == "select" and isinstance(item.payload, (Slice, LateSlice))
    )


@lowers("index")
def index(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    x, *indexers = inputs
    nodes = node.inputs[1:]
    x, dims = _take_views(ctx, node, x, ctx.axes(node.inputs[0]), nodes)
    for item in node.attrs.items:
        if item.kind == "mask" or (item.kind == "select" and isinstance(item.payload, Positions)):
            axis = dims.index(item.dim)
            x = pt.take(x, _positions_of(ctx, node, item, indexers), axis=axis)
            dims = (*dims[:axis], item.new_dim(nodes), *dims[axis + 1 :])
    pointwise = [item for item in node.attrs.items if item.kind == "tensor"]
    if pointwise:
        arrays = {
            item.dim: (
                _within(ctx, node, nodes[item.payload], indexers[item.payload], item.dim),
                ctx.axes(nodes[item.payload]),
            )
            for item in pointwise
        }
        return _gather(ctx, x, dims, arrays)
    return x, dims


@prefers("index")
def index_order(node: Node, estimates: Estimates) -> Found:
    source, *indexers = node.inputs
    items = node.attrs.items
    if all(item.kind in ("select", "mask") for item in items):
        taken = {item.dim: item.new_dim(indexers) for item in items}
        return same_order(node, source.dims, node.dims, taken, estimates)
    return _rows(source.dims, items, indexers, estimates.has_gradient(source), estimates)


def _rows(
    source: Dims, items: Sequence, indexers: Sequence[Node], written: bool, estimates: Estimates
) -> Found:
    """Prefer to store a gathered array by rows if the innermost loop is over rows, else by columns.

    Rows that are written, by an update or the gradient of a look-up, should be innermost, as a
    scatter cannot be vectorized.
    """
    looked_up = tuple(item.dim for item in items if item.kind == "tensor")
    own = {d for item in items if item.kind == "tensor" for d in indexers[item.payload].dims}
    rest = frozenset(dim for dim in source if dim not in looked_up and dim not in own)
    if not looked_up or not rest:
        return
    size = estimates.elements({*rest, *own})
    dims = tuple(dict.fromkeys((*source, *own)))
    walked, stored = rest | own, frozenset(source)

    def cost(order: Dims) -> int:
        in_rows = [dim for dim in order if dim in walked][-1] in rest
        lie_in_rows = [dim for dim in order if dim in stored][-1] in rest
        across = COLUMN_WRITTEN * size if written and not in_rows else 0
        return across + (ROW_ACROSS * size if in_rows != lie_in_rows else 0)

    yield ("rows", dims, looked_up, written), Preference(dims, cost)


def _take_views(
    ctx: Lowering, node: Node, x: Variable, dims: Dims, nodes: tuple[Node, ...]
) -> tuple[Variable, Dims]:
    """Apply all integers and slices of a selection in one view."""
    by_dim = {item.dim: item for item in node.attrs.items if _is_view(item)}
    slots: list[Any] = []
    result: list[Dim] = []
    for dim in dims:
        item = by_dim.get(dim)
        if item is None:
            slots.append(slice(None))
            result.append(dim)
        elif item.kind == "int":
            slots.append(_static(ctx, node, item))
        else:
            slots.append(_as_slice(ctx, item))
            result.append(item.new_dim(nodes))
    if all(isinstance(slot, slice) and slot == slice(None) for slot in slots):
        return x, tuple(result)
    return selected(x, slots), tuple(result)


def _as_slice(ctx: Lowering, item: IndexItem) -> slice:
    selection = item.payload
    if isinstance(selection, Slice):
        step = None if selection.step == 1 else selection.step
        return slice(selection.start, selection.stop, step)
    ends = selection.ends
    start = ctx.hidden_input(LabelPosition(item.dim, ends, "start"))
    stop = ctx.hidden_input(LabelPosition(item.dim, ends, "stop"))
    return slice(start, stop, selection.step)


def _positions_of(ctx: Lowering, node: Node, item: IndexItem, indexers: list[Variable]) -> Variable:
    """Return the positions of an item as a vector."""
    if item.kind == "mask":
        return indexers[item.payload].nonzero()[0]
    if isinstance(item.payload, Positions):
        return pt.as_tensor_variable(_static(ctx, node, item))
    length = ctx.length(item.dim)
    return pt.arange(length, dtype="int64")[_as_slice(ctx, item)]


def _gather(
    ctx: Lowering, x: Variable, dims: Dims, arrays: dict[Dim, tuple[Variable, Dims]]
) -> tuple[Variable, Dims]:
    """Gather elements pointwise: the dims of the indexers replace the indexed dims."""
    if len(arrays) == 1:
        ((dim, (variable, own)),) = arrays.items()
        if not set(own) & set(without(dims, [dim])):
            axis = dims.index(dim)
            return pt.take(x, variable, axis=axis), (*dims[:axis], *own, *dims[axis + 1 :])
    indices, indexed, target, rest = _joint_indices(ctx, dims, arrays, ctx.order.sort)
    first = dims.index(indexed[0])
    if dims[first : first + len(indexed)] == indexed:  # adjacent axes stay in place
        before, after = dims[:first], dims[first + len(indexed) :]
        return x[(*[slice(None)] * first, *indices)], (*before, *target, *after)
    moved = transpose(x, dims, (*indexed, *rest))
    return moved[tuple(indices)], (*target, *rest)


def _joint_indices(
    ctx: Lowering,
    dims: Dims,
    arrays: dict[Dim, tuple[Variable, Dims]],
    sort: Callable[[Iterable[Dim]], Dims],
) -> tuple[list[Variable], Dims, Dims, Dims]:
    """Broadcast index arrays to a common shape.

    A dim that an indexer shares with the tensor is indexed by its positions.

    Returns
    -------
    indices : list of Variable
    indexed : tuple of Dim
        The indexed dims.
    target : tuple of Dim
        The dims of the index arrays.
    rest : tuple of Dim
        The other dims of the tensor.
    """
    remaining = without(dims, arrays)
    all_dims = {dim for _, own in arrays.values() for dim in own}
    target = sort(all_dims)
    rest = tuple(dim for dim in remaining if dim not in all_dims)
    indexed = without(dims, rest)
    indices = []
    for dim in indexed:
        if dim in arrays:
            variable, own = arrays[dim]
        else:
            variable, own = pt.arange(ctx.length(dim), dtype="int64"), (dim,)
        indices.append(ctx.align(variable, own, target))
    return indices, indexed, target, rest


@lowers("update")
def update(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    mode, items = node.attrs
    x, value, *indexers = inputs
    nodes = node.inputs[2:]
    dims = ctx.axes(node.inputs[0])
    own = ctx.axes(node.inputs[1])
    value = pt.cast(value, node.dtype)
    assign = pt.set_subtensor if mode == "set" else pt.inc_subtensor
    if all(_is_view(item) for item in items):
        view, kept = _take_views(ctx, node, x, dims, nodes)
        if view is x:
            filled = ctx.broadcast(value, own, kept)
            return (filled if mode == "set" else x + filled), dims
        return assign(view, ctx.align(value, own, kept)), dims
    arrays: dict[Dim, tuple[Variable, Dims]] = {}
    for item in items:
        if item.kind == "tensor":
            at = _within(ctx, node, nodes[item.payload], indexers[item.payload], item.dim)
            arrays[item.dim] = (at, ctx.axes(nodes[item.payload]))
        elif item.kind == "int":
            at = pt.as_tensor_variable(_static(ctx, node, item), dtype="int64")
            arrays[item.dim] = (at, ())
        else:
            at = _positions_of(ctx, node, item, indexers)
            arrays[item.dim] = (at, (item.new_dim(nodes),))
    # of several values for one position the last one wins, which depends on the order of dims
    order = sort_dims if mode == "set" else ctx.order.sort
    indices, indexed, target, rest = _joint_indices(ctx, dims, arrays, order)
    moved = transpose(x, dims, (*indexed, *rest))
    shape = pt.broadcast_shape(*indices) if len(indices) > 1 else indices[0].shape
    shape = [shape[i] for i in range(len(target))] + ctx.shape(rest)
    filled = alloc(ctx.align(value, own, (*target, *rest)), *shape)
    updated = assign(moved[tuple(indices)], filled)
    return transpose(updated, (*indexed, *rest), dims), dims


@prefers("update")
def update_order(node: Node, estimates: Estimates) -> Found:
    source, _, *indexers = node.inputs
    return _rows(source.dims, node.attrs.items, indexers, True, estimates)
