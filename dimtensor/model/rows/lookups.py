"""Hoist elementwise functions out of gathers: one evaluation per position, not per look-up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dimtensor.cost.weights import weight
from dimtensor.dims import Dim, Dims
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import IndexAttrs, IndexItem
from dimtensor.graph.node import keep_place, next_serial
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.tuning import CALL

# Positions per look-up above which hoisting does not pay.
_FEWER = 0.5


class _Lookup(NamedTuple):
    """Gather: its base, and positions by dim."""

    base: Node
    by: dict[Dim, Node]


def hoist_lookups(expression: Node, size: Callable[[Dims], int]) -> Node:
    """Replace functions of gathered values by gathers of function values.

    The logarithm of ``theta[document]``, with a document for each of many words, is that of
    ``theta``, looked up: the same numbers, a logarithm for each document in place of one for each
    word. Its derivative is added up by document before it is divided.

    Parameters
    ----------
    expression : Node
    size : callable
        The number of positions along some dims.

    Examples
    --------
    >>> import math
    >>> import dimtensor as dt
    >>> document, word = dt.Dim("document", length=2), dt.Dim("word", length=9)
    >>> theta = dt.tensor("theta", dims=document)
    >>> of = dt.tensor("of", dims=word, dtype="int64")
    >>> logs = dt.log(theta[{document: of}])
    >>> found = hoist_lookups(logs.node, lambda dims: math.prod(dim.length for dim in dims))
    >>> found.kind, found.inputs[0].kind
    ('index', 'elemwise')
    """

    def instead(node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if node.kind != "elemwise" or weight(node.attrs) < CALL:
            return None
        found = _as_lookup(make("elemwise", inputs, node.attrs))
        if found is None or not found.by:
            return None
        along = tuple({dim: None for where in found.by.values() for dim in where.dims})
        if size(tuple(found.by)) > _FEWER * size(along):
            return None
        since = next_serial()
        new = _looked_up(found)
        keep_place(node, new, since)
        return new

    return rebuild([expression], {}, instead, nested=False)[0]


def _as_lookup(node: Node) -> _Lookup | None:
    """Write a node as a gather; None if it is none."""
    if node.kind == "index":
        items = node.attrs.items
        base, *places = node.inputs
        by = {item.dim: places[item.payload] for item in items if item.kind == "tensor"}
        along = {dim for where in by.values() for dim in where.dims}
        apart = not any(dim in along or dim._namespace in _names(along) for dim in base.dims)
        return _Lookup(base, by) if len(by) == len(items) and apart else None
    if node.kind != "elemwise":
        return None
    found = [_as_lookup(x) for x in node.inputs]
    lookups = [x for x in found if x is not None]
    if not lookups:
        return None
    by = {dim: where for x in lookups for dim, where in x.by.items()}
    if any(x.by != by for x in lookups):
        return None
    gone = {*by, *(dim for where in by.values() for dim in where.dims)}
    others = [x for x, looked in zip(node.inputs, found, strict=True) if looked is None]
    if any(dim in gone or dim._namespace in _names(gone) for x in others for dim in x.dims):
        return None
    inputs = [x if y is None else y.base for x, y in zip(node.inputs, found, strict=True)]
    return _Lookup(make("elemwise", tuple(inputs), node.attrs), by)


def _names(dims: Sequence[Dim] | set[Dim]) -> set[object]:
    return {dim._namespace for dim in dims}


def _looked_up(one: _Lookup) -> Node:
    dims = sorted(one.by, key=lambda dim: dim._sort_key)
    items = tuple(IndexItem(dim, "tensor", at) for at, dim in enumerate(dims))
    return make("index", (one.base, *(one.by[dim] for dim in dims)), IndexAttrs(items))
