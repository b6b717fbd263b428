"""Forward accumulation of gradients, for loops that carry and depend on few scalars.

In reverse mode, the gradient of a loop with one state and four scalar inputs needs a second loop
and the residuals of all steps. In forward mode it needs four more states in the same loop, one
tangent per input, which lengthen no dependency chain. That is faster and needs no trace.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import Switch
from pytensor.tensor.basic import Alloc, Join
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.subtensor import Subtensor

from dimtensor.ops.constants import is_constant
from dimtensor.ops.derivatives.driver import pull, push
from dimtensor.ops.derivatives.flow import SPARSE, Flow, Undefined, of_dtype, total, zeros
from dimtensor.ops.derivatives.rules import ahead_rule
from dimtensor.ops.derivatives.scalars.elementwise import unused_times
from dimtensor.ops.derivatives.scalars.poles import (
    may_be_infinite,
    may_become_infinite,
    poles_of,
)
from dimtensor.ops.graphs import bound, replaced
from dimtensor.ops.loop.derivatives.jacobian_pattern import (
    body_pattern,
    reached_states,
    states_that_reach,
)
from dimtensor.ops.loop.derivatives.stand_ins import body_stand_ins
from dimtensor.ops.loop.frontend import build_scan
from dimtensor.ops.loop.op import Scan
from dimtensor.ops.loop.spec import LoopOptions, StepGraph
from dimtensor.ops.special import vanishing
from dimtensor.tuning import TANGENT_PRODUCTS

_SIMPLE = (Elemwise, DimShuffle, Subtensor, Join, Alloc)

Tangents = list[Variable | None]


@ahead_rule(Scan)
def pull_ahead(
    node: Apply,
    flows: Sequence[Flow | None],
    depends: Collection[Variable],
    asked: Collection[Variable],
    most_tangents: int,
) -> list[tuple[Variable, Flow]] | None:
    """Return cotangents of the scalars behind a loop's inputs, None if reverse mode is better.

    Parameters
    ----------
    node : Apply
        Of a `Scan`.
    flows : sequence of Flow or None
        Cotangents of its outputs.
    depends : collection of variable
        Variables that depend on the variables of the gradient.
    asked : collection of variable
        Variables of the gradient.
    most_tangents : int
        How many tangents the loop may carry.
    """
    op: Any = node.op
    if (
        most_tangents == 0
        or not op.runs_all
        or op.inverse is not None
        or op.truncate is not None
        or not _is_of_numbers(op)
    ):
        return None
    near = _numbers_before(node, depends, asked)
    if near is None:
        return None
    ends = {at: flow for at, flow in enumerate(flows) if flow is not None}
    # starts of states and what a step captures may be functions of the same parameters; tangents
    # by a start would become subnormal numbers, too, with which processors are slow
    far = _first_numbers(near, depends, asked)
    choices = [
        _Directions.by(node.inputs, numbers)
        for numbers in ([near, far] if len(far) < len(near) else [near])
        if len(numbers) <= most_tangents
    ]
    if not choices:
        return None
    live = [_live(op, choice, list(ends)) for choice in choices]
    at = min(range(len(choices)), key=lambda at: sum(map(len, live[at])))
    numbers, fresh, inputs, directions = choices[at]
    moved = _moved(op, inputs, directions, live[at], list(ends), most_tangents)
    if moved is None:
        return None
    back = dict(zip(fresh, numbers, strict=True))
    found = []
    for number, tangents in zip(numbers, moved, strict=True):
        if tangents:
            # the sum of cotangents times tangents, by the rules of a product
            scale = number.type()
            products = [scale * t for t in replaced(list(tangents.values()), back)]
            (value,) = pull(products, [ends[at] for at in tangents], [scale])
            found.append((number, Flow(value, None, SPARSE)))
    return found


class _Directions(NamedTuple):
    """Numbers, variables in their places, a loop's inputs as functions of these, and tangents."""

    numbers: list[Variable]
    fresh: list[Variable]
    inputs: list[Variable]
    tangents: list[Tangents]

    @classmethod
    def by(cls, inputs: Sequence[Variable], numbers: list[Variable]) -> _Directions:
        """Derive a loop's inputs by each of some numbers."""
        fresh = [v.type() for v in numbers]
        moved = replaced(inputs, dict(zip(numbers, fresh, strict=True)))
        ones = [pt.constant(np.ones((), dtype=v.type.dtype)) for v in numbers]
        tangents = [push(moved, [x], [one]) for x, one in zip(fresh, ones, strict=True)]
        return cls(numbers, fresh, moved, tangents)


