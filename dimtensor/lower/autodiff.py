"""Lowering of derivatives: the positional graph of a region is differentiated by fresh variables.

The values of these variables are substituted after differentiation, so that variables with equal
values are distinct. Computations shared with other parts of the graph are then merged
(:func:`~dimtensor.ops.graphs.shared`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.dims import Dims, without
from dimtensor.graph import Node
from dimtensor.graph.derivatives import jacobian_renames, outer_dims
from dimtensor.graph.regions import DerivativeAttrs, split_derivative
from dimtensor.lower.context import Lowering, lowers, transpose
from dimtensor.lower.layout.preferences import Estimates, Found, Preference, prefers
from dimtensor.lower.loops import RegionLowering
from dimtensor.ops.batching import over_batch
from dimtensor.ops.derivatives import pull, push
from dimtensor.ops.derivatives.flow import number, shuffled, zeros
from dimtensor.ops.derivatives.order import differentiated, taken_last
from dimtensor.ops.derivatives.scalars.poles import stand_ins
from dimtensor.ops.graphs import replaced
from dimtensor.ops.nodes import alloc
from dimtensor.tuning import TRANSPOSED_READ


class _Function(NamedTuple):
    """Region lowered with fresh variables.

    ``axes`` are the dims of y's axes, named as outside of the region, and ``pieces`` the pieces of
    the only variable.
    """

    inner: RegionLowering
    y: Variable
    axes: Dims
    wrt: list[Variable]
    pieces: list[Variable]
    lengths: list[Any]

    @classmethod
    def of(cls, ctx: Lowering, node: Node, inputs: Sequence[Variable]) -> _Function:
        attrs: DerivativeAttrs = node.attrs
        given = split_derivative(attrs, inputs)
        fresh = stand_ins(given.wrt, given.wrt)
        known = dict(zip(attrs.region.bound, node.inputs, strict=False))
        inner = RegionLowering(ctx, attrs.region, [*fresh, *given.captured], known)
        y, *pieces = differentiated(inner.run)
        axes = inner.axes(attrs.region.outputs[0])
        outside = outer_dims(attrs, node.inputs, axes)
        return cls(inner, y, outside, fresh, pieces, inner.shape(axes))

    def at(
        self, ctx: Lowering, values: Sequence[Variable], results: Sequence[Variable]
    ) -> list[Variable]:
        """Substitute the values of the variables in results, and add the region's checks."""
        conditions = [condition for condition, _ in self.inner.checks]
        pairs = dict(zip(self.wrt, values, strict=False))
        found = replaced([*results, *conditions], pairs)
        for condition, (_, check) in zip(found[len(results) :], self.inner.checks, strict=True):
            ctx.check(check.node, condition, check.about)
        return found[: len(results)]


def _pullback(
    ctx: Lowering, y: Variable, cotangent: Variable | None, wrt: Sequence[Variable]
) -> list[Variable]:
    """Compute gradients; they are zero where y does not depend on a variable."""
    if cotangent is None:
        cotangent = number(1, y)
    most = ctx.options.target.most_tangents
    found = taken_last(lambda: pull([y], [cotangent], wrt, most_tangents=most))
    return [zeros(x) if v is None else v for v, x in zip(found, wrt, strict=True)]


@lowers("gradient")
def gradient(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    def compute() -> list[Variable]:
        function = _Function.of(ctx, node, inputs)
        given = split_derivative(node.attrs, inputs)
        cotangent = None
        if given.directions:
            own = ctx.axes(node.inputs[-1])
            cotangent = transpose(given.directions[0], own, function.axes)
        found = _pullback(ctx, function.y, cotangent, function.pieces or function.wrt)
        if function.pieces:
            found = [_joined(ctx, node, function.inner, found)]
        return function.at(ctx, given.wrt, found)

    key = (node.kind, node.inputs, node.attrs._replace(output=0))
    return ctx.once(key, compute)[node.attrs.output], ctx.axes(node)


def _joined(
    ctx: Lowering, node: Node, inner: RegionLowering, gradients: Sequence[Variable]
) -> Variable:
    """Join the gradients by the pieces of a vector."""
    axes = ctx.axes(node)
    nodes = node.attrs.region.outputs[1:]
    (cut,) = without(axes, nodes[0].dims)
    columns = []
    for piece, gradient in zip(nodes, gradients, strict=True):
        # a single element lacks the dim of the vector
        places = {dim if dim in axes else cut: at for at, dim in enumerate(inner.axes(piece))}
        columns.append(shuffled(gradient, [places.get(dim, "x") for dim in axes]))
    return pt.concatenate(columns, axis=axes.index(cut))


@lowers("jacobian")
def jacobian(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    function = _Function.of(ctx, node, inputs)
    values = split_derivative(node.attrs, inputs).wrt
    y, rows, columns = function.y, function.axes, ctx.axes(node.inputs[0])
    renames = dict(jacobian_renames(node))
    renamed = tuple(renames.get(dim, dim) for dim in columns)
    if not rows:
        return function.at(ctx, values, _pullback(ctx, y, None, function.wrt))[0], renamed
    cotangent = y.type("cotangent")
    (row,) = _pullback(ctx, y, cotangent, function.wrt)
    units = _unit_cotangents(function.lengths, y.type.dtype)
    batched = over_batch([row], {cotangent: units})[0]
    if batched.type.ndim != len(rows) + len(columns):  # y does not depend on the input
        batched = alloc(np.zeros((), node.dtype), *function.lengths, *ctx.shape(columns))
    return function.at(ctx, values, [batched])[0], (*rows, *renamed)


@prefers("jacobian")
def jacobian_order(node: Node, estimates: Estimates) -> Found:
    renames = dict(jacobian_renames(node))
    columns = frozenset(renames.get(dim, dim) for dim in node.inputs[0].dims)
    first = frozenset(node.dims) - columns
    if first and columns:
        cost = TRANSPOSED_READ * estimates.elements(node.dims)
        n = len(first)
        yield (
            ("jacobian", node),
            Preference(node.dims, lambda order: 0 if first.issuperset(order[:n]) else cost),
        )


def _unit_cotangents(lengths: Sequence[Variable | int], dtype: str) -> Variable:
    """Make an identity tensor whose shape is the given one twice."""
    n = len(lengths)
    result: Variable | None = None
    for at, length in enumerate(lengths):
        numbers = pt.arange(length)
        row = numbers.dimshuffle(["x"] * at + [0] + ["x"] * (2 * n - at - 1))
        column = numbers.dimshuffle(["x"] * (n + at) + [0] + ["x"] * (n - at - 1))
        unit = pt.eq(row, column)
        result = unit if result is None else pt.and_(result, unit)
    assert result is not None
    return pt.cast(result, dtype)


@lowers("pushforward")
def pushforward(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    function = _Function.of(ctx, node, inputs)
    given = split_derivative(node.attrs, inputs)
    (tangent,) = taken_last(lambda: push([function.y], function.wrt, given.directions))
    if tangent is None:
        tangent = zeros(function.y)
    return function.at(ctx, given.wrt, [tangent])[0], function.axes
