"""Loop fusion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytensor.conditional.op import IfElse
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors

from dimtensor.ops.constants import integer_of
from dimtensor.ops.graphs import nodes_of, replace_variables
from dimtensor.ops.loop.node import ScanGraph
from dimtensor.ops.loop.op import Scan


def share_steps(graph: FunctionGraph) -> bool:
    """Merge two nodes with the same steps and inputs that trace different elements."""
    first: dict[Any, Apply] = {}
    for node in nodes_of(graph, Scan):
        op = node.op
        n, m = op.n_states, op.n_states + op.n_traces
        outputs = op.body.outputs
        spec = replace(op.spec, n_traces=0, truncate=None, open_traces=(), residuals=())
        key = (outputs[:n], outputs[m:], spec, tuple(node.inputs))
        known = first.setdefault(key, node)
        if known is not node:
            _join(graph, known, node, same_states=True)
            return True
    return False


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
                _join(graph, other, node, same_states=False)
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


def _join(graph: FunctionGraph, one: Apply, other: Apply, same_states: bool) -> None:
    """Replace two nodes by one."""
    first, second = ScanGraph(one), ScanGraph(other)
    if same_states:
        second.substitute(dict(zip(second.inner, first.inner, strict=True)))
        for mine, its in zip(first.states, second.states, strict=True):
            mine.outputs += its.outputs
        if first.n_done is not None:
            first.replaced[second.n_done] = first.n_done
    else:
        first.states += second.states
        first.elements += second.elements
        first.captured += second.captured
    first.traces += second.traces
    first.inner_rewritten &= second.inner_rewritten
    made = first.build()
    if first.n_done is not None:
        made = {old: made.get(new, new) for old, new in made.items()}
    replace_variables(graph, made)
