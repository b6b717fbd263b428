"""Rewrites of loops. They are called by the backends and registered nowhere."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors
from pytensor.tensor.basic import Alloc
from pytensor.tensor.subtensor import Subtensor

from dimtensor.ops.constants import follows, integer_of, is_small_constant
from dimtensor.ops.graphs import freeze, identities, merge_equal, nodes_of, replace_variables
from dimtensor.ops.loop.conditional import Conditional
from dimtensor.ops.loop.node import InputParts, ScanGraph
from dimtensor.ops.loop.op import Loop, Scan
from dimtensor.ops.slices import WHOLE, entries_of, selected_positions
from dimtensor.optimize.loops.fusion import fuse
from dimtensor.optimize.loops.hoisting import hoist, vectorize
from dimtensor.optimize.loops.sum_order import associate, carry_sums, ordered
from dimtensor.optimize.loops.tape import save_for_gradients
from dimtensor.optimize.rules import rewrite
from dimtensor.optimize.target import Target
from dimtensor.tuning import LOOP_REWRITE_ROUNDS

# the default: rewrites that keep every digit, for no backend in particular
EXACT = Target(rewrites=True)
_WITH_BODIES = (Scan, Loop, Conditional)
# scans that need no rewrite, each with the surroundings that it had when that was found
Settled = dict[Apply, Hashable]


def rewrite_loops(
    graph: FunctionGraph,
    rewrite_body: Callable[[FunctionGraph], Any] | None = None,
    target: Target = EXACT,
    settled: Settled | None = None,
) -> bool:
    """Make the loops of a graph smaller, fewer or none.

    Parameters
    ----------
    graph : FunctionGraph
        Changed in place.
    rewrite_body : callable, optional
        Rewrites the body of a loop, once, in place. By default the rules of
        `dimtensor.optimize.rules`.
    target : Target
        If it reassociates, sums and products of all steps are reassociated for the shortest
        loop-carried path; those of loops made by differentiation always are. If it stores inner
        traces, nested loops are traced instead of run again by the reverse pass.
    settled : dict, optional
        State of an earlier call for the same graph: loops unchanged since then are skipped.

    Returns
    -------
    bool
        Whether there are loops or conditionals, or were.

    Notes
    -----
    - Dead traces, states, sequences and captured inputs are eliminated and equal ones merged;
      scalar constants, and arrays that repeat one, move into the body.
    - ``trace[-1]`` becomes the final state if the trace holds the next state and a step is known to
      run (without one, the look-up is an error and the final state is the initial one).
    - Loop-invariant code moves out: scalars always, arrays if a step is known to run, checks never.
      An empty loop gets no more expensive, and raises the same errors.
    - A loop without states whose operations are elementwise becomes a computation on arrays.
    - Independent loops over the same steps are fused.
    - Branches of conditionals are rewritten like bodies.
    """
    if not _loops(graph):
        return False
    if rewrite_body is None:
        rewrite_body = rewrite_inner
    if settled is None:
        settled = {}
    merge_equal(graph)
    save_for_gradients(graph, target.stores_inner_traces)
    for _ in range(LOOP_REWRITE_ROUNDS):
        merge_equal(graph)
        changed = _use_final_states(graph)
        changed |= fuse(graph)
        for node in _loops(graph):
            if node in graph.apply_nodes and isinstance(node.op, Scan):
                around = _surroundings(graph, node)
                if settled.get(node) == around:
                    continue
                if _rewrite_scan(graph, node, rewrite_body, target):
                    changed = True
                else:
                    settled[node] = around
            elif node in graph.apply_nodes and isinstance(node.op, Conditional):
                changed |= _rewrite_conditional(graph, node, rewrite_body, target)
            elif node in graph.apply_nodes:
                changed |= _rewrite_loop(graph, node, rewrite_body, target)
        if not changed:
            break
    return True


def rewrite_inner(graph: FunctionGraph) -> None:
    """Apply the rules of the table to a body."""
    rewrite(graph)


def _loops(graph: FunctionGraph) -> list[Apply]:
    return nodes_of(graph, *_WITH_BODIES)


def _surroundings(graph: FunctionGraph, node: Apply) -> Hashable:
    """Return the inputs and readers of a scan, on which its rewrites depend beside its op."""
    return tuple(node.inputs), tuple(tuple(graph.clients.get(out, ())) for out in node.outputs)


def _rewrite_scan(
    graph: FunctionGraph,
    node: Apply,
    rewrite_body: Callable[[FunctionGraph], Any],
    target: Target,
) -> bool:
    parts = ScanGraph(node)
    in_any_order = parts.derivative or target.reassociates
    changed = _drop_unused(graph, parts)
    changed |= _join_inputs(parts)
    changed |= _join_states(parts)
    changed |= _join_traces(parts)
    if not parts.inner_rewritten:
        _rewrite_parts(parts, rewrite_body, target)
        changed = True
        if in_any_order:
            associate(parts)
    if in_any_order:
        changed |= carry_sums(graph, parts)
    changed |= hoist(parts)
    replace = vectorize(parts)
    if replace is None:
        if not changed and node.op.inverse is None and node.op.truncate is None:
            return False
        replace = parts.build()
    replace_variables(graph, replace)
    return True


def _rewrite_parts(
    parts: ScanGraph, rewrite_body: Callable[[FunctionGraph], Any], target: Target
) -> None:
    """Rewrite a body, and the loops in it."""
    inner = FunctionGraph(parts.inner, parts.outputs, clone=False)
    _rewrite_graph(inner, rewrite_body, target)
    parts.set_outputs(list(inner.outputs))
    parts.inner_rewritten = True


def _rewrite_graph(
    graph: FunctionGraph, rewrite_body: Callable[[FunctionGraph], Any], target: Target
) -> None:
    settled: Settled = {}
    rewrite_loops(graph, rewrite_body, target, settled)
    rewrite_body(graph)
    rewrite_loops(graph, rewrite_body, target, settled)


def _rewrite_loop(
    graph: FunctionGraph,
    node: Apply,
    rewrite_body: Callable[[FunctionGraph], Any],
    target: Target,
) -> bool:
    op = node.op
    if op.inner_rewritten:
        return False
    inner = op.body.unfreeze()
    _rewrite_graph(inner, rewrite_body, target)
    n = op.n_states
    states = inner.inputs[:n]
    outputs = list(inner.outputs)
    if target.reassociates:
        outputs = ordered(inner.inputs, outputs, states)
    needed = _needed_states(states, outputs[:n], [outputs[n]], [
        bool(graph.clients[out]) for out in node.outputs
    ])  # fmt: skip
    reached = set(ancestors([outputs[n], *(outputs[i] for i in needed)]))
    given = op.split_inputs(node.inputs)
    captured = [
        (v, x) for v, x in zip(inner.inputs[n:], given.captured, strict=True) if v in reached
    ]
    body = freeze(
        [*(states[i] for i in needed), *(v for v, _ in captured)],
        [*(outputs[i] for i in needed), outputs[n]],
    )
    smaller = Loop(body, len(needed))
    smaller.inner_rewritten = True
    results = smaller(given.go, *(given.states[i] for i in needed), *(x for _, x in captured))
    replace_variables(graph, {node.outputs[i]: out for i, out in zip(needed, results, strict=True)})
    return True


def _rewrite_conditional(
    graph: FunctionGraph,
    node: Apply,
    rewrite_body: Callable[[FunctionGraph], Any],
    target: Target,
) -> bool:
    """Rewrite the branches, and eliminate dead outputs and the code only they use."""
    op = node.op
    if op.inner_rewritten:
        return False
    used = [k for k, out in enumerate(node.outputs) if graph.clients[out]]
    branches = [op.then_branch.unfreeze(), op.else_branch.unfreeze()]
    outputs = []
    for inner in branches:
        _rewrite_graph(inner, rewrite_body, target)
        outputs.append([inner.outputs[k] for k in used])
    reached = [set(ancestors(results)) for results in outputs]
    condition, *given = node.inputs
    kept = [
        at
        for at, pair in enumerate(zip(*(inner.inputs for inner in branches), strict=True))
        if any(v in found for v, found in zip(pair, reached, strict=True))
    ]
    smaller = type(op)(
        *(
            freeze([inner.inputs[at] for at in kept], results)
            for inner, results in zip(branches, outputs, strict=True)
        )
    )
    smaller.inner_rewritten = True
    found = smaller(condition, *(given[at] for at in kept))
    replace_variables(graph, {node.outputs[k]: out for k, out in zip(used, found, strict=True)})
    return True


def _needed_states(
    states: list[Variable], following: list[Variable], others: list[Variable], used: list[bool]
) -> list[int]:
    """Numbers of the states that are used, or that others need or used ones need."""
    number = {v: i for i, v in enumerate(states)}
    needed = {i for i, on in enumerate(used) if on}
    while True:
        reached = ancestors([*others, *(following[i] for i in needed)])
        more = {number[v] for v in reached if v in number} - needed
        if not more:
            return sorted(needed)
        needed |= more


def _drop_unused(graph: FunctionGraph, parts: ScanGraph) -> bool:
    before = len(parts.inner) + len(parts.traces)

    def is_used(outputs: list[Variable]) -> bool:
        return any(graph.clients.get(out) for out in outputs)

    parts.traces = [trace for trace in parts.traces if is_used(trace.outputs)]
    others = [trace.element for trace in parts.traces]
    others += [] if parts.go_on is None else [parts.go_on]
    needed = _needed_states(
        [state.variable for state in parts.states],
        [state.following for state in parts.states],
        others,
        [is_used(state.outputs) for state in parts.states],
    )
    parts.states = [parts.states[i] for i in needed]
    reached = set(ancestors(parts.outputs))
    parts.elements = [x for x in parts.elements if x.variable in reached]
    parts.captured = [x for x in parts.captured if x.variable in reached]
    return len(parts.inner) + len(parts.traces) < before


def _join_inputs(parts: ScanGraph) -> bool:
    """Merge equal inputs, and move scalar constants and arrays that repeat one into the step."""
    replace: dict[Variable, Variable] = {}
    for role in ("elements", "captured"):
        first: dict[Variable, Variable] = {}
        kept: list[InputParts] = []
        for part in getattr(parts, role):
            known = first.setdefault(part.outside, part.variable)
            if known is not part.variable:
                replace[part.variable] = known
                for each in kept:
                    each.is_residual |= part.is_residual and each.variable is known
            elif role == "captured" and is_small_constant(part.outside):
                replace[part.variable] = first[part.outside] = part.outside
            elif role == "captured" and _repeats_number(part.outside):
                # a copy: rewriting steps would change the node in the graph around them
                (own,) = part.outside.owner.clone().outputs
                replace[part.variable] = first[part.outside] = own
            else:
                kept.append(part)
        setattr(parts, role, kept)
    parts.substitute(replace)
    return bool(replace)


def _repeats_number(variable: Variable) -> bool:
    """Return whether an array of a known shape is one number everywhere."""
    node = variable.owner
    return (
        node is not None
        and isinstance(node.op, Alloc)
        and follows(node)
        and is_small_constant(node.inputs[0])
    )


def _join_states(parts: ScanGraph) -> bool:
    """Merge states that start equal and become equal."""
    groups: dict[Any, list[int]] = {}
    for i, state in enumerate(parts.states):
        groups.setdefault((state.init, state.variable.type), []).append(i)
    classes = [group for group in groups.values() if len(group) > 1]
    joined: dict[int, int] = {}
    while classes:
        # take them for equal, and see whether they become equal
        first = {i: group[0] for group in classes for i in group}
        results = _results(parts, first)
        split: list[list[int]] = []
        for group in classes:
            by_result: dict[Hashable, list[int]] = {}
            for i in group:
                by_result.setdefault(results[i], []).append(i)
            split += by_result.values()
        if len(split) == len(classes):
            joined = {i: j for i, j in first.items() if i != j}
            break
        classes = [group for group in split if len(group) > 1]
    for i, j in joined.items():
        parts.states[j].outputs += parts.states[i].outputs
    replace = {parts.states[i].variable: parts.states[j].variable for i, j in joined.items()}
    parts.states = [state for i, state in enumerate(parts.states) if i not in joined]
    parts.substitute(replace)
    return bool(joined)


def _results(parts: ScanGraph, first: dict[int, int]) -> list[Hashable]:
    """Return keys of a step's results that are equal where some states are replaced by others."""
    variables = [state.variable for state in parts.states]
    replace = {variables[i]: variables[j] for i, j in first.items() if i != j}
    return identities(parts.outputs, replace)


