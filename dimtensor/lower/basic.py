"""Lowering of elementwise operations, constants, reductions and sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_grad
from pytensor.graph.basic import Variable
from pytensor.tensor.math import Max, Min

from dimtensor.dims import Dims, without
from dimtensor.errors import GraphError
from dimtensor.graph import TABLE, Node
from dimtensor.graph.dtypes import is_float, operand_dtype
from dimtensor.graph.kinds.reductions import reduction_row
from dimtensor.lower.context import Lowering, lowers
from dimtensor.lower.empty import with_an_element
from dimtensor.lower.layout.preferences import (
    Estimates,
    Found,
    before,
    first,
    last,
    not_innermost,
    prefers,
    same_order,
)
from dimtensor.ops import special
from dimtensor.ops.along import LogSumExp, RunningProduct, Softmax, largest, smallest
from dimtensor.ops.derivatives.flow import number
from dimtensor.ops.nodes import elementwise
from dimtensor.ops.ufuncs import UFUNCS
from dimtensor.tuning import (
    COPY,
    EXTREME_INNERMOST,
    REDUCED_INSIDE,
    REREAD,
    RUNNING_INNERMOST,
    SUMMED_INNERMOST,
)


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
    """Compute log(exp(x) + exp(y)) with the larger operand factored out, preserving infinities.

    Of equal operands one is treated as the larger, so that each gets half of the derivative.
    """
    first = pt.ge(x, y)
    high, low = pt.switch(first, x, y), pt.switch(first, y, x)
    infinite = pt.eq(high, low) & pt.isinf(high)
    gap = pt.switch(infinite, np.asarray(0, dtype=high.type.dtype), low - high)
    return high + pt.log1p(pt.exp(gap))


def _finite(x: Variable) -> Variable:
    return ~(pt.isnan(x) | pt.isinf(x))


def _x_times(function: Callable[..., Variable], start: float) -> Callable[..., Variable]:
    """Make x * function(y) that is 0 for x = 0 even if y is not inside the domain.

    Inside the domain nothing is masked, so the gradient in x at 0 is function(y). PyTensor's own op
    has wrong gradients for operands that are broadcast.
    """

    def product(x: Variable, y: Variable) -> Variable:
        low = elementwise(pt.le, y, number(start, y))
        outside = elementwise(pt.or_, low, pt.eq(y, np.inf))
        masked = elementwise(pt.and_, elementwise(pt.eq, x, number(0, x)), outside)
        inside = elementwise(pt.switch, masked, number(start + 1, y), y)
        return elementwise(pt.mul, x, elementwise(function, inside))

    return product


def _logit(x: Variable) -> Variable:
    """Compute the log odds as log1p of the odds minus 1, which is accurate near 1/2."""
    low = elementwise(pt.lt, x, number(0.5, x))
    twice = elementwise(pt.mul, number(2, x), x)
    one = number(1, x)
    below, above = elementwise(pt.sub, one, twice), elementwise(pt.sub, twice, one)
    far = elementwise(pt.switch, low, below, above)
    zero = number(0, x)
    share = elementwise(pt.switch, elementwise(pt.eq, x, zero), zero, x)  # not -0
    near = elementwise(pt.switch, low, share, elementwise(pt.sub, one, x))
    size = elementwise(pt.log1p, elementwise(pt.true_div, far, near))
    return elementwise(pt.switch, low, elementwise(pt.neg, size), size)


def _kv(v: Variable, x: Variable) -> Variable:
    """Compute kv by the scaled function; 0 at infinity, where their product is 0 * 0 or NaN."""
    infinite = elementwise(pt.eq, x, number(np.inf, x))
    inside = elementwise(pt.switch, infinite, number(1, x), x)
    value = pt.kve(v, inside) * pt.exp(-inside)
    nothing = elementwise(pt.mul, number(0, value), pt.abs(v))  # NaN of an order that is no number
    return elementwise(pt.switch, infinite, nothing, value)


def _close(x: Variable, y: Variable, rtol: Variable, atol: Variable) -> Variable:
    """Compare as `numpy.isclose` does."""
    if not is_float(x.type.dtype):
        x, y, rtol, atol = (pt.cast(v, "float64") for v in (x, y, rtol, atol))
    near = pt.le(pt.abs(x - y), atol + rtol * pt.abs(y))
    return (near & _finite(y)) | pt.eq(x, y)


# positional functions that are not a single function of pytensor.tensor
_COMPOSED: dict[str, Callable[..., Variable]] = {
    "clip": lambda x, low, high: pt.minimum(pt.maximum(x, low), high),
    "logaddexp": _logaddexp,
    "isclose": _close,
    "isfinite": _finite,
    "isposinf": lambda x: pt.eq(x, np.asarray(np.inf, dtype=x.type.dtype)),
    "isneginf": lambda x: pt.eq(x, np.asarray(-np.inf, dtype=x.type.dtype)),
    "log_sigmoid": lambda x: -pt.softplus(-x),
    "xlogy": _x_times(pt.log, 0.0),
    "xlog1py": _x_times(pt.log1p, -1.0),
    "logit": _logit,
    "kv": _kv,
    "deg2rad": lambda x: x * np.asarray(np.pi / 180, dtype=x.type.dtype),
    "rad2deg": lambda x: x * np.asarray(180 / np.pi, dtype=x.type.dtype),
    "angle": lambda z: pt.arctan2(pt.imag(z), pt.real(z)),
    "complex_from_polar": lambda r, angle: pt.complex(r * pt.cos(angle), r * pt.sin(angle)),
    "beta": lambda a, b: pt.exp(pt.gammaln(a) + pt.gammaln(b) - pt.gammaln(a + b)),
    **{name: getattr(special, name) for name in ("ndtr", "log_ndtr", "ndtri", "i0e", "i1e")},
    **UFUNCS,
    "poch": lambda z, m: pt.exp(pt.gammaln(z + m) - pt.gammaln(z)),
}


def positional_function(name: str) -> Callable[..., Variable]:
    """Return the PyTensor function that a row of the op table lowers to."""
    if name in _COMPOSED:
        return _COMPOSED[name]
    if name == "stop_gradient":
        return disconnected_grad
    target = TABLE[name].lowers_to
    for module in (pt, pt.math, pt.special):
        function = getattr(module, target, None)
        if function is not None:
            return function
    raise GraphError(f"PyTensor has no function {target!r}, to which {name} lowers")


def _angle_of_real(x: Variable) -> Variable:
    """Return 0 or pi, by the sign, which may be that of -0.0."""
    if not is_float(x.type.dtype):
        x = pt.cast(x, "float64")
    return pt.arctan2(pt.zeros_like(x), disconnected_grad(x))


# simplified functions for integer and for real operands
_INTEGERS: dict[str, Callable[[Variable], Variable]] = dict.fromkeys(
    ("ceil", "floor", "trunc", "round", "round_half_away_from_zero"), lambda x: x
)
_INTEGERS["isfinite"] = lambda x: pt.ones_like(x, dtype="bool")
_INTEGERS |= dict.fromkeys(
    ("isnan", "isinf", "isposinf", "isneginf"), lambda x: pt.zeros_like(x, dtype="bool")
)
_REALS: dict[str, Callable[[Variable], Variable]] = {
    "real": lambda x: x,
    "conj": lambda x: x,
    "imag": pt.zeros_like,
    "angle": _angle_of_real,
}


def _integer_quotient(node: Node, x: Variable, y: Variable) -> Variable:
    """Compute a quotient or remainder; 0 for division by zero, where backends disagree."""
    function = positional_function(node.attrs)
    divisor = node.inputs[1]
    if divisor.kind == "constant" and divisor.attrs.value != 0:
        return function(x, y)
    zero = pt.eq(y, 0)
    one = np.asarray(1, dtype=y.type.dtype)
    return pt.switch(zero, pt.zeros_like(x), function(x, pt.switch(zero, one, y)))


def _integer_power(ctx: Lowering, node: Node, x: Variable, y: Variable) -> Variable:
    """Compute a power of integers, checking at run time that exponents are not negative."""
    exponent = node.inputs[1]
    if exponent.kind == "constant" or y.type.dtype.startswith("uint"):
        return pt.pow(x, y)
    ctx.check(node, pt.all(pt.ge(y, 0)))
    return pt.pow(x, pt.maximum(y, np.asarray(0, dtype=y.type.dtype)))


def _cast_operand(variable: Variable, dtype: str) -> Variable:
    if variable.type.dtype == dtype:
        return variable
    return pt.neq(variable, 0) if dtype == "bool" else pt.cast(variable, dtype)


@lowers("elemwise")
def elemwise(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    row = TABLE[node.attrs]
    axes = ctx.axes(node)
    dtypes = operand_dtype(row.dtype, [i.dtype for i in node.inputs], node.dtype)
    operands = [
        ctx.align(_cast_operand(v, dtype), ctx.axes(i), axes)
        for v, i, dtype in zip(inputs, node.inputs, dtypes, strict=True)
    ]
    kind = np.dtype(operands[0].type.dtype).kind
    if kind in "biu" and row.name in _INTEGERS:
        return _INTEGERS[row.name](*operands), axes
    if kind in "biuf" and row.name in _REALS:
        return _REALS[row.name](*operands), axes
    if kind in "iu" and row.name in ("floor_divide", "mod"):
        return _integer_quotient(node, *operands), axes
    if kind in "iu" and row.name == "power":
        return _integer_power(ctx, node, *operands), axes
    return elementwise(positional_function(row.name), *operands), axes


@prefers("elemwise")
def elemwise_order(node: Node, estimates: Estimates) -> Found:
    if len(node.dims) > 2:
        for x in node.inputs:
            yield from _broadcast(node.dims, x.dims, estimates)


def _broadcast(whole: Dims, part: Dims, estimates: Estimates) -> Found:
    """Prefer the dims that a broadcast operand lacks inside of its own, so that it is read once.

    Vectors are ignored, as they stay in the cache.
    """
    if not 2 <= len(part) < len(whole):
        return
    cost = REREAD * estimates.elements(whole)
    for inner in without(whole, part):
        for outer in part:
            yield ("broadcast", part, outer, inner), before(outer, inner, cost)


@lowers("cast")
def cast(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    (x,) = inputs
    return _cast_operand(x, node.dtype), ctx.axes(node)


@lowers("codes")
def codes(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    return inputs[0], ctx.axes(node)


Reduction = Callable[[Variable, list[int], str], Variable]


def _accumulated(function: Callable[..., Variable]) -> Reduction:
    return lambda x, axes, dtype: function(x, axis=axes, dtype=dtype, acc_dtype=dtype)


def _of_bools(function: Callable[..., Variable]) -> Reduction:
    return lambda x, axes, _: function(_cast_operand(x, "bool"), axis=axes)


def _extreme(of_bools: Any, of_floats: Any, of_integers: Any) -> Reduction:
    """Make a minimum or maximum; PyTensor's minimum negates, which overflows for integers."""

    def reduced(x: Variable, axes: list[int], dtype: str) -> Variable:
        if dtype == "bool":
            return of_bools(x, axis=axes)
        return of_floats(x, axes) if is_float(dtype) else of_integers(axis=axes)(x)

    return reduced


