"""Arrays that are not in memory: of dask, of Zarr, or of files that xarray opened."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.cost.memory import available
from dimtensor.cost.quantities import bytes_text
from dimtensor.errors import MemoryLimitError

_PACKAGES = ("dask.", "xarray.", "zarr.", "h5py.")
# smaller arrays are loaded without a look at the memory that is free
_SMALL = 1 << 26


def check_loadable(array: Any, names: Sequence[Hashable] | None, source: str) -> None:
    """Check that an array that is not in memory fits into it.

    Parameters
    ----------
    array : object
        The array of a value; one in memory passes.
    names : sequence or None
        Of its axes.
    source : str
        Name of the value in messages.

    Raises
    ------
    MemoryLimitError
        If it does not fit.
    """
    if not type(array).__module__.startswith(_PACKAGES):
        return
    if not isinstance(array.dtype, np.dtype):  # an array of pandas in a wrapper of xarray
        return
    shape = tuple(array.shape)
    if names is None or len(names) != len(shape):
        names = ("obs",) if len(shape) == 1 else [f"dim_{at}" for at in range(len(shape))]
    sizes = dict(zip(map(str, names), shape, strict=True))
    made = [f"dt.Dim({name!r}, length={length})" for name, length in sizes.items()]
    made[:1] = [f"dt.Dim({name!r})" for name in [*sizes][:1]]  # the length of rows comes late
    hint = f"dt.stream(array, dims=[{', '.join(made)}]) reads it in chunks, and stands in its place"
    check_fits(sizes, array.dtype, source, hint)


def check_fits(sizes: Mapping[str, int], dtype: Any, source: str, hint: str) -> None:
    """Check that an array of these sizes fits into memory.

    Raises
    ------
    MemoryLimitError
        With the hint, if it does not fit.
    """
    count = math.prod(sizes.values())
    if math.isnan(count):  # dask does not know the lengths of its chunks
        return
    needed = count * np.dtype(dtype).itemsize
    if needed <= _SMALL:
        return
    free = available()
    if needed > free:
        raise MemoryLimitError(
            f"{source} needs {bytes_text(needed)} of memory, {bytes_text(free)} are there",
            [("sizes", ", ".join(f"{name}: {length:,}" for name, length in sizes.items()))],
            hint,
        )
