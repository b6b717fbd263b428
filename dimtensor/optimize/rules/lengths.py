"""Lengths of axes, found without computing the arrays."""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.tensor.basic import Alloc, ARange, Join, MakeVector
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.linalg import Cholesky, MatrixInverse
from pytensor.tensor.linalg.solvers.core import SolveBase
from pytensor.tensor.math import Dot
from pytensor.tensor.shape import Reshape, SpecifyShape
from pytensor.tensor.subtensor import AdvancedIncSubtensor, IncSubtensor, Subtensor

from dimtensor.ops.along import LogSumExp, ScaledSoftmax, Softmax
from dimtensor.ops.constants import integer_of
from dimtensor.ops.linalg import CholeskyGradient
from dimtensor.ops.slices import entries_of, parts_of

_AS_FIRST_INPUT = (
    IncSubtensor,
    AdvancedIncSubtensor,
    SpecifyShape,
    CumOp,
    Cholesky,
    CholeskyGradient,
    MatrixInverse,
)


def source_of_length(variable: Variable, axis: int) -> tuple[Variable, int] | Variable | int | None:
    """Return an expression for a length that is not static.

    Returns
    -------
    pair of Variable and int, Variable, int or None
        Another variable and its axis, the length itself, or nothing.
    """
    node = variable.owner
    if node is None:
        return None
    op = node.op
    if isinstance(op, (Elemwise, ScaledSoftmax, Softmax)):
        for x in node.inputs:
            if x.type.shape[axis] != 1:
                return x, axis
    if isinstance(op, DimShuffle):
        return node.inputs[0], op.new_order[axis]
    if isinstance(op, (CAReduce, LogSumExp)):
        x = node.inputs[0]
        reduced = range(x.type.ndim) if op.axis is None else {a % x.type.ndim for a in op.axis}
        return x, [a for a in range(x.type.ndim) if a not in reduced][axis]
    if isinstance(op, _AS_FIRST_INPUT):
        return node.inputs[0], axis
    if isinstance(op, SolveBase):
        return node.inputs[1], axis
    if isinstance(op, (Alloc, Reshape)):
        if isinstance(op, Reshape):
            made = node.inputs[1].owner
            if made is None or not isinstance(made.op, MakeVector):
                return None
            length = made.inputs[axis]
            return None if isinstance(length, Constant) else _as_length(length)
        return _as_length(node.inputs[1 + axis])
    if isinstance(op, Subtensor):
        return _selected(node, axis)
    if isinstance(op, Dot):
        return (node.inputs[0], 0) if axis == 0 else (node.inputs[1], 1)
    if isinstance(op, Join) and axis != op.axis % variable.type.ndim:
        return node.inputs[0], axis
    if isinstance(op, ARange):
        return _of_range(*node.inputs)
    of_trace = getattr(op, "length_of_trace", None)  # a loop's
    return None if of_trace is None else of_trace(node, variable, axis)


def _as_length(variable: Variable) -> Variable | int:
    known = integer_of(variable)
    if known is not None:
        return known
    if variable.type.dtype != "int64":
        return pt.cast(variable, "int64")
    return variable


def _of_range(start: Variable, stop: Variable, step: Variable) -> Variable | None:
    known = [integer_of(v) for v in (start, step)]
    if known != [0, 1] or isinstance(stop, Constant) or not stop.type.dtype.startswith("int"):
        return None
    return pt.maximum(pt.cast(stop, "int64"), 0)


def _selected(node: Apply, axis: int) -> tuple[Variable, int] | None:
    """Return the source of an axis that is selected in full, or reversed."""
    slices = [(at, e) for at, e in enumerate(entries_of(node)) if isinstance(e, slice)]
    source, entry = slices[axis]
    start, stop, step = parts_of(entry)
    return (node.inputs[0], source) if start is stop is None and step in (None, 1, -1) else None
