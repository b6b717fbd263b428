"""Addresses of compiled functions in other libraries, by descriptions that can be stored."""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import Any

from dimtensor.kernels.native.values import OutOfScope


@cache
def address_of(where: str) -> int:
    """The address of a function.

    Parameters
    ----------
    where : str
        ``"scipy.special:psi:1"``: SciPy's psi of one double; ``"lapack:dpotrf:5"``: a subroutine of
        its LAPACK.

    Raises
    ------
    OutOfScope
        If there is no such function.
    """
    kind, name, count = where.split(":")
    if kind == "scipy.special":
        return _of_cython_special(name, int(count))
    if kind in ("lapack", "blas"):
        return _of_scipy_linalg(kind, name)
    raise OutOfScope(f"functions of {kind}")


def _of_scipy_linalg(library: str, name: str) -> int:
    module = importlib.import_module(f"scipy.linalg.cython_{library}")
    capsule = module.__pyx_capi__[name]
    return capsule_address(capsule, _name_of(capsule))


def _of_cython_special(name: str, count: int) -> int:
    """The version for doubles, under whatever name SciPy has it."""
    from scipy.special import cython_special

    signature = f"double ({', '.join(['double'] * count)}, int __pyx_skip_dispatch)"
    functions = cython_special.__pyx_capi__
    for key, capsule in functions.items():
        plain = key.removeprefix("__pyx_fuse_").lstrip("0123456789_")
        if name in (key, plain) and _name_of(capsule) == signature.encode():
            return capsule_address(capsule, signature.encode())
    raise OutOfScope(f"SciPy has no {name} of {count} doubles")


def _name_of(capsule: Any) -> bytes:
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get_name(capsule)


def capsule_address(capsule: Any, name: bytes | None) -> int:
    """What a capsule of Python's C interface holds."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return get_pointer(capsule, name)
