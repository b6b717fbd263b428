"""Variables that stand for the inputs of a loop's body while that is differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytensor.graph.basic import Variable

from dimtensor.ops.derivatives.scalars.poles import (
    is_marked,
    mark_infinite,
    poles_of,
    stand_ins,
)
from dimtensor.ops.loop.derivatives.jacobian_pattern import body_pattern, reached_states


def body_stand_ins(op: Any, given: Any, used: Sequence[bool] | None = None) -> list[Variable]:
    """New variables for states, sequence elements and captured inputs.

    They are marked where the values that a loop is given may be infinite, and states that are
    computed of such values in any step; so that elements that are not used have derivatives of
    zero. States that may become infinite by a step's own operations are marked unless it is known
    that all of each is used.
    """
    found = stand_ins(op.body.inputs, [*given.states, *given.sequences, *given.captured])
    n = op.n_states
    rows = [row for row, v in zip(body_pattern(op), found, strict=True) if is_marked(v)]
    start = [any(row[i] for row in rows) for i in range(n)]
    for state, infinite in zip(found[:n], reached_states(op, start), strict=True):
        if infinite and getattr(state.type, "ndim", 0) > 0:
            mark_infinite(state)
    for state, pole, whole in zip(found[:n], poles_of(op), used or [True] * n, strict=False):
        if pole and not whole:
            mark_infinite(state)
    return found
