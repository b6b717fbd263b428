"""Lowering of ``apply`` nodes: positional functions batched over further dims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytensor.graph.basic import Variable
from pytensor.graph.fg import FrozenFunctionGraph
from pytensor.graph.traversal import ancestors

from dimtensor.dims import Dim, Dims, without
from dimtensor.errors import DimError, GraphError
from dimtensor.graph import Node
from dimtensor.lower.context import Lowering, lowers
from dimtensor.lower.layout.preferences import Estimates, Found, last, prefers
from dimtensor.ops.batching import over_batch
from dimtensor.ops.graphs import freeze
from dimtensor.optimize.rules.known import with_known_values
from dimtensor.tuning import COPY


class LiftedGraph:
    """Positional graph of core-shaped inputs and outputs, callable with batched inputs.

    Instances with equal graphs are equal, whatever the names of variables.
    """

    # the lengths of a user's function are unknown
    checked_lengths = True

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable]):
        self.graph = freeze(*with_known_values(inputs, outputs))

    def __call__(self, *variables: Variable) -> list[Variable]:
        # frozen nodes lack methods that batching needs
        inputs = [v.type() for v in self.graph.inputs]
        outputs = self.graph.bind(inputs)
        return over_batch(outputs, dict(zip(inputs, variables, strict=True)))

    def static_shape(self, output: int) -> tuple[int | None, ...]:
        """Return the known lengths of an output's core axes."""
        return tuple(self.graph.outputs[output].type.shape)

    def used_inputs(self, output: int) -> set[int]:
        """Return the indices of the inputs that an output depends on."""
        found = set(ancestors([self.graph.outputs[output]]))
        return {number for number, v in enumerate(self.graph.inputs) if v in found}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiftedGraph) and self.graph == other.graph

    def __hash__(self) -> int:
        return hash(self.graph)

    def __reduce__(self) -> tuple:
        return (_lifted_from_graph, (self.graph,))


def _lifted_from_graph(graph: FrozenFunctionGraph) -> LiftedGraph:
    lifted = object.__new__(LiftedGraph)
    lifted.graph = graph
    return lifted


@lowers("apply")
def apply(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    attrs = node.attrs
    cores = attrs.core_in
    batches = [without(i.dims, core) for i, core in zip(node.inputs, cores, strict=True)]
    batch = ctx.order.sort({dim for own in batches for dim in own})
    key = ("apply", attrs.function, node.inputs, cores)

    def compute() -> Sequence[Variable]:
        operands = [
            ctx.align(v, ctx.axes(i), (*batch, *core) if own else core)
            for v, i, core, own in zip(inputs, node.inputs, cores, batches, strict=True)
        ]
        return attrs.function(*operands)

    result = ctx.once(key, compute)[attrs.output]
    carried = batch
    if isinstance(attrs.function, LiftedGraph):
        used = [batches[number] for number in attrs.function.used_inputs(attrs.output)]
        carried = tuple(dim for dim in batch if any(dim in own for own in used))
    result = _settle_lengths(ctx, node, result)
    return _with_batch(ctx, result, batch, carried, attrs.core_out)


@prefers("apply")
def apply_order(node: Node, estimates: Estimates) -> Found:
    """Prefer core axes as last axes."""
    attrs = node.attrs
    for number, (x, core) in enumerate(zip(node.inputs, attrs.core_in, strict=True)):
        if core and len(x.dims) > 1:
            cost = COPY * estimates.elements(x.dims)
            yield ("core", attrs.function, x, core, number), last(x.dims, core, cost)
    if attrs.core_out and len(node.dims) > 1:
        cost = COPY * estimates.elements(node.dims)
        yield ("core", node), last(node.dims, attrs.core_out, cost)


def _with_batch(
    ctx: Lowering, result: Variable, batch: Dims, carried: Dims, core: Dims
) -> tuple[Variable, Dims]:
    """Broadcast a result along batch dims that it does not depend on."""
    dims = (*batch, *core)
    if result.type.ndim == len(core):
        return ctx.broadcast(result, core, dims), dims
    kept: list[Dim] = []
    index: list[Any] = []
    for dim, static in zip(batch, result.type.shape, strict=False):
        present = dim in carried and (static != 1 or dim.length == 1)
        index.append(slice(None) if present else 0)
        kept += [dim] if present else []
    if len(kept) == len(batch):
        return result, dims
    return ctx.broadcast(result[tuple(index)], (*kept, *core), dims), dims


def _settle_lengths(ctx: Lowering, node: Node, result: Variable) -> Variable:
    """Set the lengths of new dims from the result, and check those of known dims."""
    attrs = node.attrs
    name = attrs.name or "apply"
    first = result.type.ndim - len(attrs.core_out)
    for axis, dim in enumerate(attrs.core_out, start=first):
        static = result.type.shape[axis]
        try:
            expected = ctx.length(dim)
        except GraphError:
            ctx.set_length(dim, result.shape[axis] if static is None else static)
            continue
        if isinstance(expected, int) and static is not None:
            if expected != static:
                raise DimError(
                    f"{name}: {dim._title} has length {expected}, the function gives {static}",
                    [("dims of the output", [d._short for d in attrs.core_out])],
                )
        elif attrs.function.checked_lengths:
            result = ctx.of_length(node, result, axis, dim)
    return result
