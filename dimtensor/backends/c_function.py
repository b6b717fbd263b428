"""C functions: compiled code for machine code, which brings the buffers for the results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from dimtensor.backends import Executable
from dimtensor.kernels.native.flat import CONDITION, closure_table
from dimtensor.kernels.native.translate import ArgumentType

_TEMPLATE = """
def flat(arrays_, results_, closure_):
    try:
        closure = carray(closure_, ({words},), uint64)
        arrays = carray(arrays_, ({given},), uint64)
        found = inner({arguments})
{stores}
        if not ({fine}):
            return {condition}
    except Exception:
        return 1
    return 0
"""
_STORE_ARRAY = """
        flat_{at} = found[{at}].reshape(-1)
        to_{at} = carray(as_pointer(carray(results_, ({at} + 1,), uint64)[{at}]), flat_{at}.shape,
                         result_{at})
        for i in range(flat_{at}.shape[0]):
            to_{at}[i] = flat_{at}[i]
"""
_STORE_NUMBER = """
        carray(as_pointer(carray(results_, ({at} + 1,), uint64)[{at}]), (1,), result_{at})[0] = (
            asarray(found[{at}]).item())
"""


class CFunction:
    """A C function of buffers, and what it takes beside them.

    Parameters
    ----------
    executable : Executable
        Of the numba backend.
    given : sequence of ndarray
        Arrays like those of a call: their dtypes and shapes are what counts.
    fixed : sequence of ndarray
        What the code takes after those; kept, and read at every call.
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
        self._table = closure_table(types, shapes, fixed, len(results), first)
        if executable.native is not None:
            self.address = executable.native.flat_address
            self._kept: tuple = (executable.native, *fixed)
        else:
            function = _through_numba(executable.raw, given, fixed, results, conditions)
            self.address = function.address
            self._kept = (function, *fixed)
        self.closure = self._table.ctypes.data

    def __repr__(self) -> str:
        return f"<CFunction at 0x{self.address:x}>"


def _through_numba(
    inner: Any,
    given: Sequence[np.ndarray],
    fixed: Sequence[np.ndarray],
    results: Sequence[tuple[str, int]],
    conditions: range,
) -> Any:
    import numba

    key = (tuple(str(numba.typeof(a)) for a in (*given, *fixed)), tuple(results), conditions)
    kept = _compiled.setdefault(inner, {})
    if key not in kept:
        kept[key] = _compile(inner, given, fixed, results, conditions)
    return kept[key]


_compiled: dict[Any, dict[tuple, Any]] = {}


def _compile(
    inner: Any,
    given: Sequence[np.ndarray],
    fixed: Sequence[np.ndarray],
    results: Sequence[tuple[str, int]],
    conditions: range,
) -> Any:
    import warnings

    import numba
    from numba import types

    names: dict[str, Any] = {
        "asarray": np.asarray,
        "as_pointer": _as_pointer(),
        "carray": numba.carray,
        "inner": inner,
        "intp": np.intp,
        "uint64": np.uint64,
    }
    arguments, word = [], 3
    for number, array in enumerate([*given, *fixed]):
        names[f"typed_{number}"] = _with_type(numba.typeof(array))
        names[f"dtype_{number}"] = array.dtype
        shape = "".join(f"intp(closure[{word + 1 + axis}])," for axis in range(array.ndim))
        pointer = f"arrays[{number}]" if number < len(given) else f"closure[{word}]"
        view = f"carray(as_pointer({pointer}), ({shape}), dtype_{number})"
        arguments.append(f"typed_{number}({view})")
        word += 1 + array.ndim
    stores = ""
    for at, (dtype, ndim) in enumerate(results):
        names[f"result_{at}"] = np.dtype(dtype)
        stores += (_STORE_ARRAY if ndim else _STORE_NUMBER).format(at=at).rstrip()
    fine = " and ".join(f"asarray(found[{place}]).item()" for place in conditions) or "True"
    text = _TEMPLATE.format(
        words=word, given=max(len(given), 1), arguments=", ".join(arguments), stores=stores,
        fine=fine, condition=CONDITION,
    )  # fmt: skip
    exec(text, names)
    with warnings.catch_warnings():
        # it is made from text and closes over a dispatcher: numba has nowhere to keep it
        warnings.filterwarnings("ignore", message="Cannot cache compiled function")
        signature = types.int32(types.voidptr, types.voidptr, types.voidptr)
        return numba.cfunc(signature)(names["flat"])


@cache
def _as_pointer() -> Any:
    """An intrinsic that takes an address for a pointer."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def as_pointer(typing, address):
        def codegen(context, builder, signature, args):
            return builder.inttoptr(args[0], cgutils.voidptr_t)

        return types.voidptr(address), codegen

    return as_pointer


@cache
def _with_type(array_type: Any) -> Any:
    """An intrinsic that takes an array for one of exactly this type.

    numba's carray gives writeable arrays only. An inner function that has been compiled for
    read-only data would be compiled again for those.
    """
    from numba.extending import intrinsic

    @intrinsic
    def with_type(typing, array):
        def codegen(context, builder, signature, args):
            context.nrt.incref(builder, signature.args[0], args[0])
            return args[0]

        return array_type(array), codegen

    return with_type