def _is_of_numbers(op: Scan) -> bool:
    """Return whether all inputs and outputs of a step are numbers."""
    given = (*op.body.inputs, *op.body.outputs)
    return all(getattr(v.type, "ndim", None) == 0 for v in given)


def _numbers_before(
    node: Apply, depends: Collection[Variable], asked: Collection[Variable]
) -> list[Variable] | None:
    """Return the scalars nearest to the loop from which its inputs are cheaply computed."""
    found: dict[Variable, None] = {}
    stack = [v for v in node.inputs if v in depends]
    seen = set(stack)
    while stack:
        v = stack.pop()
        if v.type.ndim == 0:
            found[v] = None
            continue
        if v in asked or v.owner is None or not isinstance(v.owner.op, _SIMPLE):
            return None
        more = [x for x in v.owner.inputs if x in depends and x not in seen]
        seen.update(more)
        stack += more
    return list(found)


def _first_numbers(
    numbers: Collection[Variable], depends: Collection[Variable], asked: Collection[Variable]
) -> list[Variable]:
    """Return the scalars from which scalars are computed by elementwise operations."""
    found: dict[Variable, None] = {}
    stack, seen = list(numbers), set(numbers)
    while stack:
        v = stack.pop()
        if v in asked or v.owner is None or not isinstance(v.owner.op, Elemwise):
            found[v] = None
            continue
        more = [x for x in v.owner.inputs if x in depends and x not in seen]
        seen.update(more)
        stack += more
    return list(found)


def _moved(
    op: Scan,
    inputs: Sequence[Variable],
    directions: Sequence[Tangents],
    live: Sequence[list[int]],
    ends: Sequence[int],
    most_tangents: int,
) -> list[dict[int, Variable]] | None:
    """Compute tangents of outputs in several directions by one loop, None if too many."""
    n = op.n_states
    given, moved = op.split_inputs(inputs), [op.split_inputs(by) for by in directions]
    pattern = body_pattern(op)
    products = sum(pattern[j][i] for here in live for i in here for j in here)
    if sum(map(len, live)) > most_tangents or products > TANGENT_PRODUCTS:
        return None
    brought = [t for by in directions for t in by if t is not None]
    infinite = any(poles_of(op)) or any(map(may_become_infinite, brought))
    step = _Step.of(op, given, moved, live, [k for k in ends if k >= n], infinite, most_tangents)
    if step is None:
        return None
    starts = [
        zeros(given.states[i]) if by.states[i] is None else by.states[i]
        for by, here in zip(moved, live, strict=True)
        for i in here
    ]
    more = [t for by in moved for t in by.sequences if t is not None]
    result = build_scan(
        given.n_steps,
        step.graph(op, given),
        [*given.states, *starts],
        [*given.sequences, *more],
        LoopOptions(op.reverse),
    )
    final, traces = iter(result.states[n:]), iter(result.traces)
    answers = []
    for states, by in zip(step.of_states, step.results, strict=True):
        found = {i: next(final) for i in states}
        found |= {at: next(traces) for at in by if at >= n}
        answers.append({at: v for at, v in found.items() if at in ends})
    return answers


