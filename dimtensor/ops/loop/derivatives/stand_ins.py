"""Variables that stand for the inputs of a loop's body while that is differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytensor.graph.basic import Variable

from dimtensor.ops.derivatives.scalars.poles import (
    is_marked,
    mark_infinite,
    may_become_infinite,
    poles_of,
    stand_ins,
)
from dimtensor.ops.loop.derivatives.jacobian_pattern import body_pattern, reached_states


def body_stand_ins(op: Any, given: Any, used: Sequence[bool] | None = None) -> list[Variable]:
    """Make new variables for states, sequence elements and captured inputs.

    Inputs whose values may be infinite are marked, and so are states that depend on them in some
    step, so that unused elements have zero derivatives. Scalar states, and states that may become
    infinite by a step's own operations, are marked unless they are known to be used as a whole.
    """
    found = stand_ins(op.body.inputs, [*given.states, *given.sequences, *given.captured])
    n = op.n_states
    rows = [row for row, v in zip(body_pattern(op), found, strict=True) if is_marked(v)]
    start = [any(row[i] for row in rows) for i in range(n)]
    poles, wholes = poles_of(op)[:n], used or [True] * n
    comes_in = reached_states(op, start)
    for state, comes, pole, whole in zip(found[:n], comes_in, poles, wholes, strict=True):
        has_elements = getattr(state.type, "ndim", 0) > 0
        if (comes and has_elements) or ((comes or pole) and not whole):
            mark_infinite(state)
    return found


def seed_stand_ins(
    op: Any,
    states: dict[int, Variable],
    traces: dict[int, Variable],
    cotangents: Sequence[Variable],
) -> tuple[dict[int, Variable], dict[int, Variable]]:
    """Make new variables for adjoints of states and cotangents of traces, by number.

    They are marked if some cotangent that the loop is given, or a partial derivative within it, may
    be infinite.
    """
    found = tuple({k: v.type() for k, v in of.items()} for of in (states, traces))
    if any(poles_of(op)) or any(map(may_become_infinite, cotangents)):
        for variable in (*found[0].values(), *found[1].values()):
            mark_infinite(variable)
    return found[0], found[1]
