"""The tape: forward loops trace intermediates that the backward loop would recompute.

A backward loop knows the states and recomputes cheap intermediates from them. Intermediates that
take several operations, or a loop, are traced by the forward loop instead.

A nested loop that stops early is run again by the backward loop, unless the backend stores the
traces of all outer steps one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from pytensor.gradient import DisconnectedGrad
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import io_toposort
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.type import TensorType

from dimtensor.ops.constants import follows
from dimtensor.ops.facts import facts_of
from dimtensor.ops.graphs import bound, freeze, inputs_of, nodes_of, replace_variables
from dimtensor.ops.loop.node import InputParts, ScanGraph, Trace
from dimtensor.ops.loop.op import Scan
from dimtensor.ops.loop.shapes import is_of_one_length
from dimtensor.optimize.exponentials import write_out_exponentials
from dimtensor.traversal import reached
from dimtensor.tuning import CALL, COMPARED_EXPRESSION, RECOMPUTED_STEP_OPERATIONS, TRACED_ROW
from dimtensor.upstream.freezing import signature

_VIEWS = (DimShuffle, Alloc, DisconnectedGrad)


def save_for_gradients(graph: FunctionGraph, inner: bool = False) -> bool:
    """Trace intermediates of forward loops, with `inner` also those of nested loops."""
    changed = False
    for node in nodes_of(graph, Scan):
        if node.op.inner_rewritten:
            continue
        for source in _made_before(node):
            if source in graph.apply_nodes:
                changed |= _save(graph, source, node, inner)
    return changed


def _made_before(node: Apply) -> list[Apply]:
    """Loops over the same steps, in the other direction, whose traces a loop reads."""
    found: dict[Apply, None] = {}
    for number, sequence in enumerate(node.op.split_inputs(node.inputs).sequences):
        source = sequence.owner
        if source is None or not isinstance(source.op, Scan) or source.op.inner_rewritten:
            continue
        if source.op.reverse == node.op.reverse:
            continue
        if source.op.runs_all and node.op.runs_all:
            same = source.inputs[0] is node.inputs[0]
            if same or (_key(source.inputs[0]) == _key(node.inputs[0])):
                found[source] = None
        elif number in node.op.spec.residuals:
            found[source] = None
    return list(found)


def _key(variable: Variable) -> Hashable:
    """Return a key of a variable, structural where it is computed from constants alone."""
    below = list(islice(reached([variable], inputs_of), COMPARED_EXPRESSION + 1))
    if len(below) > COMPARED_EXPRESSION or not all(
        isinstance(v, Constant) or (v.owner and isinstance(v.owner.op, (Elemwise, *_VIEWS)))
        for v in below
    ):
        return variable
    return _written(variable)


def _written(variable: Variable) -> Hashable:
    if isinstance(variable, Constant):
        return signature(variable)
    return (variable.owner.op, *map(_written, variable.owner.inputs))


def _save(graph: FunctionGraph, source: Apply, node: Apply, inner: bool) -> bool:
    before, after = ScanGraph(source), ScanGraph(node)
    _write_out(before)
    _write_out(after)
    if inner and before.runs_all:
        _save_in_steps(before, after)
    known = _known(before, after, inner)
    saved = _worth_saving(before, after, known)
    if not saved:
        return False
    stand_ins = {}
    for variable in saved:
        element = known[variable]
        stand_ins[variable] = TensorType(element.type.dtype, (None, *element.type.shape))()
        before.traces.append(Trace(element, [stand_ins[variable]], is_open=True))
    made = before.build()
    replace_variables(graph, made)
    for part in (*after.elements, *after.captured):
        part.outside = made.get(part.outside, part.outside)
    for state in after.states:
        state.init = made.get(state.init, state.init)
    after.window = [made.get(v, v) for v in after.window]
    elements = {variable: variable.type() for variable in saved}
    after.elements += [InputParts(made[stand_ins[v]], elements[v], True) for v in saved]
    after.substitute(elements)
    replace_variables(graph, after.build())
    return True


def _write_out(parts: ScanGraph) -> None:
    """Write log-sum-exp and softmax out: both loops use the exponentials and their sum."""
    step = FunctionGraph(parts.inner, parts.outputs, clone=False)
    write_out_exponentials(step)
    parts.set_outputs(list(step.outputs))


def _save_in_steps(before: ScanGraph, after: ScanGraph) -> None:
    """Trace intermediates of a nested loop, which the backward step would run again."""
    earlier = FunctionGraph(before.inner, before.outputs, clone=False)
    later = FunctionGraph(after.inner, after.outputs, clone=False)
    for node in later.toposort():
        for source in _made_before(node) if isinstance(node.op, Scan) else ():
            if source.op.stops and source in later.apply_nodes:
                _save(later, source, node, False)
    for again in [node for node in later.apply_nodes if _stops_forward(node.op)]:
        for node in [node for node in earlier.apply_nodes if _stops_forward(node.op)]:
            if _steps_of(node.op) == _steps_of(again.op):
                longer = _with_traces_of(node, again.op)
                replace_variables(earlier, dict(_pairs(node, longer)))
    before.set_outputs(list(earlier.outputs))
    after.set_outputs(list(later.outputs))


def _steps_of(op: Scan) -> Hashable:
    """Return a key that loops with stops share if they differ in their traces only."""
    n = op.n_states
    types = tuple(v.type for v in op.body.inputs)
    return types, n, op.n_sequences, op.body.outputs[:n], op.body.outputs[-1], op.inverse


def _with_traces_of(node: Apply, other: Scan) -> Apply:
    """Add the traces of another loop of the same steps to a loop."""
    op = node.op
    n, m = op.n_states, op.n_states + op.n_traces
    traced = other.body.outputs[n : n + other.n_traces]
    missing = [k for k, v in enumerate(traced) if v not in op.body.outputs[n:m]]
    if not missing:
        return node
    inputs = [v.type() for v in op.body.inputs]
    mine, theirs = bound(op.body, inputs)[0], bound(other.body, inputs)[0]
    outputs = [*mine[:m], *(theirs[n + k] for k in missing), *mine[m:]]
    is_open = [op.spec.is_open(k) for k in range(op.n_traces)]
    is_open += [other.spec.is_open(k) for k in missing]
    spec = replace(op.spec, n_traces=len(is_open), open_traces=tuple(is_open))
    return Scan(freeze(inputs, outputs), spec, op.inverse)(*node.inputs)[0].owner


def _pairs(node: Apply, other: Apply) -> list[tuple[Variable, Variable]]:
    """Pair outputs of two nodes of the same inputs that are equal."""
    if node.op == other.op:
        return list(zip(node.outputs, other.outputs, strict=True))
    of_node = node.op.split_outputs(node.outputs)
    of_other = other.op.split_outputs(other.outputs)
    n = node.op.n_states
    traced = dict(zip(other.op.body.outputs[n:], of_other.traces, strict=False))
    elements = zip(node.op.body.outputs[n:], of_node.traces, strict=False)
    return [
        *zip(of_node.states, of_other.states, strict=True),
        *((trace, traced[v]) for v, trace in elements if v in traced),
        (of_node.n_done, of_other.n_done),
    ]


def _known(before: ScanGraph, after: ScanGraph, inner: bool) -> dict[Variable, Variable]:
    """Map variables of the backward step to equal variables of the forward step."""
    traced = {out: trace.element for trace in before.traces for out in trace.outputs}
    # equal ones, which were not merged yet, have one key
    same = {part.variable: _key(part.outside) for part in (*before.elements, *before.captured)}
    known: dict[Variable, Variable] = {}
    for parts, given in ((before.elements, after.elements), (before.captured, after.captured)):
        by_key: dict[Hashable, Variable] = {same[part.variable]: part.variable for part in parts}
        by_key |= traced if parts is before.elements else {}
        keys = {part.variable: _key(part.outside) for part in given}
        known |= {variable: by_key[key] for variable, key in keys.items() if key in by_key}

    def key_of(node: Apply, inputs: Sequence[Variable]) -> Hashable:
        op = _steps_of(node.op) if _stops_forward(node.op) else node.op
        return op, tuple(same[v] if v in same else _key(v) for v in inputs)

    made: dict[Hashable, Apply] = {}
    for node in io_toposort(before.inner, before.outputs):
        first = made.setdefault(key_of(node, node.inputs), node)
        same.update(_pairs(node, first))
    readers = FunctionGraph(after.inner, after.outputs, clone=False) if inner else None
    for node in io_toposort(after.inner, after.outputs):
        if isinstance(node.op, RandomVariable):
            continue
        if isinstance(node.op, Scan) and not (readers and _is_kept(node, before, readers)):
            continue
        if not follows(node, known):
            continue
        first_made = made.get(key_of(node, [known.get(v, v) for v in node.inputs]))
        if first_made is not None:
            known.update(_pairs(node, first_made))
    return known


def _is_kept(node: Apply, before: ScanGraph, readers: FunctionGraph) -> bool:
    """Return whether the traces of an inner loop may be stored instead of running it again."""
    if not before.runs_all or not _stops_forward(node.op):
        return False
    traces = node.op.split_outputs(node.outputs).traces
    used = [trace for trace in traces if readers.clients[trace]]
    rows = 0
    for trace in used:
        if None in trace.type.shape or not _is_open(trace):
            return False
        if not all(_reads_rows(client, at) for client, at in readers.clients[trace]):
            return False
        rows += math.prod(trace.type.shape[1:])
    return rows <= TRACED_ROW


def _stops_forward(op: Any) -> bool:
    return isinstance(op, Scan) and op.stops and not op.reverse


def _is_open(trace: Variable) -> bool:
    op = trace.owner.op
    return op.spec.is_open(trace.owner.outputs.index(trace) - op.n_states)


def is_of_inner_steps(scan: Scan, element: Variable, graph: FunctionGraph) -> bool:
    """Return whether a trace is an open trace of a loop inside the step."""
    node = element.owner
    if not scan.runs_all or node is None or not _stops_forward(node.op):
        return False
    if element not in node.op.split_outputs(node.outputs).traces or not _is_open(element):
        return False
    return None not in element.type.shape and len(graph.clients[element]) == 1


def is_read_by_rows(trace: Variable, graph: FunctionGraph, scan: Scan) -> bool:
    """Return whether all readers of a trace of traces are loops that look up rows of it."""
    for node, at in graph.clients[trace]:
        if not isinstance(node.op, Scan) or not node.op.runs_all:
            return False
        inner = node.op.body
        given = dict(zip(node.op.split_inputs(list(range(len(node.inputs)))).sequences,
                         node.op.split_body_inputs(inner.inputs)[1], strict=True))  # fmt: skip
        if at not in given:
            return False
        if not all(
            _reads_rows(client, number) for client, number in inner.clients.get(given[at], ())
        ):
            return False
    return True


def _reads_rows(node: Apply, at: int) -> bool:
    """Return whether a loop reads an input only at the steps of the loop that traced it."""
    if not isinstance(node.op, Scan):
        return False
    sequences = node.op.split_inputs(range(len(node.inputs))).sequences
    return at in sequences and sequences.index(at) in node.op.spec.residuals


def _worth_saving(
    before: ScanGraph, after: ScanGraph, known: dict[Variable, Variable]
) -> list[Variable]:
    """Intermediates that the backward loop uses and could not recompute in a few operations."""
    moving = {part.variable for part in before.states}
    moving |= {part.variable for part in before.elements}
    varying = set(moving)
    needed: dict[Variable, None] = {}
    nodes = io_toposort(after.inner, after.outputs)
    for node in nodes:
        if not any(out in known for out in node.outputs):
            needed.update((v, None) for v in node.inputs if v in known and v.owner is not None)
    needed.update((v, None) for v in after.outputs if v in known and v.owner is not None)
    for node in io_toposort(before.inner, [known[v] for v in needed]):
        if not moving.isdisjoint(node.inputs):
            moving.update(node.outputs)
    order = {out: at for at, node in enumerate(nodes) for out in node.outputs}
    saved: list[Variable] = []
    for variable in sorted(needed, key=order.__getitem__):
        if not isinstance(variable.type, TensorType):
            continue
        if known[variable] not in moving:
            continue  # the same in every step
        if not is_of_one_length(known[variable], varying):
            continue
        if _operations(variable, set(saved)) > RECOMPUTED_STEP_OPERATIONS:
            smaller = _of_fewer_axes(variable) or [_viewed(variable)]
            saved += [v for v in smaller if v not in saved and v.owner is not None]
    return saved


def _viewed(variable: Variable) -> Variable:
    """Return the variable behind transpositions and added axes."""
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        variable = variable.owner.inputs[0]
    return variable


def _of_fewer_axes(variable: Variable) -> list[Variable]:
    """Return the smaller arrays that a table is quickly computed from; empty if there are none.

    Recomputing elements of a table is faster than writing and reading it.
    """
    found: dict[Variable, None] = {}
    for v in reached([variable], lambda v: inputs_of(v) if _is_quick(v) else ()):
        if not _is_quick(v) and not isinstance(v, Constant):
            if _axes(v) >= _axes(variable):
                return []
            found[v] = None
    return list(found)


def _is_quick(variable: Variable) -> bool:
    if variable.owner is None:
        return False
    op = variable.owner.op
    if isinstance(op, Elemwise):
        return facts_of(op.scalar_op).is_quick
    return isinstance(op, _VIEWS)


def _axes(variable: Variable) -> int:
    return sum(length != 1 for length in variable.type.shape)


def _operations(variable: Variable, saved: set[Variable]) -> int:
    """Estimate the operations per element that a variable takes, a quotient like a call."""
    total = 0
    for v in reached([variable], lambda v: () if v in saved else inputs_of(v)):
        if v in saved or v.owner is None:
            continue
        op = v.owner.op
        if isinstance(op, Elemwise):
            facts = facts_of(op.scalar_op)
            total += facts.cost if facts.is_quick else CALL
        elif isinstance(op, CAReduce):
            total += CALL  # for each element of the result
        elif not isinstance(op, _VIEWS):
            total += CALL
    return total
