"""Reconstruction of graphs from descriptions, with numbers for names."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, NamedTuple

from dimtensor.compile.caching.fingerprint import Description
from dimtensor.dims import DERIVED, Dim, Dims, SelDim
from dimtensor.dims.selection import LateSlice, Mask, Slice
from dimtensor.errors import DimtensorError
from dimtensor.graph import Node, NodeType, make
from dimtensor.graph.attrs import REBUILT, InputAttrs
from dimtensor.graph.checking.verify import BrokenGraphError, full_checks
from dimtensor.graph.forms import LEAF, Entry, FormlessError
from dimtensor.graph.node import KINDS
from dimtensor.graph.rebuilding.substitute import relabel_node
from dimtensor.lower.layout.order import AxisOrder


class Rebuilt(NamedTuple):
    """Graph rebuilt from a description.

    Attributes
    ----------
    inputs : list of Node or Dim
        Inputs, then data, then arguments.
    outputs, masks : list of Node
    order : AxisOrder
    numbers : dict of Node or Dim to int
        Their numbers in the description.
    """

    inputs: list[Node | Dim]
    outputs: list[Node]
    masks: list[Node]
    order: AxisOrder
    numbers: dict[Any, int]


def rebuild_graph(description: Description) -> Rebuilt:
    """Rebuild the graph of a description.

    The dims of nodes are inferred anew. They can differ from those of the description: a slice of a
    slice is a single slice only if the length of the dim is known. They are replaced by the latter.

    Raises
    ------
    FormlessError
        If the rebuilt graph differs from the description.
    BrokenGraphError
        Under full checks, if the verifier finds that a node is broken.
    """
    try:
        return _FormReader(description.form).graph()
    except DimtensorError as error:
        raise_bugs(error)
        raise FormlessError(f"the graph cannot be rebuilt without names: {error}") from error


def raise_bugs(error: DimtensorError) -> None:
    """Raise an error again that the verifier found, under full checks.

    Without them the graph is lowered with its names, which a user prefers to an error.
    """
    if full_checks() and isinstance(error, BrokenGraphError):
        raise error


class _FormReader:
    """Reader of descriptions: makes dims and nodes by number."""

    def __init__(self, form: dict[str, Any]):
        self._form = form
        self._dims: dict[int, Dim] = {}
        self._nodes: list[Node] = []
        self._arguments: dict[int, Node] = {}
        self._numbers: dict[Any, int] = {}

    def graph(self) -> Rebuilt:
        for number, entry in enumerate(self._form["nodes"]):
            self._nodes.append(self._node(number, *entry))
            self._numbers.setdefault(self._nodes[-1], number)
        form = self._form
        dims = [self._dim(number) for number in range(len(form["dims"]))]
        _require(len(set(dims)) == len(dims), "two dims are one")
        _require(len(set(self._nodes)) == len(self._nodes), "two nodes are one")
        self._numbers.update((dim, number) for number, dim in enumerate(dims))
        inputs = [
            *map(self.value, form["inputs"]),
            *map(self.value, form["data"]),
            *(self._argument(number) for number in range(len(form["arguments"]))),
            *map(self.value, form["lengths"]),
        ]
        ranks = {self._dim(number): (0, at) for at, number in enumerate(form["order"])}
        return Rebuilt(
            inputs,
            [self.value(ref) for ref in form["outputs"]],
            [self.value(ref) for ref in form["masks"]],
            AxisOrder(ranks),
            self._numbers,
        )

    def value(self, form: Any) -> Any:
        """Resolve the references in an expression of the description."""
        if isinstance(form, dict):
            ((kind, number),) = form.items()
            if kind == "dim":
                return self._dim(number)
            if kind == "node":
                return self._nodes[number]
            return self._argument(number)
        if isinstance(form, tuple):
            return tuple(map(self.value, form))
        return form

    # -- dims ------------------------------------------------------------------------------------

    def _dim(self, number: int) -> Dim:
        dim = self._dims.get(number)
        if dim is None:
            name = f"d{self._form['names'][number]:06d}"
            dim = self._dims[number] = self._make_dim(name, *self._form["dims"][number])
        return dim

    def _make_dim(self, name: str, kind: str, *rest: Any) -> Dim:
        if kind == "plain":
            (length,) = rest
            return Dim(name, length=None if length < 0 else length)
        if kind == "slice":
            parent = self.value(rest[0])
            return SelDim._from(parent, self.selection(rest[1]))
        values = [self.value(one) for one in rest]
        if kind == "mask":
            return SelDim._from(values[0], Mask(values[1]))
        parents = tuple(one for one in values if isinstance(one, Dim))
        dim = DERIVED[kind]._made(parents, tuple(values[len(parents) :]), name)
        _require(dim.parents == parents, "parents are in another order")
        return dim

    def selection(self, form: tuple) -> Slice | LateSlice:
        if form[0] == "ends":
            return Slice(*form[1:])
        _, cut, step = form
        return LateSlice(cut["cut"], cut["cut"], step)

    # -- nodes -----------------------------------------------------------------------------------

    def _argument(self, number: int) -> Node:
        node = self._arguments.get(number)
        if node is None:
            dims = tuple(map(self.value, self._form["arguments"][number]))
            attrs = InputAttrs(f"a{number}", REBUILT, dims, "int64", None)
            node = self._arguments[number] = make("input", (), attrs)
        return node

    def _node(self, number: int, form: tuple, dims: list[int], dtype: str, categories: Any) -> Node:
        expected = tuple(self._dim(one) for one in dims)
        of = None if categories is None else self.value(categories)
        ordered = tuple(sorted(expected, key=operator.attrgetter("_sort_key")))
        kind = KINDS["input" if form == LEAF else form[0]]
        entry = Entry(number, form[1:], NodeType(ordered, dtype, of))
        inputs, attrs, pairs = kind.parse(entry, self)
        node = make(kind.name, inputs, attrs)
        self._numbers[node] = number
        node = _with_dims(node, expected, pairs)
        _require(set(node.dims) == set(expected), f"a {form[0]} has other dims")
        _require(node.dtype == dtype and node.categories is of, f"a {form[0]} is of another type")
        return node


def _with_dims(node: Node, expected: Dims, pairs: Mapping[Dim, Dim]) -> Node:
    """Replace inferred dims of a node by those of the description."""
    foreign = [dim for dim in node.dims if dim not in expected]
    if not foreign:
        return node
    exchanged = {dim: pairs[dim] for dim in foreign if dim in pairs}
    rest = [dim for dim in foreign if dim not in exchanged]
    lacking = [d for d in expected if d not in node.dims and d not in exchanged.values()]
    if len(rest) == len(lacking) == 1:
        exchanged[rest[0]] = lacking[0]
    return relabel_node(node, *exchanged.items())


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise FormlessError(f"the graph is another one without names: {what}")
