"""Narrow storage of the data of slices, which are read at the speed of the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.dims import Dim
from dimtensor.graph import Node, leaves
from dimtensor.graph.checking.positions import indexed_leaves
from dimtensor.tuning import NARROWED_BYTES
from dimtensor.values.data import bind_data

_NARROW = "int8", "uint8", "int16", "uint16", "int32", "uint32"


def narrow_storage(
    outputs: Sequence[Node], dim: Dim, replaced: Mapping[Node, Any]
) -> dict[Node, str]:
    """Return narrower dtypes for the data along a dim that hold their values exactly.

    They depend on the values, so code for slices is made for the values of its function.

    Parameters
    ----------
    outputs : sequence of Node
    dim : Dim
    replaced : mapping of Node to value
        New values of data.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs = dt.Dim("obs")
    >>> x = dt.data(np.arange(500_000) % 300.0, dims=obs)
    >>> list(narrow_storage([x.sum().node], obs, {}).values())
    ['int16']
    """
    own = [x for x in leaves(outputs) if x.kind == "data" and dim in x.dims]
    if not own:
        return {}
    _, arrays = bind_data(
        own, [x.dims for x in own], {x: replaced[x] for x in own if x in replaced}
    )
    # positions without labels would need checks where they are read, if they were converted
    positions = {x for x, _ in indexed_leaves(outputs) if x.categories is None}
    found = {x: narrowest(array) for x, array in zip(own, arrays, strict=True)
             if x not in positions and array.nbytes >= NARROWED_BYTES}  # fmt: skip
    return {x: dtype for x, dtype in found.items() if dtype != x.dtype}


def narrowest(array: np.ndarray) -> str:
    """Return the narrowest integer dtype that holds an array exactly, or the array's own.

    Examples
    --------
    >>> narrowest(np.array([0.0, 1.0])), narrowest(np.array([-1, 200])), narrowest(np.array([0.5]))
    ('int8', 'int16', 'float64')
    >>> narrowest(np.array([-0.0])), narrowest(np.array([np.nan, 1.0]))
    ('float64', 'float64')
    """
    own = array.dtype
    if own.kind not in "iuf" or not array.size or not _is_exact(array.ravel()[:1000]):
        return own.name
    low, high = array.min(), array.max()
    for name in _NARROW:
        limits = np.iinfo(name)
        if np.dtype(name).itemsize < own.itemsize and limits.min <= low and high <= limits.max:
            return name if own.kind != "f" or _is_exact(array) else own.name
    return own.name


def _is_exact(array: np.ndarray) -> bool:
    """Return whether values are 32-bit integers, with the bits of these integers as floats."""
    if array.dtype.kind != "f":
        return True
    if not (np.abs(array) <= np.iinfo(np.int32).max).all():
        return False
    return bool((array.astype(np.int32) == array).all() and not np.signbit(array[array == 0]).any())
