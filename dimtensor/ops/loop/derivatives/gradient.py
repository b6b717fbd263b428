"""Reverse mode through loops: a loop over the derivative of the body, in the other direction.

Its states are the adjoints of the states and the accumulated adjoints of captured variables. It
needs the forward states before each step, which it reads from traces or recomputes by an inverse.
It is an ordinary loop, so it is differentiable itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import io_toposort
from pytensor.scalar.basic import Add
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.subtensor import AdvancedIncSubtensor, IncSubtensor
from pytensor.tensor.type import TensorType

from dimtensor.errors import GraphError
from dimtensor.ops.constants import is_zero
from dimtensor.ops.derivatives import Undefined, pull
from dimtensor.ops.derivatives.flow import Flow, is_continuous, masked, zeros
from dimtensor.ops.derivatives.rules import reverse_rule, reverse_rule_with_uses
from dimtensor.ops.graphs import bound, inputs_of, replaced
from dimtensor.ops.loop.capture import as_state
from dimtensor.ops.loop.derivatives.jacobian_pattern import (
    body_pattern,
    reached_states,
    states_that_reach,
)
from dimtensor.ops.loop.derivatives.stand_ins import body_stand_ins, seed_stand_ins
from dimtensor.ops.loop.derivatives.used_states import seed_flows, used_states
from dimtensor.ops.loop.frontend import ScanResult, build_scan
from dimtensor.ops.loop.node import with_more_traces
from dimtensor.ops.loop.op import Loop, Scan, ScanInputs
from dimtensor.ops.loop.spec import LoopOptions, StepGraph
from dimtensor.ops.nodes import alloc, selected
from dimtensor.traversal import reached

Answers = list[Variable | Undefined | None]


@reverse_rule(Scan)
@reverse_rule_with_uses(Scan)
def pull_scan(
    node: Any,
    cotangents: Sequence[Variable | None],
    wanted: Sequence[bool],
    used: Sequence[bool] = (),
) -> Answers:
    """Cotangents of the inputs of a `Scan` node, from those of its outputs.

    `used` marks outputs all of whose elements are known to be used.
    """
    op, inputs = node.op, node.inputs
    given, results = op.split_inputs(inputs), op.split_outputs(node.outputs)
    whole = op.split_outputs(used or [False] * len(node.outputs))
    back = _Step.of(op, given, op.split_outputs(cotangents), op.split_inputs(wanted), whole)
    forward = _Forward(op, given, results.states, results.traces, results.n_done)
    return _answers(op, inputs, wanted, back, _run_back(op, forward, back))


@reverse_rule(Loop)
def pull_loop(
    node: Any,
    cotangents: Sequence[Variable | None],
    wanted: Sequence[bool],
) -> Answers:
    """Cotangents of the inputs of a `Loop` node with an inverse.

    Raises
    ------
    GraphError
        If the loop has no inverse.
    """
    op, inputs, outputs = node.op, node.inputs, node.outputs
    if op.inverse is None:
        raise GraphError(
            "the gradient of a loop whose number of steps has no bound is not known",
            [("states", ", ".join(str(v.type) for v in op.body.inputs[: op.n_states]))],
            "give max_steps, so that the states of each step can be stored, or an inverse",
        )
    given = op.split_inputs(inputs)
    n_steps = outputs[0] - given.states[0]
    whole: Any = ([False] * op.n_states, [], None)
    back = _Step.of(op, given, (cotangents, [], None), op.split_inputs(wanted), whole)
    forward = _Forward(op, given._replace(n_steps=n_steps), list(outputs), [], None)
    return _answers(op, inputs, wanted, back, _run_back(op, forward, back))


@dataclass
class _Forward:
    """The loop that ran forward."""

    op: Any
    given: ScanInputs
    states: list[Variable]
    traces: list[Variable]
    n_done: Variable | None

    @property
    def stops(self) -> bool:
        return self.n_done is not None

    @property
    def reverse(self) -> bool:
        return bool(self.op.reverse)

    def traces_of(self, elements: list[Variable]) -> list[Variable]:
        """Traces of variables of the frozen body.

        A second node traces those that the node does not; rewrites merge the two.
        """
        first = self.op.n_states
        known = dict(zip(self.op.body.outputs[first:], self.traces, strict=False))
        missing = [v for v in elements if v not in known]
        if missing:
            known.update(zip(missing, with_more_traces(self.op, self.given, missing), strict=True))
        return [known[v] for v in elements]


@dataclass
class _Step:
    """Derivative of one step, as a graph on new variables.

    ``adjoints`` and ``cotangents`` are variables by the numbers of states and traces; the gradients
    are by the numbers of states, sequences and captured inputs.
    """

    states: list[Variable]
    elements: list[Variable]
    captured: list[Variable]
    frozen: dict[Variable, Variable]
    final: dict[int, Variable]
    traced: dict[int, Variable]
    adjoints: dict[int, Variable] = field(default_factory=dict)
    cotangents: dict[int, Variable] = field(default_factory=dict)
    of_states: dict[int, Variable] = field(default_factory=dict)
    of_elements: dict[int, Variable] = field(default_factory=dict)
    of_captured: dict[int, Variable] = field(default_factory=dict)
    undefined: dict[tuple[str, int], Undefined] = field(default_factory=dict)

    @classmethod
    def of(
        cls, op: Any, given: ScanInputs, cotangents: Any, wanted: ScanInputs, whole: Any
    ) -> _Step:
        """Differentiate the body of a loop with cotangents of its final states and traces."""
        used = used_states(op, whole[0], whole[1])
        fresh = body_stand_ins(op, given, used)
        outputs, memo = bound(op.body, fresh)
        n, m = op.n_states, op.n_states + op.n_sequences
        step = cls(
            fresh[:n],
            fresh[n:m],
            fresh[m:],
            {new: old for old, new in memo.items()},
            _connected(cotangents[0], outputs[:n]),
            _connected(cotangents[1], outputs[n:]),
        )
        live = _live_states(op, step, len(cotangents[1]), wanted)
        step.adjoints, step.cotangents = seed_stand_ins(
            op,
            {i: v for i, v in enumerate(step.states) if live[i]},
            {k: outputs[n + k] for k in step.traced},
            [*step.final.values(), *step.traced.values()],
        )
        seeds = seed_flows(step.adjoints, step.cotangents, used, whole[1])
        ends = [*(outputs[i] for i in step.adjoints), *(outputs[n + k] for k in step.cotangents)]
        if ends:
            step._differentiate(ends, seeds, wanted)
        return step

    def _differentiate(
        self, outputs: list[Variable], seeds: list[Flow], wanted: ScanInputs
    ) -> None:
        parts = [
            ("states", self.of_states, [(i, self.states[i]) for i in self.adjoints]),
            ("sequences", self.of_elements, _differentiable(self.elements, wanted.sequences)),
            ("captured", self.of_captured, _differentiable(self.captured, wanted.captured)),
        ]
        wrt = [v for *_, numbered in parts for _, v in numbered]
        # loops in a step that is taken back are taken back
        gradients = iter(pull(outputs, seeds, wrt, undefined="return", most_tangents=0))
        for role, found, numbered in parts:
            for number, _ in numbered:
                gradient = next(gradients)
                if isinstance(gradient, Undefined):
                    self.undefined[role, number] = gradient
                elif gradient is not None:
                    found[number] = gradient

    @property
    def inner(self) -> list[Variable]:
        return [*self.states, *self.elements, *self.captured]

    @property
    def undefined_states(self) -> list[Undefined]:
        """Undefined gradients of states, which make all gradients undefined."""
        return [v for (role, _), v in self.undefined.items() if role == "states"]


def _live_states(op: Any, step: _Step, n_traces: int, wanted: ScanInputs) -> list[bool]:
    """States whose adjoints lead from a cotangent to an input that is asked for."""
    n = op.n_states
    live = states_that_reach(
        op, [i in step.final for i in range(n)], [k in step.traced for k in range(n_traces)]
    )
    pattern, others = body_pattern(op), [*wanted.sequences, *wanted.captured]
    rows = [row for row, on in zip(pattern[n:], others, strict=True) if on]
    moving = reached_states(
        op, [on or any(row[i] for row in rows) for i, on in enumerate(wanted.states)]
    )
    return [
        on and moves and is_continuous(v)
        for on, moves, v in zip(live, moving, step.states, strict=True)
    ]


def _differentiable(
    variables: list[Variable], wanted: Sequence[bool]
) -> list[tuple[int, Variable]]:
    return [(i, v) for i, v in enumerate(variables) if wanted[i] and is_continuous(v)]


def _connected(cotangents: Sequence[Any], outputs: Sequence[Variable]) -> dict[int, Variable]:
    return {
        i: cotangent
        for i, (cotangent, y) in enumerate(zip(cotangents, outputs, strict=False))
        if cotangent is not None and is_continuous(y)
    }


def _answers(
    op: Any,
    inputs: Sequence[Variable],
    wanted: Sequence[bool],
    back: _Step,
    found: dict[tuple[str, int], Variable],
) -> Answers:
    """One cotangent per input; None where nothing depends on it."""
    given = op.split_inputs(inputs)
    keys: list[tuple[str, int] | None] = [None] * (len(inputs) - len(op.body.inputs))
    for role in ("states", "sequences", "captured"):
        keys += [(role, number) for number in range(len(getattr(given, role)))]
    answers: Answers = []
    for key, on in zip(keys, wanted, strict=True):
        if key is None or not on:
            answers.append(None)
        elif key in back.undefined or back.undefined_states:
            answers.append(back.undefined.get(key, *back.undefined_states[:1]))
        else:
            answers.append(found.get(key))
    return answers


def _run_back(op: Any, forward: _Forward, back: _Step) -> dict[tuple[str, int], Variable]:
    """Run the reverse pass; returns cotangents by role and number of the forward inputs."""
    if back.undefined_states or not (back.adjoints or back.cotangents):
        return {}
    steps = _BackwardSteps(forward)
    sums = {j: back.captured[j].type() for j in back.of_captured}
    after = {i: v.type() for i, v in enumerate(back.states) if isinstance(v.type, TensorType)}
    before = _states_before(op, after, back)
    wanted = [
        *(back.of_states.get(i, zeros(v)) for i, v in back.adjoints.items()),
        *(_accumulated(sums[j], g) for j, g in back.of_captured.items()),
        *back.of_elements.values(),
    ]
    # states that are computed backwards, those they need themselves included
    recomputed = _recomputed(op, wanted, before, back)
    outputs = [*wanted, *(before[i] for i in recomputed)]
    opaque = {v for v in back.states if not isinstance(v.type, TensorType)}
    drawn = _drawn_within(back.inner, opaque, outputs) if opaque else []
    outputs = replaced(outputs, {back.states[i]: before[i] for i in recomputed})
    stand_ins = {v: v.type() for v in drawn}
    outputs = replaced(outputs, stand_ins)
    # the captured variables themselves, so that what depends on nothing else is outside
    outputs = replaced(outputs, dict(zip(back.captured, forward.given.captured, strict=True)))

    stored = [v for i, v in enumerate(back.states) if i not in recomputed]
    stored = _used([*stored, *stand_ins.values()], outputs)
    bound = {new: old for old, new in stand_ins.items()}
    histories = forward.traces_of([back.frozen[bound.get(v, v)] for v in stored])
    read = set(_used(back.elements, outputs))
    sequences = [
        (v, x) for v, x in zip(back.elements, forward.given.sequences, strict=True) if v in read
    ]
    elements = [*stored, *(v for v, _ in sequences), *back.cotangents.values()]
    values = [*histories, *(x for _, x in sequences), *back.traced.values()]
    n_states, n_traces = len(back.adjoints) + len(sums), len(back.of_elements)
    step = StepGraph(
        [*back.adjoints.values(), *sums.values(), *(after[i] for i in recomputed)],
        elements,
        [*outputs[:n_states], *outputs[n_states + n_traces :]],
        outputs[n_states : n_states + n_traces],
        captured=forward.given.captured,
    )
    init = [
        *(back.final.get(i, zeros(forward.given.states[i])) for i in back.adjoints),
        *(zeros(forward.given.captured[j]) for j in sums),
        *(forward.states[i] for i in recomputed),
    ]
    result = steps.run(step, init, values, stored)
    final = iter(result.states)
    found = {("states", i): steps.at_start(next(final)) for i in back.adjoints}
    found |= {("captured", j): next(final) for j in sums}
    found |= {
        ("sequences", i): trace for i, trace in zip(back.of_elements, result.traces, strict=True)
    }
    return found


def _states_before(op: Any, after: dict[int, Variable], back: _Step) -> dict[int, Variable]:
    """Express states before a step by those after it, where that is known.

    That is all states of a loop with an inverse, and otherwise its counters.
    """
    if op.inverse is not None:
        inner = [*after.values(), *back.elements, *back.captured]
        return dict(zip(after, bound(op.inverse, inner)[0], strict=True))
    found = {}
    for i, variable in after.items():
        added = _added_constant(op.body.inputs[i], op.body.outputs[i])
        if added is not None:
            found[i] = variable - added
    return found


def _added_constant(state: Variable, following: Variable) -> Constant | None:
    """Return the constant increment of an integer state, None for any other update."""
    node = following.owner
    if node is None or is_continuous(state) or not isinstance(node.op, Elemwise):
        return None
    if not isinstance(node.op.scalar_op, Add) or len(node.inputs) != 2 or state.type.ndim:
        return None
    others = [v for v in node.inputs if v is not state]
    if len(others) == 1 and isinstance(others[0], Constant) and state.type == following.type:
        return pt.constant(others[0].data, dtype=state.type.dtype)
    return None


def _recomputed(
    op: Any, wanted: list[Variable], before: dict[int, Variable], back: _Step
) -> list[int]:
    """Return the numbers of the states that the backward steps need recomputed."""
    numbers = {back.states[i]: i for i in before}
    needed = [numbers[v] for v in _used(list(numbers), wanted)]
    # an inverse computes each state from all
    return list(before) if needed and op.inverse is not None else needed


def _accumulated(total: Variable, added: Variable) -> Variable:
    """Add to a sum; a scatter into zeros becomes a scatter into the sum."""
    node = added.owner
    if node is not None and isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, Add):
        if any(_adds_to_zeros(v) for v in node.inputs):
            for part in node.inputs:
                total = _accumulated(total, part)
            return total
    if _adds_to_zeros(added):
        return node.op.make_node(total, *node.inputs[1:]).outputs[0]
    return total + added


def _adds_to_zeros(variable: Variable) -> bool:
    node = variable.owner
    if node is None or not isinstance(node.op, (IncSubtensor, AdvancedIncSubtensor)):
        return False
    if node.op.set_instead_of_inc:
        return False
    return is_zero(node.inputs[0])


def _used(candidates: Sequence[Variable], outputs: Sequence[Variable]) -> list[Variable]:
    """Return the candidates that outputs reach without passing through another candidate."""
    among = set(candidates)
    seen = set(reached(outputs, lambda v: () if v in among else inputs_of(v)))
    return [v for v in candidates if v in seen]


def _drawn_within(
    inner: Sequence[Variable], generators: set[Variable], outputs: Sequence[Variable]
) -> list[Variable]:
    """Tensors that nodes of a graph compute from generators, which cannot be traced themselves."""
    drawn: list[Variable] = []
    opaque = set(generators)
    for node in io_toposort(list(inner), list(outputs)):
        if opaque.intersection(node.inputs):
            tensors = [isinstance(v.type, TensorType) for v in node.outputs]
            drawn += [v for v, tensor in zip(node.outputs, tensors, strict=True) if tensor]
            opaque.update(v for v, tensor in zip(node.outputs, tensors, strict=True) if not tensor)
    return drawn


class _BackwardSteps:
    """The reverse pass, over all steps that the forward loop ran or the last of them."""

    def __init__(self, forward: _Forward):
        op, given = forward.op, forward.given
        self.forward = forward
        self.reverse = forward.reverse
        self.n_steps = given.n_steps
        self.n_done: Any = pt.maximum(given.n_steps, 0) if not forward.stops else forward.n_done
        if isinstance(given.n_steps, Constant) and not forward.stops:
            self.n_done = given.n_steps
        self.truncate = op.truncate
        self.n_back = self.n_done
        if self.truncate is not None:
            self.n_back = pt.minimum(self.n_done, self.truncate)

    def at_start(self, adjoint: Variable) -> Variable:
        """Return the adjoint of an initial state, zero if truncation ends before it."""
        if self.truncate is None:
            return adjoint
        return masked(adjoint, pt.eq(self.n_back, self.n_done))

    def run(
        self,
        step: StepGraph,
        init: list[Variable],
        sequences: list[Variable],
        residuals: list[Variable],
    ) -> ScanResult:
        """Run the backward steps, each with its elements of the sequences."""
        op, given = self.forward.op, self.forward.given
        if self.truncate is not None and not self.forward.stops:
            return self._run_last(step, init, sequences)
        # with an inverse the memory does not grow with the steps: sums are not taken of traces
        options = LoopOptions(
            not self.reverse,
            whole=op.inverse is not None,
            derivative=True,
            window=self._window() if self.forward.stops else given.window,
            residuals=residuals,
        )
        return build_scan(self.n_steps, step, init, sequences, options)

    def _window(self) -> tuple[Variable, Variable]:
        """Return the positions of the steps that a loop that stopped goes back."""
        if self.reverse:
            start = self.n_steps - self.n_done
            return start, self.n_steps if self.truncate is None else start + self.n_back
        is_all = self.truncate is None
        return as_state(0) if is_all else self.n_done - self.n_back, self.n_done

    def _run_last(
        self, step: StepGraph, init: list[Variable], sequences: list[Variable]
    ) -> ScanResult:
        """Run the last steps only, for a truncated gradient."""
        start = pt.constant(0, dtype="int64") if self.reverse else self.n_done - self.n_back
        part = slice(start, start + self.n_back)
        options = LoopOptions(not self.reverse, derivative=True)
        result = build_scan(self.n_back, step, init, [x[part] for x in sequences], options)
        traces = []
        for x in result.traces:
            shape = [self.n_done, *(x.shape[axis] for axis in range(1, x.type.ndim))]
            blank = alloc(np.zeros((), x.type.dtype), *shape)
            traces.append(pt.set_subtensor(selected(blank, [part]), x))
        return result._replace(traces=traces)
