"""Loop fusion."""

from __future__ import annotations

from typing import Any

from pytensor.conditional.op import IfElse
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors

from dimtensor.ops.constants import integer_of
from dimtensor.ops.graphs import nodes_of, replace_variables
from dimtensor.ops.loop.node import ScanGraph
from dimtensor.ops.loop.op import Scan


def fuse(graph: FunctionGraph) -> bool:
    """Fuse two independent loops over the same steps.

    They then read shared inputs once and run in parallel in the processor's pipelines. Loops are
    not fused in a graph with conditionals, which may need one of them only.
    """
    if nodes_of(graph, IfElse):
        return False
    found: dict[Any, list[Apply]] = {}
    for node in nodes_of(graph, Scan):
        op = node.op
        if not op.runs_all:
            continue
        others = found.setdefault((_steps_key(node.inputs[0]), op.reverse, op.derivative), [])
        for other in others:
            if not _depends(node, other) and not _depends(other, node):
                _join(graph, other, node)
                return True
        others.append(node)
    return False


def _steps_key(n_steps: Variable) -> Any:
    known = integer_of(n_steps)
    return n_steps if known is None else known


def _depends(node: Apply, other: Apply) -> bool:
    """Return whether a node depends on another."""
    results = set(other.outputs)
    return any(v in results for v in ancestors(node.inputs))


def _join(graph: FunctionGraph, one: Apply, other: Apply) -> None:
    """Replace two nodes by one."""
    first, second = ScanGraph(one), ScanGraph(other)
    first.states += second.states
    first.elements += second.elements
    first.captured += second.captured
    first.traces += second.traces
    first.inner_rewritten &= second.inner_rewritten
    replace_variables(graph, first.build())
