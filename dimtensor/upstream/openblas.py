"""OpenBLAS: a second, single-threaded copy of the shared library in the process.

Built with POSIX threads, as in SciPy's wheels, OpenBLAS has one number of threads for the whole
process (``openblas_set_num_threads_local`` sets it, too). A copy of the library has its own.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

_POSIX_THREADS = 1  # what openblas_get_parallel returns; 0 without threads, 2 with OpenMP


class _SymbolInfo(ctypes.Structure):
    """``Dl_info`` of the C library."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def single_threaded(library: ctypes.CDLL, prefix: str) -> ctypes.CDLL | None:
    """Load a copy of the OpenBLAS that a library is linked to, with one thread.

    The original, its number of threads and what threadpoolctl finds are unchanged.

    Parameters
    ----------
    library : CDLL
        A shared library that depends on OpenBLAS.
    prefix : str
        The prefix of OpenBLAS's names, ``scipy_`` in wheels.

    Returns
    -------
    CDLL or None
        None where a copy is not possible (not on Linux) or not needed.
    """
    if not (hasattr(os, "memfd_create") and hasattr(os, "sendfile")):
        return None
    try:
        if getattr(library, f"{prefix}openblas_get_parallel")() != _POSIX_THREADS:
            return None
        original = _symbol_info(getattr(library, f"{prefix}openblas_set_num_threads"))
        return _loaded_copy(original.file, original.base, prefix)
    except (AttributeError, OSError):
        return None


@cache
def _loaded_copy(file: bytes, base: int, prefix: str) -> ctypes.CDLL:
    """Load a copy of a file, which is anonymous memory, and end its threads."""
    memory = os.memfd_create("single_threaded_openblas")
    try:
        _copy(file, memory)
        # The number of the process makes the path unique after the descriptor is closed: the
        # loader finds a library again by its path.
        mode = os.RTLD_NOW | os.RTLD_LOCAL | getattr(os, "RTLD_DEEPBIND", 0)
        copy = ctypes.CDLL(f"/proc/{os.getpid()}/fd/{memory}", mode=mode)
    finally:
        os.close(memory)
    set_threads = getattr(copy, f"{prefix}openblas_set_num_threads")
    end_threads = copy.blas_thread_shutdown_
    if base in (_symbol_info(set_threads).base, _symbol_info(end_threads).base):
        raise OSError("the loader found the original")
    set_threads(1)
    end_threads()  # started when the library was loaded; one thread needs none of them
    return copy


def _copy(file: bytes, descriptor: int) -> None:
    source = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        left = os.fstat(source).st_size
        while left:
            sent = os.sendfile(descriptor, source, None, left)
            if not sent:
                raise OSError("the file has become shorter")
            left -= sent
    finally:
        os.close(source)


def _symbol_info(function: object) -> _SymbolInfo:
    """Look up the file and the base address of a function's library."""
    found = _SymbolInfo()
    find = ctypes.CDLL(None).dladdr
    find.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    if not find(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(found)):  # type: ignore[arg-type]
        raise OSError("the function belongs to no shared library")
    return found
