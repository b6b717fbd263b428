"""Kinds of random draws, and of generators, which are represented by their state words."""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.dims import Dim, Dims, refuse_ragged, union, without
from dimtensor.errors import DimError
from dimtensor.graph.attrs import DrawAttrs, StreamAttrs
from dimtensor.graph.dtypes import DTYPES
from dimtensor.graph.infer import describe
from dimtensor.graph.kind import (
    Call,
    DimRef,
    Kind,
    by_position,
    kind,
    lacking_in_operand,
    mapped,
    wrong_count,
)
from dimtensor.graph.node import Node, NodeType
from dimtensor.graph.rebuilding.substitute import DimMap


def _with_dim(x: Node, dim: Dim, what: str) -> Dims:
    if dim in x.dims:
        raise DimError(f"{what}: a generator cannot have {dim._title} twice: {describe(x)}")
    return union([x.dims, (dim,)], what)


@kind("seed")
class Seed(Kind[Dim]):
    """State words of generators, made from seeds; the attribute is the dim of words."""

    attrs = Dim

    def infer(self, inputs: tuple[Node, ...], attrs: Dim) -> NodeType:
        return NodeType(_with_dim(inputs[0], attrs, "seed"), "uint64")

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 1)

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call("generator", by_position(node.inputs), [])

    def map_dims(self, attrs: Dim, f: DimMap) -> Dim:
        return f(attrs)

    def passes_derivatives(self, node: Node) -> bool:
        return False


@kind("stream")
class Stream(Kind[StreamAttrs]):
    """State words of independent generators along a dim, split from one generator."""

    attrs = StreamAttrs

    def infer(self, inputs: tuple[Node, ...], attrs: StreamAttrs) -> NodeType:
        return NodeType(_with_dim(inputs[0], attrs.dim, "split"), "uint64")

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 1) or lacking_in_operand([node.attrs.word], node)

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call("split", by_position(node.inputs), [("dim", ref(node.attrs.dim))])

    def map_dims(self, attrs: StreamAttrs, f: DimMap) -> StreamAttrs:
        return StreamAttrs(f(attrs.dim), f(attrs.word))

    def passes_derivatives(self, node: Node) -> bool:
        return False


@kind("draw")
class Draw(Kind[DrawAttrs]):
    """Draws of a distribution; inputs are the generator's words and the parameters."""

    attrs = DrawAttrs
    broadcasts = True

    def infer(self, inputs: tuple[Node, ...], attrs: DrawAttrs) -> NodeType:
        if attrs.event is not None:
            refuse_ragged(attrs.event, attrs.name)
        if attrs.output == 0:
            return NodeType(inputs[0].dims, "uint64")
        given: Sequence[Dims] = [without(x.dims, (attrs.word,)) for x in inputs]
        event = () if attrs.event is None else (attrs.event,)
        return NodeType(union([*given, attrs.order, event], attrs.name), attrs.dtype)

    def complaint(self, node: Node) -> str | None:
        attrs: DrawAttrs = node.attrs
        if attrs.output not in (0, 1) or attrs.dtype not in DTYPES:
            return f"output {attrs.output} of {attrs.dtype} is not one of a draw"
        return lacking_in_operand([attrs.word], node)

    def call(self, node: Node, ref: DimRef) -> Call:
        attrs: DrawAttrs = node.attrs
        options = [("dims", f"({', '.join(map(ref, attrs.order))})")] if attrs.order else []
        if attrs.event is not None:
            options.append(("dim", ref(attrs.event)))
        name = attrs.name if attrs.output else f"after_{attrs.name}"
        return Call(name, by_position(node.inputs), options)

    def map_dims(self, attrs: DrawAttrs, f: DimMap) -> DrawAttrs:
        event = None if attrs.event is None else f(attrs.event)
        return attrs._replace(word=f(attrs.word), order=mapped(attrs.order, f), event=event)
