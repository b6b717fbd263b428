"""Derivatives of what selects elements: extremes and sorting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.tensor.math import Max, Min
from pytensor.tensor.sort import SortOp

from dimtensor.ops.derivatives.flow import number, shuffled
from dimtensor.ops.derivatives.rules import Tangents, forward_rule, reverse_rule
from dimtensor.ops.graphs import reduced_axes_of


def _kept(node: Any, x: Variable) -> Variable:
    """Return the result with the reduced axes as axes of length 1."""
    axes, numbers = reduced_axes_of(node), iter(range(x.type.ndim))
    ndim = node.inputs[0].type.ndim
    return shuffled(x, ["x" if at in axes else next(numbers) for at in range(ndim)])


def _shares(node: Any) -> tuple[Variable, Variable]:
    """Return a mask of the elements that attain the extreme, and their number."""
    (x,), (out,) = node.inputs, node.outputs
    tied = pt.eq(x, _kept(node, out))
    count = pt.sum(pt.cast(tied, x.type.dtype), axis=reduced_axes_of(node), dtype=x.type.dtype)
    # a NaN equals nothing, so that no element attains an extreme that is NaN
    return tied, pt.maximum(count, number(1, count))


@forward_rule(Max, Min)
def _extreme(node: Any, tangents: Tangents) -> list[Any]:
    """Elements that tie have equal shares, a subgradient."""
    t = tangents[0]
    tied, count = _shares(node)
    chosen = pt.switch(tied, t, number(0, t))
    return [pt.sum(chosen, axis=reduced_axes_of(node), dtype=t.type.dtype) / count]  # type: ignore


@reverse_rule(Max, Min)
def _extreme_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> list[Any]:
    c = cotangents[0]
    tied, count = _shares(node)
    return [pt.switch(tied, _kept(node, c / count), number(0, node.inputs[0]))]


def _taken(x: Variable, order: Variable, axis: int) -> Variable:
    return pt.take_along_axis(x, order, axis=axis)


@forward_rule(SortOp)
def _sorted(node: Any, tangents: Tangents) -> list[Any]:
    axis = node.op.axis
    order = pt.argsort(node.inputs[0], axis=axis, kind=node.op.kind)
    return [_taken(tangents[0], order, axis)]


@reverse_rule(SortOp)
def _sorted_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> list[Any]:
    axis = node.op.axis
    order = pt.argsort(node.inputs[0], axis=axis, kind=node.op.kind)
    back = pt.argsort(order, axis=axis, kind=node.op.kind)
    return [_taken(cotangents[0], back, axis)]
