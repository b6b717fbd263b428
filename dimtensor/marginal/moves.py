"""Moves of variable elimination: their cost, their interface, and the elementwise one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dimtensor.dims import Dim, Dims
from dimtensor.errors import GraphError, build_message, printable
from dimtensor.graph import Node
from dimtensor.graph.printing.formula import formula
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.alignment import aligned, canonical, reindexed_slots
from dimtensor.marginal.counts import MOST_TERMS, joined, with_impossible
from dimtensor.marginal.factors import table_at_state
from dimtensor.marginal.unknowns import Factor, FactorSlot, Origins, Unknown, own_slot
from dimtensor.tensor.elementwise import logaddexp
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.marginal.elimination import Elimination

# assumed length, in costs, of a dim whose length is known only with the data
UNKNOWN_LENGTH = 1000

StateReduction = Callable[[Node, Dim], Node]  # sums or maximizes a table over a dim of states


def log_sum(node: Node, dim: Dim) -> Node:
    """Sum a log-space table over a dim of states (sum-product); other terms stay outside."""
    terms = joined(addends(node), dim)
    inside = [term for term in terms if dim in term.dims]
    if not inside:
        return wrap(node).logsumexp(dim).node
    total = wrap(add_tables(inside)).logsumexp(dim).node
    outside = [term for term in terms if dim not in term.dims]
    return add_tables([with_impossible(total, inside, dim), *outside])


def maximum(node: Node, dim: Dim) -> Node:
    """Maximize a table over a dim of states (max-product)."""
    return wrap(node).max(dim).node


@dataclass(frozen=True)
class StepCost:
    """Cost of an elimination step: the number of elements of the table it computes."""

    dims: tuple[Dim, ...]
    states: tuple[Dim, ...]

    @property
    def number(self) -> int:
        """Product of the lengths; an unknown length counts as 1000."""
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


def origins_of(factors: Iterable[Factor]) -> Origins:
    """Return the names of all terms that factors come from."""
    return Origins().union(*(factor.origins for factor in factors))


def joined_size(tables: Iterable[HasDims], dim: Dim) -> int:
    """Return the number of elements of the product of all tables that have a dim."""
    dims = {d for table in tables if dim in table.dims for d in table.dims}
    return StepCost(tuple(dims), ()).number


class HasDims(Protocol):
    """Anything with dims."""

    @property
    def dims(self) -> Dims: ...


class EliminationStep(Protocol):
    """Performed step of an elimination, with the unknowns that it summed out."""

    @property
    def eliminated(self) -> tuple[Unknown, ...]: ...


@dataclass(frozen=True)
class ElementwiseStep:
    """Elimination step in which each element of an unknown is summed out separately.

    Attributes
    ----------
    unknown : Unknown
    table : Node
        The log-space table before the sum, over the dims and states of the unknown and of its
        neighbors in the factor graph.
    slots : tuple of (Dim, FactorSlot)
        The neighbors: which element of another unknown each state dim of the table stands for.
    """

    unknown: Unknown
    table: Node
    dim: Dim
    slots: tuple[tuple[Dim, FactorSlot], ...]
    cost: StepCost

    @property
    def eliminated(self) -> tuple[Unknown, ...]:
        return (self.unknown,)

    @printable
    def __str__(self) -> str:
        return f"{self.unknown.name}: {self.cost}"


class Move(ABC):
    """Candidate for the next elimination step."""

    cost: StepCost
    eliminated: tuple[Unknown, ...]

    @abstractmethod
    def apply(self, elimination: Elimination) -> tuple[list[Factor], EliminationStep]:
        """Perform the step; return the remaining factors and a record of the step."""


class _ElementwiseMove(Move):
    def __init__(self, factors: Sequence[Factor], unknown: Unknown, cost: StepCost):
        self.factors, self.unknown, self.cost = factors, unknown, cost
        self.eliminated = (unknown,)

    def apply(self, elimination: Elimination) -> tuple[list[Factor], EliminationStep]:
        unknown, states = self.unknown, elimination.states
        mine = [factor for factor in self.factors if factor.reads(unknown)]
        rest = [factor for factor in self.factors if not factor.reads(unknown)]
        parts = [aligned(factor, factor.reads(unknown)[0][1], states) for factor in mine]
        own = states[own_slot(unknown)]
        table = add_tables([part.node for part in parts])
        table = expand_node(table, (own,))
        slots = {dim: slot for part in parts for dim, slot in part.slots if dim is not own}
        step = ElementwiseStep(unknown, table, own, tuple(slots.items()), self.cost)
        merged = elimination.merge(table, own)
        if unknown.states.length == 2 and elimination.merge is log_sum:
            # logaddexp needs one exponential, logsumexp over two states needs two
            one, other = (
                add_tables(table_at_state(part.node, own, at) for part in parts) for at in (0, 1)
            )
            merged = logaddexp(wrap(one), wrap(other)).node
        result = Factor(
            merged, unknown.dims, tuple(slots.items()),
            origins_of(parts), parts[0].source,
        )  # fmt: skip
        # without neighbors the dims are kept: each element is a term of the log density
        return [*rest, *(canonical(result, states) if slots else [result])], step


def elementwise_move(factors: Sequence[Factor], unknown: Unknown) -> Move | None:
    """Return the elementwise elimination of an unknown, or None if its elements interact."""
    others: dict[FactorSlot, None] = {}
    mine = [factor for factor in factors if factor.reads(unknown)]
    for factor in mine:
        read = factor.reads(unknown)
        if len(read) != 1:
            return None
        slot = read[0][1]
        onto = reindexed_slots(slot, [other for _, other in factor.slots if other is not slot])
        if onto is None:
            return None
        others.update(dict.fromkeys(onto))
    if not mine:
        return None
    states = (unknown.states, *(slot.unknown.states for slot in others))
    return _ElementwiseMove(factors, unknown, StepCost(unknown.dims, states))


def addends(node: Node) -> list[Node]:
    """Return the terms of a sum."""
    found: list[Node] = []
    stack = [node]
    while stack and len(found) < MOST_TERMS:
        node = stack.pop()
        if node.kind == "elemwise" and node.attrs == "add":
            stack += reversed(node.inputs)
        else:
            found.append(node)
    return found + stack[::-1]


def add_tables(nodes: Iterable[Node]) -> Node:
    """Add log-space tables, which multiplies their factors."""
    first, *rest = nodes
    total = wrap(first)
    for node in rest:
        total = total + wrap(node)
    return total.node


def no_elimination_order(factors: Sequence[Factor], left: Sequence[Unknown]) -> GraphError:
    """Return the error for unknowns that are coupled in a way that no move eliminates."""
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
            f"marginalize: the dependence between elements of {names} is neither position by "
            "position nor between neighbors along one dim",
            details,
            "observe one of the variables, sum it out together with those it depends on, or write "
            "the dependence between neighbors along one dim",
        )
    )
