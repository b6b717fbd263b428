"""Forward mode through loops: one loop whose states are the states and their tangents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytensor.tensor as pt
from pytensor.gradient import (
    DisconnectedType,
    disconnected_type,
    pushforward_through_pullback,
)
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.null_type import NullType
from pytensor.graph.traversal import io_toposort
from pytensor.tensor.elemwise import Elemwise

from dimtensor.ops.graphs import replaced
from dimtensor.ops.loop.connection import connections, is_continuous
from dimtensor.ops.loop.frontend import build_loop, build_scan
from dimtensor.ops.loop.op import Loop, Scan


def scan_pushforward(
    op: Scan, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Any]
) -> list[Variable]:
    """Tangents of the outputs of a `Scan` node, from those of its inputs."""
    given, moved = op.split_inputs(inputs), op.split_inputs(tangents)
    step = _tangent_step(op, given, moved, _reached(op, tangents))
    result = build_scan(
        given.n_steps,
        [*step.states, *step.state_tangents.values()],
        [*step.elements, *step.element_tangents.values()],
        [*step.outputs[: op.n_states], *(step.of_outputs[i] for i in step.state_tangents)],
        [v for i, v in step.of_outputs.items() if i >= op.n_states],
        [*given.states, *_initial(step, given, moved)],
        [*given.sequences, *(moved.sequences[i] for i in step.element_tangents)],
        go_on=step.outputs[-1] if op.stops else None,
        go=given.go if op.stops else True,
        reverse=op.reverse,
    )
    found = dict(zip(step.state_tangents, result.states[op.n_states :], strict=True))
    found |= dict(zip([i for i in step.of_outputs if i >= op.n_states], result.traces, strict=True))
    return [found.get(i, disconnected_type()) for i in range(len(outputs))]


def loop_pushforward(
    op: Loop, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Any]
) -> list[Variable]:
    """Tangents of the outputs of a `Loop` node, from those of its inputs."""
    given, moved = op.split_inputs(inputs), op.split_inputs(tangents)
    step = _tangent_step(op, given, moved, _reached(op, tangents))
    results = build_loop(
        [*step.states, *step.state_tangents.values()],
        [*step.outputs[:-1], *(step.of_outputs[i] for i in step.state_tangents)],
        step.outputs[-1],
        given.go,
        [*given.states, *_initial(step, given, moved)],
    )
    found = dict(zip(step.state_tangents, results[op.n_states :], strict=True))
    return [found.get(i, disconnected_type()) for i in range(len(outputs))]


@dataclass
class _TangentStep:
    """A step and its derivative, as a graph; tangents are by the numbers of what they belong to."""

    states: list[Variable]
    elements: list[Variable]
    outputs: list[Variable]
    state_tangents: dict[int, Variable]
    element_tangents: dict[int, Variable]
    of_outputs: dict[int, Variable]


def _is_connected(tangent: Any, variable: Variable) -> bool:
    return is_continuous(variable) and not isinstance(tangent.type, DisconnectedType)


def _reached(op: Any, tangents: Sequence[Any]) -> list[bool]:
    """Outputs that depend on an input with a tangent."""
    here = [not isinstance(v.type, DisconnectedType) for v in tangents]
    rows = [row for row, on in zip(connections(op), here, strict=True) if on]
    return [any(column) for column in zip(*rows, strict=True)] if rows else []


def _initial(step: _TangentStep, given: Any, moved: Any) -> list[Variable]:
    return [
        moved.states[i] if _is_connected(moved.states[i], v) else pt.zeros_like(v)
        for i, v in ((i, given.states[i]) for i in step.state_tangents)
    ]


def _tangent_step(op: Any, given: Any, moved: Any, reached: list[bool]) -> _TangentStep:
    fresh = [v.type() for v in op.body.inputs]
    outputs = op.body.bind(fresh)
    n, m = op.n_states, len(fresh) - len(given.captured)
    states, elements, captured = fresh[:n], fresh[n:m], fresh[m:]
    live = [i for i, on in enumerate(reached) if on and i < len(outputs)]
    state_tangents = {i: states[i].type() for i in live if i < n}
    element_tangents = {
        i: x.type()
        for i, (x, v) in enumerate(zip(elements, moved.sequences, strict=True))
        if _is_connected(v, x)
    }
    captured_tangents = {
        i: x.type()
        for i, (x, v) in enumerate(zip(captured, moved.captured, strict=True))
        if _is_connected(v, x)
    }
    wrt = [
        *((states[i], v) for i, v in state_tangents.items()),
        *((elements[i], v) for i, v in element_tangents.items()),
        *((captured[i], v) for i, v in captured_tangents.items()),
    ]
    found = pushed([outputs[i] for i in live], wrt)
    outside = dict(zip(captured, given.captured, strict=True))
    outside |= {v: moved.captured[i] for i, v in captured_tangents.items()}
    both = replaced([*outputs, *found], outside)
    return _TangentStep(
        states,
        elements,
        both[: len(outputs)],
        state_tangents,
        element_tangents,
        dict(zip(live, both[len(outputs) :], strict=True)),
    )


def pushed(outputs: Sequence[Variable], wrt: Sequence[tuple[Variable, Variable]]) -> list[Variable]:
    """Tangents of the outputs, from pairs of variables and their tangents.

    What has no tangent, constants above all, is not moved by zeros: zeros times an infinite or
    undefined derivative would be nan. Where one of the variables depends on another, its tangent is
    added to the one that it has from there, as the gradient of the other goes through it.
    """
    given = dict(wrt)
    tangents = dict(wrt)
    for node in io_toposort([], list(outputs)):
        here = [tangents.get(v) for v in node.inputs]
        if any(tangent is not None for tangent in here):
            results = _tangents_of_node(node, here)
            tangents.update(
                (v, pt.cast(t + given[v] if v in given else t, v.type.dtype))
                for v, t in zip(node.outputs, results, strict=True)
                if is_continuous(v) and not isinstance(t.type, (DisconnectedType, NullType))
            )
    return [tangents.get(v, pt.zeros_like(v)) for v in outputs]


def _tangents_of_node(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Variable]:
    """Tangents of a node's outputs, by a rule of the operation's own or by two pullbacks.

    Constants have no tangent here: zeros times an infinite derivative would be nan.

    References
    ----------
    J. Towns, "A new trick for calculating Jacobian vector products", 2017.
    """
    if isinstance(node.op, (Elemwise, Scan, Loop)):
        given = [disconnected_type() if t is None else t for t in tangents]
        return node.op.pushforward(node.inputs, node.outputs, given)
    # on variables of their own, because one input may depend on another
    fresh = [v if t is None else v.type() for v, t in zip(node.inputs, tangents, strict=True)]
    results = node.op.make_node(*fresh).outputs
    moved = [at for at, t in enumerate(tangents) if t is not None]
    connected = [v for v in results if is_continuous(v)]
    if not connected:
        return [disconnected_type() for _ in results]
    pushed = pushforward_through_pullback(
        connected,
        [fresh[at] for at in moved],
        [tangents[at] for at in moved],
        disconnected_outputs="ignore",
    )
    inside = replaced(list(pushed), {fresh[at]: node.inputs[at] for at in moved})
    found = dict(zip(connected, inside, strict=True))
    return [found.get(v, disconnected_type()) for v in results]
