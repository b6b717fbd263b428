"""Elementwise functions, one per row of the op table.

Written by tools/generate_functions.py; change the table instead.
"""

# over budget: generated, one short function per row

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.spellings import spelled
from dimtensor.tensor.handle import elemwise

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.tensor.handle import TensorLike

__all__ = [
    "abs", "add", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "bitwise_and", "bitwise_or", "bitwise_xor", "cbrt", "ceil", "clip", "complex",
    "complex_from_polar", "conj", "copysign", "cos", "cosh", "deg2rad", "divide", "equal", "exp",
    "exp2", "expm1", "floor", "floor_divide", "fmax", "fmin", "fmod", "greater", "greater_equal",
    "heaviside", "hypot", "invert", "isclose", "isfinite", "isinf", "isnan", "isneginf",
    "isposinf", "ldexp", "left_shift", "less", "less_equal", "log", "log1mexp", "log1p", "log2",
    "log10", "log_sigmoid", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logit", "maximum", "minimum", "mod", "multiply", "negative", "not_equal",
    "power", "rad2deg", "reciprocal", "right_shift", "round", "round_half_away_from_zero",
    "sigmoid", "sign", "signbit", "sin", "sinh", "softplus", "sqrt", "square", "stop_gradient",
    "subtract", "tan", "tanh", "trunc", "where",
]  # fmt: skip


def add(x: TensorLike, y: TensorLike) -> DimTensor:
    """Sum.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DtypeError
        For labels.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.add

    Examples
    --------
    >>> dt.add(1.2, -0.6).values.item()
    0.6
    """
    return elemwise("add", x, y)


def subtract(x: TensorLike, y: TensorLike) -> DimTensor:
    """Difference.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For labels and bools.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.subtract

    Examples
    --------
    >>> dt.subtract(1.2, -0.6).values.round(4).item()
    1.8
    """
    return elemwise("subtract", x, y)


def multiply(x: TensorLike, y: TensorLike) -> DimTensor:
    """Product.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DtypeError
        For labels.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.multiply

    Examples
    --------
    >>> dt.multiply(1.2, -0.6).values.item()
    -0.72
    """
    return elemwise("multiply", x, y)


def divide(x: TensorLike, y: TensorLike) -> DimTensor:
    """Quotient.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.divide

    Examples
    --------
    >>> dt.divide(0.4, 1.3).values.round(4).item()
    0.3077
    """
    return elemwise("divide", x, y)


def floor_divide(x: TensorLike, y: TensorLike) -> DimTensor:
    """Quotient rounded down.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For labels, complex numbers and bools.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.floor_divide

    Notes
    -----
    The gradient is zero. An integer divided by zero gives zero, as in NumPy.

    Examples
    --------
    >>> dt.floor_divide(7.0, 2.0).values.item()
    3.0
    """
    return elemwise("floor_divide", x, y)


def mod(x: TensorLike, y: TensorLike) -> DimTensor:
    """Remainder with the sign of the divisor.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For labels, complex numbers and bools.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.mod

    Notes
    -----
    An integer modulo zero is zero, as in NumPy.

    Examples
    --------
    >>> dt.mod(-1.0, 3.0).values.item()
    2.0
    """
    return elemwise("mod", x, y)


def power(x: TensorLike, y: TensorLike) -> DimTensor:
    """First operand to the power of the second.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For labels and bools.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.power

    Notes
    -----
    Negative powers of integers are an error, as in NumPy; make the base a float.

    Examples
    --------
    >>> dt.power(2.0, 3.0).values.item()
    8.0
    """
    return elemwise("power", x, y)


def negative(x: TensorLike) -> DimTensor:
    """Minus.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For labels and bools.

    See Also
    --------
    numpy.negative

    Examples
    --------
    >>> dt.negative(1.2).values.item()
    -1.2
    """
    return elemwise("negative", x)


def abs(x: TensorLike) -> DimTensor:
    """Absolute value.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype of the operand, of a complex one that of its parts.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.absolute

    Notes
    -----
    The gradient at 0 is 0.

    Examples
    --------
    >>> dt.abs(1.2).values.item()
    1.2
    """
    return elemwise("abs", x)


def sign(x: TensorLike) -> DimTensor:
    """Sign: -1, 0 or 1.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For labels and bools.

    See Also
    --------
    numpy.sign

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> dt.sign(-2.5).values.item()
    -1.0
    """
    return elemwise("sign", x)


def reciprocal(x: TensorLike) -> DimTensor:
    """One divided by the operand.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.reciprocal

    Notes
    -----
    Of an integer it is a float; NumPy rounds it to an integer.

    Examples
    --------
    >>> dt.reciprocal(2.2).values.round(4).item()
    0.4545
    """
    return elemwise("reciprocal", x)


