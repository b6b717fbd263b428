"""Kinds of derivatives; construction and batching are in :mod:`dimtensor.graph.derivatives`."""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.dims import Dim, sort_dims
from dimtensor.graph.attrs import ShownAttrs
from dimtensor.graph.checking.verify import open_region
from dimtensor.graph.derivatives import (
    closed_type,
    jacobian_dims,
    jacobian_renames,
    rebuilt_derivative,
)
from dimtensor.graph.forms import Entry, Parsed, Reader
from dimtensor.graph.kind import Call, DimRef, Kind, Replace, kind, wrong_count
from dimtensor.graph.node import Node, NodeType
from dimtensor.graph.regions import DerivativeAttrs, Region, same_types, split_derivative, type_of


class _Derivative(Kind[DerivativeAttrs]):
    """Base class of derivatives of the function in a region."""

    attrs = DerivativeAttrs
    has_regions = True
    # printed name, and role of the last inputs
    written: str
    direction: str

    def regions(self, attrs: DerivativeAttrs) -> tuple[Region, ...]:
        return (attrs.region,)

    def rebuilt(
        self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim], replace: Replace | None
    ) -> list[Node]:
        return rebuilt_derivative(node, inputs, mapping, replace)

    def n_outputs(self, attrs: DerivativeAttrs) -> int:
        """Return the number of outputs of the derivative."""
        return 1

    def n_directions(self, node: Node) -> int:
        """Return the number of cotangents or tangents."""
        raise NotImplementedError

    def complaint(self, node: Node) -> str | None:
        attrs: DerivativeAttrs = node.attrs
        results = self.n_outputs(attrs)
        if not 0 <= attrs.output < results:
            return f"{node.kind} number {attrs.output} of {results}"
        bound = len(attrs.region.bound)
        if not attrs.n_wrt <= bound:
            return f"a {node.kind} by {attrs.n_wrt} of {bound} variables"
        count = bound + max(self.n_directions(node), 0)
        return wrong_count(node, count) or open_region(attrs.region)

    def call(self, node: Node, ref: DimRef) -> Call:
        """Return the printable form without the differentiated expression, see `shown`."""
        given = split_derivative(node.attrs, node.inputs)
        operands = [("at", x) for x in given.wrt]
        operands += [(f"c{at}", x) for at, x in enumerate(given.captured)]
        operands += [(self.direction, x) for x in given.directions]
        return Call(self.written, operands, self._number(node.attrs))

    def _number(self, attrs: DerivativeAttrs) -> list[tuple[str, str]]:
        n = self.n_outputs(attrs)
        return [] if n == 1 else [("of", f"{attrs.output + 1}/{n}")]

    def form(self, node: Node) -> tuple:
        region, n_wrt, output = node.attrs
        return (self.name, node.inputs, region.outputs, region.bound, n_wrt, output)

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        inputs, outputs, bound, n_wrt, output = reader.value(entry.parts)
        return Parsed(inputs, DerivativeAttrs(Region(outputs, bound), n_wrt, output))


@kind("gradient")
class Gradient(_Derivative):
    """Gradient of a scalar by one of several variables, or vector-Jacobian product."""

    written, direction = "gradient", "cotangent"

    def infer(self, inputs: tuple[Node, ...], attrs: DerivativeAttrs) -> NodeType:
        y = closed_type(inputs, attrs)
        cotangents = inputs[len(attrs.region.bound) :]
        same_types("a cotangent", (y,) if y.dims or cotangents else (), map(type_of, cotangents))
        x = inputs[attrs.output]
        return NodeType(x.dims, x.dtype)

    def n_outputs(self, attrs: DerivativeAttrs) -> int:
        return attrs.n_wrt

    def n_directions(self, node: Node) -> int:
        return min(len(node.inputs) - len(node.attrs.region.bound), 1)


@kind("jacobian")
class Jacobian(_Derivative):
    """Jacobian: derivatives of all elements by all elements of one variable."""

    written, direction = "jacobian", "cotangent"

    def infer(self, inputs: tuple[Node, ...], attrs: DerivativeAttrs) -> NodeType:
        y = closed_type(inputs, attrs)
        renames = dict(jacobian_dims(y.dims, inputs[0].dims))
        columns = (renames.get(dim, dim) for dim in inputs[0].dims)
        return NodeType(sort_dims((*y.dims, *columns)), y.dtype)

    def complaint(self, node: Node) -> str | None:
        if node.attrs.output == 0 and node.attrs.n_wrt != 1:
            return f"a jacobian by {node.attrs.n_wrt} variables"
        return super().complaint(node)

    def n_directions(self, node: Node) -> int:
        return 0

    def renames(self, node: Node) -> Sequence[tuple[Dim, Dim]]:
        return jacobian_renames(node)


@kind("pushforward")
class Pushforward(_Derivative):
    """Jacobian-vector product: derivative in the direction of tangents."""

    written, direction = "jvp", "tangent"

    def infer(self, inputs: tuple[Node, ...], attrs: DerivativeAttrs) -> NodeType:
        y = closed_type(inputs, attrs)
        given = split_derivative(attrs, inputs)
        same_types("a tangent", map(type_of, given.wrt), map(type_of, given.directions))
        return y

    def n_directions(self, node: Node) -> int:
        return node.attrs.n_wrt


@kind("shown")
class Shown(Kind[ShownAttrs]):
    """Derivative in printed form; cannot be computed."""

    attrs = ShownAttrs

    def infer(self, inputs: tuple[Node, ...], attrs: ShownAttrs) -> NodeType:
        return NodeType(attrs.dims, attrs.dtype)

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, len(node.attrs.roles))

    def call(self, node: Node, ref: DimRef) -> Call:
        attrs: ShownAttrs = node.attrs
        operands = list(zip(attrs.roles, node.inputs, strict=True))
        return Call(attrs.name, operands, list(attrs.options))
