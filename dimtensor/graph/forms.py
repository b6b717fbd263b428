"""Canonical forms: the parts of nodes and dims that compiled code depends on, as plain structures.

Forms leave out names, labels and values, and lengths unless they are short. Of these, the values
that matter at run time (selected positions, ends of slices, lengths that no input determines)
become arguments of the code.

A form consists of numbers, strings and tuples, references to :class:`~dimtensor.dims.Dim` and
:class:`~dimtensor.graph.Node` objects, and the classes below.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from dimtensor.dims import DerivedDim, Dim, SelDim
from dimtensor.dims.selection import LateLabels, LateSlice, Mask, Positions, Slice
from dimtensor.graph.node import Node, NodeType
from dimtensor.tuning import UNROLLED_LENGTH


class FormlessError(Exception):
    """Error for a graph that contains an object that is meaningful in its process only."""


class Unordered(tuple):
    """Parts in arbitrary order, distinguished by their first elements."""

    __slots__ = ()


class Chosen(NamedTuple):
    """Selected positions as an argument of the code, and the dim of the selection."""

    positions: Positions
    dim: Dim

    @property
    def dims(self) -> tuple[Dim, ...]:
        return (self.dim,)


class Place(NamedTuple):
    """Single position along a dim as an argument of the code."""

    position: int
    along: Dim

    @property
    def dims(self) -> tuple[Dim, ...]:
        return ()


class Cut(NamedTuple):
    """Slice of a dim whose ends are arguments of the code."""

    dim: Dim
    selection: Slice | LateSlice


Argument = Chosen | Place


# -- dims ------------------------------------------------------------------------------------------


def known_length(dim: Dim) -> int | None:
    """Return the length of a dim if code is specialized on it, else None."""
    if isinstance(dim, SelDim) and isinstance(dim.selection, Slice):
        taken = relative_slice(dim.parent, dim.selection)
        return None if taken is None else taken.length(known_length(dim.parent))
    if isinstance(dim, DerivedDim) and not isinstance(dim, SelDim):
        return dim._length_from([known_length(parent) for parent in dim.parents])
    length = dim.length
    return length if length is not None and length <= UNROLLED_LENGTH else None


def is_plain(dim: Dim) -> bool:
    """Return True if code depends on nothing of a dim but its length."""
    if isinstance(dim, SelDim):
        return isinstance(dim.selection, (Positions, LateLabels))
    return not dim.parents


def dim_form(dim: Dim, masks: frozenset[Node] | set[Node]) -> tuple:
    """Return the form of a dim.

    Parameters
    ----------
    dim : Dim
    masks : set of Node
        The nodes of the graph. Dims with masks outside of the graph are treated as plain.
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
    return (dim._recipe, *dim.parents, *dim._options)


def relative_slice(dim: Dim, selection: Slice) -> Slice | None:
    """Rewrite a slice with its ends relative to the nearer end of its dim.

    Returns None if they are too far from both ends to be constants of the code.
    """
    if known_length(dim) is not None:
        return selection
    ends: list[int | None] = []
    for end in (selection.start, selection.stop):
        if end is not None and dim.length is not None and 2 * end > dim.length:
            # a slice up to the end of the dim has an open end
            end = None if end == dim.length else end - dim.length
        if end is not None and not -UNROLLED_LENGTH <= end <= UNROLLED_LENGTH:
            return None
        ends.append(end)
    start, stop = ends
    if start == (0 if selection.step > 0 else -1):
        start = None
    return Slice(start, stop, selection.step)


def selection_form(dim: Dim, selection: Slice | LateSlice) -> tuple:
    """Return the form of a slice along a dim."""
    taken = relative_slice(dim, selection) if isinstance(selection, Slice) else None
    if taken is None:
        return ("cut", Cut(dim._unrenamed, selection), selection.step)
    return ("ends", taken.start, taken.stop, taken.step)


# -- nodes -----------------------------------------------------------------------------------------


LEAF = ("leaf",)


class Entry(NamedTuple):
    """Node in the description of a graph.

    Attributes
    ----------
    number : int
    parts : tuple
        The form without the kind's name, with unresolved references to dims and nodes.
    type : NodeType
    """

    number: int
    parts: tuple
    type: NodeType


class Parsed(NamedTuple):
    """Inputs and attributes of a node, and a mapping of inferred dims to those described."""

    inputs: tuple[Node, ...]
    attrs: Any
    dims: Mapping[Dim, Dim] = MappingProxyType({})


class Reader(Protocol):
    """Resolver of references in a description."""

    def value(self, form: Any) -> Any:
        """Resolve the references in an expression."""

    def selection(self, form: tuple) -> Slice | LateSlice:
        """Build a slice from a form made by `selection_form`."""


def plain(value: Any) -> Any:
    """Convert a value to a form, or raise FormlessError."""
    if value is None or isinstance(value, (bool, int, float, str, Dim)):
        return value
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    raise FormlessError(f"{value!r} has no form")


# -- parts -----------------------------------------------------------------------------------------


def parts(form: Any, place: int = 0) -> list[tuple[int, Any]]:
    """List the dims, nodes and arguments in a form with their places; unordered parts share one."""
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