def square(x: TensorLike) -> DimTensor:
    """Square.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For labels and bools.

    See Also
    --------
    numpy.square

    Examples
    --------
    >>> dt.square(1.2).values.item()
    1.44
    """
    return elemwise("square", x)


def sqrt(x: TensorLike) -> DimTensor:
    """Square root.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.sqrt

    Examples
    --------
    >>> dt.sqrt(2.2).values.round(4).item()
    1.4832
    """
    return elemwise("sqrt", x)


def maximum(x: TensorLike, y: TensorLike) -> DimTensor:
    """Larger of two.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.maximum

    Notes
    -----
    NaN if one of them is. Of two equal operands one gets the whole gradient.

    Examples
    --------
    >>> dt.maximum(1.2, -0.6).values.item()
    1.2
    """
    return elemwise("maximum", x, y)


def minimum(x: TensorLike, y: TensorLike) -> DimTensor:
    """Smaller of two.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.minimum

    Notes
    -----
    NaN if one of them is. Of two equal operands one gets the whole gradient.

    Examples
    --------
    >>> dt.minimum(1.2, -0.6).values.item()
    -0.6
    """
    return elemwise("minimum", x, y)


def clip(x: TensorLike, min: TensorLike, max: TensorLike) -> DimTensor:
    """Limit to an interval: min(max(x, min), max).

    Parameters
    ----------
    x, min, max : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.clip

    Examples
    --------
    >>> dt.clip(2.5, 0.0, 1.0).values.item()
    1.0
    """
    return elemwise("clip", x, min, max)


def hypot(x: TensorLike, y: TensorLike) -> DimTensor:
    """Root of the sum of squares, without overflow.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.hypot

    Notes
    -----
    The gradient at zeros is 0.

    Examples
    --------
    >>> dt.hypot(1.2, -0.6).values.round(4).item()
    1.3416
    """
    return elemwise("hypot", x, y)


def cbrt(x: TensorLike) -> DimTensor:
    """Cube root.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    See Also
    --------
    numpy.cbrt

    Examples
    --------
    >>> dt.cbrt(1.2).values.round(4).item()
    1.0627
    """
    return elemwise("cbrt", x)


def signbit(x: TensorLike) -> DimTensor:
    """Test for the sign bit, which zeros have, too.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    See Also
    --------
    numpy.signbit

    Notes
    -----
    Of NaN it is false.

    Examples
    --------
    >>> dt.signbit(1.2).values.item()
    False
    """
    return elemwise("signbit", x)


def copysign(x: TensorLike, y: TensorLike) -> DimTensor:
    """Copy the sign of the second operand to the first.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.copysign

    Notes
    -----
    Of NaN the sign is that of plus.

    Examples
    --------
    >>> dt.copysign(1.2, -0.6).values.item()
    -1.2
    """
    return elemwise("copysign", x, y)


def fmax(x: TensorLike, y: TensorLike) -> DimTensor:
    """Larger of two, or the one that is not NaN.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.fmax

    Notes
    -----
    Of two equal operands the first gets the whole gradient.

    Examples
    --------
    >>> dt.fmax(1.2, -0.6).values.item()
    1.2
    """
    return elemwise("fmax", x, y)


def fmin(x: TensorLike, y: TensorLike) -> DimTensor:
    """Smaller of two, or the one that is not NaN.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.fmin

    Notes
    -----
    Of two equal operands the first gets the whole gradient.

    Examples
    --------
    >>> dt.fmin(1.2, -0.6).values.item()
    -0.6
    """
    return elemwise("fmin", x, y)


def fmod(x: TensorLike, y: TensorLike) -> DimTensor:
    """Remainder with the sign of the dividend.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For labels, complex numbers and bools.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.fmod

    Notes
    -----
    An integer modulo zero is zero, as in NumPy.

    Examples
    --------
    >>> dt.fmod(1.2, 1.3).values.item()
    1.2
    """
    return elemwise("fmod", x, y)


def heaviside(x: TensorLike, y: TensorLike) -> DimTensor:
    """0 where the first is negative, 1 where it is positive, and else the second.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.heaviside

    Examples
    --------
    >>> dt.heaviside(1.2, -0.6).values.item()
    1.0
    """
    return elemwise("heaviside", x, y)


def logaddexp2(x: TensorLike, y: TensorLike) -> DimTensor:
    """Logarithm to base 2 of 2**x + 2**y, without overflow.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.logaddexp2

    Examples
    --------
    >>> dt.logaddexp2(1.2, -0.6).values.round(4).item()
    1.5642
    """
    return elemwise("logaddexp2", x, y)


def ldexp(x: TensorLike, y: TensorLike) -> DimTensor:
    """Multiply the first operand by two to the power of the second.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Notes
    -----
    The power need not be an integer.

    Examples
    --------
    >>> dt.ldexp(1.2, -0.6).values.round(4).item()
    0.7917
    """
    return elemwise("ldexp", x, y)


