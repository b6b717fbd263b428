"""Kinds of nodes that work along dims: reductions, cumulative operations, argmax, sorting."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from dimtensor.dims import Dim, Dims, refuse_ragged, sort_dims, union, without
from dimtensor.errors import DimError, DtypeError
from dimtensor.graph.attrs import AlongAttrs, GroupAttrs, ReduceAttrs, SortAttrs
from dimtensor.graph.checking.lengths import Requirement
from dimtensor.graph.dtypes import is_complex, is_float, result_dtype
from dimtensor.graph.forms import Entry, Parsed, Reader, Unordered
from dimtensor.graph.infer import require_no_labels
from dimtensor.graph.kind import (
    Call,
    DimMap,
    DimRef,
    Kind,
    by_position,
    kind,
    lacking_in_operand,
    mapped,
    set_text,
    wrong_count,
)
from dimtensor.graph.node import Node, NodeType
from dimtensor.graph.optable import TABLE, OpRow


def _without_value(name: str, dims: Dims) -> dict[Dim | None, str]:
    return {dim: f"{name} has no value over {dim._title}: it has length 0" for dim in dims}


def reduction_row(name: str) -> OpRow:
    """Return the row of a reduction; ``supremum`` has that of ``max``."""
    return TABLE["max" if name == "supremum" else name]


def _needs_element(name: str) -> bool:
    return name != "supremum" and TABLE[name].needs_element


class _OverDims(Kind[ReduceAttrs]):
    """Base class of operations over some dims, in any order."""

    attrs = ReduceAttrs

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 1) or lacking_in_operand(node.attrs.dims, node)

    def call(self, node: Node, ref: DimRef) -> Call:
        name, dims = node.attrs
        return Call(name, by_position(node.inputs), [("dim", set_text(dims, ref))])

    def map_dims(self, attrs: ReduceAttrs, f: DimMap) -> ReduceAttrs:
        return attrs._replace(dims=mapped(attrs.dims, f))

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        for dim in node.attrs.dims:
            yield dim, "any"

    def title(self, node: Node) -> str:
        return node.attrs.name

    def form(self, node: Node) -> tuple:
        return (self.name, node.attrs.name, Unordered(node.attrs.dims), node.inputs)

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        name, dims, inputs = reader.value(entry.parts)
        return Parsed(inputs, ReduceAttrs(name, dims))


@kind("reduce")
class Reduce(_OverDims):
    """Reduction of the op table, or ``supremum``: max, with the dtype's minimum if empty."""

    def infer(self, inputs: tuple[Node, ...], attrs: ReduceAttrs) -> NodeType:
        (x,) = inputs
        name, dims = attrs
        for dim in dims:
            refuse_ragged(dim, name)
        require_no_labels(x, name)
        row = reduction_row(name)
        dtype = result_dtype(row.dtype, (x.dtype,), name)
        if is_complex(x.dtype) and not row.complex:
            raise DtypeError(f"{name} is not defined for {x.dtype}")
        for dim in dims if _needs_element(name) else ():
            if dim.length == 0:
                raise DimError(f"{name} over {dim._title} of length 0 has no value")
        return NodeType(without(x.dims, dims), dtype)

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return True

    def combined_by(self, node: Node, dim: Dim, varying: Collection[int]) -> str | None:
        return reduction_row(node.attrs.name).combined_by or None

    def linear(self, node: Node) -> Sequence[Sequence[int]]:
        return reduction_row(node.attrs.name).linear

    def messages(self, node: Node) -> dict[Dim | None, str]:
        return _without_value(*node.attrs) if _needs_element(node.attrs.name) else {}

    def requirements(self, node: Node) -> Iterator[Requirement]:
        name, dims = node.attrs
        if _needs_element(name):
            for dim in dims:
                yield _an_element(name, dim)


@kind("softmax")
class Softmax(_OverDims):
    """Exponentials over their sum, and the logarithm of that: ``softmax`` and ``log_softmax``."""

    def infer(self, inputs: tuple[Node, ...], attrs: ReduceAttrs) -> NodeType:
        (x,) = inputs
        for dim in attrs.dims:
            refuse_ragged(dim, attrs.name)
        require_no_labels(x, attrs.name)
        if not is_float(x.dtype):
            raise DtypeError(f"{attrs.name} is not defined for {x.dtype}")
        return NodeType(x.dims, x.dtype)

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return dim not in node.attrs.dims


