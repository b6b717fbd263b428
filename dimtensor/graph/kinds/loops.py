"""Kinds of control flow nodes: loops and conditionals."""

from __future__ import annotations

from dimtensor.dims import Dim, dim_set, refuse_ragged, sort_dims, without
from dimtensor.errors import DimError, GraphError
from dimtensor.graph.checking.verify import open_region
from dimtensor.graph.checkpoints import Checkpoints
from dimtensor.graph.forms import Entry, Parsed, Reader, plain
from dimtensor.graph.kind import (
    Body,
    Call,
    DimMap,
    DimRef,
    Kind,
    Replace,
    kind,
    lacking,
    wrong_count,
)
from dimtensor.graph.node import Node, NodeType
from dimtensor.graph.printing.printer import node_text
from dimtensor.graph.rebuilding.batching import grown_cond, grown_loop
from dimtensor.graph.rebuilding.independence import region_apart
from dimtensor.graph.rebuilding.substitute import map_dim
from dimtensor.graph.regions import (
    CondAttrs,
    LoopAttrs,
    Region,
    same_types,
    split_inputs,
    stop_dims,
    type_of,
)


class _Bodies[A](Kind[A]):
    """Base class of nodes with bodies or branches."""

    has_regions = True

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return all(region_apart(region, dim) for region in self.regions(node.attrs))


@kind("loop")
class Loop(_Bodies[LoopAttrs]):
    """Output of a loop: a final state or a trace."""

    attrs = LoopAttrs
    spoken = "the result of a loop"

    def infer(self, inputs: tuple[Node, ...], attrs: LoopAttrs) -> NodeType:
        given = split_inputs(attrs, inputs)
        over = () if attrs.over is None else (attrs.over,)
        for dim in over:
            refuse_ragged(dim, "a loop")
        expected = [
            *map(type_of, given.init),
            *(type_of(x)._replace(dims=without(x.dims, over)) for x in given.sequences),
            *map(type_of, given.captured),
        ]
        same_types("an input", [type_of(x) for x in attrs.region.bound], expected)
        states = expected[: attrs.n_states]
        same_types("a state", [type_of(x) for x in attrs.next_states], states)
        if attrs.before is not None:
            same_types("a state before a step", [type_of(x) for x in attrs.before], states)
        along = stop_dims(attrs, given)
        if any(dim not in state.dims for state in states for dim in along):
            raise GraphError(f"a state lacks dims by which a loop stops: {dim_set(along)}")
        if attrs.output < attrs.n_states:
            return states[attrs.output]
        element = attrs.traced[attrs.output - attrs.n_states]
        for dim in over:
            if dim in element.dims:
                raise DimError(
                    f"the result of a step has {dim._title}, the dim of the loop",
                    [("result", dim_set(element.dims)), ("loop over", repr(dim))],
                    "rename it with rename_dim",
                )
        return NodeType(sort_dims((*element.dims, *over)), element.dtype, element.categories)

    def complaint(self, node: Node) -> str | None:
        attrs: LoopAttrs = node.attrs
        if attrs.n_traces < 0 or not 0 <= attrs.output < attrs.n_states + attrs.n_traces:
            return f"output {attrs.output} of {attrs.n_states} states and {attrs.n_traces} traces"
        expected = attrs.counted + attrs.stops + len(attrs.region.bound)
        if attrs.over is None and attrs.n_sequences + attrs.n_traces:
            return "sequences and traces belong to loops along a dim"
        for x in split_inputs(attrs, node.inputs).sequences:
            wrong = lacking([attrs.over], x.dims, node_text(x))
            if wrong is not None:
                return wrong
        return wrong_count(node, expected) or open_region(attrs.region)

    def call(self, node: Node, ref: DimRef) -> Call:
        attrs: LoopAttrs = node.attrs
        given = split_inputs(attrs, node.inputs)
        counts = [("steps", given.n_steps), ("go", given.go)]
        operands = [(role, x) for role, x in counts if x is not None]
        bound = (*given.init, *given.sequences, *given.captured)
        operands += list(zip(self.bound_names(node), bound, strict=True))
        options = [] if attrs.over is None else [("dim", ref(attrs.over))]
        settings = {
            "reverse": attrs.reverse,
            "checkpoint": Checkpoints.of_attrs(attrs.checkpoint),
            "truncate": attrs.truncate,
        }
        options += [(name, str(value)) for name, value in settings.items() if value]
        made, at = "state", attrs.output
        if at >= attrs.n_states:
            made, at = "trace", at - attrs.n_states
        options.append((made, str(at)))
        return Call(_loop_name(attrs), operands, options)

    def map_dims(self, attrs: LoopAttrs, f: DimMap) -> LoopAttrs:
        return attrs if attrs.over is None else attrs._replace(over=f(attrs.over))

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return node.attrs.over != dim and super().keeps_apart(node, at, dim)

    def regions(self, attrs: LoopAttrs) -> tuple[Region, ...]:
        return (attrs.region,)

    def rebuilt(
        self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim], replace: Replace | None
    ) -> list[Node]:
        attrs = self.map_dims(node.attrs, lambda dim: map_dim(dim, mapping))
        return grown_loop(attrs, inputs, mapping, replace)

    def captured(self, node: Node) -> tuple[Node, ...]:
        return split_inputs(node.attrs, node.inputs).captured

    def bound_names(self, node: Node) -> list[str]:
        attrs: LoopAttrs = node.attrs
        counts = {"s": attrs.n_states, "x": attrs.n_sequences}
        counts["c"] = len(attrs.region.bound) - sum(counts.values())
        return [f"{letter}{at}" for letter, count in counts.items() for at in range(count)]

    def bodies(self, node: Node) -> list[Body]:
        attrs: LoopAttrs = node.attrs
        results = [f"s{at}" for at in range(attrs.n_states)]
        results += [f"y{at}" for at in range(attrs.n_traces)]
        results += ["go on"] * attrs.stops
        results += [f"s{at} before" for at in range(attrs.n_states * attrs.inverse)]
        return [Body("body", results, list(attrs.region.outputs))]

    def form(self, node: Node) -> tuple:
        region, *rest = node.attrs
        return (self.name, node.inputs, region.outputs, region.bound, plain(tuple(rest)))

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        inputs, outputs, bound, rest = reader.value(entry.parts)
        return Parsed(inputs, LoopAttrs(Region(outputs, bound), *rest))