def left_shift(x: TensorLike, y: TensorLike) -> DimTensor:
    """Bits moved towards the higher ones.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, integers or bools.

    Raises
    ------
    DtypeError
        For labels, complex numbers and floats.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.left_shift

    Examples
    --------
    >>> dt.left_shift(6, 3).values.item()
    48
    """
    return elemwise("left_shift", x, y)


def right_shift(x: TensorLike, y: TensorLike) -> DimTensor:
    """Bits moved towards the lower ones; the sign is kept.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, integers or bools.

    Raises
    ------
    DtypeError
        For labels, complex numbers and floats.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.right_shift

    Examples
    --------
    >>> dt.right_shift(6, 3).values.item()
    0
    """
    return elemwise("right_shift", x, y)


def ceil(x: TensorLike) -> DimTensor:
    """Smallest integer not below.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    See Also
    --------
    numpy.ceil

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> dt.ceil(1.2).values.item()
    2.0
    """
    return elemwise("ceil", x)


def floor(x: TensorLike) -> DimTensor:
    """Largest integer not above.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    See Also
    --------
    numpy.floor

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> dt.floor(1.2).values.item()
    1.0
    """
    return elemwise("floor", x)


def trunc(x: TensorLike) -> DimTensor:
    """Integer part.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    See Also
    --------
    numpy.trunc

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> dt.trunc(1.2).values.item()
    1.0
    """
    return elemwise("trunc", x)


def round(x: TensorLike) -> DimTensor:
    """Nearest integer, halves to the even one.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    See Also
    --------
    numpy.round

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> dt.round(2.5).values.item()
    2.0
    """
    return elemwise("round", x)


def round_half_away_from_zero(x: TensorLike) -> DimTensor:
    """Nearest integer, halves away from zero.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> dt.round_half_away_from_zero(2.5).values.item()
    3.0
    """
    return elemwise("round_half_away_from_zero", x)


def exp(x: TensorLike) -> DimTensor:
    """Exponential.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.exp

    Examples
    --------
    >>> dt.exp(1.2).values.round(4).item()
    3.3201
    """
    return elemwise("exp", x)


def exp2(x: TensorLike) -> DimTensor:
    """Two to the power.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.exp2

    Examples
    --------
    >>> dt.exp2(1.2).values.round(4).item()
    2.2974
    """
    return elemwise("exp2", x)


def expm1(x: TensorLike) -> DimTensor:
    """exp(x) - 1, precise near 0.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.expm1

    Examples
    --------
    >>> dt.expm1(1.2).values.round(4).item()
    2.3201
    """
    return elemwise("expm1", x)


def log(x: TensorLike) -> DimTensor:
    """Natural logarithm.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.log

    Examples
    --------
    >>> dt.log(2.2).values.round(4).item()
    0.7885
    """
    return elemwise("log", x)


def log2(x: TensorLike) -> DimTensor:
    """Logarithm to base 2.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.log2

    Examples
    --------
    >>> dt.log2(2.2).values.round(4).item()
    1.1375
    """
    return elemwise("log2", x)


def log10(x: TensorLike) -> DimTensor:
    """Logarithm to base 10.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.log10

    Examples
    --------
    >>> dt.log10(2.2).values.round(4).item()
    0.3424
    """
    return elemwise("log10", x)


def log1p(x: TensorLike) -> DimTensor:
    """log(1 + x), precise near 0.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.log1p

    Examples
    --------
    >>> dt.log1p(2.2).values.round(4).item()
    1.1632
    """
    return elemwise("log1p", x)


def logaddexp(x: TensorLike, y: TensorLike) -> DimTensor:
    """log(exp(x) + exp(y)) without overflow.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.logaddexp

    Examples
    --------
    >>> dt.logaddexp(1.2, -0.6).values.round(4).item()
    1.353
    """
    return elemwise("logaddexp", x, y)


def sin(x: TensorLike) -> DimTensor:
    """Sine of an angle in radians.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.sin

    Examples
    --------
    >>> dt.sin(1.2).values.round(4).item()
    0.932
    """
    return elemwise("sin", x)


def cos(x: TensorLike) -> DimTensor:
    """Cosine of an angle in radians.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.cos

    Examples
    --------
    >>> dt.cos(1.2).values.round(4).item()
    0.3624
    """
    return elemwise("cos", x)


def tan(x: TensorLike) -> DimTensor:
    """Tangent of an angle in radians.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.tan

    Examples
    --------
    >>> dt.tan(0.5).values.round(4).item()
    0.5463
    """
    return elemwise("tan", x)


def arcsin(x: TensorLike) -> DimTensor:
    """Inverse sine, in radians.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.arcsin

    Examples
    --------
    >>> dt.arcsin(0.4).values.round(4).item()
    0.4115
    """
    return elemwise("arcsin", x)


