"""Kinds of random variables and named expressions, from which models are built."""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.dims import union, without
from dimtensor.errors import GraphError
from dimtensor.graph.attrs import NamedAttrs, RandomAttrs
from dimtensor.graph.dtypes import DTYPES
from dimtensor.graph.kind import Call, DimRef, Kind, by_position, kind, mapped, wrong_count
from dimtensor.graph.node import Node, NodeType
from dimtensor.graph.rebuilding.substitute import DimMap


def no_value(node: Node) -> GraphError:
    """Make the error for computing a random variable, which has no value."""
    name = node.name if str(node.name).isidentifier() else "x"
    return GraphError(
        f"{node.name!r} is a random variable, which has no value",
        [("distribution", str(node.attrs.spec))],
        f"dt.Model({name}).draw(100, seed=1) draws values; "
        "dt.substitute(x, {variable: tensor}) puts something in its place",
    )


@kind("rv")
class RandomVariable(Kind[RandomAttrs]):
    """Random variable; the inputs are the parameters of its distribution."""

    attrs = RandomAttrs
    spoken = "a random variable"

    def infer(self, inputs: tuple[Node, ...], attrs: RandomAttrs) -> NodeType:
        given = [without(x.dims, attrs.spec.hidden) for x in inputs]
        return NodeType(union([attrs.dims, *given], attrs.name), attrs.dtype, attrs.categories)

    def complaint(self, node: Node) -> str | None:
        known = node.attrs.dtype in DTYPES
        return None if known else f"there is no dtype {node.attrs.dtype!r}"

    def call(self, node: Node, ref: DimRef) -> Call:
        attrs: RandomAttrs = node.attrs
        options = [("name", repr(attrs.name)), ("distribution", str(attrs.spec))]
        options += [("dims", f"({', '.join(map(ref, attrs.dims))})")] if attrs.dims else []
        return Call("rv", by_position(node.inputs), options)

    def map_dims(self, attrs: RandomAttrs, f: DimMap) -> RandomAttrs:
        labels = None if attrs.categories is None else f(attrs.categories)
        spec = attrs.spec.map_dims(f)
        return attrs._replace(spec=spec, dims=mapped(attrs.dims, f), categories=labels)

    def passes_derivatives(self, node: Node) -> bool:
        return False

    def form(self, node: Node) -> tuple:
        raise no_value(node)


@kind("named")
class Named(Kind[NamedAttrs]):
    """Named expression (deterministic) with the values of its input."""

    attrs = NamedAttrs

    def infer(self, inputs: tuple[Node, ...], attrs: NamedAttrs) -> NodeType:
        return NodeType(inputs[0].dims, inputs[0].dtype, inputs[0].categories)

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 1)

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call("named", by_position(node.inputs), [("name", repr(node.attrs.name))])

    def keeps_apart(self, node: Node, at: int, dim: object) -> bool:
        return True

    def values_of(self, node: Node) -> tuple[Node, ...]:
        return node.inputs

    def linear(self, node: Node) -> Sequence[Sequence[int]]:
        return ((0,),)

    def form(self, node: Node) -> tuple:
        return (self.name, ("",), node.inputs)
