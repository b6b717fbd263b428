"""Kinds of leaves: inputs, data, constants, lengths, positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dimtensor.dims import BlockDim, Dim, Dims, SelDim, sort_dims
from dimtensor.dims.selection import LateLabels, LateSlice
from dimtensor.errors import DimError, listing
from dimtensor.graph import attrs as at
from dimtensor.graph.checking.lengths import Requirement
from dimtensor.graph.forms import LEAF, Entry, FormlessError, Parsed, Reader
from dimtensor.graph.kind import Call, DimMap, DimRef, Kind, kind, wrong_count
from dimtensor.graph.node import Node, NodeType
from dimtensor.graph.printing.text import constant_text, op_name
from dimtensor.graph.regions import BoundAttrs
from dimtensor.tuning import SHOWN_VALUES


class _Leaf[A](Kind[A]):
    """Base class of nodes without inputs."""

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 0)


@kind("input")
class Input(_Leaf[at.InputAttrs]):
    """Symbolic input."""

    attrs = at.InputAttrs
    spoken = "an unnamed input"
    is_leaf = True

    def infer(self, inputs: tuple[Node, ...], attrs: at.InputAttrs) -> NodeType:
        return NodeType(attrs.dims, attrs.dtype, attrs.categories)

    def form(self, node: Node) -> tuple:
        return LEAF

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        """Read a leaf; in a rebuilt graph inputs, data and label positions are all inputs."""
        dims, dtype, categories = entry.type
        return Parsed((), at.InputAttrs(f"n{entry.number}", at.REBUILT, dims, dtype, categories))

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call("input", [], _labels(node, ref))

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        yield from ()


@kind("data")
class Data(Kind[at.DataAttrs]):
    """Data: values that are known when the expression is built."""

    attrs = at.DataAttrs
    spoken = "unnamed data"
    is_leaf = True

    def infer(self, inputs: tuple[Node, ...], attrs: at.DataAttrs) -> NodeType:
        return NodeType(attrs.dims, attrs.values.dtype.name, attrs.categories)

    def complaint(self, node: Node) -> str | None:
        values = node.attrs.values
        if values.flags.writeable:
            return "its values can be overwritten"
        if values.ndim != len(node.attrs.dims):
            return f"values of {values.ndim} axes have {len(node.attrs.dims)} dims"
        return _wrong_lengths(node.attrs.dims, values.shape)

    def form(self, node: Node) -> tuple:
        return LEAF

    def call(self, node: Node, ref: DimRef) -> Call:
        values: np.ndarray = node.attrs.values
        shown = [v.item() for v in values.ravel()[:SHOWN_VALUES]]
        text = ", ".join(f"{v:.6g}" if isinstance(v, float) else repr(v) for v in shown)
        more = ", …" if values.size > SHOWN_VALUES else ""
        return Call("data", [], [("", f"[{text}{more}]"), *_labels(node, ref)])

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        yield from ()


def _labels(node: Node, ref: DimRef) -> list[tuple[str, str]]:
    return [] if node.categories is None else [("labels of", ref(node.categories))]


def _wrong_lengths(dims: Dims, shape: Sequence[int | None]) -> str | None:
    for dim, length in zip(dims, shape, strict=True):
        if None not in (dim.length, length) and dim.length != length:
            return f"{dim!r} has length {dim.length}, its axis {length}"
    return None


@kind("shaped")
class Shaped(Kind[at.ShapedAttrs]):
    """Positional PyTensor variable."""

    attrs = at.ShapedAttrs
    spoken = "a positional variable"
    is_leaf = True

    def infer(self, inputs: tuple[Node, ...], attrs: at.ShapedAttrs) -> NodeType:
        return NodeType(sort_dims(attrs.dims), attrs.dtype, attrs.categories)

    def complaint(self, node: Node) -> str | None:
        shape = node.attrs.variable.type.shape
        if len(shape) != len(node.attrs.dims):
            return f"a variable of {len(shape)} axes has {len(node.attrs.dims)} dims"
        return _wrong_lengths(node.attrs.dims, shape)

    def call(self, node: Node, ref: DimRef) -> Call:
        variable = node.attrs.variable
        owner = getattr(variable, "owner", None)
        source = variable.name or (op_name(owner.op) if owner is not None else "variable")
        axes = "[" + ", ".join(map(ref, node.attrs.dims)) + "]"
        return Call("from_shaped", [], [("", source), ("axes", axes)])

    def messages(self, node: Node) -> dict[Dim | None, str]:
        return {
            dim: f"axis {axis} of a positional variable is not as long as {dim._title}"
            for axis, dim in enumerate(node.attrs.dims)
        }


@kind("constant")
class Constant(_Leaf[at.ConstantAttrs]):
    """Constant number."""

    attrs = at.ConstantAttrs

    def infer(self, inputs: tuple[Node, ...], attrs: at.ConstantAttrs) -> NodeType:
        return NodeType((), attrs.dtype)

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call("constant", [], [("", constant_text(node))])

    def form(self, node: Node) -> tuple:
        return (self.name, node.attrs.dtype, node.attrs.data.hex())

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        dtype, data = entry.parts
        return Parsed((), at.ConstantAttrs(dtype, bytes.fromhex(data)))

    def described(self, node: Node) -> str:
        return f"the number {node.attrs.value.item()!r}"


class _OfDim(_Leaf[Dim]):
    """Base class of properties of a dim, which is the attribute."""

    attrs = Dim

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call(self.name, [], [("", ref(node.attrs))])

    def map_dims(self, attrs: Dim, f: DimMap) -> Dim:
        return f(attrs)

    def requirements(self, node: Node) -> Iterator[Requirement]:
        if isinstance(node.attrs, BlockDim):  # rejects some lengths of its parent
            yield Requirement(node.attrs, 0, "blocks have no length", DimError)


@kind("length")
class Length(_OfDim):
    """Length of a dim."""

    def infer(self, inputs: tuple[Node, ...], attrs: Dim) -> NodeType:
        return NodeType((), "int64")


@kind("positions")
class DimPositions(_OfDim):
    """Positions along a dim, from 0."""

    def infer(self, inputs: tuple[Node, ...], attrs: Dim) -> NodeType:
        return NodeType((attrs,), "int64")


@kind("label_position")
class LabelPositions(_Leaf[at.LabelPosition]):
    """Positions of labels along a dim with late labels."""

    attrs = at.LabelPosition

    def infer(self, inputs: tuple[Node, ...], attrs: at.LabelPosition) -> NodeType:
        if attrs.role == "many":
            return NodeType((SelDim._from(attrs.dim, LateLabels(attrs.labels)),), "int64")
        return NodeType((), "int64")

    def form(self, node: Node) -> tuple:
        return LEAF

    def call(self, node: Node, ref: DimRef) -> Call:
        dim, labels, role = node.attrs
        if role == "one":
            return Call("position", [], [(ref(dim), listing(labels))])
        if role == "many":
            return Call("position", [], [(ref(dim), f"[{listing(labels, 4)}]")])
        return Call(role, [], [(ref(dim), LateSlice(*labels).text)])

    def map_dims(self, attrs: at.LabelPosition, f: DimMap) -> at.LabelPosition:
        return attrs._replace(dim=f(attrs.dim))

    def values_of(self, node: Node) -> tuple[Node, ...]:
        return ()


@kind("bound")
class Bound(_Leaf[BoundAttrs]):
    """Bound leaf: a formal parameter of a region."""

    attrs = BoundAttrs
    spoken = "a value of a step"

    def infer(self, inputs: tuple[Node, ...], attrs: BoundAttrs) -> NodeType:
        return NodeType(attrs.dims, attrs.dtype, attrs.categories)

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call("bound", [], [("", str(node.attrs.number))])

    def form(self, node: Node) -> tuple:
        if node.attrs.token is not None:
            raise FormlessError("a step is being traced")
        return (self.name, node.attrs.number)

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        return Parsed((), BoundAttrs(entry.parts[0], None, *entry.type))
