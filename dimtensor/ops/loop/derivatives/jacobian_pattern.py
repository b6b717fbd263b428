"""Jacobian pattern: the outputs of a loop that depend differentiably on each input."""

from __future__ import annotations

from typing import Any

from pytensor.graph.op import io_connection_pattern

from dimtensor.ops.derivatives.flow import is_continuous
from dimtensor.traversal import reached


def body_pattern(op: Any) -> list[list[bool]]:
    """For each input of the body, which of its outputs have a derivative with respect to it."""
    if op.body_pattern is None:
        inputs, outputs = op.body.inputs, op.body.outputs
        connected = io_connection_pattern(inputs, outputs)
        op.body_pattern = [
            [
                joined and is_continuous(x) and is_continuous(y)
                for joined, y in zip(row, outputs, strict=True)
            ]
            for row, x in zip(connected, inputs, strict=True)
        ]
    return op.body_pattern


def connections(op: Any) -> list[list[bool]]:
    """For each input of a loop, which of its outputs have a derivative with respect to it."""
    pattern = body_pattern(op)
    n = op.n_states
    n_traces, stops = op.n_traces, op.stops
    rows = []
    for number, x in enumerate(op.body.inputs):
        reached = reached_states(op, [pattern[number][k] for k in range(n)])
        if number < n:
            reached = [r or k == number for k, r in enumerate(reached)]
            reached = reached_states(op, reached)
            reached[number] = is_continuous(x)
        traced = [
            pattern[number][n + k] or any(reached[i] and pattern[i][n + k] for i in range(n))
            for k in range(n_traces)
        ]
        rows.append([*reached, *traced, *([False] if stops else [])])
    # what says which steps run has no derivative
    before = [[False] * (n + n_traces + stops)] * (1 + stops + 2 * op.windowed)
    return [*before, *rows]


def reached_states(op: Any, start: list[bool]) -> list[bool]:
    """States that depend, after some steps, on the states that are marked."""
    pattern = body_pattern(op)
    states = range(op.n_states)
    marked = [i for i in states if start[i]]
    found = set(reached(marked, lambda i: [k for k in states if pattern[i][k]]))
    return [i in found for i in states]


def states_that_reach(op: Any, states: list[bool], traces: list[bool]) -> list[bool]:
    """States on which the marked final states and traces depend."""
    pattern = body_pattern(op)
    n = op.n_states
    marked = [
        i
        for i in range(n)
        if states[i] or any(on and pattern[i][n + k] for k, on in enumerate(traces))
    ]
    found = set(reached(marked, lambda k: [i for i in range(n) if pattern[i][k]]))
    return [i in found for i in range(n)]
