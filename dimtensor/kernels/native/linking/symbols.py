"""Names that machine code calls functions of other libraries by."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from dimtensor.settings import settings

# the largest size by which glibc may raise the one from which on it maps memory
_LARGEST_KEPT = 32 * 2**20 - 2**14
# those of the C library that LLVM might not find by itself
_NAMES = (
    "exp log sin cos exp2 log2 log10 pow log1p expm1 tanh sinh cosh tan asin acos atan asinh "
    "acosh atanh erf erfc atan2 expf logf sinf cosf exp2f log2f log10f powf floor ceil trunc "
    "rint round floorf ceilf truncf rintf roundf malloc free memset memcpy memmove calloc fmod "
    "aligned_alloc madvise"
)
_added: dict[str, int] = {}
added: Mapping[str, int] = MappingProxyType(_added)


def add(symbol: str, address: int) -> None:
    """Tell where a function is that code calls under a name."""
    _added[symbol] = address


def find(symbol: str) -> int | None:
    """Return the address of a registered function, or of one in a library of the process."""
    known = _added.get(symbol)
    return _address(library(), symbol) if known is None else known


@cache
def library() -> ctypes.CDLL:
    """Open the C library and the process itself, and register their functions."""
    found = ctypes.CDLL(None)
    _keep_freed_memory(found)
    for name in _NAMES.split():
        address = _address(found, name)
        if address:
            add(name, address)
    return found


def _address(found: ctypes.CDLL, name: str) -> int | None:
    try:
        return ctypes.cast(getattr(found, name), ctypes.c_void_p).value
    except AttributeError:
        return None


def _keep_freed_memory(found: ctypes.CDLL) -> None:
    """Let the C library keep memory that was freed, as it does after one large array was.

    Until then it gives arrays of more than 128 KiB back to the system when they are freed, and each
    call of a kernel that makes some waits for their pages, which can take longer than to fill them.
    The C library is that of the whole process, so it is left as it is unless
    ``DIMTENSOR_KEEP_MEMORY=1`` is in the environment.
    """
    if not settings().keep_memory:
        return
    found.malloc.restype, found.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    found.free.restype, found.free.argtypes = None, [ctypes.c_void_p]
    found.free(found.malloc(_LARGEST_KEPT))
