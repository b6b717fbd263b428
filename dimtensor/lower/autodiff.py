"""Lowering of derivatives: taken of the positional graph of a region, by variables of its own.

Values of the variables of a derivative come in only when it is taken: variables of equal values are
different variables, and a value is no place where a derivative ends. What the derivative computes
that others compute, too, is one with it afterwards (:mod:`~dimtensor.lower.sharing`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytensor
import pytensor.tensor as pt
from pytensor.gradient import NullTypeGradError
from pytensor.graph.basic import Variable
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import ancestors

from dimtensor.dims import Dims
from dimtensor.errors import GraphError
from dimtensor.graph import Node
from dimtensor.graph.derivatives import jacobian_renames, outer_dims
from dimtensor.graph.infer import describe
from dimtensor.graph.regions import DerivativeAttrs, split_derivative
from dimtensor.lower.context import Lowering, lowers, transpose
from dimtensor.lower.loops import RegionLowering
from dimtensor.ops.graphs import replaced


class _Function(NamedTuple):
    """A region on variables of its own.

    ``axes`` are the dims of the axes of y, as they are called outside.
    """

    inner: RegionLowering
    y: Variable
    axes: Dims
    wrt: list[Variable]
    lengths: list[Any]

    @classmethod
    def of(cls, ctx: Lowering, node: Node, inputs: Sequence[Variable]) -> _Function:
        attrs: DerivativeAttrs = node.attrs
        given = split_derivative(attrs, inputs)
        fresh = [value.type() for value in given.wrt]
        known = dict(zip(attrs.region.bound, node.inputs, strict=False))
        inner = RegionLowering(ctx, attrs.region, [*fresh, *given.captured], known)
        (y,) = inner.run()
        axes = inner.axes(attrs.region.outputs[0])
        outside = outer_dims(attrs, node.inputs, axes)
        return cls(inner, y, outside, fresh, inner.shape(axes))

    def at(
        self, ctx: Lowering, values: Sequence[Variable], results: Sequence[Variable]
    ) -> list[Variable]:
        """Results at the values of the variables; what must hold there is asked for."""
        conditions = [condition for condition, _ in self.inner.checks]
        pairs = dict(zip(self.wrt, values, strict=False))
        found = replaced([*results, *conditions], pairs)
        for condition, (_, check) in zip(found[len(results) :], self.inner.checks, strict=True):
            ctx.check(check.node, condition, check.about)
        return found[: len(results)]


def _pullback(y: Variable, cotangent: Variable | None, wrt: Sequence[Variable]) -> list[Variable]:
    """Gradients, zeros where y does not depend on an input."""
    if cotangent is None:
        cotangent = pt.ones_like(y)
    try:
        return pytensor.grad(
            None,
            list(wrt),
            known_grads={y: cotangent},
            disconnected_inputs="ignore",
            return_disconnected="zero",
        )
    except NullTypeGradError as error:  # an op that dt.apply brought in
        raise GraphError(f"a derivative in this expression is not known: {error}") from error


@lowers("gradient")
def gradient(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    def compute() -> list[Variable]:
        function = _Function.of(ctx, node, inputs)
        given = split_derivative(node.attrs, inputs)
        cotangent = None
        if given.directions:
            own = ctx.axes(node.inputs[-1])
            cotangent = transpose(given.directions[0], own, function.axes)
        found = _pullback(_apart(function.y, function.wrt), cotangent, function.wrt)
        return function.at(ctx, given.wrt, found)

    return _shared(ctx, node, compute)[node.attrs.output], ctx.axes(node)


def _apart(y: Variable, wrt: Sequence[Variable]) -> Variable:
    """An output that is none of the variables themselves."""
    return pt.tensor_copy(y) if y in wrt else y


def _shared(ctx: Lowering, node: Node, compute: Callable[[], list[Variable]]) -> list[Variable]:
    """What the outputs of one derivative compute together."""
    key = (node.kind, node.inputs, node.attrs._replace(output=0))
    found = ctx.shared.get(key)
    if found is None:
        found = ctx.shared[key] = compute()
    return found


@lowers("jacobian")
def jacobian(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    function = _Function.of(ctx, node, inputs)
    values = split_derivative(node.attrs, inputs).wrt
    y, rows, columns = function.y, function.axes, ctx.axes(node.inputs[0])
    renames = dict(jacobian_renames(node))
    renamed = tuple(renames.get(dim, dim) for dim in columns)
    y = _apart(y, function.wrt)
    if not rows:
        return function.at(ctx, values, _pullback(y, None, function.wrt))[0], renamed
    cotangent = y.type("cotangent")
    (row,) = _pullback(y, cotangent, function.wrt)
    units = _unit_cotangents(function.lengths, y.type.dtype)
    batched = vectorize_graph([row], {cotangent: units})[0]
    if batched.type.ndim != len(rows) + len(columns):  # y does not depend on the input
        batched = pt.zeros([*function.lengths, *ctx.shape(columns)], dtype=node.dtype)
    return function.at(ctx, values, [batched])[0], (*rows, *renamed)


def _unit_cotangents(lengths: Sequence[Variable | int], dtype: str) -> Variable:
    """Identity of a shape twice."""
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
    y = _apart(function.y, function.wrt)
    # twice backwards, which every op that has a gradient allows; loops run forwards only once
    rules = [_forwards, _twice_backwards] if _has_loops([y]) else [_twice_backwards]
    for rule in rules:
        with contextlib.suppress(NotImplementedError):
            tangent = rule(y, function.wrt, given.directions)
            return function.at(ctx, given.wrt, [tangent])[0], function.axes
    raise GraphError(
        f"the forward derivative of {describe(node.attrs.region.outputs[0])} is not known"
    )


def _forwards(y: Variable, wrt: Sequence[Variable], tangents: Sequence[Variable]) -> Variable:
    from dimtensor.ops.loop.pushforward import pushed

    return pushed([y], list(zip(wrt, tangents, strict=True)))[0]


def _twice_backwards(
    y: Variable, wrt: Sequence[Variable], tangents: Sequence[Variable]
) -> Variable:
    return pytensor.gradient.pushforward(
        y, list(wrt), list(tangents), disconnected_outputs="ignore"
    )


def _has_loops(outputs: Sequence[Variable]) -> bool:
    from dimtensor.ops.loop import Loop, Scan

    return any(v.owner is not None and isinstance(v.owner.op, (Loop, Scan))
               for v in ancestors(outputs))  # fmt: skip
