"""Addresses of compiled functions in other libraries, by descriptions that can be stored."""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dimtensor.kernels.native.values import OutOfScope
from dimtensor.settings import settings
from dimtensor.upstream import openblas

_PREFIX = "scipy_"  # of OpenBLAS's names in SciPy's wheels


def address_of(where: str) -> int:
    """Return the address of a function.

    BLAS and LAPACK run in the calling thread alone, unless ``DIMTENSOR_BLAS_THREADS=1`` is in the
    environment.

    Parameters
    ----------
    where : str
        ``"scipy.special:psi:1"``: SciPy's psi of one double; ``"lapack:dpotrf:5"``: a subroutine of
        its LAPACK; ``"numpy.random:random_normal:3"``: a function of NumPy's distributions;
        ``"error:dimtensor.errors:CheckError"``: a class of errors of a module.

    Raises
    ------
    OutOfScope
        If there is no such function.
    """
    return _address_of(where, settings().blas_threads)


@cache
def _address_of(where: str, blas_threads: bool) -> int:
    kind, name, count = where.split(":")
    if kind == "scipy.special":
        return _of_cython_special(name, int(count))
    if kind in ("lapack", "blas"):
        return _of_wheel(kind, name, blas_threads) or _of_capsule(kind, name)
    if kind == "numpy.random":
        return _of_numpy_random(name)
    if kind == "error":
        return id(getattr(importlib.import_module(name), count))
    raise OutOfScope(f"functions of {kind}")


def _of_wheel(library: str, name: str, threads: bool) -> int | None:
    """Find a subroutine in the OpenBLAS of SciPy's wheels, without importing SciPy.

    Names with this prefix belong to the wheels' OpenBLAS, with 32-bit integers.
    """
    found = _shared_object(f"cython_{library}")
    if found is None or not hasattr(found, f"{_PREFIX}{name}_"):
        return None
    if not threads:
        found = openblas.single_threaded(found, _PREFIX) or found
    return ctypes.cast(getattr(found, f"{_PREFIX}{name}_"), ctypes.c_void_p).value


@cache
def _shared_object(name: str) -> ctypes.CDLL | None:
    """Load the module of SciPy that is linked to BLAS and LAPACK, as a library."""
    spec = find_spec("scipy")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for suffix in EXTENSION_SUFFIXES:
            path = Path(folder) / "linalg" / f"{name}{suffix}"
            if path.exists():
                try:
                    return ctypes.CDLL(str(path))
                except OSError:  # SciPy finds more than the system does
                    return None
    return None


def _of_capsule(library: str, name: str) -> int:
    module = importlib.import_module(f"scipy.linalg.cython_{library}")
    capsule = module.__pyx_capi__[name]
    return capsule_address(capsule, _name_of(capsule))


def _of_numpy_random(name: str) -> int:
    """Find a function of NumPy's C interface to distributions, or of its PCG64."""
    from numpy.random import PCG64

    from dimtensor.upstream.numpy import distributions_file

    _require_known_state()
    function = getattr(PCG64(0).ctypes, name, None)
    if function is None:
        try:
            function = getattr(ctypes.CDLL(distributions_file()), name)
        except AttributeError as error:
            raise OutOfScope(f"NumPy has no {name}") from error
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address
    return address


@cache
def _require_known_state() -> None:
    """Look whether the state of PCG64 is in memory as kernels write it."""
    from numpy.random import PCG64

    bits = PCG64(0)
    high, low, stream_high, stream_low, half = 1 << 60, 2, 3, 5, 7
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": high << 64 | low, "inc": stream_high << 64 | stream_low},
        "has_uint32": 1,
        "uinteger": half,
    }
    state = (ctypes.c_uint64 * 2).from_address(bits.ctypes.state_address)
    stream = (ctypes.c_uint64 * 4).from_address(state[0])
    if list(stream) != [low, high, stream_low, stream_high] or state[1] != half << 32 | 1:
        raise OutOfScope("NumPy's PCG64 keeps its state in another order")


def _of_cython_special(name: str, count: int) -> int:
    """Find the version of a function for doubles, under any of SciPy's names."""
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
    """Return the address in a capsule of Python's C interface."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return get_pointer(capsule, name)
