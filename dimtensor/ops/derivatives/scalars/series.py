"""Derivatives of series: loops over scalars that PyTensor applies to each element.

Derivatives of incomplete gamma, incomplete beta and hypergeometric functions by their parameters
are such loops. The derivative of a loop is a loop that advances the tangents beside the states. It
ends where the loop does, if the tangents of all states that have settled have settled, too: a
series whose terms vanish from some one on, because a parameter is a whole number, has a derivative
whose terms do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import toposort
from pytensor.scalar.basic import ScalarConstant, get_scalar_type, identity
from pytensor.scalar.loop import ScalarLoop
from pytensor.tensor.elemwise import DimShuffle, Elemwise

from dimtensor.ops.derivatives.driver import push
from dimtensor.ops.derivatives.flow import (
    Flow,
    is_continuous,
    number,
    of_dtype,
    summed_to,
    total,
)
from dimtensor.ops.derivatives.rules import Tangents
from dimtensor.ops.derivatives.scalars.elementwise import expanded
from dimtensor.tuning import CONVERGED_TANGENT, TANGENT_TERMS


def is_series(node: Any) -> bool:
    """Return whether a node applies a loop over scalars to each element."""
    return isinstance(node.op.scalar_op, ScalarLoop)


def push_series(node: Any, tangents: Tangents) -> list[Any]:
    """Tangents of the last states, by a loop that advances them, too."""
    loop = node.op.scalar_op
    n_states = len(loop.outputs) - loop.is_while
    moved = {at for at, t in enumerate(tangents[1:]) if t is not None}
    inputs = [_scalar(x) for x in loop.inputs]
    inner = SimpleNamespace(op=node.op, inputs=inputs, outputs=[_scalar(x) for x in loop.outputs])
    outputs = expanded(inner)
    while True:
        slopes = {at: x.type() for at, x in enumerate(inputs) if at in moved}
        given = [inputs[at] for at in slopes]
        found = push(outputs[:n_states], given, list(slopes.values()), guarded=False)
        reached = moved | {
            at for at, slope in enumerate(found) if slope is not None and is_continuous(inputs[at])
        }
        if reached == moved:
            break
        moved = reached
    states = [at for at in sorted(moved) if at < n_states]
    if not states:
        return [None] * len(node.outputs)
    constants = [at for at in sorted(moved) if at >= n_states]
    updates = [outputs[at] for at in range(n_states)]
    updates += [number(0, inputs[at]) if found[at] is None else found[at] for at in states]
    started = [*inputs[:n_states], *(slopes[at] for at in states)]
    fixed = [*inputs[n_states:], *(slopes[at] for at in constants)]
    steps, *operands = node.inputs
    first = [number(0, operands[at]) if tangents[1 + at] is None else tangents[1 + at]
             for at in states]  # fmt: skip
    if loop.is_while:
        waited = pt.tensor(dtype="int64", shape=())
        done = outputs[-1]
        settled = [
            _settled(inputs[at], updates[at], slopes[at], updates[n_states + slot])
            for slot, at in enumerate(states)
        ]
        done = pt.or_(done, pt.gt(waited, np.int64(0)))
        count = pt.add(waited, pt.cast(done, "int64"))
        late = pt.gt(count, np.int64(TANGENT_TERMS))
        updates += [count, pt.and_(done, pt.or_(late, reduce(pt.and_, settled)))]
        started.append(waited)
        first.append(pt.constant(np.zeros((1,) * steps.type.ndim, dtype="int64")))
        more = pt.add(steps, np.asarray(TANGENT_TERMS, dtype=steps.type.dtype))
        steps = pt.switch(pt.gt(steps, 0), more, steps)
    step = _as_scalars(updates, [*started, *fixed])
    until = step.outputs.pop() if loop.is_while else None
    new = ScalarLoop(
        init=step.inputs[: len(started)],
        constant=step.inputs[len(started) :],
        update=step.outputs,
        until=until,
        name=f"{loop.name}'",
    )
    rest = [tangents[1 + at] for at in constants]
    results = Elemwise(new)(
        steps, *operands[:n_states], *first, *operands[n_states:], *rest, return_list=True
    )
    answers: list[Any] = [None] * len(node.outputs)
    for slot, at in enumerate(states):
        answers[at] = results[n_states + slot]
    return answers


def _settled(state: Variable, new: Variable, slope: Variable, moved: Variable) -> Variable:
    """Return whether a tangent has converged, or its state has not."""
    tolerance = number(CONVERGED_TANGENT, new)
    still = pt.le(pt.abs(pt.sub(new, state)), pt.mul(tolerance, pt.abs(new)))
    ends = pt.le(pt.abs(pt.sub(moved, slope)), pt.mul(tolerance, pt.abs(moved)))
    return pt.or_(ends, pt.invert(pt.and_(still, pt.neq(new, number(0, new)))))


def pull_series(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> list[Any]:
    """Cotangents of the operands: elements are apart, so each has the tangents for one of them."""
    answers: list[Any] = [None] * len(node.inputs)
    for at, (x, on) in enumerate(zip(node.inputs, wanted, strict=True)):
        if not on or at == 0 or not is_continuous(x):
            continue
        one = [None] * len(node.inputs)
        one[at] = pt.ones_like(x)
        slopes = push_series(node, one)
        products = [
            pt.mul(c, slope)
            for c, slope in zip(cotangents, slopes, strict=True)
            if c is not None and slope is not None
        ]
        if products:
            flow = summed_to(Flow(total(products), None, True), x, node.outputs[0])
            answers[at] = of_dtype(flow.value, x)
    return answers


def _scalar(variable: Variable) -> Variable:
    return pt.tensor(dtype=variable.type.dtype, shape=())


def _as_scalars(outputs: Sequence[Variable], inputs: Sequence[Variable]) -> Any:
    """Convert a graph of tensors without axes to a graph of scalars."""
    known: dict[Variable, Variable] = {x: get_scalar_type(x.type.dtype)() for x in inputs}
    fresh = list(known.values())
    for node in toposort(outputs):
        operands = [_known(known, x) for x in node.inputs]
        if isinstance(node.op, DimShuffle):
            results = operands
        else:
            assert isinstance(node.op, Elemwise), node.op
            results = node.op.scalar_op.make_node(*operands).outputs
        known.update(zip(node.outputs, results, strict=True))
    results = []
    for output in outputs:
        result = _known(known, output)
        # a loop asks that what a state becomes be computed
        results.append(identity(result) if result in fresh else result)
    return SimpleNamespace(inputs=fresh, outputs=results)


def _known(known: dict[Variable, Variable], variable: Variable) -> Variable:
    if variable not in known:
        assert isinstance(variable, Constant), variable
        scalar_type = get_scalar_type(variable.type.dtype)
        known[variable] = ScalarConstant(scalar_type, np.asarray(variable.data).reshape(())[()])
    return known[variable]
