"""Sum-product on trees: each element depends on its parent, given by an index of positions.

The elements are summed out level by level, the deepest first; the messages of a level are added up
by parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, SelDim, without
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import expand_node, relabel_node
from dimtensor.marginal.alignment import aligned, canonical, reindexed_slots
from dimtensor.marginal.moves import EliminationStep, Move, StepCost, add_tables, origins_of
from dimtensor.marginal.unknowns import (
    Factor,
    FactorSlot,
    FixedIndex,
    LookupIndex,
    ShiftedIndex,
    StateDims,
    Unknown,
    own_slot,
)
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data as make_data

if TYPE_CHECKING:
    from dimtensor.marginal.elimination import Elimination


@dataclass(frozen=True)
class Level:
    """Elements of one depth of a tree.

    Attributes
    ----------
    at : tuple of int
        Their positions.
    dim : Dim
        These positions as a dim.
    table : Node
        Log-space table over the dim, the states of the elements and those of their parents.
    parents : tuple of int
        Positions of their parents; empty for the roots.
    """

    at: tuple[int, ...]
    dim: Dim
    table: Node
    parents: tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """Elimination step: an unknown is summed out along a tree."""

    unknown: Unknown
    dim: Dim
    own: Dim
    parent: Dim
    levels: tuple[Level, ...]
    slots: tuple[tuple[Dim, FactorSlot], ...]  # of other unknowns
    cost: StepCost

    @property
    def eliminated(self) -> tuple[Unknown, ...]:
        return (self.unknown,)

    def __str__(self) -> str:
        depth = len(self.levels)
        return f"{self.unknown.name}: a tree along {self.dim._short} of depth {depth}, {self.cost}"


@dataclass(frozen=True)
class _Edges:
    """Pairwise factor of a tree, with the positions of children and parents."""

    factor: Factor
    along: Dim
    child: np.ndarray
    parent: np.ndarray
    slots: tuple[tuple[Dim, FactorSlot], tuple[Dim, FactorSlot]]


class _TreeMove(Move):
    def __init__(
        self, factors: Sequence[Factor], unknown: Unknown, dim: Dim, edges: Sequence[_Edges],
        cost: StepCost,
    ):  # fmt: skip
        self.factors, self.unknown, self.dim = factors, unknown, dim
        self.edges, self.cost = edges, cost
        self.eliminated = (unknown,)

    def apply(self, elimination: Elimination) -> tuple[list[Factor], EliminationStep]:
        unknown, states, dim = self.unknown, elimination.states, self.dim
        mine = [f for f in self.factors if f.reads(unknown)]
        rest = [f for f in self.factors if not f.reads(unknown)]
        own = states[own_slot(unknown)]
        parent = unknown.named_states(-1)
        parts = [aligned(f, f.reads(unknown)[0][1], states) for f in mine if _is_single(f, unknown)]
        pairs_of = (slot for f in (*(e.factor for e in self.edges), *parts) for slot in f.slots)
        beside = {d: slot for d, slot in pairs_of if slot.unknown is not unknown}
        base = zeros((*unknown.dims, own, *beside)).node
        unary = add_tables([base, *(expand_node(x.node, base.dims) for x in parts)])
        levels, total = [], zeros(without(unknown.dims, [dim])).node
        for at, above in _levels(self.edges, int(dim.length or 0)):
            here = SelDim(dim, positions=list(at))
            table = wrap(unary).isel({dim: list(at)})
            pairs = [_pairs(e, at, here, own, parent) for e in self.edges if above]
            node = add_tables([table.node, *pairs])
            levels.append(Level(at, here, node, above))
            message = elimination.merge(node, own)
            if above:
                unary = _passed(unary, message, here, above, dim, parent, own)
            else:
                total = add_tables([total, wrap(expand_node(message, (here,))).sum(here).node])
        slots = tuple(beside.items())
        step = Tree(unknown, dim, own, parent, tuple(levels), slots, self.cost)
        origins = origins_of(mine)
        batch = without(unknown.dims, [dim])
        result = Factor(total, batch, slots, origins, mine[0].source)
        return [*rest, *(canonical(result, states) if slots else [result])], step


def _passed(
    unary: Node, message: Node, here: Dim, above: tuple[int, ...], dim: Dim, parent: Dim, own: Dim
) -> Node:
    """Add the messages of children to the unary factors of their parents."""
    message = relabel_node(expand_node(message, (parent, here)), (parent, own))
    where = make_data(np.asarray(above), dims=here)
    beside = without(unary.dims, [dim])
    return wrap(unary).isel({dim: where}).inc(wrap(expand_node(message, beside))).node


def _pairs(edges: _Edges, at: tuple[int, ...], here: Dim, own: Dim, parent: Dim) -> Node:
    """Return the part of a pairwise factor that belongs to one level and its parents."""
    row = {int(child): k for k, child in enumerate(edges.child)}
    rows = [row[child] for child in at]
    x = wrap(expand_node(edges.factor.node, (edges.along,)))
    taken = x.isel({edges.along: rows})
    (cut,) = [d for d in taken.dims if d not in x.dims] or [edges.along]
    (child, _), (above, _) = edges.slots
    moved = [(cut, here), (child, own), (above, parent)]
    return relabel_node(taken.node, *(pair for pair in moved if pair[0] in taken.node.dims))


def _levels(edges: Sequence[_Edges], length: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return positions by depth, the deepest first, with the positions of their parents."""
    parent = np.full(length, -1)
    parent[edges[0].child] = edges[0].parent
    depth = np.zeros(length, dtype=int)
    for k in range(length):
        at = k
        while parent[at] >= 0:
            at = parent[at]
            depth[k] += 1
    found = []
    for level in range(int(depth.max()), -1, -1):
        here = np.flatnonzero(depth == level)
        above = tuple(int(p) for p in parent[here]) if level else ()
        found.append((tuple(int(k) for k in here), above))
    return found


