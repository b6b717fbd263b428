"""Elementwise functions, one per row of the op table.

Written by tools/generate_functions.py; change the table instead.
"""

# over budget: generated, one short function per row

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.tensor.handle import elemwise

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "beta",
    "betainc",
    "betaincinv",
    "betaln",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "clip",
    "complex",
    "complex_from_polar",
    "conj",
    "conjugate",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "digamma",
    "divide",
    "equal",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expit",
    "expm1",
    "factorial",
    "floor",
    "floor_divide",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammal",
    "gammaln",
    "gammau",
    "greater",
    "greater_equal",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "imag",
    "invert",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "kn",
    "kv",
    "kve",
    "less",
    "less_equal",
    "log",
    "log1mexp",
    "log1p",
    "log1pexp",
    "log2",
    "log10",
    "log_ndtr",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "ndtr",
    "ndtri",
    "ndtri_exp",
    "negative",
    "not_equal",
    "owens_t",
    "poch",
    "polygamma",
    "power",
    "psi",
    "rad2deg",
    "radians",
    "real",
    "reciprocal",
    "remainder",
    "rint",
    "round",
    "round_half_away_from_zero",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "square",
    "stop_gradient",
    "subtract",
    "tan",
    "tanh",
    "tri_gamma",
    "trigamma",
    "true_divide",
    "trunc",
    "where",
    "xlog1py",
    "xlogy",
]


