"""C functions: compiled code for machine code, which brings the buffers for the results."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dimtensor.backends.base import Executable
from dimtensor.kernels.native.flat import CONDITION, closure_table
from dimtensor.kernels.native.values import ArgumentType

_TABLE = ctypes.POINTER(ctypes.c_void_p)
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, _TABLE, _TABLE, ctypes.c_void_p)


class CFunction:
    """C function of buffers, with the arrays that it reads besides its arguments.

    Parameters
    ----------
    executable : Executable
        Of the native backend.
    given : sequence of ndarray
        Arrays with the dtypes and shapes of a call.
    fixed : sequence of ndarray
        Further arguments of the code, kept alive and read in every call.
    results : sequence of (str, int)
        Dtype and number of axes of each result that a call gives a buffer for.
    conditions : range
        Which results must be true.

    Attributes
    ----------
    address : int
        Of ``int32_t f(void *const *arrays, void *const *results, const uint64_t *closure)``. It
        gives 0, -1 where a condition is false, and a positive number where it fails otherwise.
    closure : int
        Address of its last argument; valid as long as this object is.
    """

    def __init__(
        self,
        executable: Executable,
        given: Sequence[np.ndarray],
        fixed: Sequence[np.ndarray],
        results: Sequence[tuple[str, int]],
        conditions: range,
    ):
        arrays = [*given, *fixed]
        types = tuple(ArgumentType(a.dtype.name, (None,) * a.ndim) for a in arrays)
        shapes = [a.shape for a in given]
        first = conditions.start if conditions else 1 << 30
        self._call: _Call | None = None
        self._table = closure_table(types, shapes, fixed, len(results), first)
        self._native = executable.native
        if executable.native is not None:
            self.address = executable.native.flat_address
            self._kept: tuple = (executable.native, *fixed)
        else:
            n_constants = len(executable.constants)
            self._call = _Call(executable.call)
            function = _through_python(
                self._call, given, fixed[: len(fixed) - n_constants], results, conditions
            )
            address = ctypes.cast(function, ctypes.c_void_p).value
            assert address is not None
            self.address = address
            self._kept = (function, *fixed)
        self.closure = self._table.ctypes.data

    def call_through(self, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Wrap the Python function that is called, where there is no machine code of ours."""
        if self._call is not None:
            self._call.function = wrap(self._call.function)

    def stop(self) -> None:
        """End loops that may never end, in threads that are not Python's: calls fail."""
        if self._native is not None:
            self._native.stop()

    def resume(self) -> None:
        """Let loops run again after they were stopped."""
        if self._native is not None:
            self._native.stop(False)

    def __repr__(self) -> str:
        return f"<CFunction at 0x{self.address:x}>"


class _Call:
    """A function of Python that can be replaced by another one."""

    def __init__(self, function: Callable[..., Sequence[Any]]):
        self.function = function


def _through_python(
    call: _Call,
    given: Sequence[np.ndarray],
    fixed: Sequence[np.ndarray],
    results: Sequence[tuple[str, int]],
    conditions: range,
) -> Any:
    """Wrap a Python function in a C function, for code without machine code of ours.

    A thread that calls it waits for Python's lock.
    """
    kinds = [(array.shape, array.dtype) for array in given]

    def flat(arrays: Any, places: Any, closure: Any) -> int:
        try:
            taken = [_array_at(arrays[at], *kind) for at, kind in enumerate(kinds)]
            found = [np.asarray(value) for value in call.function(*taken, *fixed)]
            for at, (dtype, _) in enumerate(results):
                _array_at(places[at], found[at].shape, np.dtype(dtype))[...] = found[at]
            return 0 if all(found[place] for place in conditions) else CONDITION
        except BaseException:  # nobody above could catch it
            return 1

    return _PROTOTYPE(flat)


def _array_at(address: int | None, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return the array at an address."""
    size = math.prod(shape) * dtype.itemsize
    return np.ndarray(shape, dtype, (ctypes.c_char * size).from_address(address or 0))
