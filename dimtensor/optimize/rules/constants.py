"""Constant folding."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from pytensor.graph.basic import Apply, Variable
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import Pow, ScalarInnerGraphOp, ScalarType
from pytensor.scalar.math import GammaLn
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.type import TensorType

from dimtensor.graph.dtypes import is_float
from dimtensor.ops.interpret import prepare
from dimtensor.ops.special import LogNdtr
from dimtensor.tuning import FOLDED_ELEMENTS

# from here on the normal cdf is no subnormal number
_TAIL = -37.0


def folded(node: Apply) -> list[Variable] | None:
    """Constants in the place of the outputs of a node of constants; None if they are too large.

    They are computed by PyTensor's implementation of the operation, as the interpreter does.
    """
    op = node.op
    if isinstance(op, (Alloc, CheckAndRaise, RandomVariable)) or hasattr(op, "fgraph"):
        return None
    given = sum(np.size(getattr(v, "data", 0)) for v in node.inputs)
    for variable in node.outputs:
        kind = variable.type
        if isinstance(kind, TensorType):
            if None in kind.shape or np.prod(kind.shape) > max(given, FOLDED_ELEMENTS):
                return None
        elif not isinstance(kind, ScalarType):
            return None
    if isinstance(op, Elemwise) and isinstance(op.scalar_op, ScalarInnerGraphOp):
        return None
    if _is_root(node):
        return None
    if isinstance(op, Elemwise) and node.outputs[0].dtype == "float64":
        found = _without_scipy(op.scalar_op, node.inputs[0].data)
        if found is not None:
            return [_constant(node.outputs[0], found)]
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    prepare(node)
    try:
        with np.errstate(all="ignore"):
            op.perform(node, [v.data for v in node.inputs], storage)
    except (NotImplementedError, ValueError, IndexError, ArithmeticError, AssertionError):
        return None  # it fails when it runs, where it runs
    return [_constant(v, cell[0]) for v, cell in zip(node.outputs, storage, strict=True)]


def _is_root(node: Apply) -> bool:
    """Return whether a power is a square root: at -0.0 the root is -0.0, and the power 0.0."""
    if not isinstance(node.op, Elemwise) or not isinstance(node.op.scalar_op, Pow):
        return False
    x, exponent = node.inputs
    return is_float(x.type.dtype) and bool(np.all(exponent.data == 0.5))


def _without_scipy(op: Any, x: Any) -> np.ndarray | None:
    """Evaluate a function by the C library, as kernels do; None for functions it lacks.

    Many densities have such constants, and to import SciPy takes longer than to rewrite them.
    """
    x = np.asarray(x)
    if x.size > FOLDED_ELEMENTS or x.dtype.kind not in "fiu" or not np.isfinite(x).all():
        return None
    function: Callable[[float], float] | None = None
    if isinstance(op, GammaLn) and (x > 0).all():  # of others it is not as SciPy's
        function = _log_gamma_of_c()
    elif isinstance(op, LogNdtr) and (x > _TAIL).all():
        function = _log_ndtr
    if function is None:
        return None
    return np.array([function(float(number)) for number in x.ravel()]).reshape(x.shape)


def _log_ndtr(x: float) -> float:
    left = math.erfc(abs(x) * math.sqrt(0.5)) / 2
    return math.log(left) if x < 0 else math.log1p(-left)


@cache
def _log_gamma_of_c() -> Callable[[float], float] | None:
    try:
        function = ctypes.CDLL(None).lgamma
    except (AttributeError, OSError, TypeError):
        return None
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
    return function


def _constant(variable: Variable, value: object) -> Variable:
    kind = variable.type
    if isinstance(kind, TensorType):
        data = np.array(value, dtype=kind.dtype)
        return TensorType(kind.dtype, data.shape).make_constant(data)
    return kind.make_constant(kind.filter(value))
