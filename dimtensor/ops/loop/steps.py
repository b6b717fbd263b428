"""The step of a loop: a Python function, called on variables until it keeps their types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable, equal_computations
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.type import TensorType

from dimtensor.errors import DtypeError, GraphError
from dimtensor.ops.loop.capture import (
    as_result,
    as_state,
    check_dtype,
    check_generators,
    common_type,
    converted,
    outside_of_step,
)
from dimtensor.ops.loop.spec import StepGraph
from dimtensor.tuning import DTYPE_TRIALS


def number_of_steps(n_steps: Any, sequences: Sequence[Variable]) -> Variable:
    if n_steps is not None:
        return as_state(n_steps)
    lengths = {x.type.shape[0] for x in sequences if x.type.ndim} - {None}
    if len(lengths) > 1:
        raise GraphError(
            "the sequences of a loop are of several lengths",
            [(f"sequence {at}", str(x.type)) for at, x in enumerate(sequences)],
        )
    if lengths:
        return pt.constant(lengths.pop(), dtype="int64")
    if not sequences:
        raise GraphError("a loop without sequences needs n_steps")
    return sequences[0].shape[0]


def as_long_as(sequence: Variable, number: int, n_steps: Variable) -> Variable:
    """Check that a sequence has an element for each step, unless that is known."""
    length, steps = sequence.shape[0], n_steps
    static = sequence.type.shape[0]
    if equal_computations([length], [steps]) or (
        isinstance(steps, Constant) and static is not None
    ):
        return sequence
    text = f"sequence {number} is not as long as the loop has steps"
    return CheckAndRaise(ValueError, text)(sequence, pt.eq(length, steps))


def element(sequence: Variable, number: int) -> Variable:
    if sequence.type.ndim == 0:
        raise GraphError(f"sequence {number} is a scalar: it has no axis to loop over")
    return sequence[0].type(f"{sequence.name or f'sequence {number}'}[t]")


def called(
    step: Callable[..., Any], states: list[Variable], elements: list[Variable], stops: bool
) -> tuple[list[Variable], list[Variable], Variable | None]:
    returned = step(list(states), list(elements))
    if not isinstance(returned, tuple) or len(returned) != 2 + stops:
        wanted = (
            "(next states, trace elements, go on)" if stops else "(next states, trace elements)"
        )
        raise GraphError(f"the step of a loop returns {wanted}, not {returned!r}")
    after, traced = (as_list(part) for part in returned[:2])
    if len(after) != len(states):
        raise other_count(states, after)
    go_on = condition(returned[2]) if stops else None
    return [as_result(x) for x in after], [as_result(x) for x in traced], go_on


def settled(
    call: Callable[[list[Variable]], tuple[list[Variable], list[Variable], Variable | None]],
    initial: list[Variable],
    elements: list[Variable],
) -> StepGraph:
    """Find types of the states that a step keeps, and return the step on them."""
    types = [v.type for v in initial]
    for _ in range(DTYPE_TRIALS):
        states = [
            kind(v.name or f"state {at}")
            for at, (v, kind) in enumerate(zip(initial, types, strict=True))
        ]
        next_states, traced, go_on = call(states)
        merged = [
            common_type(at, before, after)
            for at, (before, after) in enumerate(zip(states, next_states, strict=True))
        ]
        if merged == types:
            break
        types = merged
    for at, (before, after) in enumerate(zip(states, next_states, strict=True)):
        check_dtype(at, before, after)
    outputs = flat((next_states, traced, go_on))
    check_generators([*states, *elements], next_states, outputs, lambda: flat(call(states)))
    outside = outside_of_step([*states, *elements], outputs, lambda: flat(call(states)))
    return StepGraph(states, elements, next_states, traced, go_on, captured=outside)


def flat(results: tuple[list[Variable], list[Variable], Variable | None]) -> list[Variable]:
    after, traced, go_on = results
    return [*after, *traced, *([] if go_on is None else [go_on])]


def inverted(
    inverse: Callable[..., Any], states: list[Variable], elements: list[Variable]
) -> list[Variable]:
    if not all(isinstance(v.type, TensorType) for v in states):
        raise GraphError("a loop with a state that is no tensor has no inverse")
    before = [as_result(x) for x in as_list(inverse(list(states), list(elements)))]
    if len(before) != len(states):
        raise other_count(states, before)
    return [converted(x, v.type) for x, v in zip(before, states, strict=True)]


def other_count(states: Sequence[Any], after: Sequence[Any]) -> GraphError:
    return GraphError(
        f"{len(states)} states went into a step and {len(after)} came out",
        [("went in", list(states)), ("came out", list(after))],
    )


def condition(x: Any) -> Variable:
    x = pt.as_tensor_variable(x)
    if x.type.ndim != 0 or x.type.dtype != "bool":
        raise DtypeError(f"a condition is a bool scalar, not {x.type}")
    return x


def as_list(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]
