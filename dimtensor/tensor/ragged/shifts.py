"""Shifts along ragged dims, as analyses of graphs see them.

`shift` reads elements at computed positions, and masks those outside of the parent. Below such a
mask the element read is the one a number of positions earlier within the parent, for certain.
"""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.dims import Dim
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import IndexAttrs, IndexItem
from dimtensor.graph.rebuilding.parents import plain
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.graph.walk import toposort
from dimtensor.tensor.along.places import inside_of
from dimtensor.tensor.constructors import length
from dimtensor.tensor.handle import elemwise
from dimtensor.tensor.ragged.layout import flat_place, numbers, sorted_places


def marked_shifts(nodes: Sequence[Node]) -> list[Node]:
    """Read elements of other positions of a parent at marked positions, where they are masked.

    The positions along the ragged dim are those of `shift_of`. They are for analyses: if evaluated,
    those of masked elements may lie outside of the dim.
    """
    return rebuild(nodes, {}, _marked, nested=False)


def shift_of(positions: Node) -> tuple[Dim, int] | None:
    """Return the ragged dim and the shift of marked positions, None of others."""
    by = _difference(positions)
    if by is None or len(positions.dims) != 1:
        return None
    (dim,) = positions.dims
    if dim._within is None or _mark(dim, by) is not positions:
        return None
    return dim, by


def _mark(dim: Dim, by: int) -> Node:
    return elemwise("subtract", sorted_places(dim), by).node


def _difference(node: Node) -> int | None:
    """Return the integer that a node subtracts."""
    if node.kind != "elemwise" or node.attrs != "subtract":
        return None
    by = node.inputs[1]
    whole = by.kind == "constant" and by.dtype == "int64" and not by.dims
    return int(by.attrs.value) if whole else None


def _marked(node: Node, inputs: tuple[Node, ...]) -> Node | None:
    if node.kind != "elemwise" or node.attrs != "where":
        return None
    mask, value, other = inputs
    found = _mask_of_shift(mask)
    if found is None:
        return None
    dim, by = found
    sign = 1 if by > 0 else -1
    marks = {_places(dim, sign * n): _mark(dim, sign * n) for n in range(1, abs(by) + 1)}
    read = {
        x: _read_at(x, dim, marks[x.inputs[1]])
        for x in toposort([value])
        if x.kind == "index" and len(x.attrs.items) == 1 and x.inputs[-1] in marks
    }
    return make("elemwise", (mask, *rebuild([value], read), other), "where") if read else None


def _mask_of_shift(mask: Node) -> tuple[Dim, int] | None:
    """Return the ragged dim and the shift whose elements a mask selects."""
    if mask.kind != "elemwise" or mask.attrs != "logical_and" or len(mask.dims) != 1:
        return None
    (dim,) = mask.dims
    above = mask.inputs[0]
    by = _difference(above.inputs[0]) if above.attrs == "greater_equal" else None
    if dim._within is None or not by:
        return None
    earlier = elemwise("subtract", numbers(dim), by)
    return (dim, by) if inside_of(dim, earlier).node is mask else None


def _places(dim: Dim, by: int) -> Node:
    """Return the positions that a shift reads."""
    earlier = elemwise("subtract", numbers(dim), by)
    last = elemwise("maximum", elemwise("subtract", length(dim), 1), 0)
    return flat_place(dim, elemwise("minimum", elemwise("maximum", earlier, 0), last)).node


def _read_at(node: Node, dim: Dim, positions: Node) -> Node:
    x, flat = node.inputs[0], plain(dim)
    while flat not in x.dims:  # padded by one element, as it may be empty
        x = x.inputs[0]
    return make("index", (x, positions), IndexAttrs((IndexItem(flat, "tensor", 0),)))
