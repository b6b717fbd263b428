"""Zeros to which pieces are added side by side, as the pieces joined.

Of each update XLA makes a sum with an array that is padded with zeros. What reads the result has
all these sums in its loop, and computes them for each element that it reads.
"""

from __future__ import annotations

from typing import NamedTuple

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.subtensor import IncSubtensor

from dimtensor.graph.dtypes import is_complex, is_float
from dimtensor.ops.graphs import nodes_of, replace_nodes
from dimtensor.ops.slices import entries_of, selected_positions
from dimtensor.optimize.rules.selections import updates_of_zeros


class _Piece(NamedTuple):
    axis: int
    places: range
    value: Variable


def join_pieces(graph: FunctionGraph) -> None:
    """Join pieces that are added to zeros at constant places of one axis, none of them twice.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> from pytensor.graph.fg import FunctionGraph
    >>> a, b = pt.tensor("a", shape=(3,)), pt.tensor("b", shape=(2,))
    >>> x = pt.inc_subtensor(pt.inc_subtensor(pt.zeros(5)[:3], a)[3:], b)
    >>> graph = FunctionGraph([a, b], [x], clone=False)
    >>> join_pieces(graph)
    >>> graph.outputs[0].owner.op
    Join(axis=0)
    """
    updates = reversed(nodes_of(graph, IncSubtensor))
    replace_nodes(graph, updates, lambda node: _joined(graph, node.outputs[0]), "join_pieces")


def _joined(graph: FunctionGraph, out: Variable) -> Variable | None:
    updates = updates_of_zeros(out)
    shape = out.type.shape
    if updates is None or len(updates) < 2 or None in shape:
        return None
    if any(len(graph.clients[update.outputs[0]]) > 1 for update in updates[1:]):
        return None  # what is read in between is computed anyway
    pieces = [piece for update in updates if (piece := _piece(update)) is not None]
    if len(pieces) < len(updates) or len({piece.axis for piece in pieces}) > 1:
        return None
    axis, end = pieces[0].axis, 0
    parts: list[Variable] = []
    for piece in sorted(pieces, key=lambda piece: piece.places.start):
        if piece.places.start < end:
            return None
        parts += [*_zeros(out, axis, piece.places.start - end), piece.value]
        end = piece.places.stop
    parts += _zeros(out, axis, shape[axis] - end)
    return pt.join(axis, *parts)


def _zeros(like: Variable, axis: int, length: int) -> list[Variable]:
    """Zeros between two pieces; none if there is no room between them."""
    shape = list(like.type.shape)
    shape[axis] = length
    return [pt.zeros(shape, dtype=like.type.dtype)] if length else []


def _piece(update: Apply) -> _Piece | None:
    """Return what an update adds along one axis, if it covers the others; None otherwise."""
    if not isinstance(update.op, IncSubtensor):
        return None
    x, value = update.inputs[:2]
    shape = list(x.type.shape)
    found: tuple[int, range] | None = None
    for axis, (entry, n) in enumerate(zip(entries_of(update), shape, strict=True)):
        places = selected_positions(entry, n)
        if not places or places.step != 1:
            return None
        if isinstance(entry, int):
            value = pt.expand_dims(value, axis)
        elif len(places) == n:
            continue
        if found is not None:
            return None
        found = axis, places
    if found is None:
        return None
    shape[found[0]] = len(found[1])
    # a value that is repeated would have to be, here
    fits = value.type.shape == tuple(shape) and value.type.dtype == x.type.dtype
    fits &= not is_complex(value.type.dtype)
    return _Piece(*found, _added_to_zero(value)) if fits else None


def _added_to_zero(value: Variable) -> Variable:
    """Make zeros positive, as sums with zero are; XLA removes such a sum."""
    if not is_float(value.type.dtype):
        return value
    zero = pt.constant(0, dtype=value.type.dtype)
    return pt.switch(pt.eq(value, zero), zero, value)
