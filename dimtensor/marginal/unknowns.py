"""Unknowns that are eliminated, and factors of the log density, which read elements of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dimtensor.dims import Dim, Dims, RenamedDim, SelDim, SortedDim, without
from dimtensor.dims.selection import Slice
from dimtensor.graph import Node, make
from dimtensor.graph.rebuilding.parents import plain
from dimtensor.graph.rebuilding.substitute import expand_node, relabel_node
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.constructors import length as length_of
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data as make_data

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@dataclass(frozen=True, eq=False)
class Unknown:
    """Variable that is summed or integrated out.

    Attributes
    ----------
    node : Node
        Its symbol in the density.
    name : str
    states : Dim
        One position for each of its values.
    values : tuple of int, optional
        The values; by default 0, 1, 2 and so on, or the labels of its categories.
    continuous : bool
        Whether it is jointly normal with others, without states.
    """

    node: Node
    name: str
    states: Dim
    values: tuple[int, ...] | None = None
    continuous: bool = False

    @property
    def dims(self) -> Dims:
        """Dims of the variable; each of its elements has a state."""
        return self.node.dims

    @property
    def counts_from_zero(self) -> bool:
        """True if the values are 0, 1, 2 and so on."""
        return self.values is None and self.node.dtype != "bool"

    @property
    def is_count(self) -> bool:
        """True if the values are more than two whole numbers in increasing order."""
        if self.continuous or self.node.categories is not None or self.node.dtype == "bool":
            return False
        values = self.values
        return (self.states.length or 0) > 2 and (values is None or list(values) == sorted(values))

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest value of a count."""
        if self.values is not None:
            return self.values[0], self.values[-1]
        return 0, int(self.states.length or 1) - 1

    def named_states(self, number: int) -> Dim:
        """Return a numbered copy of the dim of states."""
        return RenamedDim(self.states, f"states of {self.name}" + (f", {number}" if number else ""))

    def value(self, states: Dim) -> DimTensor:
        """Return the values along a dim of states."""
        return self.at(arange(states)) if self.values is None else self._listed(states)

    def at(self, positions: DimTensor) -> DimTensor:
        """Return the values at positions among the states."""
        if self.node.categories is not None:
            return wrap(make("codes", (positions.node,), self.node.categories))
        if self.values is None:
            return positions.astype(self.node.dtype)
        return self._listed(self.states).isel({self.states: positions})

    def _listed(self, states: Dim) -> DimTensor:
        return make_data(np.asarray(self.values), dims=states).astype(self.node.dtype)


# -- which element of an unknown a factor reads ----------------------------------------------------


class ShiftedIndex(NamedTuple):
    """Index along a dim of the factor, shifted by a number of positions."""

    dim: Dim
    by: int = 0


class FixedIndex(NamedTuple):
    """Index at one fixed position; negative ones count from the end."""

    position: int


class LookupIndex(NamedTuple):
    """Index given by a tensor of positions."""

    positions: Node


ElementIndex = ShiftedIndex | FixedIndex | LookupIndex


class FactorSlot(NamedTuple):
    """Argument slot of a factor: an unknown, and the index of the element read along each dim."""

    unknown: Unknown
    indices: tuple[ElementIndex, ...]  # in the order of the dims of the unknown

    @property
    def dims(self) -> Dims:
        """Dims of the factor that the indices depend on."""
        return dims_of(self.indices)

    def moved(self, f: Callable[[ElementIndex], ElementIndex]) -> FactorSlot:
        """Return the slot with each index transformed by a function."""
        return FactorSlot(self.unknown, tuple(map(f, self.indices)))

    def __str__(self) -> str:
        unknown = self.unknown
        pairs = zip(unknown.dims, self.indices, strict=True)
        parts = [_text(dim, where) for dim, where in pairs]
        return f"{unknown.name}[{', '.join(parts)}]" if parts else unknown.name


def _text(dim: Dim, where: ElementIndex) -> str:
    if isinstance(where, FixedIndex):
        return f"{dim._short}={where.position}"
    if isinstance(where, LookupIndex):
        return f"{dim._short}={where.positions.name or '…'}"
    by = f"{where.by:+d}" if where.by else ""
    return f"{where.dim._short}{by}"


def dims_of(where: Iterable[ElementIndex]) -> Dims:
    """Return the dims of a factor that indices depend on."""
    found: dict[Dim, None] = {}
    for one in where:
        if isinstance(one, ShiftedIndex):
            found[one.dim] = None
        elif isinstance(one, LookupIndex):
            found.update(dict.fromkeys(one.positions.dims))
    return tuple(found)


