"""C callbacks around functions compiled by numba, for samplers that call machine code.

A callback gets a pointer to a table of unsigned integers: first the number of elements of the
vector, then for each array that the function takes after the vector its address and its shape. So
one compiled callback works on all data of the same types, whatever their lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

# value and gradient; returns 0, or what is wrong: below 0 for good, above 0 at this point only
_GRADIENT = """
def callback(size_, x_, gradient_, value_, table_):
    try:
        table = carray(table_, ({entries},), uint64)
        if size_ != table[0]:
            return -1
        size = intp(size_)
        results = inner(carray(x_, (size,)){arrays})
        if not ({fine}):
            return 2
        value, gradient = asarray(results[0]).item(), results[1]
        out = carray(gradient_, (size,))
        for at in range(size):
            out[at] = gradient[at]
            if not isfinite(out[at]):
                return 3
        carray(value_, (1,))[0] = value
        if not isfinite(value):
            return 4
    except Exception:
        return 1
    return 0
"""

# from one vector to another
_VECTOR = """
def callback(size_, size_out_, x_, out_, table_):
    try:
        table = carray(table_, ({entries},), uint64)
        if size_ != table[0]:
            return -1
        results = inner(carray(x_, (intp(size_),)){arrays})
        if not ({fine}):
            return -3
        values = results[0]
        if values.size != size_out_:
            return -1
        out = carray(out_, (intp(size_out_),))
        for at in range(values.size):
            out[at] = values[at]
    except Exception:
        return -2
    return 0
"""

_COPY = """
def callback(size_, size_out_, x_, out_, table_):
    if size_ != size_out_:
        return -1
    x, out = carray(x_, (intp(size_),)), carray(out_, (intp(size_),))
    for at in range(intp(size_)):
        out[at] = x[at]
    return 0
"""


def table_of(size: int, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The table that a callback reads its arrays from; they must outlive it."""
    entries = [size]
    for array in arrays:
        entries += [array.ctypes.data, *array.shape]
    return np.array(entries, dtype=np.uint64)


def gradient_callback(
    inner: Any, arrays: Sequence[np.ndarray], first: int = 1, checks: Sequence[int] = ()
) -> Any:
    """A C function that computes value and gradient.

    Parameters
    ----------
    inner : numba dispatcher
        Takes the vector and arrays of these types, returns value and gradient first.
    arrays : sequence of ndarray
    first : int
        Where in the table the arrays begin.
    checks : sequence of int
        Which results must be true; where one is not the point is refused, as one where the value is
        not finite.

    Returns
    -------
    numba CFunc
        ``int64 f(uint64 size, double *x, double *gradient, double *value, void *table)``.
    """
    return _compile(_GRADIENT, "qppp", inner, arrays, first, checks)


def vector_callback(
    inner: Any, arrays: Sequence[np.ndarray], first: int = 1, checks: Sequence[int] = ()
) -> Any:
    """A C function from a vector to a vector; parameters as of :func:`gradient_callback`.

    Where a check is false it fails for good: what is asked for is a draw, and not a proposal.

    Returns
    -------
    numba CFunc
        ``int64 f(uint64 size, uint64 size_out, double *x, double *out, void *table)``.
    """
    return _compile(_VECTOR, "qqpp", inner, arrays, first, checks)


def copy_callback() -> Any:
    """A C function with the signature of :func:`vector_callback` that copies the vector."""
    return _compile(_COPY, "qqpp", None, (), 1, ())


def _compile(
    template: str,
    signature: str,
    inner: Any,
    arrays: Sequence[np.ndarray],
    at: int,
    checks: Sequence[int],
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
        "isfinite": np.isfinite,
        "uint64": np.uint64,
    }
    expressions = ""
    for number, array in enumerate(arrays):
        names[f"typed_{number}"] = _with_type(numba.typeof(array))
        names[f"dtype_{number}"] = array.dtype
        shape = "".join(f"intp(table[{at + 1 + axis}])," for axis in range(array.ndim))
        view = f"carray(as_pointer(table[{at}]), ({shape}), dtype_{number})"
        expressions += f", typed_{number}({view})"
        at += 1 + array.ndim
    namespace = dict(names)
    fine = " and ".join(f"asarray(results[{place}]).item()" for place in checks) or "True"
    exec(template.format(entries=at, arrays=expressions, fine=fine), namespace)
    kinds = {"q": types.uint64, "p": types.CPointer(types.double)}
    c_signature = types.int64(*(kinds[letter] for letter in signature), types.voidptr)
    with warnings.catch_warnings():
        # a callback is made from text and closes over a dispatcher: numba has nowhere to keep it
        warnings.filterwarnings("ignore", message="Cannot cache compiled function")
        return numba.cfunc(c_signature)(namespace["callback"])


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