def tree_move(factors: Sequence[Factor], unknown: Unknown, states: StateDims) -> Move | None:
    """Return the elimination of an unknown along a tree, or None if it is not one."""
    mine = [f for f in factors if f.reads(unknown)]
    for dim in unknown.dims:
        if dim.length is None:
            continue
        batch, edges = set(without(unknown.dims, [dim])), []
        beside: set[Unknown] = set()
        for factor in mine:
            others = [slot for _, slot in factor.slots if slot.unknown is not unknown]
            if _is_single(factor, unknown):
                onto = reindexed_slots(factor.reads(unknown)[0][1], others)
            else:
                onto = others
                found = _edges(factor, unknown, dim)
                if found is None:
                    break
                edges.append(found)
            if onto is None or any(not set(slot.dims) <= batch for slot in onto):
                break
            beside |= {slot.unknown for slot in onto}
        else:
            same = {(tuple(e.child), tuple(e.parent)) for e in edges}
            pairs = {tuple(sorted(zip(*one, strict=True))) for one in same}
            if edges and len(pairs) == 1:
                states_of = (unknown.states, unknown.states, *(u.states for u in beside))
                return _TreeMove(factors, unknown, dim, edges, StepCost(unknown.dims, states_of))
    return None


def _is_single(factor: Factor, unknown: Unknown) -> bool:
    return len(factor.reads(unknown)) == 1


def _edges(factor: Factor, unknown: Unknown, dim: Dim) -> _Edges | None:
    slots = factor.reads(unknown)
    if len(slots) != 2:
        return None
    at = unknown.dims.index(dim)
    where = [slot.indices[at] for _, slot in slots]
    batch = [
        all(
            w == ShiftedIndex(d)
            for d, w in zip(unknown.dims, slot.indices, strict=True)
            if d is not dim
        )
        for _, slot in slots
    ]
    along = {d for w in where if not isinstance(w, FixedIndex) for d in _dims(w)}
    if len(along) != 1 or not all(batch):
        return None
    (own,) = along
    numbers = [_numbers(w, own) for w in where]
    if any(one is None for one in numbers) or own.length is None:
        return None
    one, other = (np.asarray(x) for x in numbers)
    # an element has one parent, so that positions of children do not repeat
    for child, parent, (c, p) in ((one, other, (0, 1)), (other, one, (1, 0))):
        if len(set(child.tolist())) == len(child):
            edges = _Edges(factor, own, child, parent, (slots[c], slots[p]))
            if _is_forest(edges, int(dim.length or 0)):
                return edges
    return None


def _dims(where: Any) -> tuple[Dim, ...]:
    return (where.dim,) if isinstance(where, ShiftedIndex) else tuple(where.positions.dims)


def _numbers(where: Any, along: Dim) -> np.ndarray | None:
    """Return the positions of an index as numbers, or None if they are not data."""
    from dimtensor.compile.function import free_inputs

    if isinstance(where, ShiftedIndex):
        return None if along.length is None else np.arange(along.length) + where.by
    if not isinstance(where, LookupIndex) or free_inputs([where.positions]):
        return None
    if any(d.length is None for d in where.positions.dims):
        return None
    return np.asarray(wrap(where.positions).eval().values)


def _is_forest(edges: _Edges, length: int) -> bool:
    if len(set(edges.child.tolist())) < len(edges.child):
        return False
    ends = np.concatenate([edges.child, edges.parent])
    if ends.size and (ends.min() < 0 or ends.max() >= length):
        return False
    parent = dict(zip(edges.child.tolist(), edges.parent.tolist(), strict=True))
    for start in parent:
        at, steps = start, 0
        while at in parent:
            at, steps = parent[at], steps + 1
            if steps > length:
                return False
    return True


def picked_tree(tree: Tree, pick: Any) -> Node:
    """Choose the states of all elements, from the roots down, by `pick` on each table."""
    dim, whole = tree.dim, zeros(tree.unknown.dims, dtype="int64")
    for level in reversed(tree.levels):
        table = wrap(level.table)
        if level.parents:
            above = whole.isel({dim: make_data(np.asarray(level.parents), dims=level.dim)})
            if tree.parent in table.dims:
                table = table.isel({tree.parent: above})
        state = wrap(expand_node(pick(table.node, tree.own), (level.dim,)))
        # noise with more dims makes several draws
        whole = wrap(expand_node(whole.node, without(state.dims, [level.dim])))
        whole = whole.isel({dim: list(level.at)}).set(state)
    return whole.node
