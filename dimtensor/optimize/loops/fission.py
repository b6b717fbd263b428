"""Fission: states that follow from data alone are computed by a loop of their own.

A state that counts or sums data so far, such as the number of earlier successes, is the same at
every call. A separate loop traces it once per data set. The loop that reads the trace then has no
states, and often becomes a computation on arrays.
"""

from __future__ import annotations

from collections.abc import Collection

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors, io_toposort
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.type import TensorType

from dimtensor.ops.graphs import replace_variables
from dimtensor.ops.loop.node import InputParts, ScanGraph, Trace
from dimtensor.ops.loop.op import Scan


def split_known_states(graph: FunctionGraph, fixed: Collection[Variable]) -> bool:
    """Split loops all of whose states depend on fixed inputs only.

    Parameters
    ----------
    graph : FunctionGraph
        Changed in place.
    fixed : collection of Variable
        Inputs of the graph that many calls have in common.

    Notes
    -----
    The traces are kept as long as the data, so they have no more axes than what they follow from.
    """
    known, of_data = set(fixed), set(fixed)
    changed = False
    for node in graph.toposort():
        if _follows(node, known):
            known.update(node.outputs)
            if not of_data.isdisjoint(node.inputs):
                of_data.update(node.outputs)
        elif isinstance(node.op, Scan) and (replace := _split(node, known, of_data)):
            replace_variables(graph, replace)
            changed = True
    return changed


def _follows(node: Apply, known: Collection[Variable]) -> bool:
    if isinstance(node.op, RandomVariable):
        return False
    return all(_is_known(v, known) for v in node.inputs)


def _is_known(variable: Variable, known: Collection[Variable]) -> bool:
    return isinstance(variable, Constant) or variable in known


def _split(
    node: Apply, known: Collection[Variable], of_data: Collection[Variable]
) -> dict[Variable, Variable]:
    """Split a loop in two, and map its outputs to replacements; empty without known states."""
    states, rest = ScanGraph(node), ScanGraph(node)
    if not rest.states or not rest.runs_all or not _is_known(rest.n_steps, known):
        return {}
    inside = {part.variable for part in rest.states}
    given = [*rest.elements, *rest.captured]
    inside |= {part.variable for part in given if _is_known(part.outside, known)}
    for inner in io_toposort(rest.inner, rest.outputs):
        if _follows(inner, inside):
            inside.update(inner.outputs)
    if not all(_is_known(x.init, known) and x.following in inside for x in rest.states):
        return {}
    read = set(ancestors([x.following for x in rest.states]))
    data = [x.outside for x in given if x.variable in read and x.outside in of_data]
    axes = max((v.type.ndim for v in data), default=0)
    if any(x.variable.type.ndim >= axes for x in rest.states):
        return {}
    types = [x.variable.type for x in rest.states]
    traces = [TensorType(type_.dtype, (None, *type_.shape))() for type_ in types]
    states.traces = [
        Trace(x.variable, [trace]) for x, trace in zip(states.states, traces, strict=True)
    ]
    found = states.build()
    rest.elements += [
        InputParts(found.pop(trace), x.variable)
        for x, trace in zip(rest.states, traces, strict=True)
    ]
    rest.states = []
    return found | rest.build()