def _an_element(name: str, dim: Dim) -> Requirement:
    return Requirement(dim, 1, f"{name} has no value over {dim._title}", DimError)


class _AlongOne(Kind[AlongAttrs]):
    """Base class of operations along one dim."""

    attrs = AlongAttrs

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 1) or lacking_in_operand([node.attrs.dim], node)

    def call(self, node: Node, ref: DimRef) -> Call:
        name, dim = node.attrs
        return Call(name, by_position(node.inputs), [("dim", ref(dim))])

    def map_dims(self, attrs: AlongAttrs, f: DimMap) -> AlongAttrs:
        return attrs._replace(dim=f(attrs.dim))

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return dim is not node.attrs.dim

    def title(self, node: Node) -> str:
        return node.attrs.name


@kind("cumulate")
class Cumulate(_AlongOne):
    """Cumulative sum or product."""

    def infer(self, inputs: tuple[Node, ...], attrs: AlongAttrs) -> NodeType:
        refuse_ragged(attrs.dim, attrs.name)
        require_no_labels(inputs[0], attrs.name)
        dtype = result_dtype(TABLE[attrs.name].dtype, (inputs[0].dtype,), attrs.name)
        return NodeType(inputs[0].dims, dtype)

    def linear(self, node: Node) -> Sequence[Sequence[int]]:
        return TABLE[node.attrs.name].linear


@kind("arg_reduce")
class ArgReduce(_AlongOne):
    """Position of the minimum or maximum."""

    def infer(self, inputs: tuple[Node, ...], attrs: AlongAttrs) -> NodeType:
        name, dim = attrs
        refuse_ragged(dim, name)
        if is_complex(inputs[0].dtype):
            raise DtypeError(f"{name} is not defined for {inputs[0].dtype}")
        if dim.length == 0:
            raise DimError(f"{name} over {dim._title} of length 0 has no value")
        return NodeType(without(inputs[0].dims, [dim]), "int64")

    def messages(self, node: Node) -> dict[Dim | None, str]:
        return _without_value(node.attrs.name, (node.attrs.dim,))

    def requirements(self, node: Node) -> Iterator[Requirement]:
        yield _an_element(*node.attrs)


class _Sorting(Kind[SortAttrs]):
    """Base class of sorting operations, which replace a dim by the dim of its ranks."""

    attrs = SortAttrs

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 1) or lacking_in_operand([node.attrs.dim], node)

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call(self.name, by_position(node.inputs), [("dim", ref(node.attrs.dim))])

    def map_dims(self, attrs: SortAttrs, f: DimMap) -> SortAttrs:
        return SortAttrs(f(attrs.dim), f(attrs.ranks))

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return dim not in node.attrs


def _ranked(x: Node, attrs: SortAttrs, name: str) -> Dims:
    if is_complex(x.dtype):
        raise DtypeError(f"{name} is not defined for {x.dtype}")
    return sort_dims((*without(x.dims, [attrs.dim]), attrs.ranks))


@kind("sort")
class Sort(_Sorting):
    """Elements in ascending order."""

    def infer(self, inputs: tuple[Node, ...], attrs: SortAttrs) -> NodeType:
        (x,) = inputs
        return NodeType(_ranked(x, attrs, self.name), x.dtype, x.categories)


@kind("argsort")
class ArgSort(_Sorting):
    """Positions of the elements in ascending order."""

    def infer(self, inputs: tuple[Node, ...], attrs: SortAttrs) -> NodeType:
        return NodeType(_ranked(inputs[0], attrs, self.name), "int64")


@kind("group_position")
class GroupPosition(Kind[GroupAttrs]):
    """Position of the first, smallest or largest element of each group; -1 for empty groups."""

    attrs = GroupAttrs

    def infer(self, inputs: tuple[Node, ...], attrs: GroupAttrs) -> NodeType:
        refuse_ragged(attrs.along, "groupby")
        rest = [without(x.dims, [attrs.along]) for x in inputs]
        return NodeType(union([*rest, (attrs.groups,)], "groupby"), "int64")

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 2) or lacking_in_operand([node.attrs.along], node)

    def call(self, node: Node, ref: DimRef) -> Call:
        x, codes = node.inputs
        name = f"group_{node.attrs.which}"
        return Call(name, [("", x), ("by", codes)], [("dim", ref(node.attrs.along))])

    def map_dims(self, attrs: GroupAttrs, f: DimMap) -> GroupAttrs:
        return attrs._replace(along=f(attrs.along), groups=f(attrs.groups))