def add(x: Any, y: Any) -> DimTensor:
    """Sum.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.add

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.add(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("add", x, y)


def subtract(x: Any, y: Any) -> DimTensor:
    """Difference.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For bools.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.subtract

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.subtract(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("subtract", x, y)


def multiply(x: Any, y: Any) -> DimTensor:
    """Product.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.multiply

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.multiply(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("multiply", x, y)


def divide(x: Any, y: Any) -> DimTensor:
    """Quotient.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.divide

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.divide(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("divide", x, y)


def floor_divide(x: Any, y: Any) -> DimTensor:
    """Quotient rounded down.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For complex numbers and bools.
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
    >>> import dimtensor as dt
    >>> dt.floor_divide(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("floor_divide", x, y)


def mod(x: Any, y: Any) -> DimTensor:
    """Remainder with the sign of the divisor.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For complex numbers and bools.
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
    >>> import dimtensor as dt
    >>> dt.mod(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("mod", x, y)


def power(x: Any, y: Any) -> DimTensor:
    """First operand to the power of the second.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For bools.
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
    >>> import dimtensor as dt
    >>> dt.power(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("power", x, y)


def negative(x: Any) -> DimTensor:
    """Minus.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For bools.

    See Also
    --------
    numpy.negative

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.negative(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("negative", x)


def abs(x: Any) -> DimTensor:
    """Absolute value.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype of the operand, of a complex one that of its parts.

    See Also
    --------
    numpy.absolute

    Notes
    -----
    The gradient at 0 is 0.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.abs(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("abs", x)


def sign(x: Any) -> DimTensor:
    """Sign: -1, 0 or 1.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For bools.

    See Also
    --------
    numpy.sign

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.sign(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("sign", x)


def reciprocal(x: Any) -> DimTensor:
    """One divided by the operand.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.reciprocal

    Notes
    -----
    Of an integer it is a float; NumPy rounds it to an integer.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.reciprocal(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("reciprocal", x)


def square(x: Any) -> DimTensor:
    """Square.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, which are no bools.

    Raises
    ------
    DtypeError
        For bools.

    See Also
    --------
    numpy.square

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.square(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("square", x)


def sqrt(x: Any) -> DimTensor:
    """Square root.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.sqrt

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.sqrt(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("sqrt", x)


def maximum(x: Any, y: Any) -> DimTensor:
    """Larger of two.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DtypeError
        For complex numbers.
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
    >>> import dimtensor as dt
    >>> dt.maximum(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("maximum", x, y)


def minimum(x: Any, y: Any) -> DimTensor:
    """Smaller of two.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DtypeError
        For complex numbers.
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
    >>> import dimtensor as dt
    >>> dt.minimum(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("minimum", x, y)


def clip(x: Any, min: Any, max: Any) -> DimTensor:
    """Limit to an interval: min(max(x, min), max).

    Parameters
    ----------
    x, min, max : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.clip

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.clip(dt.scalar("x"), dt.scalar("min"), dt.scalar("max")).dtype
    'float64'
    """
    return elemwise("clip", x, min, max)


def ceil(x: Any) -> DimTensor:
    """Smallest integer not below.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For complex numbers.

    See Also
    --------
    numpy.ceil

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.ceil(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("ceil", x)


def floor(x: Any) -> DimTensor:
    """Largest integer not above.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For complex numbers.

    See Also
    --------
    numpy.floor

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.floor(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("floor", x)


def trunc(x: Any) -> DimTensor:
    """Integer part.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For complex numbers.

    See Also
    --------
    numpy.trunc

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.trunc(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("trunc", x)


def round(x: Any) -> DimTensor:
    """Nearest integer, halves to the even one.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For complex numbers.

    See Also
    --------
    numpy.round

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.round(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("round", x)


def round_half_away_from_zero(x: Any) -> DimTensor:
    """Nearest integer, halves away from zero.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For complex numbers.

    Notes
    -----
    The gradient is zero.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.round_half_away_from_zero(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("round_half_away_from_zero", x)


def exp(x: Any) -> DimTensor:
    """Exponential.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.exp

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.exp(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("exp", x)


def exp2(x: Any) -> DimTensor:
    """Two to the power.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.exp2

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.exp2(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("exp2", x)


def expm1(x: Any) -> DimTensor:
    """exp(x) - 1, precise near 0.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.expm1

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.expm1(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("expm1", x)


def log(x: Any) -> DimTensor:
    """Natural logarithm.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.log

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.log(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("log", x)


def log2(x: Any) -> DimTensor:
    """Logarithm to base 2.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.log2

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.log2(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("log2", x)


def log10(x: Any) -> DimTensor:
    """Logarithm to base 10.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.log10

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.log10(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("log10", x)


def log1p(x: Any) -> DimTensor:
    """log(1 + x), precise near 0.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.log1p

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.log1p(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("log1p", x)


def logaddexp(x: Any, y: Any) -> DimTensor:
    """log(exp(x) + exp(y)) without overflow.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.logaddexp

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.logaddexp(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("logaddexp", x, y)


def sin(x: Any) -> DimTensor:
    """Sine of an angle in radians.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.sin

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.sin(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("sin", x)


def cos(x: Any) -> DimTensor:
    """Cosine of an angle in radians.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.cos

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.cos(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("cos", x)


def tan(x: Any) -> DimTensor:
    """Tangent of an angle in radians.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.tan

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.tan(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("tan", x)


def arcsin(x: Any) -> DimTensor:
    """Inverse sine, in radians.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.arcsin

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.arcsin(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("arcsin", x)


def arccos(x: Any) -> DimTensor:
    """Inverse cosine, in radians.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.arccos

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.arccos(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("arccos", x)


def arctan(x: Any) -> DimTensor:
    """Inverse tangent, in radians.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.arctan

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.arctan(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("arctan", x)


def arctan2(y: Any, x: Any) -> DimTensor:
    """Angle of the point with coordinates x and y, in radians.

    Parameters
    ----------
    y, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.arctan2

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.arctan2(dt.scalar("y"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("arctan2", y, x)


def sinh(x: Any) -> DimTensor:
    """Hyperbolic sine.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.sinh

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.sinh(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("sinh", x)


def cosh(x: Any) -> DimTensor:
    """Hyperbolic cosine.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.cosh

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.cosh(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("cosh", x)


def tanh(x: Any) -> DimTensor:
    """Hyperbolic tangent.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.tanh

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.tanh(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("tanh", x)


def arcsinh(x: Any) -> DimTensor:
    """Inverse hyperbolic sine.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.arcsinh

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.arcsinh(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("arcsinh", x)


def arccosh(x: Any) -> DimTensor:
    """Inverse hyperbolic cosine.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.arccosh

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.arccosh(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("arccosh", x)


def arctanh(x: Any) -> DimTensor:
    """Inverse hyperbolic tangent.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    See Also
    --------
    numpy.arctanh

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.arctanh(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("arctanh", x)


def deg2rad(x: Any) -> DimTensor:
    """Degrees to radians.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    See Also
    --------
    numpy.deg2rad

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.deg2rad(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("deg2rad", x)


def rad2deg(x: Any) -> DimTensor:
    """Radians to degrees.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    See Also
    --------
    numpy.rad2deg

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.rad2deg(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("rad2deg", x)


def equal(x: Any, y: Any) -> DimTensor:
    """Whether equal.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

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
    >>> import dimtensor as dt
    >>> dt.equal(dt.scalar("x"), dt.scalar("y")).dtype
    'bool'
    """
    return elemwise("equal", x, y)


def not_equal(x: Any, y: Any) -> DimTensor:
    """Whether different.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

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
    >>> import dimtensor as dt
    >>> dt.not_equal(dt.scalar("x"), dt.scalar("y")).dtype
    'bool'
    """
    return elemwise("not_equal", x, y)


def less(x: Any, y: Any) -> DimTensor:
    """Whether the first is smaller.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.less

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.less(dt.scalar("x"), dt.scalar("y")).dtype
    'bool'
    """
    return elemwise("less", x, y)


def less_equal(x: Any, y: Any) -> DimTensor:
    """Whether the first is not larger.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.less_equal

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.less_equal(dt.scalar("x"), dt.scalar("y")).dtype
    'bool'
    """
    return elemwise("less_equal", x, y)


def greater(x: Any, y: Any) -> DimTensor:
    """Whether the first is larger.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.greater

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.greater(dt.scalar("x"), dt.scalar("y")).dtype
    'bool'
    """
    return elemwise("greater", x, y)


def greater_equal(x: Any, y: Any) -> DimTensor:
    """Whether the first is not smaller.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.greater_equal

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.greater_equal(dt.scalar("x"), dt.scalar("y")).dtype
    'bool'
    """
    return elemwise("greater_equal", x, y)


def isclose(x: Any, y: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> DimTensor:
    """Whether abs(x - y) is at most atol + rtol * abs(y), or both are the same infinity.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.
    rtol, atol : DimTensor or number, optional

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.isclose

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.isclose(dt.scalar("x"), dt.scalar("y")).dtype
    'bool'
    """
    return elemwise("isclose", x, y, rtol, atol)


def isnan(x: Any) -> DimTensor:
    """Whether not a number.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    See Also
    --------
    numpy.isnan

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.isnan(dt.scalar("x")).dtype
    'bool'
    """
    return elemwise("isnan", x)


def isinf(x: Any) -> DimTensor:
    """Whether infinite.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    See Also
    --------
    numpy.isinf

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.isinf(dt.scalar("x")).dtype
    'bool'
    """
    return elemwise("isinf", x)


def isposinf(x: Any) -> DimTensor:
    """Whether positive infinity.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For complex numbers.

    See Also
    --------
    numpy.isposinf

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.isposinf(dt.scalar("x")).dtype
    'bool'
    """
    return elemwise("isposinf", x)


def isneginf(x: Any) -> DimTensor:
    """Whether negative infinity.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    Raises
    ------
    DtypeError
        For complex numbers.

    See Also
    --------
    numpy.isneginf

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.isneginf(dt.scalar("x")).dtype
    'bool'
    """
    return elemwise("isneginf", x)


def isfinite(x: Any) -> DimTensor:
    """Whether neither infinite nor not a number.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool.

    See Also
    --------
    numpy.isfinite

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.isfinite(dt.scalar("x")).dtype
    'bool'
    """
    return elemwise("isfinite", x)


def logical_and(x: Any, y: Any) -> DimTensor:
    """Whether both are true.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool; what is not zero counts as true.

    Raises
    ------
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.logical_and

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.logical_and(dt.scalar("x"), dt.scalar("y")).dtype
    'bool'
    """
    return elemwise("logical_and", x, y)


def logical_or(x: Any, y: Any) -> DimTensor:
    """Whether one is true.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool; what is not zero counts as true.

    Raises
    ------
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.logical_or

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.logical_or(dt.scalar("x"), dt.scalar("y")).dtype
    'bool'
    """
    return elemwise("logical_or", x, y)


def logical_xor(x: Any, y: Any) -> DimTensor:
    """Whether exactly one is true.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool; what is not zero counts as true.

    Raises
    ------
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.logical_xor

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.logical_xor(dt.scalar("x"), dt.scalar("y")).dtype
    'bool'
    """
    return elemwise("logical_xor", x, y)


def logical_not(x: Any) -> DimTensor:
    """Whether false.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of dtype bool; what is not zero counts as true.

    See Also
    --------
    numpy.logical_not

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.logical_not(dt.scalar("x")).dtype
    'bool'
    """
    return elemwise("logical_not", x)


def bitwise_and(x: Any, y: Any) -> DimTensor:
    """Bits set in both.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, integers or bools.

    Raises
    ------
    DtypeError
        For complex numbers and floats.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.bitwise_and

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.bitwise_and(dt.scalar("x", "int64"), dt.scalar("y", "int64")).dtype
    'int64'
    """
    return elemwise("bitwise_and", x, y)


def bitwise_or(x: Any, y: Any) -> DimTensor:
    """Bits set in one.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, integers or bools.

    Raises
    ------
    DtypeError
        For complex numbers and floats.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.bitwise_or

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.bitwise_or(dt.scalar("x", "int64"), dt.scalar("y", "int64")).dtype
    'int64'
    """
    return elemwise("bitwise_or", x, y)


def bitwise_xor(x: Any, y: Any) -> DimTensor:
    """Bits set in exactly one.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, integers or bools.

    Raises
    ------
    DtypeError
        For complex numbers and floats.
    DimError
        If two different dims of one name meet.

    See Also
    --------
    numpy.bitwise_xor

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.bitwise_xor(dt.scalar("x", "int64"), dt.scalar("y", "int64")).dtype
    'int64'
    """
    return elemwise("bitwise_xor", x, y)


def invert(x: Any) -> DimTensor:
    """Bits flipped; of a bool, its negation.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype to which NumPy promotes the operands, integers or bools.

    Raises
    ------
    DtypeError
        For complex numbers and floats.

    See Also
    --------
    numpy.invert

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.invert(dt.scalar("x", "int64")).dtype
    'int64'
    """
    return elemwise("invert", x)


def where(cond: Any, x: Any, y: Any) -> DimTensor:
    """The second operand where the first is true, else the third.

    Parameters
    ----------
    cond, x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

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
    >>> import dimtensor as dt
    >>> dt.where(dt.scalar("cond"), dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("where", cond, x, y)


def real(x: Any) -> DimTensor:
    """Real part.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype of the operand, of a complex one that of its parts.

    See Also
    --------
    numpy.real

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.real(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("real", x)


def imag(x: Any) -> DimTensor:
    """Imaginary part.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype of the operand, of a complex one that of its parts.

    See Also
    --------
    numpy.imag

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.imag(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("imag", x)


def conj(x: Any) -> DimTensor:
    """Complex conjugate.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    See Also
    --------
    numpy.conj

    Notes
    -----
    Of a bool it is a bool; of NumPy's an int8.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.conj(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("conj", x)


def angle(x: Any) -> DimTensor:
    """Angle of a complex number, in radians.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype.

    See Also
    --------
    numpy.angle

    Notes
    -----
    Of a real number it is 0 or pi, and the gradient is zero.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.angle(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("angle", x)


def complex(real: Any, imag: Any) -> DimTensor:
    """Complex number of two parts.

    Parameters
    ----------
    real, imag : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a complex dtype.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.complex(dt.scalar("real"), dt.scalar("imag")).dtype
    'complex128'
    """
    return elemwise("complex", real, imag)


def complex_from_polar(abs: Any, angle: Any) -> DimTensor:
    """Complex number of its absolute value and its angle in radians.

    Parameters
    ----------
    abs, angle : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a complex dtype.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.complex_from_polar(dt.scalar("abs"), dt.scalar("angle")).dtype
    'complex128'
    """
    return elemwise("complex_from_polar", abs, angle)


def stop_gradient(x: Any) -> DimTensor:
    """The operand, whose gradient counts as zero.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Notes
    -----
    Also as zero in second derivatives.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.stop_gradient(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("stop_gradient", x)


def sigmoid(x: Any) -> DimTensor:
    """Logistic function 1 / (1 + exp(-x)).

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.sigmoid(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("sigmoid", x)


def logit(x: Any) -> DimTensor:
    """Logarithm of the odds x / (1 - x), the inverse of sigmoid.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.logit(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("logit", x)


def softplus(x: Any) -> DimTensor:
    """log(1 + exp(x)) without overflow.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.softplus(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("softplus", x)


def log1mexp(x: Any) -> DimTensor:
    """log(1 - exp(x)) of a negative operand, precise at both ends.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.log1mexp(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("log1mexp", x)


def xlogy(x: Any, y: Any) -> DimTensor:
    """Product x * log(y), and 0 where x is 0.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Notes
    -----
    Where x is 0 it is 0 even if y is NaN.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.xlogy(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("xlogy", x, y)


def xlog1py(x: Any, y: Any) -> DimTensor:
    """Product x * log(1 + y), and 0 where x is 0.

    Parameters
    ----------
    x, y : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Notes
    -----
    Where x is 0 it is 0 even if y is NaN.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.xlog1py(dt.scalar("x"), dt.scalar("y")).dtype
    'float64'
    """
    return elemwise("xlog1py", x, y)


def erf(x: Any) -> DimTensor:
    """Error function.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.erf(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("erf", x)


def erfc(x: Any) -> DimTensor:
    """Complementary error function.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.erfc(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("erfc", x)


def erfcx(x: Any) -> DimTensor:
    """Scaled complementary error function exp(x^2) erfc(x).

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.erfcx(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("erfcx", x)


def erfinv(x: Any) -> DimTensor:
    """Inverse error function.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.erfinv(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("erfinv", x)


def erfcinv(x: Any) -> DimTensor:
    """Inverse complementary error function.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.erfcinv(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("erfcinv", x)


def ndtr(x: Any) -> DimTensor:
    """Cumulative distribution function of the standard normal.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.ndtr(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("ndtr", x)


def log_ndtr(x: Any) -> DimTensor:
    """Logarithm of ndtr, precise for very negative and very large x.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.log_ndtr(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("log_ndtr", x)


def ndtri(p: Any) -> DimTensor:
    """Normal quantile, the inverse of ndtr.

    Parameters
    ----------
    p : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.ndtri(dt.scalar("p")).dtype
    'float64'
    """
    return elemwise("ndtri", p)


def ndtri_exp(x: Any) -> DimTensor:
    """Normal quantile of exp(x), precise for very negative x.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.ndtri_exp(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("ndtri_exp", x)


def owens_t(h: Any, a: Any) -> DimTensor:
    """Owen's T function.

    Parameters
    ----------
    h, a : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.owens_t(dt.scalar("h"), dt.scalar("a")).dtype
    'float64'
    """
    return elemwise("owens_t", h, a)


def gamma(x: Any) -> DimTensor:
    """Gamma function.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.gamma(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("gamma", x)


def gammaln(x: Any) -> DimTensor:
    """Logarithm of the absolute value of the gamma function.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.gammaln(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("gammaln", x)


def psi(x: Any) -> DimTensor:
    """Digamma function: the derivative of gammaln.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.psi(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("psi", x)


def tri_gamma(x: Any) -> DimTensor:
    """Trigamma function: the second derivative of gammaln.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.tri_gamma(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("tri_gamma", x)


def polygamma(n: Any, x: Any) -> DimTensor:
    """Derivative of integer order n of the digamma function.

    Parameters
    ----------
    n, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype; the first operand is an integer.

    Raises
    ------
    DtypeError
        For complex numbers and a first operand of floats.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.polygamma(dt.scalar("n", "int64"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("polygamma", n, x)


def factorial(n: Any) -> DimTensor:
    """Factorial, gamma(n + 1) of any operand.

    Parameters
    ----------
    n : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Notes
    -----
    It does not vanish at negative operands, where SciPy's does.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.factorial(dt.scalar("n")).dtype
    'float64'
    """
    return elemwise("factorial", n)


def poch(z: Any, m: Any) -> DimTensor:
    """Rising factorial gamma(z + m) / gamma(z) of positive operands.

    Parameters
    ----------
    z, m : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.poch(dt.scalar("z"), dt.scalar("m")).dtype
    'float64'
    """
    return elemwise("poch", z, m)


def beta(a: Any, b: Any) -> DimTensor:
    """Beta function of positive operands.

    Parameters
    ----------
    a, b : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.beta(dt.scalar("a"), dt.scalar("b")).dtype
    'float64'
    """
    return elemwise("beta", a, b)


def betaln(a: Any, b: Any) -> DimTensor:
    """Logarithm of the beta function of positive operands.

    Parameters
    ----------
    a, b : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.betaln(dt.scalar("a"), dt.scalar("b")).dtype
    'float64'
    """
    return elemwise("betaln", a, b)


def gammainc(k: Any, x: Any) -> DimTensor:
    """Regularised lower incomplete gamma function.

    Parameters
    ----------
    k, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.gammainc(dt.scalar("k"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("gammainc", k, x)


def gammaincc(k: Any, x: Any) -> DimTensor:
    """Regularised upper incomplete gamma function.

    Parameters
    ----------
    k, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.gammaincc(dt.scalar("k"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("gammaincc", k, x)


def gammal(k: Any, x: Any) -> DimTensor:
    """Lower incomplete gamma function, not regularised.

    Parameters
    ----------
    k, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.gammal(dt.scalar("k"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("gammal", k, x)


def gammau(k: Any, x: Any) -> DimTensor:
    """Upper incomplete gamma function, not regularised.

    Parameters
    ----------
    k, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.gammau(dt.scalar("k"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("gammau", k, x)


def gammaincinv(k: Any, p: Any) -> DimTensor:
    """Inverse of gammainc in x.

    Parameters
    ----------
    k, p : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.gammaincinv(dt.scalar("k"), dt.scalar("p")).dtype
    'float64'
    """
    return elemwise("gammaincinv", k, p)


def gammainccinv(k: Any, p: Any) -> DimTensor:
    """Inverse of gammaincc in x.

    Parameters
    ----------
    k, p : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.gammainccinv(dt.scalar("k"), dt.scalar("p")).dtype
    'float64'
    """
    return elemwise("gammainccinv", k, p)


def betainc(a: Any, b: Any, x: Any) -> DimTensor:
    """Regularised incomplete beta function.

    Parameters
    ----------
    a, b, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.betainc(dt.scalar("a"), dt.scalar("b"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("betainc", a, b, x)


def betaincinv(a: Any, b: Any, p: Any) -> DimTensor:
    """Inverse of betainc in x.

    Parameters
    ----------
    a, b, p : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.betaincinv(dt.scalar("a"), dt.scalar("b"), dt.scalar("p")).dtype
    'float64'
    """
    return elemwise("betaincinv", a, b, p)


def j0(x: Any) -> DimTensor:
    """Bessel function of the first kind, order 0.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.j0(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("j0", x)


def j1(x: Any) -> DimTensor:
    """Bessel function of the first kind, order 1.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.j1(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("j1", x)


def jv(v: Any, x: Any) -> DimTensor:
    """Bessel function of the first kind, order v.

    Parameters
    ----------
    v, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.jv(dt.scalar("v"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("jv", v, x)


def i0(x: Any) -> DimTensor:
    """Modified Bessel function of the first kind, order 0.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.i0(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("i0", x)


def i1(x: Any) -> DimTensor:
    """Modified Bessel function of the first kind, order 1.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.i1(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("i1", x)


def i0e(x: Any) -> DimTensor:
    """i0(x) * exp(-abs(x)), which does not overflow.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.i0e(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("i0e", x)


def i1e(x: Any) -> DimTensor:
    """i1(x) * exp(-abs(x)), which does not overflow.

    Parameters
    ----------
    x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.i1e(dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("i1e", x)


def iv(v: Any, x: Any) -> DimTensor:
    """Modified Bessel function of the first kind, order v.

    Parameters
    ----------
    v, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.iv(dt.scalar("v"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("iv", v, x)


def ive(v: Any, x: Any) -> DimTensor:
    """iv(v, x) * exp(-abs(x)).

    Parameters
    ----------
    v, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.ive(dt.scalar("v"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("ive", v, x)


def kv(v: Any, x: Any) -> DimTensor:
    """Modified Bessel function of the second kind, order v.

    Parameters
    ----------
    v, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.kv(dt.scalar("v"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("kv", v, x)


def kve(v: Any, x: Any) -> DimTensor:
    """kv(v, x) * exp(x).

    Parameters
    ----------
    v, x : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.kve(dt.scalar("v"), dt.scalar("x")).dtype
    'float64'
    """
    return elemwise("kve", v, x)


def hyp2f1(a: Any, b: Any, c: Any, z: Any) -> DimTensor:
    """Gauss hypergeometric function 2F1.

    Parameters
    ----------
    a, b, c, z : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        Of a float dtype: integers count as float64.

    Raises
    ------
    DtypeError
        For complex numbers.
    DimError
        If two different dims of one name meet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.hyp2f1(dt.scalar("a"), dt.scalar("b"), dt.scalar("c"), dt.scalar("z")).dtype
    'float64'
    """
    return elemwise("hyp2f1", a, b, c, z)


true_divide = divide
remainder = mod
absolute = abs
rint = round
asin = arcsin
acos = arccos
atan = arctan
atan2 = arctan2
asinh = arcsinh
acosh = arccosh
atanh = arctanh
radians = deg2rad
degrees = rad2deg
bitwise_not = invert
bitwise_invert = invert
conjugate = conj
expit = sigmoid
log1pexp = softplus
digamma = psi
trigamma = tri_gamma
kn = kv
