"""Rewrites of reductions. They may add up in another order, and do nothing else."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.scalar.basic import AND, OR, Add, ScalarMaximum, ScalarMinimum
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import CAReduce, DimShuffle
from pytensor.tensor.math import All, Any, Max, Min, Prod, ProdWithoutZeros, Sum

from dimtensor.graph.dtypes import is_float
from dimtensor.ops.constants import number_of
from dimtensor.ops.graphs import reduced_axes_of
from dimtensor.ops.nodes import alloc
from dimtensor.optimize.rules.table import REDUCTION, rule

if TYPE_CHECKING:
    from dimtensor.optimize.rules.driver import Rewriting

_REDUCTIONS = (Sum, Prod, ProdWithoutZeros, Max, Min, All, Any, CAReduce)
_KEEP = (Add, ScalarMaximum, ScalarMinimum, AND, OR)


def _over(node: Apply, x: Variable, axes: list[int]) -> Variable:
    """Return the same reduction over other axes."""
    op = node.op.clone(axis=tuple(axes) if len(axes) < x.type.ndim else None)
    return op(x)


@rule(*_REDUCTIONS, kind=REDUCTION)
def reduced_axes(node: Apply, rw: Rewriting) -> Variable | None:
    """Drop axes of length 1 from a reduction, and name its axes in one way."""
    x, out, axes = node.inputs[0], node.outputs[0], reduced_axes_of(node)
    op = node.op.scalar_op
    if not isinstance(op, _KEEP) or x.type.dtype != out.type.dtype:
        return None
    longer = [a for a in axes if x.type.shape[a] != 1]
    if len(longer) == len(axes):
        unlike = node.op.axis is not None and len(axes) == x.type.ndim
        return x if not axes else _over(node, x, axes) if unlike else None
    single = [a for a in axes if x.type.shape[a] == 1]
    kept = [a for a in range(x.type.ndim) if a not in single]
    rest = x.dimshuffle(kept)
    return _over(node, rest, [kept.index(a) for a in longer]) if longer else rest


@rule(*_REDUCTIONS)
def reduced_transposed(node: Apply, rw: Rewriting) -> Variable | None:
    """Axes need not be moved before they are reduced over."""
    made = node.inputs[0].owner
    if made is None or not isinstance(made.op, DimShuffle) or "x" in made.op.new_order:
        return None
    order, axes = made.op.new_order, reduced_axes_of(node)
    source = made.inputs[0]
    if len(order) != source.type.ndim:
        return None
    kept = [order[a] for a in range(len(order)) if a not in axes]
    if kept != sorted(kept):
        return None
    return _over(node, source, sorted(order[a] for a in axes))


@rule(Sum, Max, Min, All, Any, CAReduce, kind=REDUCTION)
def reduced_twice(node: Apply, rw: Rewriting) -> Variable | None:
    """Merge a sum of sums, or a maximum of maxima."""
    made = node.inputs[0].owner
    if made is None or type(made.op) is not type(node.op):
        return None
    if made.op.scalar_op != node.op.scalar_op or not isinstance(node.op.scalar_op, _KEEP):
        return None
    x = made.inputs[0]
    if not x.type.dtype == made.outputs[0].type.dtype == node.outputs[0].type.dtype:
        return None
    inner = reduced_axes_of(made)
    kept = [a for a in range(x.type.ndim) if a not in inner]
    return _over(node, x, sorted([*inner, *(kept[a] for a in reduced_axes_of(node))]))


@rule(Sum, kind=REDUCTION)
def sum_of_fill(node: Apply, rw: Rewriting) -> Variable | None:
    """Replace a sum along broadcast axes by a product with their lengths, 0 if one is empty."""
    made, out = node.inputs[0].owner, node.outputs[0]
    if made is None or not isinstance(made.op, Alloc) or not is_float(out.type.dtype):
        return None
    value = made.inputs[0]
    if value.type.dtype != out.type.dtype:
        return None
    x, axes = node.inputs[0], reduced_axes_of(node)
    lead = x.type.ndim - value.type.ndim
    repeated = [a for a in axes if a < lead or value.type.shape[a - lead] == 1]
    repeated = [a for a in repeated if x.type.shape[a] != 1]
    if not repeated:
        return None
    lengths = [rw.length(x, a) for a in repeated]
    known = math.prod(n for n in lengths if isinstance(n, int))
    late = [n for n in lengths if not isinstance(n, int)]
    rest = [a for a in range(x.type.ndim) if a not in repeated]
    inner = value.dimshuffle([a - lead if a >= lead else "x" for a in rest])
    lengths_left = [rw.length(x, a) for a in rest]
    covered = all(n != 1 or m == 1 for n, m in zip(
        inner.type.shape, [x.type.shape[a] for a in rest], strict=True))  # fmt: skip
    if not covered:
        inner = alloc(inner, *lengths_left)
    left = [rest.index(a) for a in axes if a not in repeated]
    total = _over(node, inner, left) if left else inner
    return times_length(total, known, late)


def times_length(total: Variable, known: int, late: list[Variable]) -> Variable:
    """Multiply a number by the number of times that it is summed; 0 for none."""
    dtype = total.type.dtype
    if known == 0:
        return alloc(pt.constant(np.zeros((), dtype)), *(
            total.shape[a] if n is None else n for a, n in enumerate(total.type.shape)
        )) if total.type.ndim else pt.constant(np.zeros((), dtype))  # fmt: skip
    if not late:
        return total * np.asarray(known, dtype=dtype)
    count = late[0] if len(late) == 1 else pt.mul(*late)
    result = total * pt.cast(count * known if known != 1 else count, dtype)
    value = number_of(total)
    if value is not None and math.isfinite(value):
        return result
    return pt.switch(pt.eq(count, 0), np.zeros((), dtype), result)
