"""Lowering of elementwise operations, constants, reductions, sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.dims import Dims
from dimtensor.graph import TABLE, Node
from dimtensor.graph.dtypes import operand_dtype
from dimtensor.lower.context import Lowering, lowers


@lowers("constant")
def constant(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    return pt.constant(np.asarray(node.attrs.value), dtype=node.dtype), ()


@lowers("length")
def length(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    return pt.as_tensor_variable(ctx.length(node.attrs), dtype="int64"), ()


@lowers("positions")
def positions(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    return pt.arange(ctx.length(node.attrs), dtype="int64"), (node.attrs,)


@lowers("label_position")
def label_position(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    return ctx.hidden_input(node.attrs), node.dims


def _logaddexp(x: Variable, y: Variable) -> Variable:
    """log(exp(x) + exp(y)); the larger operand is taken out, equal infinities stay."""
    high, low = pt.maximum(x, y), pt.minimum(x, y)
    gap = pt.switch(pt.eq(high, low), pt.zeros_like(high), low - high)
    return high + pt.log1p(pt.exp(gap))


def _finite(x: Variable) -> Variable:
    return ~(pt.isnan(x) | pt.isinf(x))


# positional functions that are not a single function of pytensor.tensor
_COMPOSED: dict[str, Callable[..., Variable]] = {
    "logaddexp": _logaddexp,
    "isfinite": _finite,
    "deg2rad": lambda x: x * np.asarray(np.pi / 180, dtype=x.type.dtype),
    "rad2deg": lambda x: x * np.asarray(180 / np.pi, dtype=x.type.dtype),
    "angle": lambda x: pt.arctan2(pt.imag(x), pt.real(x)),
}

# functions that are the identity on integers and bools
_ROUNDING = frozenset({"ceil", "floor", "trunc", "round", "real"})


def positional_function(name: str) -> Callable[..., Variable]:
    """The PyTensor function that a row of the op table lowers to."""
    if name in _COMPOSED:
        return _COMPOSED[name]
    if name == "stop_gradient":
        from pytensor.gradient import disconnected_grad

        return disconnected_grad
    target = TABLE[name].lowers_to
    return getattr(pt, target, None) or getattr(pt.math, target)


@lowers("elemwise")
def elemwise(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    row = TABLE[node.attrs]
    axes = ctx.axes(node)
    dtypes = operand_dtype(row.dtype, [i.dtype for i in node.inputs], node.dtype)
    operands = [
        ctx.align(v if v.type.dtype == dtype else pt.cast(v, dtype), ctx.axes(i), axes)
        for v, i, dtype in zip(inputs, node.inputs, dtypes, strict=True)
    ]
    kind = np.dtype(node.inputs[0].dtype).kind
    if row.name in _ROUNDING and kind in "biu":
        return operands[0], axes
    if row.name == "imag" and kind != "c":
        return pt.zeros_like(operands[0]), axes
    if row.name == "conj" and kind != "c":
        return operands[0], axes
    if row.name == "angle" and kind != "c":
        x = pt.cast(operands[0], node.dtype)
        return pt.switch(x < 0, np.asarray(np.pi, dtype=node.dtype), pt.zeros_like(x)), axes
    if kind in "biu" and row.name in ("isnan", "isinf", "isfinite"):
        return pt.full_like(operands[0], row.name == "isfinite", dtype="bool"), axes
    return positional_function(row.name)(*operands), axes


@lowers("cast")
def cast(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    if node.dtype == "bool":
        return pt.neq(inputs[0], 0), ctx.axes(node)
    return pt.cast(inputs[0], node.dtype), ctx.axes(node)


@lowers("codes")
def codes(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    return inputs[0], ctx.axes(node)


@lowers("reduce")
def reduce(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    name, dims = node.attrs
    (x,) = inputs
    axes = ctx.axes(node.inputs[0])
    numbers = [axes.index(dim) for dim in dims]
    rest = tuple(dim for dim in axes if dim not in dims)
    if not numbers:
        return x, axes
    if name in ("sum", "prod"):
        function = pt.sum if name == "sum" else pt.prod
        return function(x, axis=numbers, dtype=node.dtype, acc_dtype=node.dtype), rest
    if name in ("all", "any"):
        if x.type.dtype != "bool":
            x = pt.neq(x, 0)
        return (pt.all if name == "all" else pt.any)(x, axis=numbers), rest
    if x.type.dtype == "bool":
        return (pt.any if name == "max" else pt.all)(x, axis=numbers), rest
    return (pt.max if name == "max" else pt.min)(x, axis=numbers), rest


@lowers("cumulate")
def cumulate(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    name, dim = node.attrs
    axes = ctx.axes(node)
    x = pt.cast(inputs[0], node.dtype) if inputs[0].type.dtype != node.dtype else inputs[0]
    return (pt.cumsum if name == "cumsum" else pt.cumprod)(x, axis=axes.index(dim)), axes


@lowers("arg_reduce")
def arg_reduce(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    name, dim = node.attrs
    axes = ctx.axes(node.inputs[0])
    x = inputs[0]
    if x.type.dtype == "bool":
        x = pt.cast(x, "int8")
    if name == "argmin" and x.type.dtype.startswith("uint"):
        x = pt.cast(~x, x.type.dtype)
        name = "argmax"
    function = pt.argmax if name == "argmax" else pt.argmin
    return function(x, axis=axes.index(dim)), tuple(d for d in axes if d is not dim)


@lowers("sort")
def sort(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    dim, ranks = node.attrs
    axes = ctx.axes(node.inputs[0])
    sorted_ = pt.sort(inputs[0], axis=axes.index(dim))
    return sorted_, tuple(ranks if d is dim else d for d in axes)


@lowers("argsort")
def argsort(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    dim, ranks = node.attrs
    axes = ctx.axes(node.inputs[0])
    order = pt.argsort(inputs[0], axis=axes.index(dim), kind="mergesort")
    return order, tuple(ranks if d is dim else d for d in axes)


@lowers("group_position")
def group_position(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    from pytensor.tensor.blockwise import Blockwise

    from dimtensor.ops.group import GroupPosition

    which, along, groups = node.attrs
    batch = tuple(dim for dim in ctx.axes(node) if dim is not groups)
    operands = [
        ctx.align(v, ctx.axes(i), (*(d for d in batch if d in i.dims or len(batch) > 0), along))
        for v, i in zip(inputs, node.inputs, strict=True)
    ]
    numbers = pt.arange(ctx.length(groups), dtype="int64")
    op: Any = GroupPosition(which)
    if batch:
        op = Blockwise(op, signature="(n),(n),(k)->(k)")
    return op(*operands, numbers), (*batch, groups)
