"""Unknowns that are summed out: their states, and where factors read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dimtensor.dims import Dim, Dims, RenamedDim, SelDim
from dimtensor.dims.selection import Slice
from dimtensor.graph import Node, make
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data as make_data

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@dataclass(frozen=True, eq=False)
class Unknown:
    """A discrete variable that is summed out.

    Attributes
    ----------
    node : Node
        What stands for it in the density.
    name : str
    states : Dim
        One position for each of its values.
    values : tuple of int, optional
        The values; by default 0, 1, 2 and so on, or the labels of its categories.
    continuous : bool
        Whether it is a number that is normal given the others, without states.
    """

    node: Node
    name: str
    states: Dim
    values: tuple[int, ...] | None = None
    continuous: bool = False

    @property
    def dims(self) -> Dims:
        """The dims of the variable: it has one element, with a state, for each position."""
        return self.node.dims

    @property
    def counts_from_zero(self) -> bool:
        """Whether the values are the positions of the states."""
        return self.values is None and self.node.dtype != "bool"

    def named_states(self, number: int) -> Dim:
        """A dim of the states, one of many."""
        return RenamedDim(self.states, f"states of {self.name}" + (f", {number}" if number else ""))

    def value(self, states: Dim) -> DimTensor:
        """The values along a dim of states."""
        return self.at(arange(states)) if self.values is None else self._listed(states)

    def at(self, positions: DimTensor) -> DimTensor:
        """The values of positions among the states."""
        if self.node.categories is not None:
            return wrap(make("codes", (positions.node,), self.node.categories))
        if self.values is None:
            return positions.astype(self.node.dtype)
        return self._listed(self.states).isel({self.states: positions})

    def _listed(self, states: Dim) -> DimTensor:
        return make_data(np.asarray(self.values), dims=states).astype(self.node.dtype)


# -- where a factor reads an unknown ---------------------------------------------------------------


class Along(NamedTuple):
    """The position along a dim of the factor, moved by a number of positions."""

    dim: Dim
    by: int = 0


class At(NamedTuple):
    """One position, the same for the whole factor; negative ones count from the end."""

    position: int


class Look(NamedTuple):
    """Positions that a tensor holds."""

    positions: Node


Where = Along | At | Look


class Slot(NamedTuple):
    """A reading of an unknown: which one, and at which position along each of its dims."""

    unknown: Unknown
    where: tuple[Where, ...]  # in the order of the dims of the unknown

    @property
    def dims(self) -> Dims:
        """The dims of a factor that the positions depend on."""
        return dims_of(self.where)

    def moved(self, f: Callable[[Where], Where]) -> Slot:
        """The slot with each position exchanged."""
        return Slot(self.unknown, tuple(map(f, self.where)))

    def __str__(self) -> str:
        unknown = self.unknown
        pairs = zip(unknown.dims, self.where, strict=True)
        parts = [_text(dim, where) for dim, where in pairs]
        return f"{unknown.name}[{', '.join(parts)}]" if parts else unknown.name


def _text(dim: Dim, where: Where) -> str:
    if isinstance(where, At):
        return f"{dim._short}={where.position}"
    if isinstance(where, Look):
        return f"{dim._short}={where.positions.name or '…'}"
    by = f"{where.by:+d}" if where.by else ""
    return f"{where.dim._short}{by}"


def dims_of(where: Iterable[Where]) -> Dims:
    """The dims of a factor that positions depend on."""
    found: dict[Dim, None] = {}
    for one in where:
        if isinstance(one, Along):
            found[one.dim] = None
        elif isinstance(one, Look):
            found.update(dict.fromkeys(one.positions.dims))
    return tuple(found)


def own_slot(unknown: Unknown) -> Slot:
    """The slot that reads an unknown as it is."""
    return Slot(unknown, tuple(Along(dim) for dim in unknown.dims))


class StateDims:
    """The dims of states, one for each slot."""

    def __init__(self) -> None:
        self._known: dict[Slot, Dim] = {}
        self._count: dict[Unknown, int] = {}

    @property
    def slots(self) -> list[Slot]:
        """All readings that are known."""
        return list(self._known)

    def __getitem__(self, slot: Slot) -> Dim:
        if slot not in self._known:
            number = self._count.get(slot.unknown, 0)
            self._count[slot.unknown] = number + 1
            self._known[slot] = slot.unknown.named_states(number)
        return self._known[slot]


def end_of(dim: Dim, by: int, whole: Dim) -> int | None:
    """Where positions `by` onwards along a dim end, counted from the end of another one.

    0 is its end, -1 the position before; None where lengths that come with the data decide.
    """
    trimmed = None
    if dim is whole:
        trimmed = 0
    elif dim.length is not None and whole.length is not None:
        trimmed = whole.length - dim.length
    elif isinstance(dim, SelDim) and dim.parent is whole and isinstance(dim.selection, Slice):
        start, stop = dim.selection.start or 0, dim.selection.stop or 0
        if dim.selection.step == 1 and start >= 0 and stop <= 0:
            trimmed = start - stop
    return None if trimmed is None else by - trimmed


def covers(dim: Dim, by: int, whole: Dim) -> bool | None:
    """Whether positions `by` onwards along a dim reach the end of another one; None: unknown."""
    end = end_of(dim, by, whole)
    return None if end is None else end == 0
