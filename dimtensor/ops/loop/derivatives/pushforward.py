"""Forward mode through loops: one loop whose states are the states and their tangents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytensor.graph.basic import Variable

from dimtensor.ops.derivatives import push
from dimtensor.ops.derivatives.flow import is_continuous, zeros
from dimtensor.ops.derivatives.rules import forward_rule
from dimtensor.ops.graphs import bound, replaced
from dimtensor.ops.loop.derivatives.jacobian_pattern import connections
from dimtensor.ops.loop.derivatives.stand_ins import body_stand_ins
from dimtensor.ops.loop.frontend import build_loop, build_scan
from dimtensor.ops.loop.op import Loop, Scan
from dimtensor.ops.loop.spec import LoopOptions, StepGraph

Tangents = Sequence[Variable | None]


@forward_rule(Scan)
def push_scan(node: Any, tangents: Tangents) -> list[Variable | None]:
    """Tangents of the outputs of a `Scan` node, from those of its inputs."""
    op = node.op
    given, moved = op.split_inputs(node.inputs), op.split_inputs(tangents)
    step = _tangent_step(op, given, moved, _reached(op, tangents))
    graph = StepGraph(
        [*step.states, *step.state_tangents.values()],
        [*step.elements, *step.element_tangents.values()],
        [*step.outputs[: op.n_states], *(step.of_outputs[i] for i in step.state_tangents)],
        [v for i, v in step.of_outputs.items() if i >= op.n_states],
        go_on=step.outputs[-1] if op.stops else None,
        captured=_captured(given, moved),
    )
    result = build_scan(
        given.n_steps,
        graph,
        [*given.states, *_initial(step, given, moved)],
        [*given.sequences, *(moved.sequences[i] for i in step.element_tangents)],
        LoopOptions(op.reverse, window=given.window),
        given.go if op.stops else True,
    )
    found = dict(zip(step.state_tangents, result.states[op.n_states :], strict=True))
    found |= dict(zip([i for i in step.of_outputs if i >= op.n_states], result.traces, strict=True))
    return [found.get(i) for i in range(op.n_states + op.n_traces + op.stops)]


@forward_rule(Loop)
def push_loop(node: Any, tangents: Tangents) -> list[Variable | None]:
    """Tangents of the outputs of a `Loop` node, from those of its inputs."""
    op = node.op
    given, moved = op.split_inputs(node.inputs), op.split_inputs(tangents)
    step = _tangent_step(op, given, moved, _reached(op, tangents))
    graph = StepGraph(
        [*step.states, *step.state_tangents.values()],
        [],
        [*step.outputs[:-1], *(step.of_outputs[i] for i in step.state_tangents)],
        go_on=step.outputs[-1],
        captured=_captured(given, moved),
    )
    results = build_loop(graph, [*given.states, *_initial(step, given, moved)], given.go)
    found = dict(zip(step.state_tangents, results[op.n_states :], strict=True))
    return [found.get(i) for i in range(op.n_states)]


@dataclass
class _TangentStep:
    """Step and its derivative as a graph, with tangents by the number of their variables."""

    states: list[Variable]
    elements: list[Variable]
    outputs: list[Variable]
    state_tangents: dict[int, Variable]
    element_tangents: dict[int, Variable]
    of_outputs: dict[int, Variable]


def _reached(op: Any, tangents: Tangents) -> list[bool]:
    """Return a mask of the outputs that depend on an input with a tangent."""
    rows = [row for row, t in zip(connections(op), tangents, strict=True) if t is not None]
    return [any(column) for column in zip(*rows, strict=True)] if rows else []


def _captured(given: Any, moved: Any) -> list[Variable]:
    return [*given.captured, *(t for t in moved.captured if t is not None)]


def _initial(step: _TangentStep, given: Any, moved: Any) -> list[Variable]:
    return [
        zeros(given.states[i]) if moved.states[i] is None else moved.states[i]
        for i in step.state_tangents
    ]


def _tangent_step(op: Any, given: Any, moved: Any, reached: list[bool]) -> _TangentStep:
    fresh = body_stand_ins(op, given)
    outputs, _ = bound(op.body, fresh)
    n, m = op.n_states, len(fresh) - len(given.captured)
    states, elements, captured = fresh[:n], fresh[n:m], fresh[m:]
    live = [i for i, on in enumerate(reached) if on and i < len(outputs)]
    of_states = {i: states[i].type() for i in live if i < n}
    of_elements = _fresh(elements, moved.sequences)
    of_captured = _fresh(captured, moved.captured)
    pairs = [
        *((states[i], v) for i, v in of_states.items()),
        *((elements[i], v) for i, v in of_elements.items()),
        *((captured[i], v) for i, v in of_captured.items()),
    ]
    found = [
        zeros(outputs[i]) if v is None else v
        for i, v in zip(
            live,
            push([outputs[i] for i in live], [x for x, _ in pairs], [v for _, v in pairs]),
            strict=True,
        )
    ]
    outside = dict(zip(captured, given.captured, strict=True))
    outside |= {v: moved.captured[i] for i, v in of_captured.items()}
    both = replaced([*outputs, *found], outside)
    return _TangentStep(
        states,
        elements,
        both[: len(outputs)],
        of_states,
        of_elements,
        dict(zip(live, both[len(outputs) :], strict=True)),
    )


def _fresh(variables: Sequence[Variable], tangents: Tangents) -> dict[int, Variable]:
    """Variables for the tangents that there are, by number."""
    return {
        i: x.type()
        for i, (x, t) in enumerate(zip(variables, tangents, strict=True))
        if t is not None and is_continuous(x)
    }
