"""Kernels that numba compiles: for what machine code lacks, and where it cannot be loaded."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dimtensor.kernels.generated import function_of_source
from dimtensor.settings import settings


def jitted(source: str, names: Mapping[str, Any]) -> Any:
    """A function of numba, compiled when it is first called.

    What it becomes is kept on disk, in the folder in which PyTensor keeps functions of numba, for
    as long as nothing that its text calls changes.

    Parameters
    ----------
    source : str
        Defines `kernel`.
    names : mapping of str to object
        What it calls.
    """
    import numba

    # numba imports the module of what it loads
    namespace: dict[str, Any] = {"__name__": __name__, "np": np, "math": math}
    keys: list[str | None] = []
    for name, value in sorted(names.items()):
        known: str | None
        if isinstance(value, type):
            namespace[name], known = value, f"{value.__module__}.{value.__qualname__}"
        else:
            namespace[name], known = value.make()
        keys.append(None if known is None else f"{name} {known}")
    key = _key(source, keys)
    kernel = function_of_source(source, "kernel", namespace, key)
    if key is not None:
        from pytensor.link.numba.cache import CACHED_SRC_FUNCTIONS

        CACHED_SRC_FUNCTIONS[kernel] = key
    return numba.njit(kernel, error_model="numpy", nogil=True, cache=key is not None)


def _key(source: str, keys: list[str | None]) -> str | None:
    """What tells a kernel from all others; None where it is not to be kept."""
    import numba
    import pytensor

    if not settings().cache or not pytensor.config.numba__cache or None in keys:
        return None
    about = (Path(__file__).parent / "rules" / "fortran.py").stat()
    written = f"{about.st_size} {about.st_mtime_ns}"
    parts = [
        numba.__version__,
        pytensor.__version__,
        np.__version__,
        written,
        source,
        *map(str, keys),
    ]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
