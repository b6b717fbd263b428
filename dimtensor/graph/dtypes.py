"""Dtype rules of the op table: NumPy's promotion, with float64 for floats made of integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dimtensor.caches import bounded
from dimtensor.errors import DtypeError

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip


def valid_dtype(dtype: Any) -> str:
    """Return the name of a dtype that tensors may have.

    Raises
    ------
    DtypeError
        For any other; strings and datetimes are labels of dims, not elements of tensors.
    """
    if hasattr(dtype, "coords"):  # a Dim
        text = f"a dim stands in the place of a dtype: {dtype!r}"
        raise DtypeError(text, hint="several dims are a list: dims=[row, col]")
    try:
        name = np.dtype(dtype).name
    except (TypeError, ValueError):
        name = dtype if isinstance(dtype, str) else type(dtype).__name__
    if name not in DTYPES:
        raise DtypeError(
            f"a tensor has no dtype {name!r}; strings and datetimes are labels of a Dim "
            f"(dt.data(..., categories=dim) turns them into positions). dtypes: {', '.join(DTYPES)}"
        )
    return name


def is_float(dtype: str) -> bool:
    """Return True for real floating-point dtypes."""
    return dtype.startswith("float")


def is_complex(dtype: str) -> bool:
    """Return True for complex dtypes."""
    return dtype.startswith("complex")


def is_inexact(dtype: str) -> bool:
    """Return True for floating-point and complex dtypes, which have derivatives."""
    return dtype.startswith(("float", "complex"))


def is_integer(dtype: str) -> bool:
    """Return True for signed and unsigned integer dtypes, but not for bool."""
    return dtype.startswith(("int", "uint"))


def require_castable(dtype: str, target: str, what: Callable[[], str]) -> None:
    """Check that a cast does not drop imaginary parts.

    Raises
    ------
    DtypeError
        If complex numbers would become real; a cast to bool is allowed.
    """
    if is_complex(dtype) and not is_complex(target) and target != "bool":
        raise DtypeError(
            f"complex numbers do not become {target}: {what()} is of {dtype}",
            hint="x.real, x.imag, dt.abs(x) and dt.angle(x) are real",
        )


@bounded(4096)
def promote(dtypes: tuple[str, ...]) -> str:
    """Promote dtypes as NumPy does."""
    if len(dtypes) == 1 or all(dtype == dtypes[0] for dtype in dtypes):
        return dtypes[0]
    return np.result_type(*dtypes).name


# NumPy converts bools to small integers here
_NOT_OF_BOOLS = ("left_shift", "right_shift")
_ACCUMULATORS = {"float32": "float64", "complex64": "complex128"}


@bounded(4096)
@bounded(4096)
def result_dtype(rule: str, dtypes: tuple[str, ...], name: str) -> str:
    """Return the dtype of an op's result.

    Raises
    ------
    DtypeError
        If the op does not take these dtypes.
    """
    if rule == "bool" or rule == "logical":
        return "bool"
    joint = promote(dtypes[1:] if rule in ("select", "order") else dtypes)
    kind = np.dtype(joint).kind
    if rule == "order" and np.dtype(dtypes[0]).kind not in "biu":
        raise DtypeError(f"{name} takes an integer as its first operand, not {dtypes[0]}")
    if rule in ("float", "order"):
        return joint if kind in "fc" else "float64"
    if rule == "number" and kind == "b":
        raise DtypeError(f"{name} is not defined for bools; use astype(int) or logical operations")
    if rule == "integer" and kind not in "biu":
        raise DtypeError(f"{name} is defined for integers and bools, not for {joint}")
    if rule == "integer" and kind == "b" and name in _NOT_OF_BOOLS:
        raise DtypeError(f"{name} is not defined for bools; use astype(int)")
    if rule in ("real", "realfloat"):
        if kind == "c":
            return "float32" if joint == "complex64" else "float64"
        return joint if rule == "real" or kind == "f" else "float64"
    if rule == "complex":
        return "complex64" if joint == "float32" else "complex128"
    if rule == "accumulate":
        return {"b": "int64", "i": "int64", "u": "uint64"}.get(kind, joint)
    return joint


def accumulator(dtype: str) -> str:
    """Return the dtype of accumulators: double precision for sums and products of singles.

    A running total of single precision loses a digit for every tenfold of terms. Results are cast
    back.

    Examples
    --------
    >>> accumulator("float32"), accumulator("float64"), accumulator("int64")
    ('float64', 'float64', 'int64')
    """
    return _ACCUMULATORS.get(dtype, dtype)


def operand_dtype(rule: str, dtypes: Sequence[str], result: str) -> list[str]:
    """Return the dtypes to which operands are cast before the positional op is applied."""
    if rule == "bool":
        return [promote(tuple(dtypes))] * len(dtypes)
    if rule == "logical":
        return ["bool"] * len(dtypes)
    if rule == "select":
        return ["bool"] + [result] * (len(dtypes) - 1)
    if rule == "order":
        return [dtypes[0]] + [result] * (len(dtypes) - 1)
    if rule == "complex":
        return ["float32" if result == "complex64" else "float64"] * len(dtypes)
    if rule in ("real", "realfloat", "accumulate"):
        return list(dtypes)
    return [result] * len(dtypes)


def scalar_dtype(value: Any, others: Sequence[str]) -> str:
    """Return the dtype of a Python number in an operation with tensors, as NumPy 2 promotes it.

    Raises
    ------
    DtypeError
        If an integer does not fit into the tensor's integer dtype.
    """
    if isinstance(value, (np.generic, np.ndarray)):
        return valid_dtype(value.dtype)
    if not others:
        return valid_dtype(np.asarray(value).dtype)
    joint = promote(tuple(others))
    result = np.result_type(np.dtype(joint), value).name
    if isinstance(value, int) and not isinstance(value, bool) and np.dtype(result).kind in "iu":
        info = np.iinfo(result)
        if not info.min <= value <= info.max:
            raise DtypeError(f"{value} does not fit into {result}; use astype on the tensor first")
    return result


def neutral_extreme(largest: bool, dtype: str | np.dtype) -> Any:
    """Return the neutral element of a maximum or minimum: the result for no elements.

    Examples
    --------
    >>> float(neutral_extreme(True, "float32")), int(neutral_extreme(False, "int8"))
    (-inf, 127)
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return dtype.type(-np.inf if largest else np.inf)
    if dtype.kind == "b":
        return not largest
    limits = np.iinfo(dtype)
    return dtype.type(limits.min if largest else limits.max)
