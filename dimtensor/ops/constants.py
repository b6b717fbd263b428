"""Constants in positional graphs: which variables are known numbers."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.scalar.basic import Cast, Second
from pytensor.tensor.basic import Alloc, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.type import TensorType

from dimtensor.tuning import SHAPE_AXES


def constant_of(variable: Variable) -> np.ndarray | None:
    """Return the data of a constant, also of a broadcast one; None for other variables."""
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        variable = variable.owner.inputs[0]
    if isinstance(variable, Constant) and isinstance(variable.type, TensorType):
        return np.asarray(variable.data)
    return None


def number_of(variable: Variable) -> Any:
    """Return the value of a constant with one element, None for other variables.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> zero = pt.constant(0.0)
    >>> number_of(zero.dimshuffle("x")), number_of(pt.exp(zero))
    (0.0, None)
    """
    data = constant_of(variable)
    return data.item() if data is not None and data.size == 1 else None


def integer_of(variable: Variable) -> int | None:
    """Return the value of a constant scalar as an integer, None for other variables."""
    node = variable.owner
    if node is not None and isinstance(node.op, (ScalarFromTensor, TensorFromScalar)):
        return integer_of(node.inputs[0])
    if isinstance(variable, Constant) and getattr(variable.type, "ndim", 0) == 0:
        return int(variable.data)
    return None


def is_constant(variable: Variable, value: float | None = None) -> bool:
    """Return whether a variable is a constant without zeros, or with one value everywhere."""
    if not isinstance(variable, Constant) or not isinstance(variable.type, TensorType):
        return False
    data = np.asarray(variable.data)
    return bool(np.all(data != 0) if value is None else np.all(data == value))


def is_zero(variable: Variable) -> bool:
    """Return whether all elements are known to be zeros, of either sign."""
    node = variable.owner
    if node is None:
        return isinstance(variable, Constant) and not np.any(variable.data)
    if isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, Second):
        return is_zero(node.inputs[1])
    if isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, Cast):
        return is_zero(node.inputs[0])
    return isinstance(node.op, (Alloc, DimShuffle)) and is_zero(node.inputs[0])


def follows(node: Apply, known: Container[Variable] = ()) -> bool:
    """Return whether all operands of a node are constants or known.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dvector("x")
    >>> follows(pt.exp(x).owner), follows(pt.exp(x).owner, {x})
    (False, True)
    """
    return all(isinstance(v, Constant) or v in known for v in node.inputs)


def is_small_constant(variable: Variable) -> bool:
    """Return whether a constant has one element, or may be a shape.

    JAX needs shapes when it traces a loop.
    """
    if not isinstance(variable, Constant) or not isinstance(variable.type, TensorType):
        return False
    is_shape = variable.type.dtype == "int64" and variable.type.ndim == 1
    return variable.data.size == 1 or (is_shape and variable.data.size <= SHAPE_AXES)
