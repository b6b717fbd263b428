"""Kinds of derivatives; how they are made and rebuilt is in :mod:`dimtensor.graph.derivatives`."""

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
from dimtensor.graph.regions import (
    DerivativeAttrs,
    Region,
    same_types,
    split_derivative,
    type_of,
)


class _Derivative(Kind[DerivativeAttrs]):
    """A derivative of the function that its region is."""

    attrs = DerivativeAttrs
    has_regions = True
    # what it is called, and the part that its last inputs play
    written: str
    direction: str

    def regions(self, attrs: DerivativeAttrs) -> tuple[Region, ...]:
        return (attrs.region,)

    def rebuilt(
        self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim], replace: Replace | None
    ) -> list[Node]:
        return rebuilt_derivative(node, inputs, mapping, replace)

    def n_outputs(self, attrs: DerivativeAttrs) -> int:
        """How many nodes share one derivative."""
        return 1

    def n_directions(self, node: Node) -> int:
        """How many cotangents or tangents it is to have."""
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
        """A derivative in one line; what it is taken of is in its region, see `shown`."""
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
    """The gradient of a scalar by one of several variables, or the cotangent of one."""

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
    """All derivatives of all elements by all elements of one variable."""

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
    """The derivative in the direction of tangents."""

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
    """A derivative as it is written; a node for printers, not for computing."""

    attrs = ShownAttrs

    def infer(self, inputs: tuple[Node, ...], attrs: ShownAttrs) -> NodeType:
        return NodeType(attrs.dims, attrs.dtype)

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, len(node.attrs.roles))

    def call(self, node: Node, ref: DimRef) -> Call:
        attrs: ShownAttrs = node.attrs
        operands = list(zip(attrs.roles, node.inputs, strict=True))
        return Call(attrs.name, operands, list(attrs.options))
