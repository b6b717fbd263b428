"""Which values may be infinite, or not a number, though what they are computed from is finite.

A derivative that is zero because an element is not used is not multiplied by partial derivatives
made of such values.
"""

from __future__ import annotations

import numpy as np
import pytensor.scalar.basic as ps
import pytensor.scalar.math as psm
from pytensor.graph.basic import Constant, Variable
from pytensor.tensor.elemwise import DimShuffle, Elemwise

from dimtensor.graph.dtypes import is_float
from dimtensor.ops.special import Vanishing

# Finite for finite operands. The exponential is one of them: it overflows, and has no pole.
_FINITE = (
    ps.Add, ps.Sub, ps.Neg, ps.Mul, ps.Sqr, ps.Abs, ps.Identity, ps.Cast, ps.Second, ps.Switch,
    ps.Maximum, ps.Minimum, ps.Clip, ps.Sign, ps.Exp, ps.Exp2, ps.Expm1, ps.Sin, ps.Cos, ps.Tanh,
    ps.Sinh, ps.Cosh, ps.ArcTan, ps.ArcSinh, psm.Sigmoid, psm.Softplus, psm.Erf, psm.Erfc,
    Vanishing,
)  # fmt: skip
# How many operations are looked at: a sum of thousands of terms is not searched for each of them.
_MOST = 16


def constant_of(variable: Variable) -> np.ndarray | None:
    """The data of a constant, be it broadcast."""
    node = variable.owner
    if node is not None and isinstance(node.op, DimShuffle):
        variable = node.inputs[0]
    return np.asarray(variable.data) if isinstance(variable, Constant) else None


def may_be_infinite(variable: Variable) -> bool:
    """Whether the elementwise operations just before a value have a pole, or an edge of a domain.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> may_be_infinite(pt.sin(2.0 / x)), may_be_infinite(pt.sin(x) / 2.0)
    (True, False)
    """
    waiting, looked = [variable], 0
    while waiting and looked < _MOST:
        node = waiting.pop().owner
        if node is None:
            continue
        looked += 1
        if isinstance(node.op, DimShuffle):
            waiting += node.inputs
        elif isinstance(node.op, Elemwise) and is_float(node.outputs[0].type.dtype):
            if not _is_finite(node):
                return True
            waiting += node.inputs
    return False


def _is_finite(node: Variable) -> bool:
    """Whether an operation gives what is finite at finite operands."""
    kind = node.op.scalar_op
    if isinstance(kind, ps.TrueDiv):
        divisor = constant_of(node.inputs[1])
        return divisor is not None and bool(np.all(divisor != 0))
    if isinstance(kind, ps.Pow):
        exponent = constant_of(node.inputs[1])
        return exponent is not None and bool(np.all((exponent >= 0) & (exponent % 1 == 0)))
    return isinstance(kind, _FINITE)
