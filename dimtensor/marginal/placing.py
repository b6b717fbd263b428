"""Factors brought onto the dims of an unknown: padded, added up by group, cut at the ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dimtensor.dims import Dim, SelDim, without
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import expand_node, relabel_node
from dimtensor.marginal.reading import Factor, summed_out
from dimtensor.marginal.unknowns import (
    Along,
    At,
    Look,
    Slot,
    StateDims,
    Where,
    covers,
    end_of,
    own_slot,
)
from dimtensor.tensor.constructors import arange, length, zeros
from dimtensor.tensor.elementwise import clip
from dimtensor.tensor.handle import wrap


def canonical(factor: Factor, states: StateDims) -> list[Factor]:
    """A factor without positions outside of an unknown, and without dims that no slot has."""
    return [summed_out(part) for part in _inside(factor, states)]


def _inside(factor: Factor, states: StateDims) -> list[Factor]:
    """Parts of a factor; along the ends, where one reads no element, it depends on none."""
    for _, slot in factor.slots:
        for dim, where in zip(slot.unknown.dims, slot.where, strict=True):
            if not isinstance(where, Along):
                continue
            if where.by < 0:
                return _cut(factor, states, where.dim, True)
            if _beyond(where, dim) > 0:
                return _cut(factor, states, where.dim, False)
    return [factor]


def _beyond(where: Along, dim: Dim) -> int:
    """How many of the last positions are outside."""
    return end_of(where.dim, where.by, dim) or 0


def _cut(factor: Factor, states: StateDims, along: Dim, first: bool) -> list[Factor]:
    """The first or last element along a dim by itself, and the rest."""
    x = wrap(expand_node(factor.node, (along,)))
    at = 0 if first else -1
    rest = SelDim(along, positions=slice(1, None) if first else slice(None, -1))

    def in_rest(where: Where) -> Where:
        if isinstance(where, Along) and where.dim is along:
            return Along(rest, where.by + first)
        if isinstance(where, Look) and along in where.positions.dims:
            return Look(
                wrap(where.positions)
                .isel({along: slice(1, None) if first else slice(None, -1)})
                .node
            )
        return where

    edge, dropped = [], []
    for dim, slot in factor.slots:
        found = [
            _at_edge(where, own, along, at)
            for own, where in zip(slot.unknown.dims, slot.where, strict=True)
        ]
        known = tuple(where for where in found if where is not None)
        if len(known) < len(found):
            dropped.append(dim)
        else:
            edge.append((dim, Slot(slot.unknown, known)))
    one = x.isel({along: at})
    one = one.isel({dim: 0 for dim in dropped if dim in one.dims})
    others = without(factor.dims, [along])
    ends = _renamed(factor, one.node, others, edge, states)
    cut = x.isel({along: slice(1, None) if first else slice(None, -1)})
    moved = [(dim, slot.moved(in_rest)) for dim, slot in factor.slots]
    main = _renamed(factor, cut.node, (*others, rest), moved, states)
    if dropped and factor.power:  # there is nothing to multiply with
        return _inside(main, states)
    return [*_inside(ends, states), *_inside(main, states)]


def _at_edge(where: Where, own: Dim, along: Dim, at: int) -> Where | None:
    if isinstance(where, At) or (isinstance(where, Along) and where.dim is not along):
        return where
    if isinstance(where, Look):
        if along not in where.positions.dims:
            return where
        return Look(wrap(where.positions).isel({along: at}).node)
    if at == 0:
        return At(where.by) if where.by >= 0 else None
    if where.dim is own:
        return At(where.by - 1) if where.by <= 0 else None
    if along.length is None or own.length is None:
        return Look((arange(along) + where.by).isel({along: at}).node)
    position = along.length - 1 + where.by
    return At(position) if position < own.length else None


def _renamed(
    factor: Factor,
    node: Node,
    dims: Sequence[Dim],
    slots: Sequence[tuple[Dim, Slot]],
    states: StateDims,
) -> Factor:
    """A factor whose dims of states are those of its slots."""
    pairs = [(dim, states[slot]) for dim, slot in slots]
    node = relabel_node(node, *((old, new) for old, new in pairs if old in node.dims))
    known = tuple((states[slot], slot) for _, slot in slots)
    return factor.with_node(node, tuple(dims), known)


# -- onto the dims of an unknown ------------------------------------------------------------------


def slots_onto(slot: Slot, others: Sequence[Slot]) -> list[Slot] | None:
    """Other slots of a factor in terms of positions of the element that one slot reads.

    None where they are not determined by it.
    """
    unknown = slot.unknown
    along = {w.dim: (d, w.by) for d, w in _pairs(slot) if isinstance(w, Along)}
    looked = {w.positions: d for d, w in _pairs(slot) if isinstance(w, Look)}
    scattered = {dim for index in looked for dim in index.dims}

    def onto(where: Where) -> Where | None:
        if isinstance(where, At):
            return where
        if isinstance(where, Along):
            if where.dim in scattered or where.dim not in along:
                return None
            dim, by = along[where.dim]
            return Along(dim, where.by - by)
        if where.positions in looked:
            return Along(looked[where.positions])
        index = where.positions
        for dim in index.dims:
            if dim in scattered or dim not in along:
                return None
            target, by = along[dim]
            if by or not (dim is target or covers(dim, 0, target)):
                return None
            index = relabel_node(index, (dim, target))
        return Look(index)

    found = []
    for other in others:
        where = tuple(w for w in map(onto, other.where) if w is not None)
        if len(where) < len(other.where):
            return None
        found.append(Slot(other.unknown, where))
    return found if all(set(s.dims) <= set(unknown.dims) for s in found) else None


def _pairs(slot: Slot) -> list[tuple[Dim, Where]]:
    return list(zip(slot.unknown.dims, slot.where, strict=True))


def placed(factor: Factor, slot: Slot, states: StateDims) -> Factor:
    """A factor over the dims of an unknown that it reads in one slot; 0 where it says nothing."""
    others = [(dim, other) for dim, other in factor.slots if other is not slot]
    onto = slots_onto(slot, [other for _, other in others])
    assert onto is not None
    own = own_slot(slot.unknown)
    (before,) = [dim for dim, other in factor.slots if other is slot]
    slots = [(before, own), *((dim, new) for (dim, _), new in zip(others, onto, strict=True))]
    return _renamed(factor, _scattered(factor, slot), slot.unknown.dims, slots, states)


def reads_all(dim: Dim, where: Where) -> bool:
    """Whether a reading is of all elements along a dim, in order."""
    if not isinstance(where, Along) or where.by:
        return False
    return where.dim is dim or covers(where.dim, 0, dim) is True


def read_at(node: Node, slot: Slot) -> Node:
    """Something that is known of each element of an unknown, where a slot reads it."""
    chosen: dict[Dim, Any] = {}
    renamed: list[tuple[Dim, Dim]] = []
    for dim, where in _pairs(slot):
        if isinstance(where, At):
            chosen[dim] = where.position
        elif not isinstance(where, Along):
            chosen[dim] = wrap(where.positions)
        elif where.by == 0 and where.dim is dim:
            continue
        elif where.by == 0 and covers(where.dim, 0, dim):
            renamed.append((dim, where.dim))
        else:  # outside of the unknown it does not matter what is read
            chosen[dim] = clip(arange(where.dim) + where.by, 0, length(dim) - 1)
    x = wrap(expand_node(node, slot.unknown.dims))
    x = x.isel(chosen) if chosen else x
    return relabel_node(x.node, *renamed)


def _scattered(factor: Factor, slot: Slot) -> Node:
    pairs = _pairs(slot)
    whole = [reads_all(dim, where) for dim, where in pairs]
    if all(whole):
        node = factor.node
        along = [(w.dim, d) for d, w in pairs if isinstance(w, Along)]
        return relabel_node(node, *(pair for pair in along if pair[0] in node.dims))
    x = wrap(factor.full())
    shared = {dim for _, w in pairs if isinstance(w, Look) for dim in w.positions.dims}
    chosen: dict[Dim, object] = {}
    beside = without(x.node.dims, factor.dims)
    for (dim, where), is_whole in zip(pairs, whole, strict=True):
        if isinstance(where, At):
            chosen[dim] = where.position
        elif isinstance(where, Look):
            chosen[dim] = wrap(where.positions)
        elif is_whole and where.dim not in shared:
            x = wrap(relabel_node(x.node, (where.dim, dim)))
        elif where.dim not in shared and _slice_of(where, dim) is not None:
            taken = SelDim(dim, positions=_slice_of(where, dim))
            x = wrap(relabel_node(x.node, (where.dim, taken)))
            chosen[dim] = _slice_of(where, dim)
        else:
            chosen[dim] = arange(where.dim) + where.by
    base = zeros((*slot.unknown.dims, *beside), dtype=x.dtype)
    return base.isel(chosen).inc(x).node


def _slice_of(where: Along, dim: Dim) -> slice | None:
    end = end_of(where.dim, where.by, dim)
    return None if end is None else slice(where.by or None, end or None)
