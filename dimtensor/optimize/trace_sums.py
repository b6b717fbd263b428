"""Move sums over traces, and the computation of sequences, into the steps of loops.

The latency of the loop-carried path leaves execution units idle, which can accumulate sums: these
then need no array as long as the loop and no second loop. A target whose loops over elements are
cheap gains from sums of a few cheap operations.

XLA runs each elementwise loop as a function of its own, which takes a microsecond to start. A
program that is long by XLA's count of operations runs in another thread, which takes ten
microseconds to wake; XLA counts one step of a loop only. There any sum over the steps of a loop of
scalars is moved into the steps, with the computation of sequences, as one writes them by hand. That
is slower where states are arrays: their steps are faster with matrix products from XLA's library.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import Add
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.subtensor import Subtensor
from pytensor.tensor.type import TensorType

from dimtensor.ops.graphs import nodes_of, replace_variables
from dimtensor.ops.loop.node import InputParts, ScanGraph, StateParts
from dimtensor.ops.loop.op import Scan
from dimtensor.optimize.lag_gradients import first_of_padded
from dimtensor.optimize.plan.signatures import is_quick, is_soon_computed
from dimtensor.optimize.target import Target
from dimtensor.tuning import SUM_IN_LOOP_OPERATIONS, SUMS_IN_LOOP


def absorb_sums(graph: FunctionGraph, target: Target) -> bool:
    """Accumulate sums of traces in the steps of their loops, as far as a target gains from it.

    Parameters
    ----------
    graph : FunctionGraph
        It is changed.
    target : Target
        If its loops are costly, any sum is moved into the steps of loops of scalars, and so is the
        computation of sequences. Without a sum it stays outside, with its source lines and dims.
    """
    cheap = not target.costly_loops
    changed = False
    for node in _whole_scans(nodes_of(graph, Scan), graph):
        if cheap or _is_of_numbers(node):
            changed |= _absorb(graph, node, cheap)
    if changed and not cheap:
        for node in _whole_scans(reversed(nodes_of(graph, Scan)), graph):
            if _is_of_numbers(node):
                _absorb_elements(graph, node)
        first_of_padded(graph)
        _pieces_first(graph)
    return changed


def _whole_scans(nodes: Iterable[Apply], graph: FunctionGraph) -> Iterator[Apply]:
    """Yield the scans that run all of their steps, unless replacements have removed them."""
    for node in nodes:
        if node.op.runs_all and node in graph.apply_nodes:
            yield node


def _is_of_numbers(node: Apply) -> bool:
    """Return whether all inputs, outputs and states of steps are numbers."""
    op = node.op
    states, elements, _ = op.split_body_inputs(op.body.inputs)
    return not any(v.type.ndim for v in (*states, *elements, *op.body.outputs))


def _absorb_elements(graph: FunctionGraph, node: Apply) -> None:
    """Compute the sequences of a loop in its steps."""
    parts = ScanGraph(node)
    known = {part.outside: part.variable for part in (*parts.elements, *parts.captured)}
    made = [part for part in parts.elements if _is_made(part.outside, graph.outputs)]
    for part in made:
        del known[part.outside]
    computed: dict[Variable, Variable] = {}
    for part in made:
        leaves = _leaves(part.outside, known, set(), graph.outputs, cheap=False)
        if leaves is None:
            known[part.outside] = part.variable
        else:
            _take(parts, leaves, known)
            computed[part.variable] = _in_step(part.outside, known)
    if computed:
        parts.substitute(computed)
        parts.elements = [part for part in parts.elements if part.variable not in computed]
        replace_variables(graph, parts.build(), "absorb_elements")


def _is_made(variable: Variable, stored: Collection[Variable]) -> bool:
    node = variable.owner
    is_elementwise = node is not None and isinstance(node.op, Elemwise)
    return is_elementwise and _is_elementwise(node, cheap=False) and variable not in stored


def _take(parts: ScanGraph, leaves: list[Variable], known: dict[Variable, Variable]) -> None:
    """Add the outer variables that a step lacks to its inputs."""
    for leaf in leaves:
        if leaf in known:
            continue
        role = parts.elements if leaf.type.ndim else parts.captured
        scalar = pt.tensor(dtype=leaf.type.dtype, shape=())
        role.append(InputParts(leaf, scalar))
        known[leaf] = scalar


def _pieces_first(graph: FunctionGraph) -> None:
    """Slice the operands of an elementwise operation instead of its result."""
    waiting = nodes_of(graph, Subtensor)
    while waiting:
        node = waiting.pop()
        whole, out = node.inputs[0], node.outputs[0]
        made = whole.owner
        if out not in graph.variables or whole.type.ndim != 1 or out.type.ndim != 1:
            continue
        if made is None or not isinstance(made.op, Elemwise) or len(graph.clients[whole]) > 1:
            continue
        pieces = [v if v.type.shape == (1,) else node.op(v, *node.inputs[1:]) for v in made.inputs]
        new = out.type.filter_variable(made.op(*pieces))
        graph.replace(out, new, reason="pieces_first", import_missing=True)
        waiting += [v.owner for v in pieces if v.owner is not None and v.owner.op is node.op]


def _absorb(graph: FunctionGraph, node: Apply, cheap: bool) -> bool:
    traces = [
        out
        for out in node.op.split_outputs(node.outputs).traces
        if out.type.ndim == 1 and out.type.dtype == "float64"
    ]
    if not traces:
        return False
    own = set(node.outputs)
    parts = ScanGraph(node)
    known = {part.outside: part.variable for part in (*parts.elements, *parts.captured)}
    known |= {out: trace.element for trace in parts.traces for out in trace.outputs}
    totals: dict[Variable, Variable] = {}
    for total in _sums_of(graph, traces, cheap):
        leaves = _leaves(total.owner.inputs[0], known, own, graph.outputs, cheap)
        if leaves is None or len(totals) >= SUMS_IN_LOOP:
            continue
        _take(parts, leaves, known)
        term = _in_step(total.owner.inputs[0], known)
        state = pt.tensor(dtype=total.type.dtype, shape=())
        start = pt.constant(np.asarray(0, dtype=total.type.dtype))
        parts.states.append(StateParts(start, state, state + term, [total]))
        totals[total] = state
    if not totals:
        return False
    replace_variables(graph, parts.build(), "absorb_sums")
    return True


def _sums_of(graph: FunctionGraph, traces: list[Variable], cheap: bool) -> list[Variable]:
    """Return sums over all steps of expressions of some traces with one number per step."""
    found: dict[Variable, None] = {}
    stack = list(traces)
    seen = set(stack)
    while stack:
        variable = stack.pop()
        for client, _ in graph.clients[variable]:
            if not isinstance(client, Apply) or not client.outputs:
                continue
            out = client.outputs[0]
            if isinstance(client.op, CAReduce):
                if isinstance(client.op.scalar_op, Add) and out.type.dtype == "float64":
                    if out.type.ndim == 0:
                        found[out] = None
            elif out in seen or not isinstance(client.op, Elemwise):
                continue
            elif _is_elementwise(client, cheap):
                seen.add(out)
                stack.append(out)
    return list(found)


def _is_elementwise(node: Apply, cheap: bool) -> bool:
    dtypes = ("float64",) if cheap else ("float64", "bool")
    made = [*node.outputs, *(v for v in node.inputs if cheap or not isinstance(v, Constant))]
    floats = all(v.type.dtype in dtypes for v in made)
    alike = node.outputs[0].type.ndim == 1 and node.outputs[0].type.shape != (1,)
    return (is_quick(node) or not cheap) and floats and alike


def _leaves(
    variable: Variable,
    known: dict[Variable, Variable],
    own: set[Variable],
    stored: Collection[Variable],
    cheap: bool,
) -> list[Variable] | None:
    """Return the operands of the terms of a sum; None if the loop should not compute it."""
    leaves: list[Variable] = []
    operations = 0
    stack = [variable]
    while stack:
        v = stack.pop()
        node = v.owner
        if v in known or v in leaves:
            continue
        if v.type.ndim == 1 and v.type.shape[0] == 1:
            number = _number(v)
            if number is None:
                return None
            if isinstance(number, Constant) or number in leaves or number in known:
                continue
            v, node = number, None
        elif v in stored and not cheap:
            pass
        elif node is not None and isinstance(node.op, Elemwise) and _is_elementwise(node, cheap):
            operations += 1
            stack += node.inputs
            continue
        elif node is not None and not isinstance(node.op, Scan):
            if cheap and not (isinstance(node.op, Subtensor) and is_soon_computed(v)):
                return None  # it would have to be stored
        if isinstance(v, Constant) or not isinstance(v.type, TensorType) or v.type.ndim > 1:
            return None
        if not own.isdisjoint(ancestors([v])):
            return None
        leaves.append(v)
    return leaves if operations <= SUM_IN_LOOP_OPERATIONS or not cheap else None


def _number(variable: Variable) -> Variable | None:
    """Return the number in a vector of length 1."""
    if isinstance(variable, Constant):
        return variable
    node = variable.owner
    if node is not None and isinstance(node.op, DimShuffle) and not node.inputs[0].type.ndim:
        return node.inputs[0]
    return None


def _in_step(variable: Variable, known: dict[Variable, Variable]) -> Variable:
    """Return a term of a sum for one step."""
    if variable in known:
        return known[variable]
    if variable.type.shape == (1,):
        number = _number(variable)
        assert number is not None
        if isinstance(number, Constant):
            return pt.constant(np.asarray(number.data).reshape(()))
        return known[number]
    make: Callable[..., Variable] = Elemwise(variable.owner.op.scalar_op)
    return make(*(_in_step(v, known) for v in variable.owner.inputs))
