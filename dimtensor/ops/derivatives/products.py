r"""Derivatives of products, cumulative and whole, without a division.

The tangent of :math:`y_k = y_{k-1} x_k` is :math:`\dot y_k = \dot y_{k-1} x_k + y_{k-1} \dot x_k`.
That recursion and its transpose are loops, so that zeros need no care and any order of derivative
is right. The derivative of a whole product by an element is the product of those before it times
that of those after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.tensor.math import Prod

from dimtensor.ops.derivatives.flow import number, shuffled
from dimtensor.ops.derivatives.rules import Tangents, forward_rule, reverse_rule
from dimtensor.ops.derivatives.scalars.elementwise import unused_times
from dimtensor.ops.derivatives.scalars.poles import mark_infinite, may_be_infinite
from dimtensor.ops.graphs import reduced_axes_of
from dimtensor.ops.nodes import alloc, lengths, reshaped, selected


def push_running_product(node: Any, tangent: Variable) -> Variable:
    """Push a tangent through a cumulative product."""
    (x,), (out,), axis = node.inputs, node.outputs, node.op.axis
    infinite = may_be_infinite(x)
    terms = _first(unused_times(tangent, _before(out, axis), infinite), axis)
    return _recursion(_first(x, axis), terms, axis, False, infinite)


def pull_running_product(node: Any, cotangent: Variable) -> Variable:
    """Pull a cotangent back through a cumulative product."""
    (x,), (out,), axis = node.inputs, node.outputs, node.op.axis
    infinite = may_be_infinite(x)
    factors = _shifted(x, axis, 1, back=True)
    later = _recursion(factors, _first(cotangent, axis), axis, True, infinite)
    return unused_times(later, _before(out, axis), infinite)


def _first(x: Variable, axis: int) -> Variable:
    """Move an axis to the front."""
    return shuffled(x, [axis, *(at for at in range(x.type.ndim) if at != axis)])


def _back(x: Variable, axis: int) -> Variable:
    """Move the first axis back to its place."""
    order = [*range(1, axis + 1), 0, *range(axis + 1, x.type.ndim)]
    return shuffled(x, order)


def _before(x: Variable, axis: int) -> Variable:
    """Each element's predecessor along an axis, one for the first."""
    return _back(_shifted(x, axis, 1, back=False), axis)


def _shifted(x: Variable, axis: int, fill: float, *, back: bool) -> Variable:
    """Neighbors along an axis, which is made the first."""
    x = _first(x, axis)
    edge = alloc(np.asarray(fill, dtype=x.type.dtype), 1, *lengths(x)[1:])
    # none of no elements
    joined = [x, edge] if back else [edge, x]
    moved = pt.join(0, *joined)
    return selected(moved, [slice(1, None) if back else slice(-1)])


def _recursion(
    factors: Variable, terms: Variable, axis: int, reverse: bool, infinite: bool
) -> Variable:
    """States h of h_k = h_{k-1} a_k + b_k along first axes, from zero."""
    from dimtensor.ops.loop.frontend import build_scan
    from dimtensor.ops.loop.spec import LoopOptions, StepGraph

    n_steps = terms.shape[0] if terms.type.shape[0] is None else terms.type.shape[0]
    state, a, b = (terms[0].type() for _ in range(3))
    start = alloc(np.asarray(0, dtype=terms.type.dtype), *lengths(terms)[1:])
    following = unused_times(state, a, infinite) + b
    step = StepGraph([state], [a, b], [following], [following])
    if infinite:  # far back, maybe
        mark_infinite(factors)
        mark_infinite(terms)
    result = build_scan(n_steps, step, [start], [factors, terms], LoopOptions(reverse))
    return _back(result.traces[0], axis)


@forward_rule(Prod)
def _prod(node: Any, tangents: Tangents) -> list[Any]:
    (out,), (t,) = node.outputs, tangents
    terms = unused_times(t, _of_the_others(node), may_be_infinite(node.inputs[0]))
    return [pt.sum(terms, axis=reduced_axes_of(node), dtype=out.type.dtype)]


@reverse_rule(Prod)
def _prod_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> list[Any]:
    (x,), (c,), axes = node.inputs, cotangents, reduced_axes_of(node)
    numbers = iter(range(c.type.ndim))  # type: ignore[union-attr]
    order = ["x" if at in axes else next(numbers) for at in range(x.type.ndim)]
    return [unused_times(shuffled(c, order), _of_the_others(node), may_be_infinite(x))]


def _of_the_others(node: Any) -> Variable:
    """For each element, the product of all others along the axes."""
    from dimtensor.ops.along import RunningProduct

    x, axes = node.inputs[0], reduced_axes_of(node)
    if x.type.dtype != node.outputs[0].type.dtype:
        x = pt.cast(x, node.outputs[0].type.dtype)
    if not axes:
        return alloc(number(1, x), *lengths(x))
    rest = [at for at in range(x.type.ndim) if at not in axes]
    order = [*axes, *rest]
    moved = shuffled(x, order)
    shape = lengths(moved)
    count: Any = 1
    for n in shape[: len(axes)]:
        count = count * n
    flat = reshaped(moved, [count, *shape[len(axes) :]])
    backwards = [slice(None, None, -1)]
    product = RunningProduct(0)
    after = _before(product(selected(flat, backwards)), 0)
    found = _before(product(flat), 0) * selected(after, backwards)
    found = reshaped(found, shape)
    return shuffled(found, [order.index(at) for at in range(x.type.ndim)])
