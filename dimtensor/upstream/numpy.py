"""NumPy's table of C functions."""

from __future__ import annotations

from typing import Any

import numpy._core._multiarray_umath as umath  # type: ignore[import-not-found]


def array_api() -> Any:
    """Return the capsule of the table."""
    return umath._ARRAY_API


def distributions_file() -> str:
    """Return the path of the shared library with ``numpy/random/distributions.h``."""
    from numpy.random import _generator

    return _generator.__file__
