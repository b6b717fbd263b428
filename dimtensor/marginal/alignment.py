"""Alignment of factors with the dims of an unknown: padding, scatter-adds, split-off edges."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, SelDim, SortedDim, without
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.node import KINDS
from dimtensor.graph.rebuilding.parents import plain
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild, relabel_node
from dimtensor.marginal.unknowns import (
    ElementIndex,
    Factor,
    FactorSlot,
    FixedIndex,
    LookupIndex,
    ShiftedIndex,
    StateDims,
    Unknown,
    covers,
    end_of,
    own_slot,
    sum_unread_dims,
)
from dimtensor.tensor.constructors import arange, length, zeros
from dimtensor.tensor.elementwise import clip
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor
from dimtensor.tensor.ragged.layout import order, sorted_places

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def canonical(factor: Factor, states: StateDims) -> list[Factor]:
    """Split a factor into in-range parts, and sum each over the dims that none of its slots has."""
    return [sum_unread_dims(part) for part in _in_range(factor, states)]


def _in_range(factor: Factor, states: StateDims) -> list[Factor]:
    """Split a factor so that every slot of each part reads elements that exist."""
    for _, slot in factor.slots:
        for dim, where in zip(slot.unknown.dims, slot.indices, strict=True):
            if not isinstance(where, ShiftedIndex):
                continue
            if where.by < 0 and where.dim.length == 0:
                return _in_range(_moved(factor, states, where.dim, -where.by), states)
            if where.by < 0:
                return _split_edge(factor, states, where.dim, True)
            if _overhang(where, dim) > 0:
                return _split_edge(factor, states, where.dim, False)
    return [factor]


def _moved(factor: Factor, states: StateDims, along: Dim, by: int) -> Factor:
    """Move the slots of a factor along an empty dim, where it reads no element anyway."""

    def moved(where: ElementIndex) -> ElementIndex:
        if isinstance(where, ShiftedIndex) and where.dim is along:
            return ShiftedIndex(along, where.by + by)
        return where

    slots = [(dim, slot.moved(moved)) for dim, slot in factor.slots]
    return _on_state_dims(factor, factor.node, factor.dims, slots, states)


def _overhang(where: ShiftedIndex, dim: Dim) -> int:
    """Return the number of positions at the end of a factor that lie outside the unknown."""
    return 0 if where.dim.length == 0 else end_of(where.dim, where.by, dim) or 0


def _split_edge(factor: Factor, states: StateDims, along: Dim, first: bool) -> list[Factor]:
    """Split the first or last position of a factor along a dim from the others."""
    x = wrap(expand_node(factor.node, (along,)))
    at = 0 if first else -1
    rest = SelDim(along, positions=slice(1, None) if first else slice(None, -1))

    def in_rest(where: ElementIndex) -> ElementIndex:
        if isinstance(where, ShiftedIndex) and where.dim is along:
            return ShiftedIndex(rest, where.by + first)
        if isinstance(where, LookupIndex) and along in where.positions.dims:
            return LookupIndex(
                wrap(where.positions)
                .isel({along: slice(1, None) if first else slice(None, -1)})
                .node
            )
        return where

    edge, dropped = [], []
    for dim, slot in factor.slots:
        found = [
            _at_edge(where, own, along, at)
            for own, where in zip(slot.unknown.dims, slot.indices, strict=True)
        ]
        known = tuple(where for where in found if where is not None)
        if len(known) < len(found):
            dropped.append(dim)
        else:
            edge.append((dim, FactorSlot(slot.unknown, known)))
    one = _element_at_edge(x, along, at)
    one = one.isel({dim: 0 for dim in dropped if dim in one.dims})
    others = without(factor.dims, [along])
    ends = _on_state_dims(factor, one.node, others, edge, states)
    cut = x.isel({along: slice(1, None) if first else slice(None, -1)})
    moved = [(dim, slot.moved(in_rest)) for dim, slot in factor.slots]
    main = _on_state_dims(factor, cut.node, (*others, rest), moved, states)
    if dropped and factor.power:  # the coefficient of an element that does not exist
        return _in_range(main, states)
    return [*_in_range(ends, states), *_in_range(main, states)]


def _element_at_edge(x: DimTensor, along: Dim, at: int) -> DimTensor:
    """Return the first or last element along a dim, 0 if the dim is empty."""
    if along.length:
        return x.isel({along: at})
    there = x.isel({along: slice(-1, None) if at else slice(0, 1)})
    return there.sum(without(there.dims, x.dims) or (along,))


def _at_edge(where: ElementIndex, own: Dim, along: Dim, at: int) -> ElementIndex | None:
    if isinstance(where, FixedIndex) or (
        isinstance(where, ShiftedIndex) and where.dim is not along
    ):
        return where
    if isinstance(where, LookupIndex):
        if along not in where.positions.dims:
            return where
        return LookupIndex(_element_at_edge(wrap(where.positions), along, at).node)
    if at == 0:
        return FixedIndex(where.by) if where.by >= 0 else None
    if where.dim is own:
        return FixedIndex(where.by - 1) if where.by <= 0 else None
    if along.length is None or own.length is None:
        return LookupIndex(_element_at_edge(arange(along) + where.by, along, at).node)
    position = along.length - 1 + where.by
    return FixedIndex(position) if position < own.length else None


def _on_state_dims(
    factor: Factor,
    node: Node,
    dims: Sequence[Dim],
    slots: Sequence[tuple[Dim, FactorSlot]],
    states: StateDims,
) -> Factor:
    """Rename the state dims of a factor to those of its new slots."""
    pairs = [(dim, states[slot]) for dim, slot in slots]
    node = relabel_node(node, *((old, new) for old, new in pairs if old in node.dims))
    known = tuple((states[slot], slot) for _, slot in slots)
    return factor.with_node(node, tuple(dims), known)


# -- onto the dims of an unknown ------------------------------------------------------------------


def reindexed_slots(slot: FactorSlot, others: Sequence[FactorSlot]) -> list[FactorSlot] | None:
    """Express other slots of a factor by the position of the element that one slot reads.

    Return None if that position does not determine them.
    """
    unknown = slot.unknown
    along = {w.dim: (d, w.by) for d, w in _pairs(slot) if isinstance(w, ShiftedIndex)}
    looked = {w.positions: d for d, w in _pairs(slot) if isinstance(w, LookupIndex)}
    scattered = {dim for index in looked for dim in index.dims}

    def onto(where: ElementIndex) -> ElementIndex | None:
        if isinstance(where, FixedIndex):
            return where
        if isinstance(where, ShiftedIndex):
            if where.dim in scattered or where.dim not in along:
                return None
            dim, by = along[where.dim]
            return ShiftedIndex(dim, where.by - by)
        if where.positions in looked:
            return ShiftedIndex(looked[where.positions])
        index = where.positions
        for dim in index.dims:
            if dim in scattered or dim not in along:
                return None
            target, by = along[dim]
            if by or not (dim is target or covers(dim, 0, target)):
                return None
            index = relabel_node(index, (dim, target))
        return LookupIndex(index)

    found = []
    for other in others:
        where = tuple(w for w in map(onto, other.indices) if w is not None)
        if len(where) < len(other.indices):
            return None
        found.append(FactorSlot(other.unknown, where))
    return found if all(set(s.dims) <= set(unknown.dims) for s in found) else None


def _pairs(slot: FactorSlot) -> list[tuple[Dim, ElementIndex]]:
    return list(zip(slot.unknown.dims, slot.indices, strict=True))


def aligned(factor: Factor, slot: FactorSlot, states: StateDims) -> Factor:
    """Scatter a factor onto the dims of the unknown of one slot, 0 at unread elements."""
    others = [(dim, other) for dim, other in factor.slots if other is not slot]
    onto = reindexed_slots(slot, [other for _, other in others])
    assert onto is not None
    own = own_slot(slot.unknown)
    (before,) = [dim for dim, other in factor.slots if other is slot]
    slots = [(before, own), *((dim, new) for (dim, _), new in zip(others, onto, strict=True))]
    return _on_state_dims(factor, _scattered(factor, slot), slot.unknown.dims, slots, states)


def reads_all(dim: Dim, where: ElementIndex) -> bool:
    """Return whether an index reads all elements along a dim, in order."""
    if not isinstance(where, ShiftedIndex) or where.by:
        return False
    return where.dim is dim or covers(where.dim, 0, dim) is True


def read_at(node: Node, slot: FactorSlot) -> Node:
    """Gather values given per element of an unknown at the elements that a slot reads."""
    chosen: dict[Dim, Any] = {}
    renamed: list[tuple[Dim, Dim]] = []
    for dim, where in _pairs(slot):
        if isinstance(where, FixedIndex):
            chosen[dim] = where.position
        elif not isinstance(where, ShiftedIndex):
            chosen[dim] = wrap(where.positions)
        elif where.by == 0 and where.dim is dim:
            continue
        elif where.by == 0 and covers(where.dim, 0, dim):
            renamed.append((dim, where.dim))
        else:  # out-of-range positions are never used, so that any value will do
            chosen[dim] = clip(arange(where.dim) + where.by, 0, length(dim) - 1)
    x = wrap(expand_node(node, slot.unknown.dims))
    x = x.isel(chosen) if chosen else x
    return relabel_node(x.node, *renamed)


def _scattered(factor: Factor, slot: FactorSlot) -> Node:
    pairs = _pairs(slot)
    whole = [reads_all(dim, where) for dim, where in pairs]
    if all(whole):
        node = factor.node
        along = [(w.dim, d) for d, w in pairs if isinstance(w, ShiftedIndex)]
        return relabel_node(node, *(pair for pair in along if pair[0] in node.dims))
    x = wrap(factor.full())
    shared = {dim for _, w in pairs if isinstance(w, LookupIndex) for dim in w.positions.dims}
    chosen: dict[Dim, object] = {}
    beside = without(x.node.dims, factor.dims)
    for (dim, where), is_whole in zip(pairs, whole, strict=True):
        if isinstance(where, FixedIndex):
            chosen[dim] = where.position
        elif isinstance(where, LookupIndex):
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


def _slice_of(where: ShiftedIndex, dim: Dim) -> slice | None:
    end = end_of(where.dim, where.by, dim)
    return None if end is None else slice(where.by or None, end or None)


# -- ragged dims ----------------------------------------------------------------------------------


class NotFlattened(Exception):
    """Expression along a ragged dim that is not written along the plain one."""


class Flattening:
    """Replacement of ragged dims of chains by plain dims, sorted by parent.

    At the first positions of a parent no factor depends on the elements before them, so that one
    chain along all positions is a chain of each parent.

    Attributes
    ----------
    flat : dict of Dim to Dim
        The plain dims.
    unknowns : dict of Unknown to Unknown
        Unknowns along the plain dims.
    """

    def __init__(self, chained: Set[Dim], unknowns: Sequence[Unknown], states: StateDims):
        self._states = states
        self._order = {dim: order(dim) for dim in chained}
        self.flat = {
            dim: plain(dim) if ordered is None else SortedDim(plain(dim))
            for dim, ordered in self._order.items()
        }
        self.unknowns = {
            unknown: replace(
                unknown,
                node=tensor(
                    unknown.name,
                    self.dims(unknown.dims),
                    unknown.node.dtype,
                    unknown.node.categories,
                ).node,
            )
            for unknown in unknowns
            if not chained.isdisjoint(unknown.dims)
        }

    @classmethod
    def of_chains(
        cls, factors: Sequence[Factor], unknowns: Sequence[Unknown], states: StateDims
    ) -> Flattening:
        """Flatten the ragged dims along which factors read neighbors."""
        chained = {
            where.dim
            for factor in factors
            for _, slot in factor.slots
            for where in slot.indices
            if isinstance(where, ShiftedIndex) and where.by and where.dim._within is not None
        }
        return cls(chained, unknowns, states)

    def along(self, node: Node) -> Node | None:
        """Write a summand along the plain dims, or return None if it moves elements otherwise."""
        known = {old.node: new.node for old, new in self.unknowns.items()}
        below = {x for x in toposort([node]) if not known.keys().isdisjoint(toposort([x]))}
        try:
            return self._along(node, known, below)
        except NotFlattened:
            return None

    def _along(self, node: Node, known: dict[Node, Node], below: Set[Node]) -> Node:
        """Return a node along the plain dims; `known` maps the nodes written before."""
        if node in known:
            return known[node]
        if node not in below:
            return self.sorted(node)
        found = self._of_loop(node, known, below)
        if found is None:
            if node.kind != "expand" and not all(self._is_apart(node, dim) for dim in self.flat):
                raise NotFlattened
            inputs = [self._along(x, known, below) for x in node.inputs]
            if node.kind == "expand":
                found = expand_node(inputs[0], self.dims(node.dims))
            else:
                found = make(node.kind, tuple(inputs), node.attrs)
        known[node] = found
        return found

    def _is_apart(self, node: Node, dim: Dim) -> bool:
        """Return whether an operation is one of each position along a ragged dim."""
        if node.kind in ("loop", "relabel", "merge", "concat") and dim in node.dims:
            return node.kind == "relabel" and dim in node.inputs[0].dims
        own = [at for at, x in enumerate(node.inputs) if dim in x.dims]
        return all(KINDS[node.kind].keeps_apart(node, at, dim) for at in own)

    def _of_loop(self, node: Node, known: dict[Node, Node], below: Set[Node]) -> Node | None:
        """Return the output of a loop, whose steps are sorted by parent, along the plain dim."""
        for dim, flat in self.flat.items():
            if node.kind != "relabel" or (plain(dim), dim) not in node.attrs.pairs:
                continue
            whole, ordered = node.inputs[0], self._order[dim]
            if ordered is not None:
                if whole.kind != "index" or whole.inputs[1:] != (self._places(dim).node,):
                    raise NotFlattened
                whole = whole.inputs[0]
            read: dict[Node, Node] = {}
            for x in toposort([whole]):
                inner = x
                if ordered is not None and x.kind == "index" and x.inputs[1:] == (ordered.node,):
                    inner = x.inputs[0]
                elif ordered is not None:
                    continue
                if inner in below and inner.kind == "relabel":
                    if (dim, plain(dim)) in inner.attrs.pairs:
                        moved = self._along(inner.inputs[0], known, below)
                        read[x] = relabel_node(moved, (flat, plain(dim)))
            return relabel_node(rebuild([whole], read)[0], (plain(dim), flat))
        return None

    def dims(self, dims: Sequence[Dim]) -> Dims:
        """Return the plain dims of some dims."""
        return tuple(self.flat.get(dim, dim) for dim in dims)

    def sorted(self, node: Node) -> Node:
        """Return a node along the plain dims."""
        for dim, flat in self.flat.items():
            if dim in node.dims:
                node = relabel_node(node, (dim, plain(dim)))
                ordered = self._order[dim]
                if ordered is not None:
                    node = wrap(node).isel({plain(dim): ordered}).node
                    node = relabel_node(node, (plain(dim), flat))
        return node

    def restored(self, node: Node) -> Node:
        """Return a node along the ragged dims."""
        for dim, flat in self.flat.items():
            if flat in node.dims:
                if flat is not plain(dim):
                    node = wrap(node).isel({flat: self._places(dim)}).node
                node = relabel_node(node, (plain(dim), dim))
        return node

    def _places(self, dim: Dim) -> Any:
        return wrap(relabel_node(sorted_places(dim).node, (dim, plain(dim))))

    def of(self, unknowns: Sequence[Unknown]) -> list[Unknown]:
        """Return the unknowns along the plain dims."""
        return [self.unknowns.get(unknown, unknown) for unknown in unknowns]

    def factors(self, factors: Sequence[Factor]) -> list[Factor]:
        """Return factors along the plain dims, whose slots are of unknowns along these."""
        return [self._factor(factor) for factor in factors]

    def _factor(self, factor: Factor) -> Factor:
        if not any(slot.unknown in self.unknowns for _, slot in factor.slots):
            return factor
        slots = []
        for dim, slot in factor.slots:
            pairs = zip(slot.unknown.dims, slot.indices, strict=True)
            indices = tuple(self._index(own, where) for own, where in pairs)
            unknown = self.unknowns.get(slot.unknown, slot.unknown)
            slots.append((dim, FactorSlot(unknown, indices)))
        dims = self.dims(factor.dims)
        return _on_state_dims(factor, self.sorted(factor.node), dims, slots, self._states)

    def _index(self, own: Dim, where: ElementIndex) -> ElementIndex:
        """Return the index of an element of an unknown along one of its dims."""
        if isinstance(where, ShiftedIndex) and where.dim in self.flat:
            return ShiftedIndex(self.flat[where.dim], where.by)
        if isinstance(where, LookupIndex):
            where = LookupIndex(self.sorted(where.positions))
        if own not in self.flat or self._order[own] is None:
            return where
        if isinstance(where, FixedIndex):
            at: Any = where.position
        elif isinstance(where, ShiftedIndex):
            at = arange(where.dim) + where.by
        else:
            at = wrap(where.positions)
        return LookupIndex(self._places(own).isel({plain(own): at}).node)

    def results(self, factors: Sequence[Factor]) -> list[Factor]:
        """Return factors without slots along the ragged dims."""
        back = {flat: dim for dim, flat in self.flat.items()}
        return [
            factor.with_node(
                self.restored(factor.node),
                tuple(back.get(dim, dim) for dim in factor.dims),
                factor.slots,
            )
            for factor in factors
        ]
