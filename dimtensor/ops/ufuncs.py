"""NumPy's functions that PyTensor lacks, composed of those that it has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.graph.dtypes import is_float


def _like(value: float, x: Variable) -> np.ndarray:
    return np.asarray(value, dtype=x.type.dtype)


def _hypot(x: Variable, y: Variable) -> Variable:
    """Root of the sum of squares, the larger one taken out; 0 with a gradient of 0 for zeros."""
    x, y = pt.abs(x), pt.abs(y)
    high, low = pt.maximum(x, y), pt.minimum(x, y)
    plain = pt.neq(high, 0) & ~pt.isinf(high)
    ratio = pt.switch(plain, low, _like(0, x)) / pt.switch(plain, high, _like(1, x))
    infinite = pt.isinf(x) | pt.isinf(y)
    return pt.switch(infinite, _like(np.inf, x), high * pt.sqrt(1 + ratio * ratio))


def _cbrt(x: Variable) -> Variable:
    """Cube root: a power, and a step of Newton's for the digits that it lacks."""
    plain = pt.neq(x, 0) & ~pt.isinf(x)
    size = pt.switch(plain, pt.abs(x), _like(1, x))
    near = pt.pow(size, _like(1 / 3, x))
    root = near - (near - size / (near * near)) / _like(3, x)
    # of a zero, and of infinities, the root is the number itself; the slope at zero is infinite
    rest = pt.switch(pt.eq(x, 0), pt.sqrt(pt.switch(pt.eq(x, 0), x, _like(0, x))), x)
    return pt.switch(plain, pt.sign(x) * root, rest)


def _signbit(x: Variable) -> Variable:
    below = pt.lt(x, 0)
    if not is_float(x.type.dtype):
        return below
    zero = pt.eq(x, 0)
    return below | (zero & pt.gt(pt.arctan2(_like(0, x), pt.switch(zero, x, _like(0, x))), 1))


def _copysign(x: Variable, y: Variable) -> Variable:
    size = pt.abs(x)
    return pt.switch(_signbit(y), -size, size)


def _fmax(x: Variable, y: Variable) -> Variable:
    return pt.switch(pt.ge(x, y) | _missing(y), x, y)


def _fmin(x: Variable, y: Variable) -> Variable:
    return pt.switch(pt.le(x, y) | _missing(y), x, y)


def _missing(x: Variable) -> Variable:
    return pt.isnan(x) if is_float(x.type.dtype) else pt.zeros_like(x, dtype="bool")


def _fmod(x: Variable, y: Variable) -> Variable:
    """Remainder with the sign of the dividend."""
    zero = pt.eq(y, 0)
    if is_float(x.type.dtype):
        return _copysign(pt.mod(pt.abs(x), pt.abs(y)), x)
    rest = pt.mod(x, pt.switch(zero, _like(1, y), y))
    wrong = pt.neq(rest, 0) & (pt.lt(rest, 0) ^ pt.lt(x, 0))
    return pt.switch(zero, pt.zeros_like(rest), pt.switch(wrong, rest - y, rest))


def _heaviside(x: Variable, y: Variable) -> Variable:
    step = pt.switch(pt.lt(x, 0), _like(0, x), _like(1, x))
    return pt.switch(_missing(x), x, pt.switch(pt.eq(x, 0), y, step))


def _logaddexp2(x: Variable, y: Variable) -> Variable:
    first = pt.ge(x, y)
    high, low = pt.switch(first, x, y), pt.switch(first, y, x)
    same = pt.eq(high, low) & pt.isinf(high)
    gap = pt.switch(same, _like(0, high), low - high)
    return high + pt.log1p(pt.exp2(gap)) * _like(1 / np.log(2), high)


def _ldexp(x: Variable, exponent: Variable) -> Variable:
    """Multiply by a power of two, in steps that do not overflow before the product does.

    Powers are exact on every backend where ``exp2`` is not on JAX.
    """
    exponent = pt.minimum(pt.maximum(exponent, _like(-3300, x)), _like(3300, x))
    third = pt.trunc(exponent / _like(3, x))
    two = _like(2, x)
    step = pt.pow(two, third)
    return x * step * step * pt.pow(two, exponent - third - third)


def _left_shift(x: Variable, n: Variable) -> Variable:
    bits = np.dtype(x.type.dtype).itemsize * 8
    kept = pt.switch(pt.ge(n, bits), _like(0, n), n)
    return pt.switch(pt.ge(n, bits), _like(0, x), x * pt.pow(_like(2, x), kept))


def _right_shift(x: Variable, n: Variable) -> Variable:
    kind = np.dtype(x.type.dtype)
    most = kind.itemsize * 8 - (2 if kind.kind == "i" else 1)
    kept = pt.minimum(n, _like(most, n))
    once = pt.int_div(x, pt.pow(_like(2, x), kept))
    beyond = pt.switch(pt.lt(x, 0), _like(-1, x), _like(0, x)) if kind.kind == "i" else _like(0, x)
    return pt.switch(pt.gt(n, most), beyond, once)


UFUNCS: dict[str, Callable[..., Variable]] = {
    "hypot": _hypot,
    "cbrt": _cbrt,
    "signbit": _signbit,
    "copysign": _copysign,
    "fmax": _fmax,
    "fmin": _fmin,
    "fmod": _fmod,
    "heaviside": _heaviside,
    "logaddexp2": _logaddexp2,
    "ldexp": _ldexp,
    "left_shift": _left_shift,
    "right_shift": _right_shift,
}