def _join_traces(parts: ScanGraph) -> bool:
    """Merge traces of equal elements, and replace the trace of a sequence by the sequence."""
    if not parts.traces:
        return False
    keys = identities([trace.element for trace in parts.traces])
    sequences = {part.variable: part.outside for part in parts.elements}
    first: dict[Hashable, Any] = {}
    kept = []
    for trace, key in zip(parts.traces, keys, strict=True):
        known = first.setdefault(key, trace)
        if known is not trace:
            known.outputs += trace.outputs
            known.is_open &= trace.is_open
        elif parts.runs_all and trace.element in sequences:
            outside = sequences[trace.element]
            parts.replaced.update((out, outside) for out in trace.outputs)
        else:
            kept.append(trace)
    changed = len(kept) < len(parts.traces)
    parts.traces = kept
    return changed


def _use_final_states(graph: FunctionGraph) -> bool:
    """Replace the last element of the trace of a state by the final state."""
    replace = {}
    for node in _loops(graph):
        op = node.op
        if not isinstance(op, Scan) or not op.runs_all:
            continue
        n_steps = integer_of(node.inputs[0]) or 0
        if n_steps <= 0:
            continue
        last = 0 if op.reverse else -1
        results = op.split_outputs(node.outputs)
        following, elements = op.body.outputs[: op.n_states], op.body.outputs[op.n_states :]
        final = dict(zip(following, results.states, strict=True))
        for trace, element in zip(results.traces, elements, strict=True):
            if element in final:
                for client, _ in graph.clients[trace]:
                    if _looks_up(client, trace, last, n_steps):
                        replace[client.outputs[0]] = final[element]
    replace_variables(graph, replace)
    return bool(replace)


def _looks_up(client: Any, trace: Variable, last: int, n_steps: int) -> bool:
    if not isinstance(client.op, Subtensor) or client.inputs[0] is not trace:
        return False
    entry, *others = entries_of(client)
    at = None if isinstance(entry, slice) else selected_positions(entry, n_steps)
    return at is not None and at[0] == last % n_steps and all(e == WHOLE for e in others)
