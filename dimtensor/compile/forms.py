"""Forms: what code depends on of nodes and dims, as plain structures.

Names, labels and values are left out, and so are lengths, unless they are short. What is left out
and still counts when a graph runs (positions that are taken, ends of slices, lengths that no input
tells) comes with the call: it is an argument of the code.

A form is made of numbers, texts and tuples; of :class:`~dimtensor.dims.Dim` and
:class:`~dimtensor.graph.Node` where it refers to them; of the classes below.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dimtensor.dims import DerivedDim, Dim, SelDim
from dimtensor.dims.selection import LateLabels, LateSlice, Mask, Positions, Slice
from dimtensor.graph import TABLE, Node
from dimtensor.graph.attrs import ApplyAttrs, IndexItem
from dimtensor.graph.regions import DERIVATIVES
from dimtensor.lower.lift import BatchedFunction

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
    if selection.step > 0 and start == 0:
        start = None
    return Slice(start, stop, selection.step)


def selection_form(dim: Dim, selection: Slice | LateSlice) -> tuple:
    """The form of a slice along a dim."""
    taken = relative_slice(dim, selection) if isinstance(selection, Slice) else None
    if taken is None:
        return ("cut", Cut(dim.unrenamed, selection), selection.step)
    return ("ends", taken.start, taken.stop, taken.step)


# -- nodes -----------------------------------------------------------------------------------------


def node_form(node: Node) -> tuple:
    """The form of a node; of a leaf it does not say which one it is."""
    kind, attrs, inputs = node.kind, node.attrs, node.inputs
    if kind in ("input", "data", "label_position"):
        return ("leaf",)
    if kind == "elemwise":
        commutes = TABLE[attrs].commutative
        return (kind, attrs, Unordered(inputs) if commutes else inputs)
    if kind == "constant":
        return (kind, attrs.dtype, attrs.data.hex())
    if kind == "check":
        return (kind, inputs)
    if kind == "reduce":
        return (kind, attrs[0], Unordered(attrs[1]), inputs)
    if kind == "expand":
        return (kind, Unordered(attrs), inputs)
    if kind == "relabel":
        return (kind, Unordered(attrs.pairs), inputs)
    if kind == "dot":
        return (kind, Unordered(attrs), Unordered(inputs))
    if kind == "index":
        return (kind, Unordered(_item(i, inputs[1:]) for i in attrs.items), inputs[:1])
    if kind == "update":
        items = Unordered(_item(i, inputs[2:]) for i in attrs.items)
        return (kind, attrs[0], items, inputs[:2])
    if kind == "apply":
        return (kind, _apply(attrs), inputs)
    if kind == "bound" and attrs.token is None:
        return (kind, attrs.number)
    if kind == "loop":
        region, *rest = attrs
        return (kind, inputs, region.outputs, region.bound, _plain(tuple(rest)))
    if kind == "cond":
        then, otherwise = attrs.then, attrs.otherwise
        return (kind, inputs, then.outputs, otherwise.outputs, then.bound, attrs.output)
    if kind in DERIVATIVES:
        return (kind, inputs, attrs.region.outputs, attrs.region.bound, attrs.n_wrt, attrs.output)
    return (kind, _plain(attrs), inputs)


def _item(item: IndexItem, indexers: tuple[Node, ...]) -> tuple:
    dim, payload = item.dim, item.payload
    if item.kind == "int":
        if known_length(dim) is None:
            if dim.length is not None and 2 * payload >= dim.length:
                payload -= dim.length
            if not -SHORT <= payload <= SHORT:
                return (dim, "tensor", Place(payload, dim))
        return (dim, "int", payload)
    if item.kind in ("mask", "tensor"):
        return (dim, item.kind, indexers[payload])
    result = item.new_dim(indexers)
    if isinstance(payload, Positions):
        return (dim, "tensor", Chosen(payload, result))
    if isinstance(payload, (Slice, LateSlice)):
        return (dim, "select", selection_form(dim, payload), result)
    raise FormlessError(f"{payload!r} is a selection of no known kind")


def _apply(attrs: ApplyAttrs) -> tuple:
    function = attrs.function
    if not isinstance(function, BatchedFunction):
        raise FormlessError(f"{function!r} is known in this process only")
    options = tuple(sorted(function.options.items()))
    return (
        function.path,
        function.checked_lengths,
        _plain(options),
        attrs.core_in,
        attrs.core_out,
        attrs.dtype,
        attrs.output,
        attrs.name,
    )


def _plain(value: Any) -> Any:
    """A value, if it is made of nothing but what a form is made of."""
    if value is None or isinstance(value, (bool, int, float, str, Dim)):
        return value
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    raise FormlessError(f"{value!r} has no form")


# -- parts -----------------------------------------------------------------------------------------


def parts(form: Any, place: int = 0) -> Iterator[tuple[int, Any]]:
    """Dims, nodes and arguments in a form, each with its place; unordered ones share it."""
    if isinstance(form, (Dim, Node, Chosen, Place, Cut)):
        yield place, form
        if isinstance(form, Chosen):
            yield place, form.dim
        elif isinstance(form, Cut):
            yield place, form.dim
    elif type(form) is Unordered:
        for part in form:
            yield from parts(part, 31 * place + 1)
    elif type(form) is tuple:
        for number, part in enumerate(form, start=2):
            yield from parts(part, 31 * place + number)