class _Step(NamedTuple):
    """Step with the tangents of its inputs and outputs, a mapping by number per direction.

    Inputs are numbered in the order states, sequences, captured; outputs in the order states,
    traces.
    """

    given: list[Variable]
    outputs: list[Variable]
    of_states: list[dict[int, Variable]]
    of_others: list[dict[int, Variable]]
    results: list[dict[int, Variable]]

    @classmethod
    def of(
        cls,
        op: Scan,
        given: Any,
        moved: Sequence[Any],
        live: Sequence[list[int]],
        traced: list[int],
        infinite: bool,
        most_tangents: int,
    ) -> _Step | None:
        """None if a step has a derivative that is not known.

        Partial derivatives are computed once for all directions.
        """
        fresh = body_stand_ins(op, given)
        outputs, _ = bound(op.body, fresh)
        n, m = op.n_states, op.n_states + op.n_sequences
        of_states = [{i: fresh[i].type() for i in here} for here in live]
        of_others = [
            {
                at: fresh[at].type() if at < m else t
                for at, t in enumerate((*by.sequences, *by.captured), start=n)
                if t is not None
            }
            for by in moved
        ]
        wrt = sorted({at for by in (*of_states, *of_others) for at in by})
        # by variable: tangents of a trace of what a state becomes are those of the state
        rows: dict[Variable, dict[int, Variable]] = {}
        for at in [*sorted({i for here in live for i in here}), *traced]:
            if outputs[at] in rows:
                continue
            one = pt.constant(np.ones((), dtype=outputs[at].type.dtype))
            found = pull([outputs[at]], [one], [fresh[k] for k in wrt], "return", most_tangents)
            if any(isinstance(v, Undefined) for v in found):
                return None
            rows[outputs[at]] = {k: v for k, v in zip(wrt, found, strict=True) if v is not None}
        results = []
        for states, others in zip(of_states, of_others, strict=True):
            known = others | states
            numbers = (*states, *traced)
            terms = {
                # what waits for no state first
                v: [_times(rows[v][k], known[k], infinite) for k in reversed(wrt)
                    if k in known and k in rows[v]]
                for v in dict.fromkeys(outputs[at] for at in numbers)
            }  # fmt: skip
            sums = {v: total(found) for v, found in terms.items() if found}
            results.append({at: sums[outputs[at]] for at in numbers if outputs[at] in sums})
        return cls(fresh, outputs, of_states, of_others, results)

    def graph(self, op: Scan, given: Any) -> StepGraph:
        """Return the step with states followed by their tangents, and traces of tangents."""
        n, m = op.n_states, op.n_states + op.n_sequences
        following = [
            by.get(i, zeros(v))
            for by, states in zip(self.results, self.of_states, strict=True)
            for i, v in states.items()
        ]
        traced = [v for by in self.results for at, v in by.items() if at >= n]
        outside = dict(zip(self.given[m:], given.captured, strict=True))
        body = replaced([*self.outputs[:n], *following, *traced], outside)
        return StepGraph(
            [*self.given[:n], *(v for by in self.of_states for v in by.values())],
            [*self.given[n:m], *(t for by in self.of_others for at, t in by.items() if at < m)],
            body[: n + len(following)],
            body[n + len(following) :],
            captured=given.captured,
        )


def _live(op: Scan, choice: _Directions, ends: Sequence[int]) -> list[list[int]]:
    """Return the states that need a tangent in each direction."""
    n = op.n_states
    needed = states_that_reach(
        op, [i in ends for i in range(n)], [n + k in ends for k in range(op.n_traces)]
    )
    return [_live_states(op, op.split_inputs(by), needed) for by in choice.tangents]


def _live_states(op: Scan, by: Any, needed: list[bool]) -> list[int]:
    """Return the needed states that have a tangent in a direction."""
    pattern, n = body_pattern(op), op.n_states
    others = zip(pattern[n:], (*by.sequences, *by.captured), strict=True)
    rows = [row for row, t in others if t is not None]
    start = [t is not None or any(row[i] for row in rows) for i, t in enumerate(by.states)]
    reached = reached_states(op, start)
    return [i for i in range(n) if reached[i] and needed[i]]


def _times(partial: Variable, tangent: Variable, infinite: bool) -> Variable:
    """Multiply a partial derivative by a tangent, either of which may be structurally zero.

    `infinite` says whether tangents may be infinite.
    """
    if is_constant(tangent, 1):
        return partial
    if is_constant(partial, 1):
        return tangent
    product = unused_times(tangent, partial, may_be_infinite(partial))
    if infinite and _may_be_masked(partial):
        none = of_dtype(vanishing(partial, tangent), product)
        product = pt.switch(pt.neq(partial, 0), product, none)
    return product


def _may_be_masked(partial: Variable) -> bool:
    """Return whether a partial derivative may be zero because an arm is not taken."""
    nodes = [v.owner for v in ancestors([partial]) if v.owner is not None]
    return any(
        not isinstance(node.op, Elemwise) or isinstance(node.op.scalar_op, Switch) for node in nodes
    )