def arccos(x: TensorLike) -> DimTensor:
    """Inverse cosine, in radians.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.arccos

    Examples
    --------
    >>> dt.arccos(0.4).values.round(4).item()
    1.1593
    """
    return elemwise("arccos", x)


def arctan(x: TensorLike) -> DimTensor:
    """Inverse tangent, in radians.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.arctan

    Examples
    --------
    >>> dt.arctan(1.2).values.round(4).item()
    0.8761
    """
    return elemwise("arctan", x)


def arctan2(y: TensorLike, x: TensorLike) -> DimTensor:
    """Angle of the point with coordinates x and y, in radians.

    Parameters
    ----------
    y, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.arctan2

    Examples
    --------
    >>> dt.arctan2(2.2, 1.3).values.round(4).item()
    1.0371
    """
    return elemwise("arctan2", y, x)


def sinh(x: TensorLike) -> DimTensor:
    """Hyperbolic sine.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.sinh

    Examples
    --------
    >>> dt.sinh(1.2).values.round(4).item()
    1.5095
    """
    return elemwise("sinh", x)


def cosh(x: TensorLike) -> DimTensor:
    """Hyperbolic cosine.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.cosh

    Examples
    --------
    >>> dt.cosh(1.2).values.round(4).item()
    1.8107
    """
    return elemwise("cosh", x)


def tanh(x: TensorLike) -> DimTensor:
    """Hyperbolic tangent.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.tanh

    Examples
    --------
    >>> dt.tanh(1.2).values.round(4).item()
    0.8337
    """
    return elemwise("tanh", x)


def arcsinh(x: TensorLike) -> DimTensor:
    """Inverse hyperbolic sine.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.arcsinh

    Examples
    --------
    >>> dt.arcsinh(1.2).values.round(4).item()
    1.016
    """
    return elemwise("arcsinh", x)


def arccosh(x: TensorLike) -> DimTensor:
    """Inverse hyperbolic cosine.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.arccosh

    Examples
    --------
    >>> dt.arccosh(2.4).values.round(4).item()
    1.5221
    """
    return elemwise("arccosh", x)


def arctanh(x: TensorLike) -> DimTensor:
    """Inverse hyperbolic tangent.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.arctanh

    Examples
    --------
    >>> dt.arctanh(0.4).values.round(4).item()
    0.4236
    """
    return elemwise("arctanh", x)


def deg2rad(x: TensorLike) -> DimTensor:
    """Degrees to radians.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    See Also
    --------
    numpy.deg2rad

    Examples
    --------
    >>> dt.deg2rad(180.0).values.round(4).item()
    3.1416
    """
    return elemwise("deg2rad", x)


def rad2deg(x: TensorLike) -> DimTensor:
    """Radians to degrees.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    See Also
    --------
    numpy.rad2deg

    Examples
    --------
    >>> dt.rad2deg(1.2).values.round(4).item()
    68.7549
    """
    return elemwise("rad2deg", x)


def equal(x: TensorLike, y: TensorLike) -> DimTensor:
    """Test for equality.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.equal

    Examples
    --------
    >>> dt.equal(1.2, -0.6).values.item()
    False
    """
    return elemwise("equal", x, y)


def not_equal(x: TensorLike, y: TensorLike) -> DimTensor:
    """Test for inequality.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.not_equal

    Examples
    --------
    >>> dt.not_equal(1.2, -0.6).values.item()
    True
    """
    return elemwise("not_equal", x, y)


def less(x: TensorLike, y: TensorLike) -> DimTensor:
    """Test whether the first operand is smaller.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.less

    Examples
    --------
    >>> dt.less(1.2, -0.6).values.item()
    False
    """
    return elemwise("less", x, y)


def less_equal(x: TensorLike, y: TensorLike) -> DimTensor:
    """Test whether the first operand is smaller or equal.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.less_equal

    Examples
    --------
    >>> dt.less_equal(1.2, -0.6).values.item()
    False
    """
    return elemwise("less_equal", x, y)


def greater(x: TensorLike, y: TensorLike) -> DimTensor:
    """Test whether the first operand is larger.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.greater

    Examples
    --------
    >>> dt.greater(1.2, -0.6).values.item()
    True
    """
    return elemwise("greater", x, y)


def greater_equal(x: TensorLike, y: TensorLike) -> DimTensor:
    """Test whether the first operand is larger or equal.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.greater_equal

    Examples
    --------
    >>> dt.greater_equal(1.2, -0.6).values.item()
    True
    """
    return elemwise("greater_equal", x, y)


def isclose(
    x: TensorLike, y: TensorLike, rtol: TensorLike = 1e-05, atol: TensorLike = 1e-08
) -> DimTensor:
    """Test for abs(x - y) <= atol + rtol * abs(y), or for the same infinity.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.
    rtol, atol : DimTensor or number, optional

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.isclose

    Examples
    --------
    >>> dt.isclose(1.0, 1.0 + 1e-9).values.item()
    True
    """
    return elemwise("isclose", x, y, rtol, atol)


