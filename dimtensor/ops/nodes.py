"""Elementwise operations, selections, broadcasts and reshapes whose types are worked out here.

PyTensor works out lengths by rewriting the graph that computes them, and by a function that first
imports PyTensor's sparse arrays, and SciPy's with them: 0.13 s of each process that compiles
something. Most lengths are numbers or those of inputs, and need neither. For the dtype of an
elementwise result it makes a node of scalars, each time: three quarters of what the node takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.scalar import ScalarConstant, ScalarType, int64
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.shape import Reshape, Shape, Shape_i, SpecifyShape
from pytensor.tensor.subtensor import Subtensor, flatten_index_variables
from pytensor.tensor.type import TensorType, integer_dtypes
from pytensor.tensor.type_other import NoneConst
from pytensor.tensor.variable import TensorVariable

from dimtensor.caches import bounded
from dimtensor.ops.constants import integer_of
from dimtensor.ops.slices import slice_length


class _Unknown(Exception):
    """PyTensor has to find out."""


def elementwise(op: Any, *operands: Variable) -> Variable:
    """Apply an elementwise operation with one result, as ``op(*operands)`` does.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> elementwise(pt.add, pt.tensor(shape=(3, 1), dtype="int8"), pt.dmatrix()).type
    TensorType(float64, shape=(3, None))
    """
    known = _type_of_result(op, *[x.type for x in operands]) if type(op) is Elemwise else None
    if known is None:
        return op(*operands)
    return Apply(op, list(operands), [TensorVariable(known, None)]).outputs[0]


@bounded(4096)
def _type_of_result(op: Elemwise, *types: Any) -> TensorType | None:
    """Return the type of the single result of operands with equal axes, or None."""
    if any(not isinstance(x, TensorType) or x.ndim != types[0].ndim for x in types):
        return None
    results = op.make_node(*[x() for x in types]).outputs
    return results[0].type if len(results) == 1 else None


def selected(x: Variable, entries: Sequence[Any]) -> Variable:
    """Select by integers, slices and scalars, as ``x[entries]`` does.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> n = pt.lscalar()
    >>> selected(pt.tensor(shape=(10, 4, None), dtype="float64"), [slice(2, -1), 3, slice(n)]).type
    TensorType(float64, shape=(7, None))
    """
    shape = x.type.shape
    try:
        if len(entries) > len(shape):
            raise _Unknown
        slices = [(e, n) for e, n in zip(entries, shape, strict=False) if isinstance(e, slice)]
        kept = [_slice_length(entry, length) for entry, length in slices]
        idx_list, parts = flatten_index_variables(entries)
        inputs = [_scalar(part) for part in parts]
    except _Unknown:
        return x[tuple(entries)]
    out = TensorType(x.type.dtype, (*kept, *shape[len(entries) :]))
    return Apply(Subtensor(idx_list), [x, *inputs], [out()]).outputs[0]


def _slice_length(entry: slice, length: int | None) -> int | None:
    if length is None:
        return None
    ends = (entry.start, entry.stop, entry.step)
    parts = [_number(end) for end in ends]
    if any(part is None and end is not None for part, end in zip(parts, ends, strict=True)):
        return None
    return slice_length(slice(*parts), length)


def _number(part: Any) -> int | None:
    """Return the value of a slice's end or of a length; None if it is unknown.

    Raises
    ------
    _Unknown
        If it is computed.
    """
    if part is None or isinstance(part, int):
        return part
    known = integer_of(part) if isinstance(part, Variable) else None
    if known is not None or (isinstance(part, Variable) and part.owner is None):
        return known
    raise _Unknown


def _scalar(part: Any) -> Variable:
    """Convert an integer to the form it has in PyTensor's selections."""
    if isinstance(part, int):
        return ScalarConstant(int64, part)
    if not isinstance(part, Variable) or part.type.dtype not in integer_dtypes:
        raise _Unknown
    return part if isinstance(part.type, ScalarType) else pt.scalar_from_tensor(part)


