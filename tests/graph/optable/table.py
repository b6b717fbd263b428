"""Values to try the rows of the op table on, and what outside libraries make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special

import dimtensor as dt
from dimtensor.graph.optable import OpRow, rows
from dimtensor.tensor import elementwise

ELEMWISE = rows("elemwise")
DIMS = tuple(dt.Dim(name) for name in "abc")
# operand i is on PATTERN[i]: pairs overlap in part, single ones are broadcast
PATTERN = ((0, 1), (1, 2), (0,), (2,))
SIZES = (3, 2, 4)


def oracle_of(row: OpRow) -> Callable[..., Any]:
    """The row's oracle, which works with NumPy and SciPy alone."""
    return eval(row.oracle, {"np": np, "sp": scipy.special})


def ranges(row: OpRow) -> list[tuple[float, float]]:
    """Range of each operand."""
    return [row.domain[at if len(row.domain) > 1 else 0] for at in range(row.arity)]


def draw(
    low: float, high: float, dtype: str, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    """Random values of a dtype in a range; integers get those next to it where it has none."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(low > 0, 2, shape).astype(bool)
    if kind in "iu":
        low = max(int(np.ceil(low)), 0) if kind == "u" else int(np.ceil(low))
        return rng.integers(low, max(int(np.floor(high)), low) + 1, shape).astype(dtype)
    if kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


def shape_of(at: int, sizes: Sequence[int] = SIZES) -> tuple[int, ...]:
    return tuple(sizes[axis] for axis in PATTERN[at])


def operand_dtypes(row: OpRow, dtype: str) -> list[str]:
    """The dtype for every operand; an order stays an integer."""
    return ["int64", *[dtype] * (row.arity - 1)] if row.dtype == "order" else [dtype] * row.arity


def operands(
    row: OpRow, dtype: str, rng: np.random.Generator, sizes: Sequence[int] = SIZES
) -> list[np.ndarray]:
    """One array per operand, with the axes of its dims."""
    dtypes = operand_dtypes(row, dtype)
    return [
        draw(*limits, dtypes[at], shape_of(at, sizes), rng) for at, limits in enumerate(ranges(row))
    ]


def tensors(row: OpRow, dtype: str) -> list[dt.DimTensor]:
    """One input per operand."""
    return [
        dt.tensor(name, dims=[DIMS[axis] for axis in PATTERN[at]], dtype=dtype_)
        for at, (name, dtype_) in enumerate(zip(row.names, operand_dtypes(row, dtype), strict=True))
    ]


def labeled(at: int, array: np.ndarray) -> tuple[list[str], np.ndarray]:
    """An operand as a call takes it: axes with their names."""
    return [DIMS[axis].name for axis in PATTERN[at]], array


def aligned(at: int, array: np.ndarray) -> np.ndarray:
    """An operand with an axis of length 1 for every dim that it lacks."""
    return array[tuple(slice(None) if axis in PATTERN[at] else None for axis in range(len(DIMS)))]


def used_axes(row: OpRow) -> list[int]:
    return sorted({axis for at in range(row.arity) for axis in PATTERN[at]})


def expected(row: OpRow, arrays: Sequence[np.ndarray], result: str) -> np.ndarray:
    """The oracle's values; integers count as float64 where the row says that the result is float.

    NumPy and SciPy would compute small integers in lower precision.
    """
    if row.dtype in ("float", "realfloat", "complex") and result in ("float64", "complex128"):
        arrays = [x.astype("float64") if x.dtype.kind in "biu" else x for x in arrays]
    with np.errstate(all="ignore"):
        value = np.asarray(oracle_of(row)(*(aligned(at, x) for at, x in enumerate(arrays))))
    unused = [axis for axis in range(len(DIMS)) if axis not in used_axes(row)]
    return value.squeeze(tuple(unused))


def function_of(row: OpRow) -> Callable[..., Any]:
    return getattr(elementwise, row.name)


def in_order(row: OpRow, result: Any) -> np.ndarray:
    """A result with its axes in the order of the expected values."""
    return result.transpose(*[DIMS[axis].name for axis in used_axes(row)]).values


def assert_close(found: np.ndarray, wanted: np.ndarray, dtype: str = "float64") -> None:
    precise = dtype not in ("float32", "complex64")
    tolerance = {"rtol": 1e-10, "atol": 1e-12} if precise else {"rtol": 3e-5, "atol": 3e-6}
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, **tolerance)
