"""Lowering of derivatives: taken of the positional graph, cotangents matched by dim."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import pytensor
import pytensor.tensor as pt
from pytensor.gradient import NullTypeGradError
from pytensor.graph.basic import Variable
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import ancestors

from dimtensor.dims import Dims
from dimtensor.errors import GraphError
from dimtensor.graph import Node
from dimtensor.graph.infer import describe, jacobian_dims
from dimtensor.lower.context import Lowering, lowers


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
    number, weighted = node.attrs
    key = ("gradient", node.inputs, weighted)
    gradients = ctx.shared.get(key)
    if gradients is None:
        cotangent = inputs[1] if weighted else None
        wrt = inputs[1 + weighted :]
        gradients = ctx.shared[key] = _pullback(inputs[0], cotangent, wrt)
    return gradients[number], ctx.axes(node)


@lowers("jacobian")
def jacobian(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    y, wrt = inputs
    rows, columns = ctx.axes(node.inputs[0]), ctx.axes(node.inputs[1])
    renames = dict(jacobian_dims(node.inputs[0].dims, node.inputs[1].dims))
    renamed = tuple(renames.get(dim, dim) for dim in columns)
    if not rows:
        return _pullback(y, None, [wrt])[0], renamed
    cotangent = y.type("cotangent")
    (row,) = _pullback(y, cotangent, [wrt])
    batched = vectorize_graph([row], {cotangent: _unit_cotangents(ctx, rows, y.type.dtype)})[0]
    if batched.type.ndim != len(rows) + len(columns):  # y does not depend on the input
        shape = ctx.shape((*rows, *columns))
        return pt.zeros(shape, dtype=node.dtype), (*rows, *renamed)
    return batched, (*rows, *renamed)


def _unit_cotangents(ctx: Lowering, dims: Dims, dtype: str) -> Variable:
    """Identity of shape ``(*dims, *dims)``."""
    n = len(dims)
    result: Variable | None = None
    for at, dim in enumerate(dims):
        numbers = pt.arange(ctx.length(dim))
        row = numbers.dimshuffle(["x"] * at + [0] + ["x"] * (2 * n - at - 1))
        column = numbers.dimshuffle(["x"] * (n + at) + [0] + ["x"] * (n - at - 1))
        unit = pt.eq(row, column)
        result = unit if result is None else pt.and_(result, unit)
    assert result is not None
    return pt.cast(result, dtype)


@lowers("pushforward")
def pushforward(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    n = node.attrs
    y, wrt, tangents = inputs[0], inputs[1 : 1 + n], inputs[1 + n :]
    # twice backwards, which every op that has a gradient allows; loops run forwards only once
    rules = [_forwards, _twice_backwards] if _has_loops([y]) else [_twice_backwards]
    for rule in rules:
        with contextlib.suppress(NotImplementedError):
            return rule(y, wrt, tangents), ctx.axes(node)
    raise GraphError(f"the forward derivative of {describe(node.inputs[0])} is not known")


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