def _loop_name(attrs: LoopAttrs) -> str:
    if attrs.over is not None:
        return "scan"
    return "while" if attrs.stops else "fori"


@kind("cond")
class Cond(_Bodies[CondAttrs]):
    """Output of a conditional."""

    attrs = CondAttrs
    spoken = "the result of if_else"

    def infer(self, inputs: tuple[Node, ...], attrs: CondAttrs) -> NodeType:
        condition, *operands = inputs
        if condition.dims or condition.dtype != "bool":
            raise GraphError(f"the condition of a conditional is a bool scalar, not {condition}")
        given = [type_of(x) for x in operands]
        for region in (attrs.then, attrs.otherwise):
            same_types("an input", [type_of(x) for x in region.bound], given)
        found = [type_of(x) for x in attrs.then.outputs]
        same_types("an output", found, [type_of(x) for x in attrs.otherwise.outputs])
        return found[attrs.output]

    def complaint(self, node: Node) -> str | None:
        then, otherwise = self.regions(node.attrs)
        return wrong_count(node, 1 + len(then.bound)) or open_region(then) or open_region(otherwise)

    def call(self, node: Node, ref: DimRef) -> Call:
        condition, *others = node.inputs
        operands = [("", condition), *zip(self.bound_names(node), others, strict=True)]
        return Call("if_else", operands, [("output", str(node.attrs.output))])

    def regions(self, attrs: CondAttrs) -> tuple[Region, ...]:
        return (attrs.then, attrs.otherwise)

    def rebuilt(
        self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim], replace: Replace | None
    ) -> list[Node]:
        return grown_cond(node.attrs, inputs, mapping, replace)

    def captured(self, node: Node) -> tuple[Node, ...]:
        return node.inputs[1:]

    def bound_names(self, node: Node) -> list[str]:
        return [f"c{at}" for at in range(len(node.inputs) - 1)]

    def bodies(self, node: Node) -> list[Body]:
        regions = zip(("then", "else"), self.regions(node.attrs), strict=True)
        return [
            Body(name, [str(at) for at in range(len(region.outputs))], list(region.outputs))
            for name, region in regions
        ]

    def form(self, node: Node) -> tuple:
        then, otherwise, output = node.attrs
        return (self.name, node.inputs, then.outputs, otherwise.outputs, then.bound, output)

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        inputs, then, otherwise, bound, output = reader.value(entry.parts)
        attrs = CondAttrs(Region(then, bound), Region(otherwise, bound), output)
        return Parsed(inputs, attrs)
