"""Forms: the parts of nodes and dims that code depends on, as plain structures.

Names, labels and values are left out, and so are lengths, unless they are short. What is left out
and still counts when a graph runs (positions that are taken, ends of slices, lengths that no input
tells) comes with the call: it is an argument of the code.

A form is made of numbers, texts and tuples; of :class:`~dimtensor.dims.Dim` and
:class:`~dimtensor.graph.Node` where it refers to them; of the classes below.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from dimtensor.dims import DerivedDim, Dim, SelDim
from dimtensor.dims.selection import LateLabels, LateSlice, Mask, Positions, Slice
from dimtensor.graph.node import Node, NodeType

# Code is specialised on lengths up to this one. Loops that short are worth unrolling, their vectors
# lie in local buffers, and a length of 1 or 0 may decide what is computed at all.
SHORT = 8


class FormlessError(Exception):
    """A graph has something that only the process knows that made it."""


class Unordered(tuple):
    """Parts whose order says nothing; what each of them starts with tells them apart."""

    __slots__ = ()


class Chosen(NamedTuple):
    """Positions along a dim as an argument of the code, and the dim that they make."""

    positions: Positions
    dim: Dim

    @property
    def dims(self) -> tuple[Dim, ...]:
        return (self.dim,)


class Place(NamedTuple):
    """One position along a dim as an argument of the code."""

    position: int
    along: Dim

    @property
    def dims(self) -> tuple[Dim, ...]:
        return ()


class Cut(NamedTuple):
    """A slice of a dim whose ends are arguments of the code."""

    dim: Dim
    selection: Slice | LateSlice


Argument = Chosen | Place


# -- dims ------------------------------------------------------------------------------------------


def known_length(dim: Dim) -> int | None:
    """The length of a dim that code is specialised on; None where it is an argument."""
    if isinstance(dim, SelDim) and isinstance(dim.selection, Slice):
        taken = relative_slice(dim.parent, dim.selection)
        return None if taken is None else taken.length(known_length(dim.parent))
    if isinstance(dim, DerivedDim) and not isinstance(dim, SelDim):
        return dim.length_from([known_length(parent) for parent in dim.parents])
    length = dim.length
    return length if length is not None and length <= SHORT else None


def is_plain(dim: Dim) -> bool:
    """Whether nothing of a dim but its length counts."""
    if isinstance(dim, SelDim):
        return isinstance(dim.selection, (Positions, LateLabels))
    return not dim.parents


def dim_form(dim: Dim, masks: frozenset[Node] | set[Node]) -> tuple:
    """The form of a dim.

    Parameters
    ----------
    dim : Dim
    masks : set of Node
        The nodes of the graph; a mask that is none of them cannot be told from another.
    """
    if is_plain(dim):
        length = known_length(dim)
        return ("plain", -1 if length is None else length)
    if isinstance(dim, SelDim):
        selection = dim.selection
        if isinstance(selection, Mask):
            if selection.key in masks:
                return ("mask", dim.parent, selection.key)
            return ("plain", -1)
        if isinstance(selection, (Slice, LateSlice)):
            return ("slice", dim.parent, selection_form(dim.parent, selection))
        raise FormlessError(f"{dim!r} is a selection of no known kind")
    assert isinstance(dim, DerivedDim)
    return (dim.recipe, *dim.parents, *dim.options)


def relative_slice(dim: Dim, selection: Slice) -> Slice | None:
    """A slice that depends on the length of its dim only through the end it is nearer to.

    None where it reaches too far from both ends to be a constant of the code.
    """
    if known_length(dim) is not None:
        return selection
    ends: list[int | None] = []
    for end in (selection.start, selection.stop):
        if end is not None and dim.length is not None and 2 * end > dim.length:
            # all up to the end of the dim has no end
            end = None if end == dim.length else end - dim.length
        if end is not None and not -SHORT <= end <= SHORT:
            return None
        ends.append(end)
    start, stop = ends
    if start == (0 if selection.step > 0 else -1):
        start = None
    return Slice(start, stop, selection.step)


def selection_form(dim: Dim, selection: Slice | LateSlice) -> tuple:
    """The form of a slice along a dim."""
    taken = relative_slice(dim, selection) if isinstance(selection, Slice) else None
    if taken is None:
        return ("cut", Cut(dim._unrenamed, selection), selection.step)
    return ("ends", taken.start, taken.stop, taken.step)


# -- nodes -----------------------------------------------------------------------------------------


LEAF = ("leaf",)


class Entry(NamedTuple):
    """A node in the description of a graph.

    Attributes
    ----------
    number : int
    parts : tuple
        The form without the name of the kind, references to dims and nodes as they are written.
    type : NodeType
    """

    number: int
    parts: tuple
    type: NodeType


class Parsed(NamedTuple):
    """Inputs and attributes of a node, and the dims of the description for those inferred."""

    inputs: tuple[Node, ...]
    attrs: Any
    dims: Mapping[Dim, Dim] = MappingProxyType({})


class Reader(Protocol):
    """Resolves the references of a description."""

    def value(self, form: Any) -> Any:
        """The value of an expression of the description, with references resolved."""

    def selection(self, form: tuple) -> Slice | LateSlice:
        """The slice of a form that `selection_form` made."""


def plain(value: Any) -> Any:
    """A value, if it is made of nothing but what a form is made of."""
    if value is None or isinstance(value, (bool, int, float, str, Dim)):
        return value
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    raise FormlessError(f"{value!r} has no form")


# -- parts -----------------------------------------------------------------------------------------


def parts(form: Any, place: int = 0) -> list[tuple[int, Any]]:
    """Dims, nodes and arguments in a form, each with its place; unordered ones share it."""
    found: list[tuple[int, Any]] = []
    _add_parts(form, place, found)
    return found


def _add_parts(form: Any, place: int, found: list[tuple[int, Any]]) -> None:
    kind = type(form)
    if kind is str:
        return
    if kind is tuple:
        for number, part in enumerate(form, start=2):
            _add_parts(part, 31 * place + number, found)
    elif kind is Unordered:
        for part in form:
            _add_parts(part, 31 * place + 1, found)
    elif isinstance(form, (Dim, Node, Place, Cut, Chosen)):
        found.append((place, form))
        if isinstance(form, (Chosen, Cut)):
            found.append((place, form.dim))
