"""Elimination: unknowns are summed out one after the other, in the cheapest order."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dimtensor.dims import Dim
from dimtensor.errors import GraphError, build_message, printable
from dimtensor.graph import Node
from dimtensor.graph.printing.formula import formula
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.placing import canonical, placed, slots_onto
from dimtensor.marginal.reading import Factor, at_state
from dimtensor.marginal.unknowns import Slot, StateDims, Unknown, own_slot
from dimtensor.tensor.elementwise import logaddexp
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.marginal.chains import Chain
    from dimtensor.tensor.core import DimTensor

# how long a dim is taken to be in costs where its length comes with the data
UNKNOWN_LENGTH = 1000
# up to this number of unknowns every order is compared
EXACT = 6

Merge = Callable[[Node, Dim], Node]  # a table without a dim of states


def log_sum(node: Node, dim: Dim) -> Node:
    """Sum over states, of logarithms."""
    return wrap(node).logsumexp(dim).node


def maximum(node: Node, dim: Dim) -> Node:
    """The most probable state."""
    return wrap(node).max(dim).node


@dataclass(frozen=True)
class Cost:
    """How many numbers a step computes: a product of lengths."""

    dims: tuple[Dim, ...]
    states: tuple[Dim, ...]

    @property
    def number(self) -> int:
        """The product; lengths that come with the data count as 1000."""
        lengths = [dim.length for dim in (*self.dims, *self.states)]
        return math.prod(UNKNOWN_LENGTH if n is None else n for n in lengths)

    @printable
    def __str__(self) -> str:
        parts = [_counted(dim) for dim in self.dims]
        several = [dim for dim in self.states if dim.length != 1]  # normal ones have no states
        parts += ["states" if dim.length is None else str(dim.length) for dim in several]
        return " × ".join(parts) or "1"


def _counted(dim: Dim) -> str:
    return dim._short if dim.length is None else f"{dim._short} ({dim.length})"


class Step(Protocol):
    """What was done: which unknowns were summed out."""

    @property
    def eliminated(self) -> tuple[Unknown, ...]: ...


@dataclass(frozen=True)
class Point:
    """An unknown is summed out element by element.

    Attributes
    ----------
    unknown : Unknown
    table : Node
        What was summed, over the dims and states of the unknown and of all that it depends on.
    slots : tuple of (Dim, Slot)
        The readings of the other unknowns in the table.
    """

    unknown: Unknown
    table: Node
    dim: Dim
    slots: tuple[tuple[Dim, Slot], ...]
    cost: Cost

    @property
    def eliminated(self) -> tuple[Unknown, ...]:
        return (self.unknown,)

    @printable
    def __str__(self) -> str:
        return f"{self.unknown.name}: {self.cost}"


class Elimination:
    """Factors from which unknowns are summed out.

    Attributes
    ----------
    factors : list of Factor
        What is left; none reads an unknown.
    steps : list
        In order.
    """

    def __init__(
        self, factors: Sequence[Factor], unknowns: Sequence[Unknown], states: StateDims,
        merge: Merge = log_sum, associative_scan: bool = False,
    ):  # fmt: skip
        self.states, self.merge = states, merge
        self.associative_scan = associative_scan
        known = [part for factor in factors if factor.slots for part in canonical(factor, states)]
        start = _Stage(tuple(known), (), 0)
        self.steps, self.factors = self._run(start, tuple(unknowns))
        self.factors += [factor for factor in factors if not factor.slots]

    def _run(self, start: _Stage, unknowns: tuple[Unknown, ...]) -> tuple[list[Step], list[Factor]]:
        stages = {frozenset[Unknown](): start}
        exact = len(unknowns) <= EXACT
        everything = frozenset(unknowns)
        best: dict[frozenset[Unknown], _Stage] = dict(stages)
        pending = [frozenset[Unknown]()]
        stuck: _Stage = start
        while pending:
            pending.sort(key=lambda done: best[done].cost)
            done = pending.pop(0)
            stage = best[done]
            if done == everything:
                return list(stage.steps), list(stage.factors)
            left = [unknown for unknown in unknowns if unknown not in done]
            moves = self._moves(stage.factors, left)
            if not moves and len(stage.steps) >= len(stuck.steps):
                stuck = stage
            if not exact:
                moves = sorted(moves, key=lambda move: move.cost.number)[:1]
            for move in moves:
                after = done | set(move.eliminated)
                cost = stage.cost + move.cost.number
                if after in best and best[after].cost <= cost:
                    continue
                factors, step = move.apply(self)
                best[after] = _Stage(tuple(factors), (*stage.steps, step), cost)
                if after not in pending:
                    pending.append(after)
        left = [u for u in unknowns if all(u not in s.eliminated for s in stuck.steps)]
        raise no_order(stuck.factors, left)

    def through(self, chain: Chain) -> DimTensor:
        """The table of the last states of a chain."""
        from dimtensor.marginal import levels
        from dimtensor.marginal.chains import forward
        from dimtensor.marginal.products import in_pairs

        if self.associative_scan:
            return in_pairs(chain, self.merge)
        found = levels.through(chain) if self.merge is log_sum else None
        if found is not None:
            return found
        return forward(chain, self.merge)[0]

    def _moves(self, factors: Sequence[Factor], left: Sequence[Unknown]) -> list[Move]:
        from dimtensor.marginal.chains import chain_move
        from dimtensor.marginal.trees import tree_move

        found: list[Move] = []
        for unknown in left:
            move = point_move(factors, unknown)
            if move is not None:
                found.append(move)
        if not found:
            for unknown in left:
                ways = (chain_move, tree_move)
                moves = (way(factors, unknown, self.states) for way in ways)
                found += [move for move in moves if move is not None][:1]
        return found


@dataclass(frozen=True)
class _Stage:
    factors: tuple[Factor, ...]
    steps: tuple[Step, ...]
    cost: int


class Move(ABC):
    """Something that can be done next."""

    cost: Cost
    eliminated: tuple[Unknown, ...]

    @abstractmethod
    def apply(self, elimination: Elimination) -> tuple[list[Factor], Step]:
        """The factors afterwards, and what was done."""


class _PointMove(Move):
    def __init__(self, factors: Sequence[Factor], unknown: Unknown, cost: Cost):
        self.factors, self.unknown, self.cost = factors, unknown, cost
        self.eliminated = (unknown,)

    def apply(self, elimination: Elimination) -> tuple[list[Factor], Step]:
        unknown, states = self.unknown, elimination.states
        mine = [factor for factor in self.factors if factor.reads(unknown)]
        rest = [factor for factor in self.factors if not factor.reads(unknown)]
        parts = [placed(factor, factor.reads(unknown)[0][1], states) for factor in mine]
        own = states[own_slot(unknown)]
        table = added([part.node for part in parts])
        table = expand_node(table, (own,))
        slots = {dim: slot for part in parts for dim, slot in part.slots if dim is not own}
        step = Point(unknown, table, own, tuple(slots.items()), self.cost)
        merged = elimination.merge(table, own)
        if unknown.states.length == 2 and elimination.merge is log_sum:
            # one exponential in place of two
            one, other = (added(at_state(part.node, own, at) for part in parts) for at in (0, 1))
            merged = logaddexp(wrap(one), wrap(other)).node
        result = Factor(
            merged, unknown.dims, tuple(slots.items()),
            frozenset().union(*(part.origins for part in parts)), parts[0].source,
        )  # fmt: skip
        # of what depends on nothing else the dims are kept: each element is a term
        return [*rest, *(canonical(result, states) if slots else [result])], step


def point_move(factors: Sequence[Factor], unknown: Unknown) -> Move | None:
    """How an unknown is summed out element by element, if that is possible."""
    others: dict[Slot, None] = {}
    mine = [factor for factor in factors if factor.reads(unknown)]
    for factor in mine:
        read = factor.reads(unknown)
        if len(read) != 1:
            return None
        slot = read[0][1]
        onto = slots_onto(slot, [other for _, other in factor.slots if other is not slot])
        if onto is None:
            return None
        others.update(dict.fromkeys(onto))
    if not mine:
        return None
    states = (unknown.states, *(slot.unknown.states for slot in others))
    return _PointMove(factors, unknown, Cost(unknown.dims, states))


def added(nodes: Iterable[Node]) -> Node:
    """The sum of tables."""
    first, *rest = nodes
    total = wrap(first)
    for node in rest:
        total = total + wrap(node)
    return total.node


def no_order(factors: Sequence[Factor], left: Sequence[Unknown]) -> GraphError:
    """The error of unknowns that depend on each other in a way that no step resolves."""
    names = ", ".join(repr(unknown.name) for unknown in left)
    coupling = [
        factor for factor in factors
        if len(factor.slots) > 1 and any(factor.reads(unknown) for unknown in left)
    ]  # fmt: skip
    if not coupling:
        return GraphError(f"marginalize: no term of the density depends on {names}")
    details: list[tuple[str, object]] = []
    for factor in coupling[:4]:
        dims = ", ".join(dim._short for dim in factor.dims)
        details.append(("expression", formula(factor.source, 80)))
        details.append(
            ("  along", f"{{{dims}}}, reads {', '.join(str(s) for _, s in factor.slots)}")
        )
    return GraphError(
        build_message(
            f"marginalize: the elements of {names} depend on each other, and not only element by "
            "element or from one position of a dim to the next ones",
            details,
            "observe one of the variables, sum it out together with those it depends on, or write "
            "the dependence between neighbours along one dim",
        )
    )
