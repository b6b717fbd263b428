"""Scalar operations that PyTensor lacks: the normal's log cdf, scaled Bessel functions.

They are SciPy's functions; the backends call its compiled code, or compute them in their own way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.scalar.basic as ps
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.scalar.basic import (
    BinaryScalarOp,
    UnaryScalarOp,
    upcast_out,
    upgrade_to_float_no_complex,
)
from pytensor.tensor.elemwise import Elemwise


class SpecialOp(UnaryScalarOp):
    """Function of SciPy, of one float."""

    def __init__(self, name: str):
        self.nfunc_spec = (f"scipy.special.{name}", 1, 1)
        super().__init__(upgrade_to_float_no_complex, name=name)

    def impl(self, x: Any) -> Any:
        import scipy.special  # a process whose code is in the cache needs none of it

        return getattr(scipy.special, self.name)(x)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Variable]:
        (x,) = inputs
        (t,) = cotangents
        return [t * self.slope(x, outputs[0])]

    def c_code(self, *args: Any, **kwargs: Any) -> str:
        raise NotImplementedError("there is no C code")

    def __reduce__(self) -> tuple:
        return (type(self), ())


class Vanishing(BinaryScalarOp):
    """Zero, whose derivative by the first operand is the second.

    It is the product of a derivative that is zero and a partial derivative that may be infinite.
    Rewrites leave a zero of it.
    """

    def impl(self, derivative: Any, slope: Any) -> Any:
        return 0.0

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Variable]:
        """Cotangents for PyTensor's own derivatives, of a positional graph."""
        (derivative, slope), (t,) = inputs, cotangents
        return [t * slope, self(derivative, t)]

    def c_code(self, *args: Any, **kwargs: Any) -> str:
        raise NotImplementedError("there is no C code")


vanishing = Elemwise(Vanishing(upcast_out, name="vanishing"))


class Log1pUnit(ps.Log1p):
    """log(1 + x) of numbers from 0 to 1, and NaN, which kernels compute with less ado."""


log1p_unit = Elemwise(Log1pUnit(upgrade_to_float_no_complex, name="log1p_unit"))


class LogNdtr(SpecialOp):
    """Logarithm of the normal cdf.

    Its derivative is √(2/π) / erfcx(-x/√2) on the left, which never cancels, and
    exp(-x²/2 - log_ndtr(x)) / √(2π) on the right, where erfcx overflows.
    """

    def __init__(self) -> None:
        super().__init__("log_ndtr")

    @staticmethod
    def slope(x: Variable, z: Variable) -> Variable:
        switch, exp = like(x, pt.switch, ps.switch), like(x, pt.exp, ps.exp)
        right = like(x, pt.gt, ps.gt)(x, number(0, x))
        left = switch(right, number(0, x), x) * number(-math.sqrt(0.5), z)
        bell = exp(number(-0.5, z) * x * x - z) * number(1 / math.sqrt(2 * math.pi), z)
        return switch(right, bell, number(math.sqrt(2 / math.pi), z) / erfcx_of(left))


class I0e(SpecialOp):
    """exp(-|x|) I₀(x) (NIST Digital Library of Mathematical Functions, 10.29.3)."""

    def __init__(self) -> None:
        super().__init__("i0e")

    @staticmethod
    def slope(x: Variable, z: Variable) -> Variable:
        return like(x, i1e, scalar_i1e)(x) - like(x, pt.sign, ps.sign)(x) * z


class I1e(SpecialOp):
    """exp(-|x|) I₁(x) (NIST Digital Library of Mathematical Functions, 10.29.2)."""

    def __init__(self) -> None:
        super().__init__("i1e")

    @staticmethod
    def slope(x: Variable, z: Variable) -> Variable:
        switch, equal = like(x, pt.switch, ps.switch), like(x, pt.eq, ps.eq)
        zero, one = equal(x, number(0, x)), number(1, z)
        over = switch(zero, number(0.5, z), z / switch(zero, one, x))  # I₁(x) / x is 1/2 at 0
        return like(x, i0e, scalar_i0e)(x) - over - like(x, pt.sign, ps.sign)(x) * z


def number(value: float, beside: Variable) -> np.ndarray:
    """Return a number as an array of the dtype of a variable."""
    return np.asarray(value, dtype=beside.type.dtype)


def like(x: Variable, of_tensors: Any, of_scalars: Any) -> Any:
    """Choose the function of tensors or the one of scalars for a variable."""
    return of_tensors if hasattr(x.type, "broadcastable") else of_scalars


def erfcx_of(x: Variable) -> Variable:
    from pytensor.scalar.math import erfcx

    return like(x, pt.erfcx, erfcx)(x)


scalar_log_ndtr, scalar_i0e, scalar_i1e = LogNdtr(), I0e(), I1e()
log_ndtr, i0e, i1e = (Elemwise(op) for op in (scalar_log_ndtr, scalar_i0e, scalar_i1e))
OPS: Sequence[SpecialOp] = (scalar_log_ndtr, scalar_i0e, scalar_i1e)


def ndtr(x: Variable) -> Variable:
    """Return the cdf of the standard normal distribution."""
    return number(0.5, x) * pt.erfc(x * number(-math.sqrt(0.5), x))


def ndtri(p: Variable) -> Variable:
    """Return the quantile function of the standard normal distribution."""
    return pt.erfcinv(number(2, p) * p) * number(-math.sqrt(2), p)