def alloc(value: Variable, *lengths: Any) -> Variable:
    """Broadcast a value to a shape, as ``pytensor.tensor.alloc`` does.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dvector()
    >>> alloc(x.sum(), 3, x.shape[0]).type
    TensorType(float64, shape=(3, None))
    """
    value = pt.as_tensor_variable(value)
    try:
        known = [_length(length) for length in lengths]
        new = len(lengths) - value.type.ndim
        if new < 0:
            raise _Unknown
        shape = known[:new]
        for length, own in zip(known[new:], value.type.shape, strict=True):
            if length is not None and own not in (None, 1, length):
                raise _Unknown  # it does not fit
            shape.append(own if length is None and own != 1 else length)
    except _Unknown:
        return pt.alloc(value, *lengths)
    inputs = [pt.as_tensor_variable(length, ndim=0) for length in lengths]
    out = TensorType(value.type.dtype, shape)
    return Apply(Alloc(), [value, *inputs], [out()]).outputs[0]


def reshaped(x: Variable, lengths: Sequence[Any]) -> Variable:
    """Reshape an array.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> n = pt.lscalar()
    >>> reshaped(pt.tensor(shape=(12, None), dtype="float64"), [4, 3, n]).type
    TensorType(float64, shape=(4, 3, None))
    """
    if all(isinstance(length, int) for length in lengths):
        return pt.reshape(x, lengths, ndim=len(lengths))
    try:
        known = [_length(length) for length in lengths]
    except _Unknown:
        return pt.reshape(x, lengths, ndim=len(lengths))
    shape = pt.stack([pt.as_tensor_variable(length, dtype="int64") for length in lengths])
    out = TensorType(x.type.dtype, known)
    return Apply(Reshape(len(lengths)), [x, shape], [out()]).outputs[0]


def of_length_one(x: Variable, axes: Collection[int]) -> Variable:
    """Mark some axes as having length 1, with a check at run time.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> of_length_one(pt.dmatrix(), [0]).type
    TensorType(float64, shape=(1, None))
    """
    return of_lengths(x, dict.fromkeys(axes, 1))


def of_lengths(x: Variable, lengths: Mapping[int, int]) -> Variable:
    """Give axes static lengths; lengths that are not known are checked at run time.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> of_lengths(pt.dmatrix(), {1: 3}).type
    TensorType(float64, shape=(None, 3))
    """
    shape = [lengths.get(axis, n) for axis, n in enumerate(x.type.shape)]
    if shape == list(x.type.shape):
        return x
    asked = [NoneConst if n is None else pt.as_tensor_variable(n, ndim=0) for n in shape]
    return Apply(SpecifyShape(), [x, *asked], [x.type.clone(shape=shape)()]).outputs[0]


def _length(length: Any) -> int | None:
    """Return the value of a length that is known without evaluating the graph.

    Raises
    ------
    _Unknown
        If it is computed from constants.
    """
    if not isinstance(length, Variable):
        return _number(length)
    if length.type.dtype not in integer_dtypes or length.type.ndim:
        raise _Unknown
    x, axis = _measured(length)
    if x is not None:
        return x.type.shape[axis]
    return None if _is_given(length) else _number(length)


def _is_given(number: Variable) -> bool:
    """Return whether a number depends on something other than constants."""
    if number.owner is None or getattr(number.type, "ndim", None) != 0:
        return not isinstance(number, Constant)
    x, axis = _measured(number)
    if x is not None:
        return x.type.shape[axis] is None
    return any(map(_is_given, number.owner.inputs))


def _measured(length: Variable) -> tuple[Variable | None, int]:
    """Return the variable and the axis that a length is read from."""
    node = length.owner
    if node is not None and isinstance(node.op, Shape_i):
        return node.inputs[0], node.op.i
    if node is not None and isinstance(node.op, Subtensor) and node.op.idx_list == (0,):
        source, at = node.inputs[0].owner, node.inputs[1]
        axis = integer_of(at)
        if source is not None and isinstance(source.op, Shape) and axis is not None:
            return source.inputs[0], axis
    return None, 0


def lengths(variable: Variable) -> list[Any]:
    """Return the lengths of the axes, integers where they are static."""
    return [variable.shape[i] if n is None else n for i, n in enumerate(variable.type.shape)]


def has_axes_of(value: Variable, out: Variable) -> bool:
    """Return whether a value has all axes of a result that are longer than 1."""
    return all(n != 1 or m == 1 for n, m in zip(value.type.shape, out.type.shape, strict=True))