def isnan(x: TensorLike) -> DimTensor:
    """Test for NaN.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.isnan

    Examples
    --------
    >>> dt.isnan(float("nan")).values.item()
    True
    """
    return elemwise("isnan", x)


def isinf(x: TensorLike) -> DimTensor:
    """Test for infinity, positive or negative.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.isinf

    Examples
    --------
    >>> dt.isinf(float("inf")).values.item()
    True
    """
    return elemwise("isinf", x)


def isposinf(x: TensorLike) -> DimTensor:
    """Test for positive infinity.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    See Also
    --------
    numpy.isposinf

    Examples
    --------
    >>> dt.isposinf(float("-inf")).values.item()
    False
    """
    return elemwise("isposinf", x)


def isneginf(x: TensorLike) -> DimTensor:
    """Test for negative infinity.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    See Also
    --------
    numpy.isneginf

    Examples
    --------
    >>> dt.isneginf(float("-inf")).values.item()
    True
    """
    return elemwise("isneginf", x)


def isfinite(x: TensorLike) -> DimTensor:
    """Test for finite numbers, which NaN are not.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.isfinite

    Examples
    --------
    >>> dt.isfinite(float("inf")).values.item()
    False
    """
    return elemwise("isfinite", x)


def logical_and(x: TensorLike, y: TensorLike) -> DimTensor:
    """Test whether both operands are true.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool; what is not zero counts as true.

    Raises
    ------
    DtypeError
        For labels.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.logical_and

    Examples
    --------
    >>> dt.logical_and(True, False).values.item()
    False
    """
    return elemwise("logical_and", x, y)


def logical_or(x: TensorLike, y: TensorLike) -> DimTensor:
    """Test whether an operand is true.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool; what is not zero counts as true.

    Raises
    ------
    DtypeError
        For labels.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.logical_or

    Examples
    --------
    >>> dt.logical_or(True, False).values.item()
    True
    """
    return elemwise("logical_or", x, y)


def logical_xor(x: TensorLike, y: TensorLike) -> DimTensor:
    """Test whether exactly one operand is true.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool; what is not zero counts as true.

    Raises
    ------
    DtypeError
        For labels.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.logical_xor

    Examples
    --------
    >>> dt.logical_xor(True, False).values.item()
    True
    """
    return elemwise("logical_xor", x, y)


def logical_not(x: TensorLike) -> DimTensor:
    """Negate a condition.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of dtype bool; what is not zero counts as true.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.logical_not

    Examples
    --------
    >>> dt.logical_not(True).values.item()
    False
    """
    return elemwise("logical_not", x)


def bitwise_and(x: TensorLike, y: TensorLike) -> DimTensor:
    """Bits set in both.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, integers or bools.

    Raises
    ------
    DtypeError
        For labels, complex numbers and floats.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.bitwise_and

    Examples
    --------
    >>> dt.bitwise_and(6, 3).values.item()
    2
    """
    return elemwise("bitwise_and", x, y)


def bitwise_or(x: TensorLike, y: TensorLike) -> DimTensor:
    """Bits set in one.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, integers or bools.

    Raises
    ------
    DtypeError
        For labels, complex numbers and floats.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.bitwise_or

    Examples
    --------
    >>> dt.bitwise_or(6, 3).values.item()
    7
    """
    return elemwise("bitwise_or", x, y)


def bitwise_xor(x: TensorLike, y: TensorLike) -> DimTensor:
    """Bits set in exactly one.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, integers or bools.

    Raises
    ------
    DtypeError
        For labels, complex numbers and floats.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.bitwise_xor

    Examples
    --------
    >>> dt.bitwise_xor(6, 3).values.item()
    5
    """
    return elemwise("bitwise_xor", x, y)


def invert(x: TensorLike) -> DimTensor:
    """Bits flipped; of a bool, its negation.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, integers or bools.

    Raises
    ------
    DtypeError
        For labels, complex numbers and floats.

    See Also
    --------
    numpy.invert

    Examples
    --------
    >>> dt.invert(6).values.item()
    -7
    """
    return elemwise("invert", x)


@spelled("function")
def where(cond: TensorLike, x: TensorLike, y: TensorLike) -> DimTensor:
    """Select the second operand where the first is true, and the third elsewhere.

    Parameters
    ----------
    cond, x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the last two operands.

    Raises
    ------
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.where

    Notes
    -----
    The gradient with respect to the condition is zero.

    Examples
    --------
    >>> dt.where(True, 1.0, 2.0).values.item()
    1.0
    """
    return elemwise("where", cond, x, y)