# reductions of a variable over axes, with the dtype of the result
REDUCTIONS: dict[str, Reduction] = {
    "sum": _accumulated(pt.sum),
    "prod": _accumulated(pt.prod),
    "all": _of_bools(pt.all),
    "any": _of_bools(pt.any),
    "max": _extreme(pt.any, largest, Max),
    "min": _extreme(pt.all, smallest, Min),
    "supremum": lambda x, axes, _: pt.max(x, axis=axes, initial=-np.inf),
    "logsumexp": lambda x, axes, _: LogSumExp(axes)(x),
}


@lowers("reduce")
def reduce(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    name, dims = node.attrs
    (x,) = inputs
    axes = ctx.axes(node.inputs[0])
    numbers = [axes.index(dim) for dim in dims]
    rest = tuple(dim for dim in axes if dim not in dims)
    if not numbers:
        return x, axes
    row = TABLE.get(name)
    if row is not None and row.needs_element:
        x = with_an_element(ctx, node, x, axes, dims, name == "max")
    return REDUCTIONS[name](x, numbers, node.dtype), rest


@prefers("reduce")
def reduce_order(node: Node, estimates: Estimates) -> Found:
    name, reduced = node.attrs
    dims = node.inputs[0].dims
    if reduced and len(reduced) < len(dims):
        extreme = name == "logsumexp" or reduction_row(name).needs_element
        weight = EXTREME_INNERMOST if extreme else SUMMED_INNERMOST
        yield ("reduce", dims, reduced, extreme), not_innermost(dims, reduced, weight, estimates)
        if len(dims) > 2:
            cost = REDUCED_INSIDE * estimates.elements(dims)
            yield ("outside", dims, reduced), first(dims, reduced, cost)


@lowers("softmax")
def softmax(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    axes, (name, dims) = ctx.axes(node), node.attrs
    return Softmax(map(axes.index, dims), log=name == "log_softmax")(*inputs), axes


@prefers("softmax")
def softmax_order(node: Node, estimates: Estimates) -> Found:
    dims = node.attrs.dims
    if len(dims) < len(node.dims):
        cost = not_innermost(node.dims, dims, EXTREME_INNERMOST, estimates)
        yield ("reduce", node.dims, dims, True), cost


@lowers("cumulate")
def cumulate(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    name, dim = node.attrs
    axes = ctx.axes(node)
    x = pt.cast(inputs[0], node.dtype)
    if name == "cumsum":
        return pt.cumsum(x, axis=axes.index(dim)), axes
    return RunningProduct(axes.index(dim))(x), axes


@prefers("cumulate")
def cumulate_order(node: Node, estimates: Estimates) -> Found:
    dims, along = node.dims, node.attrs.dim
    if len(dims) > 1:
        yield ("run", dims, along), not_innermost(dims, (along,), RUNNING_INNERMOST, estimates)


@lowers("arg_reduce")
def arg_reduce(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    name, dim = node.attrs
    axes = ctx.axes(node.inputs[0])
    x = inputs[0]
    if x.type.dtype == "bool":
        x = pt.cast(x, "int8")
    if name == "argmin" and not is_float(x.type.dtype):
        # inverting the bits reverses the order of integers without overflow
        x = pt.cast(~x, x.type.dtype)
        name = "argmax"
    x = with_an_element(ctx, node, x, axes, (dim,), name == "argmax")
    function = pt.argmax if name == "argmax" else pt.argmin
    return function(x, axis=axes.index(dim)), tuple(d for d in axes if d is not dim)


@prefers("arg_reduce")
def arg_reduce_order(node: Node, estimates: Estimates) -> Found:
    dims = node.inputs[0].dims
    if len(dims) > 1:
        yield ("core", node), last(dims, (node.attrs.dim,), COPY * estimates.elements(dims))


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


@prefers("sort", "argsort")
def sort_order(node: Node, estimates: Estimates) -> Found:
    dim, positions = node.attrs
    return same_order(node, node.inputs[0].dims, node.dims, {dim: positions}, estimates)


@lowers("group_position")
def group_position(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    from pytensor.tensor.blockwise import Blockwise

    from dimtensor.ops.positions import GroupPosition

    which, along, groups = node.attrs
    batch = tuple(dim for dim in ctx.axes(node) if dim is not groups)
    operands = [
        ctx.align(v, ctx.axes(i), (*(d for d in batch if d in i.dims or len(batch) > 0), along))
        for v, i in zip(inputs, node.inputs, strict=True)
    ]
    numbers = pt.arange(ctx.length(groups), dtype="int64")
    op: Any = GroupPosition(which)
    if batch:
        numpy_function = (f"dimtensor.ops.positions.{which}_positions", 3, 1)
        op = Blockwise(op, signature="(n),(n),(k)->(k)", gufunc_spec=numpy_function)
    return op(*operands, numbers), (*batch, groups)


@prefers("group_position")
def group_position_order(node: Node, estimates: Estimates) -> Found:
    _, along, groups = node.attrs
    for x, core in ((node.inputs[0], along), (node.inputs[1], along), (node, groups)):
        if len(x.dims) > 1 and core in x.dims:
            yield ("core", x, core), last(x.dims, (core,), COPY * estimates.elements(x.dims))
