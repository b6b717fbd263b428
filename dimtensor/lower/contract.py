"""Lowering of n-ary contractions: a contraction order, then products of pairs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.dims import Dim, Dims, without
from dimtensor.graph import Node
from dimtensor.graph.dtypes import is_inexact
from dimtensor.lower.context import Lowering, lowers, transpose
from dimtensor.lower.layout.preferences import Estimates, Found, Preference, not_innermost, prefers
from dimtensor.ops.nodes import reshaped
from dimtensor.tuning import ASSUMED_LENGTH, CONTRACTED_OPERANDS, COPY, SUMMED_INNERMOST


def contraction_path(operands: list[Dims], result: Dims) -> list[tuple[int, ...]]:
    """Find the contraction order by ``numpy.einsum_path``, as pairs of operands.

    In each step the operands are removed from the list and their product is appended.
    """
    if len(operands) <= 2:
        return [tuple(range(len(operands)))]
    dims: list[Dim] = list(dict.fromkeys(dim for own in operands for dim in own))
    number = {dim: at for at, dim in enumerate(dims)}
    arguments: list = []
    for own in operands:
        shape = [d.length if d.length is not None else ASSUMED_LENGTH for d in own]
        arguments += [np.broadcast_to(0.0, shape), [number[dim] for dim in own]]
    arguments.append([number[dim] for dim in result])
    strategy = "optimal" if len(operands) <= CONTRACTED_OPERANDS else "greedy"
    path, _ = np.einsum_path(*arguments, optimize=strategy)
    return path[1:]


@lowers("dot")
def dot(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    pool = [(pt.cast(v, node.dtype), ctx.axes(i)) for v, i in zip(inputs, node.inputs, strict=True)]
    result = ctx.axes(node)
    for step in contraction_path([dims for _, dims in pool], result):
        taken = [pool[i] for i in step]
        pool = [entry for i, entry in enumerate(pool) if i not in step]
        needed = {dim for _, dims in pool for dim in dims} | set(result)
        product = taken[0]
        for position, other in enumerate(taken[1:], start=2):
            later = {dim for _, dims in taken[position:] for dim in dims}
            product = _product(ctx, product, other, needed | later)
        pool.append(_sum_out(ctx, *product, needed))
    ((variable, dims),) = pool
    return variable, dims


@prefers("dot")
def dot_order(node: Node, estimates: Estimates) -> Found:
    if len(node.inputs) != 2:
        return
    x, y = (i.dims for i in node.inputs)
    summed = tuple(dim for dim in node.attrs if dim in x and dim in y)
    batch = tuple(dim for dim in x if dim in y and dim not in summed)
    left = tuple(dim for dim in without(x, (*summed, *batch)) if dim not in node.attrs)
    right = tuple(dim for dim in without(y, (*summed, *batch)) if dim not in node.attrs)
    if not (summed and left and right):
        joint = tuple(dict.fromkeys((*x, *y)))
        if node.attrs and len(node.attrs) < len(joint):
            yield ("dot", node), not_innermost(joint, node.attrs, SUMMED_INNERMOST, estimates)
        return
    operands = {
        "left": (batch, left, summed),
        "right": (batch, summed, right),
        "result": (batch, left, right),
    }
    for role, groups in operands.items():
        if batch or any(len(group) > 1 for group in groups):
            yield ("dot", role, node), _in_blocks(groups, estimates)


def _in_blocks(groups: tuple[Dims, Dims, Dims], estimates: Estimates) -> Preference:
    """Prefer batch dims first, and the dims of rows, and of columns, contiguous."""
    batch, one = frozenset(groups[0]), frozenset(groups[1])
    dims = tuple(dim for group in groups for dim in group)
    cost = COPY * estimates.elements(dims)
    b, n = len(batch), len(one)

    def differs(order: Dims) -> int:
        matrix = order[b:]
        rows = matrix[:n] if matrix[0] in one else matrix[len(matrix) - n :]
        fine = batch.issuperset(order[:b]) and one.issuperset(rows)
        return 0 if fine else cost

    return Preference(dims, differs)


def _sum_out(
    ctx: Lowering, variable: Variable, dims: Dims, needed: set[Dim]
) -> tuple[Variable, Dims]:
    gone = [at for at, dim in enumerate(dims) if dim not in needed]
    if not gone:
        return variable, dims
    summed = pt.sum(variable, axis=gone, dtype=variable.type.dtype, acc_dtype=variable.type.dtype)
    return summed, tuple(dim for dim in dims if dim in needed)


def _product(
    ctx: Lowering, x: tuple[Variable, Dims], y: tuple[Variable, Dims], needed: set[Dim]
) -> tuple[Variable, Dims]:
    """Multiply two operands, and sum over shared dims that are not needed any more."""
    x = _sum_out(ctx, *x, needed | set(y[1]))
    y = _sum_out(ctx, *y, needed | set(x[1]))
    shared = [dim for dim in x[1] if dim in y[1]]
    batch = tuple(dim for dim in shared if dim in needed)
    summed = tuple(dim for dim in shared if dim not in needed)
    left = tuple(dim for dim in x[1] if dim not in shared)
    right = tuple(dim for dim in y[1] if dim not in shared)
    if not summed or not (left and right) or not is_inexact(x[0].type.dtype):
        # without free dims on both sides every element of the larger operand is read once: a fused
        # loop that multiplies and sums is as fast as a matrix product
        joint = ctx.order.sort({*x[1], *y[1]})
        product = ctx.align(*x, joint) * ctx.align(*y, joint)
        return _sum_out(ctx, product, joint, needed)
    if ctx.order.sort((*left, *right))[0] in right:  # the plan has the columns first
        x, y, left, right = y, x, right, left
    a = _grouped(ctx, *x, (batch, left, summed))
    b = _grouped(ctx, *y, (batch, summed, right))
    product = a @ b if batch else pt.dot(a, b)
    dims = (*batch, *left, *right)
    shape = ctx.shape(dims)
    if product.type.ndim != len(dims):
        product = reshaped(product, shape)
    return product, dims


def _grouped(
    ctx: Lowering, variable: Variable, dims: Dims, groups: tuple[Dims, Dims, Dims]
) -> Variable:
    """Reshape axes to three groups (batch and two matrix axes), each merged into one axis.

    An empty batch is omitted. An empty matrix group is omitted without batch (a vector), and else
    an axis of length 1. If the axes are grouped already, but with columns before rows, the matrix
    is transposed after merging, which makes a view.
    """
    batch, *matrix = groups
    turned = tuple(dim for group in (batch, *matrix[::-1]) for dim in group)
    if dims == turned and any(len(group) > 1 for group in groups) and all(matrix):
        parts = ([batch] if batch else []) + matrix[::-1]
        shape = [_joint_length(ctx, part) for part in parts]
        return reshaped(variable, shape).swapaxes(-1, -2)
    moved = transpose(variable, dims, tuple(dim for group in groups for dim in group))
    kept = [group for group in matrix if group or batch]
    parts = ([batch] if batch else []) + kept
    if all(len(part) == 1 for part in parts):
        return moved
    shape = [_joint_length(ctx, part) for part in parts]
    return reshaped(moved, shape)


def _joint_length(ctx: Lowering, dims: Dims) -> Any:
    lengths = ctx.shape(dims)
    static = [length for length in lengths if isinstance(length, int)]
    result = math.prod(static)
    for length in lengths:
        if not isinstance(length, int):
            result = result * length
    return result