def real(x: TensorLike) -> DimTensor:
    """Real part.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype of the operand, of a complex one that of its parts.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.real

    Examples
    --------
    >>> dt.data(1.0 + 2.0j).real.values.item()
    1.0
    """
    return elemwise("real", x)


def imag(x: TensorLike) -> DimTensor:
    """Imaginary part.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype of the operand, of a complex one that of its parts.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.imag

    Examples
    --------
    >>> dt.data(1.0 + 2.0j).imag.values.item()
    2.0
    """
    return elemwise("imag", x)


def conj(x: TensorLike) -> DimTensor:
    """Complex conjugate.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.conj

    Notes
    -----
    Of a bool it is a bool; of NumPy's an int8.

    Examples
    --------
    >>> dt.conj(1.0 + 2.0j).values.item()
    (1-2j)
    """
    return elemwise("conj", x)


def angle(x: TensorLike) -> DimTensor:
    """Angle of a complex number, in radians.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype.

    Raises
    ------
    DtypeError
        For labels.

    See Also
    --------
    numpy.angle

    Notes
    -----
    Of a real number it is 0 or pi, and the gradient is zero.

    Examples
    --------
    >>> dt.angle(1.0 + 2.0j).values.round(4).item()
    1.1071
    """
    return elemwise("angle", x)


def complex(real: TensorLike, imag: TensorLike) -> DimTensor:
    """Complex number of two parts.

    Parameters
    ----------
    real, imag : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a complex dtype.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.complex(1.0, 2.0).values.item()
    (1+2j)
    """
    return elemwise("complex", real, imag)


def complex_from_polar(abs: TensorLike, angle: TensorLike) -> DimTensor:
    """Complex number of its absolute value and its angle in radians.

    Parameters
    ----------
    abs, angle : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a complex dtype.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.complex_from_polar(2.0, 0.0).values.item()
    (2+0j)
    """
    return elemwise("complex_from_polar", abs, angle)


def stop_gradient(x: TensorLike) -> DimTensor:
    """Return the operand, with a gradient of zero.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Notes
    -----
    Also as zero in second derivatives.

    Examples
    --------
    >>> dt.stop_gradient(1.2).values.item()
    1.2
    """
    return elemwise("stop_gradient", x)


def sigmoid(x: TensorLike) -> DimTensor:
    """Logistic function 1 / (1 + exp(-x)).

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.sigmoid(1.2).values.round(4).item()
    0.7685
    """
    return elemwise("sigmoid", x)


def log_sigmoid(x: TensorLike) -> DimTensor:
    """Logarithm of sigmoid, -softplus(-x), precise for very negative x.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.log_sigmoid(1.2).values.round(4).item()
    -0.2633
    """
    return elemwise("log_sigmoid", x)


def logit(x: TensorLike) -> DimTensor:
    """Logarithm of the odds x / (1 - x), the inverse of sigmoid.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.logit(0.7).values.round(4).item()
    0.8473
    """
    return elemwise("logit", x)


def softplus(x: TensorLike) -> DimTensor:
    """log(1 + exp(x)) without overflow.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.softplus(1.2).values.round(4).item()
    1.4633
    """
    return elemwise("softplus", x)


def log1mexp(x: TensorLike) -> DimTensor:
    """log(1 - exp(x)) of a negative operand, precise at both ends.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.log1mexp(-1.0).values.round(4).item()
    -0.4587
    """
    return elemwise("log1mexp", x)


def xlogy(x: TensorLike, y: TensorLike) -> DimTensor:
    """Product x * log(y), and 0 where x is 0.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Notes
    -----
    Where x is 0 it is 0 even if y is NaN.

    Examples
    --------
    >>> dt.special.xlogy(2.2, 1.3).values.round(4).item()
    0.5772
    """
    return elemwise("xlogy", x, y)


def xlog1py(x: TensorLike, y: TensorLike) -> DimTensor:
    """Product x * log(1 + y), and 0 where x is 0.

    Parameters
    ----------
    x, y : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Notes
    -----
    Where x is 0 it is 0 even if y is NaN.

    Examples
    --------
    >>> dt.special.xlog1py(2.2, 1.3).values.round(4).item()
    1.8324
    """
    return elemwise("xlog1py", x, y)


def erf(x: TensorLike) -> DimTensor:
    """Error function.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.erf(1.2).values.round(4).item()
    0.9103
    """
    return elemwise("erf", x)


def erfc(x: TensorLike) -> DimTensor:
    """Complementary error function.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.erfc(1.2).values.round(4).item()
    0.0897
    """
    return elemwise("erfc", x)


def erfcx(x: TensorLike) -> DimTensor:
    """Scaled complementary error function exp(x^2) erfc(x).

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.erfcx(1.8).values.round(4).item()
    0.2786
    """
    return elemwise("erfcx", x)