def own_slot(unknown: Unknown) -> FactorSlot:
    """Return the identity slot, which reads an unknown element by element."""
    return FactorSlot(unknown, tuple(ShiftedIndex(dim) for dim in unknown.dims))


class StateDims:
    """Table of state dims, one per slot."""

    def __init__(self) -> None:
        self._known: dict[FactorSlot, Dim] = {}
        self._count: dict[Unknown, int] = {}

    @property
    def slots(self) -> list[FactorSlot]:
        """All slots that have a state dim."""
        return list(self._known)

    def __getitem__(self, slot: FactorSlot) -> Dim:
        if slot not in self._known:
            number = self._count.get(slot.unknown, 0)
            self._count[slot.unknown] = number + 1
            self._known[slot] = slot.unknown.named_states(number)
        return self._known[slot]


def is_sorted(dim: Dim, other: Dim) -> bool:
    """Return whether a dim has the positions of another one in sorted order."""
    return isinstance(dim, SortedDim) and dim.parent is other


def end_of(dim: Dim, by: int, whole: Dim) -> int | None:
    """Return where a dim shifted by `by` ends, counted from the end of another dim.

    0 is the end, -1 the position before it; None if it depends on lengths not known yet.
    """
    trimmed = None
    if dim is whole or is_sorted(whole, dim):
        trimmed = 0
    elif dim.length is not None and whole.length is not None:
        trimmed = whole.length - dim.length
    elif isinstance(dim, SelDim) and dim.parent is whole and isinstance(dim.selection, Slice):
        start, stop = dim.selection.start or 0, dim.selection.stop or 0
        if dim.selection.step == 1 and start >= 0 and stop <= 0:
            trimmed = start - stop
    return None if trimmed is None else by - trimmed


def covers(dim: Dim, by: int, whole: Dim) -> bool | None:
    """Return whether a dim shifted by `by` ends where another dim does; None if unknown."""
    end = end_of(dim, by, whole)
    return None if end is None else end == 0


# -- factors ---------------------------------------------------------------------------------------

Origins = frozenset[str]


@dataclass(frozen=True)
class Factor:
    """Summand of a log density, summed over its dims.

    Attributes
    ----------
    node : Node
        The expression, with a dim of states for each slot; dims along which it is constant may be
        missing.
    dims : tuple of Dim
        All dims but those of states.
    slots : tuple of (Dim, FactorSlot)
        The arguments: which element of an unknown each state dim stands for.
    origins : frozenset of str
        Names of the terms that it comes from.
    source : Node
        The expression as the user wrote it, for messages.
    power : int
        0 for a table of states. For continuous unknowns, which have no states, the degree in each
        slot: 1 for the coefficient of a product of the arguments, 2 for that of a square.
    """

    node: Node
    dims: Dims
    slots: tuple[tuple[Dim, FactorSlot], ...]
    origins: Origins
    source: Node
    power: int = 0

    def reads(self, unknown: Unknown) -> list[tuple[Dim, FactorSlot]]:
        """Return the slots of one unknown."""
        return [(dim, slot) for dim, slot in self.slots if slot.unknown is unknown]

    def full(self) -> Node:
        """Return the node broadcast to all dims."""
        return expand_node(self.node, self.dims)

    def with_node(self, node: Node, dims: Dims, slots: Iterable[tuple[Dim, FactorSlot]]) -> Factor:
        """Return a factor of the same origins with another node."""
        return replace(self, node=node, dims=tuple(dims), slots=tuple(slots))


def sum_over(x: DimTensor, dims: Sequence[Dim]) -> DimTensor:
    """Sum over all positions along dims; those of a ragged dim are of all parents."""
    ragged = [(dim, plain(dim)) for dim in dims if dim in x.dims and dim._within is not None]
    return wrap(relabel_node(x.node, *ragged)).sum([plain(dim) for dim in dims])


def sum_unread_dims(factor: Factor) -> Factor:
    """Sum a factor over the dims that no slot depends on."""
    mentioned = {dim for _, slot in factor.slots for dim in slot.dims}
    alone = without(factor.dims, mentioned)
    if not alone:
        return factor
    here = [dim for dim in alone if dim in factor.node.dims]
    x = sum_over(wrap(factor.node), here) if here else wrap(factor.node)
    for dim in without(alone, here):
        x = x * length_of(plain(dim))
    return factor.with_node(x.node, without(factor.dims, alone), factor.slots)
