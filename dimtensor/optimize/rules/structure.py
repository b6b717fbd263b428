"""Rewrites of views, broadcasts and shapes: they move numbers and compute none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.ops import ViewOp
from pytensor.gradient import DisconnectedGrad, GradClip, GradScale, UndefinedGrad, ZeroGrad
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.raise_op import Assert, CheckAndRaise
from pytensor.scalar.basic import Identity, Second
from pytensor.tensor.basic import Alloc, MakeVector
from pytensor.tensor.blockwise import Blockwise, BlockwiseWithCoreShape
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.shape import Reshape, Shape, Shape_i

from dimtensor.ops.nodes import alloc, elementwise, has_axes_of
from dimtensor.ops.special import Vanishing
from dimtensor.optimize.plan.signatures import core_op
from dimtensor.optimize.rules.table import rule

if TYPE_CHECKING:
    from dimtensor.optimize.rules.driver import Rewriting

_GRADIENT_MARKS = (ViewOp, ZeroGrad, UndefinedGrad, DisconnectedGrad, GradClip, GradScale)


@rule(Identity, *_GRADIENT_MARKS)
def same_as_operand(node: Apply, rw: Rewriting) -> Variable:
    """Replace a copy, or a marker for derivatives, by its operand."""
    return node.inputs[0]


@rule(Blockwise, BlockwiseWithCoreShape)
def marks_of_batch(node: Apply, rw: Rewriting) -> Variable | None:
    """Replace a marker for derivatives of each array of a batch by its operand."""
    return node.inputs[0] if isinstance(core_op(node), _GRADIENT_MARKS) else None


@rule(Blockwise)
def no_batch(node: Apply, rw: Rewriting) -> list[Variable] | None:
    """Replace a batched operation without batch axes by the operation itself."""
    op: Blockwise = node.op
    if op.batch_ndim(node):
        return None
    return list(op.core_op.make_node(*node.inputs).outputs)


# -- transposed axes -----------------------------------------------------------------------------


@rule(DimShuffle)
def transposed(node: Apply, rw: Rewriting) -> Variable | None:
    """Axes that stay as they are are no operation; axes moved twice are moved once."""
    (x,), order = node.inputs, list(node.op.new_order)
    if order == list(range(x.type.ndim)):
        return x
    before = x.owner
    if before is None or not isinstance(before.op, DimShuffle):
        return None
    combined = ["x" if a == "x" else before.op.new_order[a] for a in order]
    return before.inputs[0].dimshuffle(combined)


@rule(DimShuffle)
def transposed_fill(node: Apply, rw: Rewriting) -> Variable | None:
    """Replace a transposed broadcast by a broadcast to the transposed shape."""
    made = node.inputs[0].owner
    if made is None or not isinstance(made.op, Alloc):
        return None
    value, *lengths = made.inputs
    order = node.op.new_order
    lead = len(lengths) - value.type.ndim
    axes = ["x" if a == "x" or a < lead else a - lead for a in order]
    shape = [1 if a == "x" else lengths[a] for a in order]
    # an axis that is dropped has length 1, also of the value
    return alloc(value.dimshuffle(axes), *shape) if shape else value.dimshuffle(axes)


# -- broadcasts ----------------------------------------------------------------------------------


@rule(Second)
def fill(node: Apply, rw: Rewriting) -> Variable | None:
    """Broadcasting to the shape of an array is broadcasting to its lengths, or nothing."""
    value = node.inputs[1]
    if has_axes_of(value, node.outputs[0]):
        return value
    ndim = node.outputs[0].type.ndim
    return _alloc(value, [rw.length(node.outputs[0], axis) for axis in range(ndim)])


@rule(Vanishing)
def vanished(node: Apply, rw: Rewriting) -> Variable:
    """Replace an operation that contributes to derivatives only by zero."""
    out = node.outputs[0]
    zero = pt.constant(np.zeros((1,) * out.type.ndim, out.type.dtype))
    return _alloc(zero, [rw.length(out, axis) for axis in range(out.type.ndim)])


@rule(Alloc)
def broadcast(node: Apply, rw: Rewriting) -> Variable | None:
    """Nothing is repeated where an array has the lengths already; twice repeated is once."""
    value, *lengths = node.inputs
    out = node.outputs[0]
    if value.type.ndim == out.type.ndim and has_axes_of(value, out):
        return value
    made = value.owner
    if made is not None and isinstance(made.op, Alloc):
        return alloc(made.inputs[0], *lengths)
    return None


def _alloc(value: Variable, lengths: list[Any]) -> Variable:
    return alloc(value, *lengths) if lengths else value


@rule(*(Elemwise,))
def operands_that_are_fills(node: Apply, rw: Rewriting) -> Variable | None:
    """Move broadcasts behind an elementwise operation, or drop them where another operand has the
    axes.
    """
    if len(node.outputs) != 1 or not node.inputs:
        return None
    values = [_repeated(v) for v in node.inputs]
    if all(value is v for value, v in zip(values, node.inputs, strict=True)):
        return None
    out = node.outputs[0]
    new = elementwise(node.op, *values)
    if new.type.dtype != out.type.dtype:
        return None
    if has_axes_of(new, out):
        return new
    return _alloc(new, [rw.length(out, axis) for axis in range(out.type.ndim)])


def _repeated(variable: Variable) -> Variable:
    """Return the array that is broadcast, with the axes of the result."""
    node = variable.owner
    if node is None or not isinstance(node.op, Alloc):
        return variable
    value = node.inputs[0]
    missing = variable.type.ndim - value.type.ndim
    return pt.shape_padleft(value, missing) if missing else value


# -- numbers and shapes --------------------------------------------------------------------------


@rule(Shape)
def shape_as_lengths(node: Apply, rw: Rewriting) -> Variable:
    """Replace a shape by the vector of its lengths, each from its cheapest source."""
    x = node.inputs[0]
    if not x.type.ndim:
        return pt.constant(np.zeros(0, dtype="int64"))
    return _vector([rw.length(x, axis) for axis in range(x.type.ndim)])


def _vector(lengths: list[Any]) -> Variable:
    return MakeVector("int64")(*(pt.as_tensor_variable(n, dtype="int64") for n in lengths))


@rule(Shape_i)
def length(node: Apply, rw: Rewriting) -> Variable | None:
    """Replace a static length by a constant, and others by reads of existing arrays."""
    x, axis = node.inputs[0], node.op.i
    found = rw.length(x, axis)
    if isinstance(found, int):
        return pt.constant(found, dtype="int64")
    same = found.owner is not None and found.owner.op == node.op and found.owner.inputs[0] is x
    return None if same else found


@rule(Assert, CheckAndRaise)
def check_that_holds(node: Apply, rw: Rewriting) -> Variable | None:
    """Remove checks of conditions that are constant and true."""
    x, *conditions = node.inputs
    kept = [c for c in conditions if not (isinstance(c, Constant) and np.all(c.data))]
    if len(kept) == len(conditions):
        return None
    return type(node.op)(node.op.exc_type, node.op.msg)(x, *kept) if kept else x


# -- other shapes --------------------------------------------------------------------------------


@rule(Reshape)
def reshaped(node: Apply, rw: Rewriting) -> Variable | None:
    """Elements in another shape twice are in it once; axes of length 1 come and go without it."""
    x, shape = node.inputs
    out = node.outputs[0]
    if x.type.ndim == out.type.ndim == 1 or _same_lengths(x, out):
        return x if _fits(x, out) else None
    made = x.owner
    if made is not None and isinstance(made.op, Reshape):
        return pt.reshape(made.inputs[0], shape, ndim=out.type.ndim)
    kept_x = [a for a, n in enumerate(x.type.shape) if n != 1]
    kept_out = [a for a, n in enumerate(out.type.shape) if n != 1]
    lengths_x, lengths_out = ([v.type.shape[a] for a in kept] for v, kept in
                              ((x, kept_x), (out, kept_out)))  # fmt: skip
    if len(kept_x) == len(kept_out) and (lengths_x == lengths_out and None not in lengths_x):
        places = dict(zip(kept_out, kept_x, strict=True))
        return x.dimshuffle([places.get(a, "x") for a in range(out.type.ndim)])
    if len(kept_x) == len(kept_out) == 1:  # all elements, whatever their number
        at = kept_out[0]
        return x.dimshuffle([kept_x[0] if a == at else "x" for a in range(out.type.ndim)])
    return None


def _same_lengths(x: Variable, out: Variable) -> bool:
    return x.type.shape == out.type.shape and None not in x.type.shape


def _fits(x: Variable, out: Variable) -> bool:
    return out.type.is_super(x.type)