def erfinv(x: TensorLike) -> DimTensor:
    """Inverse error function.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.erfinv(0.4).values.round(4).item()
    0.3708
    """
    return elemwise("erfinv", x)


def erfcinv(x: TensorLike) -> DimTensor:
    """Inverse complementary error function.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.erfcinv(1.4).values.round(4).item()
    -0.3708
    """
    return elemwise("erfcinv", x)


def ndtr(x: TensorLike) -> DimTensor:
    """Cumulative distribution function of the standard normal.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.ndtr(1.2).values.round(4).item()
    0.8849
    """
    return elemwise("ndtr", x)


def log_ndtr(x: TensorLike) -> DimTensor:
    """Logarithm of ndtr, precise for very negative and very large x.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.log_ndtr(1.2).values.round(4).item()
    -0.1222
    """
    return elemwise("log_ndtr", x)


def ndtri(p: TensorLike) -> DimTensor:
    """Quantile of the normal distribution.

    Parameters
    ----------
    p : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.ndtri(0.7).values.round(4).item()
    0.5244
    """
    return elemwise("ndtri", p)


def ndtri_exp(x: TensorLike) -> DimTensor:
    """Quantile of the normal distribution at exp(x), precise for very negative x.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.ndtri_exp(-1.0).values.round(4).item()
    -0.3375
    """
    return elemwise("ndtri_exp", x)


def owens_t(h: TensorLike, a: TensorLike) -> DimTensor:
    """Owen's T function.

    Parameters
    ----------
    h, a : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.owens_t(1.2, -0.6).values.round(4).item()
    -0.0388
    """
    return elemwise("owens_t", h, a)


def gamma(x: TensorLike) -> DimTensor:
    """Gamma function.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.gamma(2.2).values.round(4).item()
    1.1018
    """
    return elemwise("gamma", x)


def gammaln(x: TensorLike) -> DimTensor:
    """Logarithm of the absolute value of the gamma function.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.gammaln(2.2).values.round(4).item()
    0.0969
    """
    return elemwise("gammaln", x)


def digamma(x: TensorLike) -> DimTensor:
    """Digamma function: the derivative of gammaln.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.digamma(2.2).values.round(4).item()
    0.5443
    """
    return elemwise("digamma", x)


def trigamma(x: TensorLike) -> DimTensor:
    """Trigamma function: the second derivative of gammaln.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.trigamma(2.2).values.round(4).item()
    0.5729
    """
    return elemwise("trigamma", x)


def polygamma(n: TensorLike, x: TensorLike) -> DimTensor:
    """Polygamma function: the derivative of integer order n of digamma.

    Parameters
    ----------
    n, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype; the first operand is an integer.

    Raises
    ------
    DtypeError
        For labels, complex numbers and a first operand of floats.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.polygamma(2, 1.3).values.round(4).item()
    -1.1985
    """
    return elemwise("polygamma", n, x)


def factorial(n: TensorLike) -> DimTensor:
    """Factorial, gamma(n + 1) of any operand.

    Parameters
    ----------
    n : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Notes
    -----
    It does not vanish at negative operands, where SciPy's does.

    Examples
    --------
    >>> dt.special.factorial(4.0).values.item()
    24.0
    """
    return elemwise("factorial", n)


def poch(z: TensorLike, m: TensorLike) -> DimTensor:
    """Rising factorial gamma(z + m) / gamma(z) of positive operands.

    Parameters
    ----------
    z, m : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.poch(2.2, 1.3).values.round(4).item()
    3.0163
    """
    return elemwise("poch", z, m)


def beta(a: TensorLike, b: TensorLike) -> DimTensor:
    """Beta function of positive operands.

    Parameters
    ----------
    a, b : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.beta(2.2, 1.3).values.round(4).item()
    0.2975
    """
    return elemwise("beta", a, b)


def betaln(a: TensorLike, b: TensorLike) -> DimTensor:
    """Logarithm of the beta function of positive operands.

    Parameters
    ----------
    a, b : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.betaln(2.2, 1.3).values.round(4).item()
    -1.2122
    """
    return elemwise("betaln", a, b)


def gammainc(k: TensorLike, x: TensorLike) -> DimTensor:
    """Regularized lower incomplete gamma function.

    Parameters
    ----------
    k, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.gammainc(2.2, 1.3).values.round(4).item()
    0.3147
    """
    return elemwise("gammainc", k, x)


def gammaincc(k: TensorLike, x: TensorLike) -> DimTensor:
    """Regularized upper incomplete gamma function.

    Parameters
    ----------
    k, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.gammaincc(2.2, 1.3).values.round(4).item()
    0.6853
    """
    return elemwise("gammaincc", k, x)


def gammal(k: TensorLike, x: TensorLike) -> DimTensor:
    """Lower incomplete gamma function, not regularized.

    Parameters
    ----------
    k, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.gammal(2.2, 1.3).values.round(4).item()
    0.3467
    """
    return elemwise("gammal", k, x)


