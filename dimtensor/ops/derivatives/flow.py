"""Derivatives on their way through a graph, and what is done to them everywhere.

A derivative may have length 1 along an axis where its variable is longer, all elements being equal:
the cotangent of what is summed is that of the sum. It is filled up where an operation needs all of
it. And a cotangent may come with a mask: it counts as zero where the mask is false. Selections mask
instead of multiplying by zero, because zero times an infinite derivative would be NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.null_type import NullType
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.type import TensorType

from dimtensor.caches import bounded
from dimtensor.ops.constants import is_constant
from dimtensor.ops.nodes import elementwise, lengths, of_length_one

USED, MOSTLY, SPARSE = range(3)


class Undefined(NamedTuple):
    """A derivative that an operation does not have, and why."""

    reason: str

    def as_variable(self) -> Variable:
        """Return the reason as a variable of PyTensor's `NullType`."""
        return NullType(self.reason)()


class Flow(NamedTuple):
    """A cotangent or a tangent.

    Attributes
    ----------
    value : variable
    mask : variable of bools, optional
        Where it is false, the derivative is zero, whatever the value says.
    sparse : int
        Whether elements of the value may be zero because nothing depends on what they belong to:
        `USED`, none; `MOSTLY`, none but where a factor is zero and in the last step of a loop;
        `SPARSE`, some.
    """

    value: Variable
    mask: Variable | None = None
    sparse: int = USED

    @property
    def sparse_when_masked(self) -> int:
        """Sparsity of the value after it is zeroed where the mask is false."""
        return self.sparse if self.mask is None else SPARSE


def is_continuous(variable: Variable) -> bool:
    """Return whether a variable has a dtype with derivatives: floats or complex numbers."""
    return getattr(variable.type, "dtype", "object").startswith(("float", "complex"))


def number(value: Any, like: Variable) -> Constant:
    """Return a constant that broadcasts against a variable, of its dtype."""
    dtype = like.type.dtype
    return _number(np.asarray(value, dtype=dtype).tobytes(), dtype, getattr(like.type, "ndim", 0))


@bounded(4096)
def _number(value: bytes, dtype: str, ndim: int) -> Constant:
    data = np.frombuffer(value, dtype=dtype).copy()
    return pt.constant(data.reshape((1,) * ndim), dtype=dtype)


def times(t: Variable, factor: Variable) -> Variable:
    """Multiply a derivative by a partial derivative."""
    if is_constant(t, 1) and t.type.dtype == factor.type.dtype:
        return factor
    if is_constant(factor, 1):
        return t
    return elementwise(pt.mul, t, factor)


def masked(value: Variable, mask: Variable | None) -> Variable:
    """Zero where the mask is false."""
    return value if mask is None else elementwise(pt.switch, mask, value, number(0, value))


def both(one: Variable | None, other: Variable | None) -> Variable | None:
    """Return the conjunction of two masks, where None is true everywhere."""
    if one is None or other is None or one is other:
        return other if one is None else one
    return pt.and_(one, other)


def filled(value: Variable, like: Variable) -> Variable:
    """Broadcast a value to the lengths of a variable."""
    axes = zip(value.type.shape, like.type.shape, strict=True)
    if any(n == 1 and m != 1 for n, m in axes):
        return _allocated(value, like)
    return value


def zeros(like: Variable) -> Variable:
    """Zeros with the lengths of a variable."""
    return _allocated(pt.constant(np.asarray(0, dtype=like.type.dtype)), like)


def _allocated(value: Variable, like: Variable) -> Variable:
    """Repeat a value to the lengths of a variable, with its static lengths.

    PyTensor would find static lengths by rewriting the graph that computes the lengths.
    """
    shape = [pt.as_tensor_variable(n, dtype="int64") for n in lengths(like)]
    result = TensorType(value.type.dtype, like.type.shape)()
    return Apply(pt.alloc, [value, *shape], [result]).outputs[0]


def of_dtype(value: Variable, like: Variable) -> Variable:
    """Cast a value to the dtype of a variable."""
    if value.type.dtype != like.type.dtype:
        return pt.cast(value, like.type.dtype)
    return value


def of_type(value: Variable, like: Variable) -> Variable:
    """Cast a value to the dtype of a variable, with the variable's static axes of length 1."""
    value = of_dtype(value, like)
    if not isinstance(value.type, TensorType):
        return value
    pairs = zip(value.type.shape, like.type.shape, strict=True)
    ones = [axis for axis, (n, m) in enumerate(pairs) if n is None and m == 1]
    return of_length_one(value, ones) if ones else value


def settled(flow: Flow, like: Variable) -> Variable:
    """Return a derivative as a plain variable, with the type of the variable that it belongs to."""
    value = masked(flow.value, flow.mask)
    if not isinstance(like.type, TensorType):
        return value
    return filled(of_type(value, like), like)


def accumulated(flows: Sequence[Flow]) -> Flow:
    """Sum the derivatives of one variable."""
    if len(flows) == 1:
        return flows[0]
    sparse = min(flow.sparse_when_masked for flow in flows)
    masks = {flow.mask: None for flow in flows}
    if len(masks) == 1:
        return Flow(total([flow.value for flow in flows]), flows[0].mask, sparse)
    parts = [
        masked(total([flow.value for flow in flows if flow.mask is mask]), mask) for mask in masks
    ]
    if None in masks:
        return Flow(total(parts), None, sparse)
    return Flow(total(parts), pt.or_(*masks) if len(masks) == 2 else _any(list(masks)), sparse)


def _any(masks: list[Any]) -> Variable:
    found = masks[0]
    for mask in masks[1:]:
        found = pt.or_(found, mask)
    return found


def total(values: Sequence[Variable]) -> Variable:
    """Sum variables, at least one."""
    return values[0] if len(values) == 1 else elementwise(pt.add, *values)


def shuffled(value: Variable, order: Sequence[Any]) -> Variable:
    """Apply a `DimShuffle`, merged with one before it."""
    node = value.owner
    if node is not None and isinstance(node.op, DimShuffle):
        value, order = (
            node.inputs[0],
            [axis if axis == "x" else node.op.new_order[axis] for axis in order],
        )
    if list(order) == list(range(value.type.ndim)):
        return value
    return value.dimshuffle(list(order))


def summed_to(flow: Flow, like: Variable, out: Variable) -> Flow:
    """Sum the derivative of a broadcast operand over the axes along which it was repeated."""
    pairs = list(zip(like.type.shape, out.type.shape, strict=True))
    repeated = [axis for axis, (n, m) in enumerate(pairs) if n == 1 and m != 1]
    if not repeated:
        return flow
    value = masked(flow.value, flow.mask)
    constant = [axis for axis in repeated if value.type.shape[axis] == 1]
    if constant:
        # the sum of equal elements
        count: Any = 1
        for axis in constant:
            count = count * (out.shape[axis] if pairs[axis][1] is None else pairs[axis][1])
        if isinstance(count, int):
            value = times(value, number(count, value))
        else:
            value = pt.mul(value, pt.cast(count, value.type.dtype))
    rest = [axis for axis in repeated if axis not in constant]
    if rest:
        kept = iter(range(value.type.ndim - len(rest)))
        reduced = pt.sum(value, axis=rest, dtype=value.type.dtype, acc_dtype=value.type.dtype)
        value = shuffled(
            reduced, ["x" if axis in rest else next(kept) for axis in range(len(pairs))]
        )
    return Flow(value, None, flow.sparse_when_masked)
