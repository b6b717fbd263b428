"""Cotangents of look-ups in traces: as long as the steps that ran, not as the steps at most.

The cotangent of ``trace[at]`` is added to zeros. The loop that goes back reads it at steps that
ran, of which there may be few: zeros for all others would take longer than the steps.
"""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import io_toposort
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.subtensor import AdvancedIncSubtensor

from dimtensor.kernels.graph.lag_gradients import is_zeros
from dimtensor.ops.loop.node import ScanGraph
from dimtensor.ops.loop.op import Scan
from dimtensor.ops.loop.rewrites.tape import counters_back, rows_read


def zeros_for_steps_that_ran(graph: FunctionGraph) -> bool:
    """Shorten what look-ups in traces are added to, where only rows of steps that ran are read."""
    changed = False
    for node in graph.toposort():
        if isinstance(node.op, Scan) and node.op.stops and node.op.derivative:
            for at, source in counters_back(node):
                n_done = source.op.split_outputs(source.outputs).n_done
                for x in _read_by_rows(node, at):
                    shorter = _shorter(graph, x, n_done)
                    if shorter is not None:
                        graph.replace(x, shorter, reason="steps_that_ran", import_missing=True)
                        changed = True
    return changed


def _read_by_rows(node: Apply, counter: int) -> list[Variable]:
    """What a loop reads at the number of the step that it goes back, and nowhere else."""
    after = ScanGraph(node)
    reads = {each for each, _ in rows_read(after, {after.states[counter].variable})}
    nodes = io_toposort(after.inner, after.outputs)
    found = []
    for part in after.captured:
        users = {each for each in nodes if part.variable in each.inputs}
        if users and users <= reads and part.variable not in after.outputs:
            found.append(part.outside)
    return found


def _shorter(graph: FunctionGraph, variable: Variable, n_done: Variable) -> Variable | None:
    """The rows of steps that ran, and one more; None if more is read, or all are made anyway."""
    node = variable.owner
    if node is None or len(graph.clients[variable]) > 1 or variable.type.shape[0] is not None:
        return None
    if isinstance(node.op, Elemwise):
        parts = [_shorter(graph, v, n_done) for v in node.inputs]
        return None if None in parts else node.op(*parts)
    if not isinstance(node.op, AdvancedIncSubtensor) or not is_zeros(node.inputs[0]):
        return None
    if node.op.idx_list != (0,) or node.op.set_instead_of_inc:
        return None
    zeros, added, at = node.inputs
    value, n, *lengths = zeros.owner.inputs
    # what is added to other steps is added to the last row
    row = pt.minimum(pt.switch(at < 0, at + n, at), n_done)
    return node.op(pt.alloc(value, n_done + 1, *lengths), added, row)
