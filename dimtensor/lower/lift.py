"""Positional functions lifted over batch dims: what an ``apply`` node calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytensor.graph.basic import Variable
from pytensor.graph.fg import FrozenFunctionGraph
from pytensor.graph.replace import vectorize_graph

from dimtensor.dims import Dims, without
from dimtensor.graph import Node
from dimtensor.lower.context import Lowering, lowers


class LiftedGraph:
    """A positional graph between core-shaped inputs and outputs, callable on batched inputs.

    Equal graphs are equal, whatever their variables are called.
    """

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable]):
        self.graph = FrozenFunctionGraph.from_io(list(inputs), list(outputs))
        self._key = self.graph

    def __call__(self, *variables: Variable) -> list[Variable]:
        replace = dict(zip(self.graph.inputs, variables, strict=True))
        return vectorize_graph(list(self.graph.outputs), replace)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiftedGraph) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple:
        return (_lifted_from_graph, (self.graph,))


def _lifted_from_graph(graph: FrozenFunctionGraph) -> LiftedGraph:
    lifted = object.__new__(LiftedGraph)
    lifted.graph = lifted._key = graph
    return lifted


class BatchedFunction:
    """A PyTensor function that works on trailing core axes by itself.

    Parameters
    ----------
    path : str
        Where it is, as ``module:name``; the module is imported when the function is called.
    **options
        Keyword arguments of the call, hashable.
    """

    def __init__(self, path: str, **options: Any):
        self.path = path
        self.options = options
        self._key = (path, tuple(sorted(options.items())))

    def __call__(self, *variables: Variable) -> list[Variable]:
        import importlib

        module, name = self.path.split(":")
        function = getattr(importlib.import_module(module), name)
        result = function(*variables, **self.options)
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BatchedFunction) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lowers("apply")
def apply(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    attrs = node.attrs
    cores = attrs.core_in
    batches = [without(i.dims, core) for i, core in zip(node.inputs, cores, strict=True)]
    batch = ctx.order.sort({dim for own in batches for dim in own})
    key = ("apply", attrs.function, node.inputs, cores)
    outputs = ctx.shared.get(key)
    if outputs is None:
        operands = [
            ctx.align(v, ctx.axes(i), (*batch, *core) if own else core)
            for v, i, core, own in zip(inputs, node.inputs, cores, batches, strict=True)
        ]
        outputs = ctx.shared[key] = attrs.function(*operands)
    result = outputs[attrs.output]
    dims = (*batch, *attrs.core_out)
    if result.type.ndim == len(attrs.core_out) and batch:  # the function ignored what is batched
        return ctx.broadcast(result, attrs.core_out, dims), dims
    return result, dims
