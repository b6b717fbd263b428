"""Parts of a graph that compute with complex numbers, closed so that PyTensor can differentiate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytensor.compile.builders import OpFromGraph
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors, io_toposort
from pytensor.tensor.type import TensorType

from dimtensor.ops.derivatives.driver import pull
from dimtensor.ops.derivatives.flow import is_continuous, zeros
from dimtensor.ops.graphs import replaced
from dimtensor.upstream.freezing import exact


def complex_parts_closed(variable: Variable) -> Variable:
    """Wrap the complex part of the graph of a real variable in one operation.

    `pytensor.grad` refuses complex numbers. The operation has a derivative of ours, and is opened
    when the graph is compiled.
    """
    if _is_complex(variable) or not any(map(_is_complex, ancestors([variable]))):
        return variable
    within: set[Variable] = set()  # complex, or computed by way of complex ones
    made: list[Variable] = []
    nodes = io_toposort([], [variable])
    for node in nodes:
        if any(map(_is_complex, (*node.inputs, *node.outputs))) or within.intersection(node.inputs):
            within.update(node.outputs)
        if any(map(_is_complex, node.inputs)):
            made += [v for v in node.outputs if not _is_complex(v)]
    inside = set(io_toposort([], made))
    given = list(
        dict.fromkeys(
            x
            for node in nodes
            if node in inside and within.intersection(node.outputs)
            for x in node.inputs
            if x not in within and not isinstance(x, Constant)
        )
    )
    if not made or not all(isinstance(x.type, TensorType) for x in given):
        return variable
    stand_ins = [x.type() for x in given]
    # PyTensor freezes the operation's graph, for which zeros of both signs are equal
    exactly = {x: exact(x) for x in ancestors(made, blockers=given) if isinstance(x, Constant)}
    outputs = clone_replace(made, {**exactly, **dict(zip(given, stand_ins, strict=True))})

    def pullback(inputs: Sequence[Any], results: Any, cotangents: Sequence[Any]) -> list[Any]:
        again = clone_replace(outputs, dict(zip(stand_ins, inputs, strict=True)))
        known = [None if isinstance(c.type, DisconnectedType) else c for c in cotangents]
        found = pull(again, known, list(inputs))
        return [
            disconnected_type() if not is_continuous(x) else zeros(x) if c is None else c
            for c, x in zip(found, inputs, strict=True)
        ]

    op = OpFromGraph(stand_ins, outputs, inline=True, pullback=pullback)
    results = op(*given, return_list=True)
    (closed,) = replaced([variable], dict(zip(made, results, strict=True)))
    return closed


def _is_complex(variable: Variable) -> bool:
    return str(getattr(variable.type, "dtype", "")).startswith("complex")
