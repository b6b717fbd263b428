"""Graphs made from descriptions: the numbers are names, and nothing else is known."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from dimtensor.compile.fingerprint import Description
from dimtensor.compile.forms import FormlessError
from dimtensor.dims import DERIVED, Dim, Dims, SelDim
from dimtensor.dims.selection import LateSlice, Mask, Slice
from dimtensor.errors import DimtensorError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import (
    ApplyAttrs,
    ConstantAttrs,
    IndexAttrs,
    IndexItem,
    InputAttrs,
    ReduceAttrs,
    RelabelAttrs,
    UpdateAttrs,
)
from dimtensor.graph.node import KINDS
from dimtensor.graph.regions import (
    DERIVATIVES,
    BoundAttrs,
    CondAttrs,
    DerivativeAttrs,
    LoopAttrs,
    Region,
)
from dimtensor.graph.substitute import relabel_node
from dimtensor.lower.lift import BatchedFunction
from dimtensor.lower.order import AxisOrder

# what messages of checks start with in a graph without names; a number follows
CHECK = "check "


class Rebuilt(NamedTuple):
    """The graph of a description.

    Attributes
    ----------
    inputs : list of Node or Dim
        Inputs, then data, then arguments.
    outputs, masks : list of Node
    order : AxisOrder
    numbers : dict of Node or Dim to int
        What nodes and dims stand for.
    """

    inputs: list[Node | Dim]
    outputs: list[Node]
    masks: list[Node]
    order: AxisOrder
    numbers: dict[Any, int]


def rebuild_graph(description: Description) -> Rebuilt:
    """The graph that a description describes.

    Its nodes are inferred anew; dims that inference gives where the description has others (a slice
    of a slice is one slice only of a dim of known length) are exchanged for these.

    Raises
    ------
    FormlessError
        If it is not the graph that was described.
    """
    try:
        return _Reader(description.form).graph()
    except DimtensorError as error:
        raise FormlessError(f"the graph cannot be rebuilt without names: {error}") from error


class _Reader:
    """Dims and nodes by number."""

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
            *map(self._value, form["inputs"]),
            *map(self._value, form["data"]),
            *(self._argument(number) for number in range(len(form["arguments"]))),
            *map(self._value, form["lengths"]),
        ]
        ranks = {self._dim(number): (0, at) for at, number in enumerate(form["order"])}
        return Rebuilt(
            inputs,
            [self._value(ref) for ref in form["outputs"]],
            [self._value(ref) for ref in form["masks"]],
            AxisOrder(ranks),
            self._numbers,
        )

    def _value(self, form: Any) -> Any:
        """What is written, with references followed."""
        if isinstance(form, dict):
            ((kind, number),) = form.items()
            if kind == "dim":
                return self._dim(number)
            if kind == "node":
                return self._nodes[number]
            return self._argument(number)
        if isinstance(form, tuple):
            return tuple(map(self._value, form))
        return form

    # -- dims ------------------------------------------------------------------------------------

    def _dim(self, number: int) -> Dim:
        dim = self._dims.get(number)
        if dim is None:
            dim = self._dims[number] = self._make_dim(f"d{number:06d}", *self._form["dims"][number])
        return dim

    def _make_dim(self, name: str, kind: str, *rest: Any) -> Dim:
        if kind == "plain":
            (length,) = rest
            return Dim(name, length=None if length < 0 else length)
        if kind == "slice":
            parent = self._value(rest[0])
            return SelDim.of(parent, self._selection(rest[1]))
        values = [self._value(one) for one in rest]
        if kind == "mask":
            return SelDim.of(values[0], Mask(values[1]))
        parents = tuple(one for one in values if isinstance(one, Dim))
        dim = DERIVED[kind].made(parents, tuple(values[len(parents) :]), name)
        _require(dim.parents == parents, "parents are in another order")
        return dim

    def _selection(self, form: tuple) -> Slice | LateSlice:
        if form[0] == "ends":
            return Slice(*form[1:])
        _, cut, step = form
        return LateSlice(cut["cut"], cut["cut"], step)

    # -- nodes -----------------------------------------------------------------------------------

    def _argument(self, number: int) -> Node:
        node = self._arguments.get(number)
        if node is None:
            dims = tuple(map(self._value, self._form["arguments"][number]))
            attrs = InputAttrs(f"a{number}", None, dims, "int64", None)
            node = self._arguments[number] = make("input", (), attrs)
        return node

    def _node(self, number: int, form: tuple, dims: list[int], dtype: str, categories: Any) -> Node:
        expected = tuple(self._dim(one) for one in dims)
        of = None if categories is None else self._value(categories)
        ordered = tuple(sorted(expected, key=operator.attrgetter("sort_key")))
        if form == ("leaf",):
            node = make("input", (), InputAttrs(f"n{number}", None, ordered, dtype, of))
        elif form[0] == "bound":
            node = make("bound", (), BoundAttrs(form[1], None, ordered, dtype, of))
        else:
            node, pairs = self._computed(number, *form)
            self._numbers[node] = number
            node = _with_dims(node, expected, pairs)
        _require(set(node.dims) == set(expected), f"a {form[0]} has other dims")
        _require(node.dtype == dtype and node.categories is of, f"a {form[0]} is of another type")
        return node

    def _computed(self, number: int, kind: str, *rest: Any) -> tuple[Node, dict[Dim, Dim]]:
        """A node as inferred, and what dims that it makes are to be."""
        if kind in ("index", "update"):
            return self._selected(kind, *rest)
        values = [self._value(one) for one in rest]
        inputs: tuple = ()
        attrs: Any = None
        if kind == "constant":
            attrs = ConstantAttrs(values[0], bytes.fromhex(values[1]))
        elif kind == "check":
            (inputs,) = values
            attrs = f"{CHECK}{number}"
        elif kind == "relabel":
            attrs, inputs = RelabelAttrs(values[0]), values[1]
        elif kind == "reduce":
            attrs, inputs = ReduceAttrs(values[0], values[1]), values[2]
        elif kind == "apply":
            attrs, inputs = _apply_attrs(*values[0]), values[1]
        elif kind == "loop":
            inputs, outputs, bound, rest = values
            attrs = LoopAttrs(Region(outputs, bound), *rest)
        elif kind == "cond":
            inputs, then, otherwise, bound, output = values
            attrs = CondAttrs(Region(then, bound), Region(otherwise, bound), output)
        elif kind in DERIVATIVES:
            inputs, outputs, bound, n_wrt, output = values
            attrs = DerivativeAttrs(Region(outputs, bound), n_wrt, output)
        else:
            attrs, inputs = values
            typed = KINDS[kind].attrs
            if hasattr(typed, "_make"):
                attrs = typed._make(attrs)
        return make(kind, inputs, attrs), {}

    def _selected(self, kind: str, *rest: Any) -> tuple[Node, dict[Dim, Dim]]:
        *mode, items, operands = rest
        indexers: list[Node] = []
        found: list[IndexItem] = []
        pairs: dict[Dim, Dim] = {}
        for item in items:
            dim = self._value(item[0])
            if item[1] == "select":
                selection = self._selection(item[2])
                found.append(IndexItem(dim, "select", selection))
                pairs[SelDim.of(dim, selection)] = self._value(item[3])
            elif item[1] == "int":
                found.append(IndexItem(dim, "int", item[2]))
            else:
                found.append(IndexItem(dim, item[1], len(indexers)))
                indexers.append(self._value(item[2]))
        chosen = tuple(found)
        if kind == "index":
            return make(kind, (*self._value(operands), *indexers), IndexAttrs(chosen)), pairs
        x, value = self._value(operands)
        selected = {wanted: inferred for inferred, wanted in pairs.items()}
        value = _with_dims(value, tuple(selected.get(dim, dim) for dim in value.dims), selected)
        return make(kind, (x, value, *indexers), UpdateAttrs(mode[0], chosen)), {}


def _apply_attrs(
    path: str,
    checked: bool,
    options: tuple,
    core_in: tuple[Dims, ...],
    core_out: Dims,
    dtype: str,
    output: int,
    name: str,
) -> ApplyAttrs:
    function = BatchedFunction(path, checked, **dict(options))
    return ApplyAttrs(function, core_in, core_out, dtype, output, name)


def _with_dims(node: Node, expected: Dims, pairs: dict[Dim, Dim]) -> Node:
    """A node with dims that inference found exchanged for those that are expected."""
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