def gammau(k: TensorLike, x: TensorLike) -> DimTensor:
    """Upper incomplete gamma function, not regularized.

    Parameters
    ----------
    k, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.gammau(2.2, 1.3).values.round(4).item()
    0.7551
    """
    return elemwise("gammau", k, x)


def gammaincinv(k: TensorLike, p: TensorLike) -> DimTensor:
    """Inverse of gammainc in x.

    Parameters
    ----------
    k, p : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.gammaincinv(2.2, 0.4).values.round(4).item()
    1.5561
    """
    return elemwise("gammaincinv", k, p)


def gammainccinv(k: TensorLike, p: TensorLike) -> DimTensor:
    """Inverse of gammaincc in x.

    Parameters
    ----------
    k, p : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.gammainccinv(2.2, 0.4).values.round(4).item()
    2.2403
    """
    return elemwise("gammainccinv", k, p)


def betainc(a: TensorLike, b: TensorLike, x: TensorLike) -> DimTensor:
    """Regularized incomplete beta function.

    Parameters
    ----------
    a, b, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.betainc(2.2, 1.3, 0.5).values.round(4).item()
    0.2921
    """
    return elemwise("betainc", a, b, x)


def betaincinv(a: TensorLike, b: TensorLike, p: TensorLike) -> DimTensor:
    """Inverse of betainc in x.

    Parameters
    ----------
    a, b, p : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.betaincinv(2.2, 1.3, 0.5).values.round(4).item()
    0.6553
    """
    return elemwise("betaincinv", a, b, p)


def j0(x: TensorLike) -> DimTensor:
    """Bessel function of the first kind, order 0.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.j0(1.2).values.round(4).item()
    0.6711
    """
    return elemwise("j0", x)


def j1(x: TensorLike) -> DimTensor:
    """Bessel function of the first kind, order 1.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.j1(1.2).values.round(4).item()
    0.4983
    """
    return elemwise("j1", x)


def jv(v: TensorLike, x: TensorLike) -> DimTensor:
    """Bessel function of the first kind, order v.

    Parameters
    ----------
    v, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.jv(1.5, 1.3).values.round(4).item()
    0.3315
    """
    return elemwise("jv", v, x)


def i0(x: TensorLike) -> DimTensor:
    """Bessel function I of order 0, modified, of the first kind.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.i0(1.2).values.round(4).item()
    1.3937
    """
    return elemwise("i0", x)


def i1(x: TensorLike) -> DimTensor:
    """Bessel function I of order 1, modified, of the first kind.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.i1(1.2).values.round(4).item()
    0.7147
    """
    return elemwise("i1", x)


def i0e(x: TensorLike) -> DimTensor:
    """i0(x) * exp(-abs(x)), which does not overflow.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.i0e(1.2).values.round(4).item()
    0.4198
    """
    return elemwise("i0e", x)


def i1e(x: TensorLike) -> DimTensor:
    """i1(x) * exp(-abs(x)), which does not overflow.

    Parameters
    ----------
    x : DimTensor or number

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.

    Examples
    --------
    >>> dt.special.i1e(1.2).values.round(4).item()
    0.2153
    """
    return elemwise("i1e", x)


def iv(v: TensorLike, x: TensorLike) -> DimTensor:
    """Bessel function I of order v, modified, of the first kind.

    Parameters
    ----------
    v, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.iv(1.5, 1.3).values.round(4).item()
    0.465
    """
    return elemwise("iv", v, x)


def ive(v: TensorLike, x: TensorLike) -> DimTensor:
    """iv(v, x) * exp(-abs(x)).

    Parameters
    ----------
    v, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.ive(1.5, 1.3).values.round(4).item()
    0.1267
    """
    return elemwise("ive", v, x)


def kv(v: TensorLike, x: TensorLike) -> DimTensor:
    """Bessel function K of order v, modified, of the second kind.

    Parameters
    ----------
    v, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.kv(1.5, 1.3).values.round(4).item()
    0.53
    """
    return elemwise("kv", v, x)


def kve(v: TensorLike, x: TensorLike) -> DimTensor:
    """kv(v, x) * exp(x).

    Parameters
    ----------
    v, x : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.kve(1.5, 1.3).values.round(4).item()
    1.9448
    """
    return elemwise("kve", v, x)


def hyp2f1(a: TensorLike, b: TensorLike, c: TensorLike, z: TensorLike) -> DimTensor:
    """Gauss hypergeometric function 2F1.

    Parameters
    ----------
    a, b, c, z : DimTensor or number
        They are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> dt.special.hyp2f1(2.2, 1.3, 1.7, -0.2).values.round(4).item()
    0.7368
    """
    return elemwise("hyp2f1", a, b, c, z)
