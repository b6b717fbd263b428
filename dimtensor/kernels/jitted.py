"""Kernels that numba compiles: for what machine code lacks, and where it cannot be loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dimtensor.kernels.generated import function_of_source
from dimtensor.upstream.pytensor import nothing_kept


def jitted(source: str, names: Mapping[str, Any]) -> Any:
    """Make a function of numba, compiled when it is first called.

    It is not stored on disk: numba's cache consists of pickles without owner or checksum, and
    loading a pickle runs its code.

    Parameters
    ----------
    source : str
        Defines `kernel`.
    names : mapping of str to object
        Functions that the source calls.
    """
    import numba

    namespace: dict[str, Any] = {"__name__": __name__, "np": np, "math": math}
    namespace |= nothing_kept(
        lambda: {
            name: value if isinstance(value, type) else value.make()
            for name, value in sorted(names.items())
        }
    )
    kernel = function_of_source(source, "kernel", namespace)
    return numba.njit(kernel, error_model="numpy", nogil=True)
