"""Comparison of results with DataArrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.errors import listing

if TYPE_CHECKING:
    import xarray as xr

ANONYMOUS = "dim_0"  # name in results of an anonymous dim


def assert_same(found: Any, expected: Any, what: str = "", rtol: float = 1e-9) -> None:
    """Assert that a result has the dims, labels, kind of dtype and values of a DataArray.

    The order of the dims is ignored.

    Parameters
    ----------
    found, expected : DataArray
    what : str
        Name of the result in the message.

    Raises
    ------
    AssertionError
    """
    if set(found.dims) != set(expected.dims):
        raise AssertionError(f"{what}: dims {set(found.dims)}, expected {set(expected.dims)}")
    for name in expected.dims:
        one, other = labels_of(found, name), labels_of(expected, name)
        if one != other:
            raise AssertionError(f"{what}: labels of {name!r} are {one}, expected {other}")
    found = found.transpose(*expected.dims)
    if found.dtype.kind != expected.dtype.kind:
        raise AssertionError(f"{what}: dtype {found.dtype}, expected {expected.dtype}")
    if found.dtype.kind in "biufc":
        np.testing.assert_allclose(
            found.values, expected.values, rtol=rtol, atol=1e-9, err_msg=what, equal_nan=True
        )
    elif found.values.tolist() != expected.values.tolist():
        raise AssertionError(f"{what}: {found.values}, expected {expected.values}")


def labels_of(array: Any, name: str) -> list | None:
    """Return the labels of a dim of a DataArray, None without any."""
    if name not in array.indexes:
        return None
    index = array.indexes[name]
    return [_plain_label(label) for label in index.tolist()]


def _plain_label(label: Any) -> Any:
    """Convert a label for comparisons; NaN and NaT become a value that equals itself."""
    if isinstance(label, tuple):
        return tuple(_plain_label(part) for part in label)
    if label is None or label != label:
        return "<missing>"
    if isinstance(label, np.datetime64) or hasattr(label, "isoformat"):
        return str(np.datetime64(label, "ns"))
    return label


def difference(
    found: Any, expected: xr.DataArray, dim: str, order: np.ndarray, rtol: float
) -> str | None:
    """Describe where a result of reordered arguments is another; None if it is the same.

    Labels are compared by their values; positions of a dim without labels are expected to move
    with those of the arguments.
    """
    if dim not in expected.dims:  # rows of a table have a name of the function's own
        for name in expected.dims:
            if name not in expected.indexes and expected.sizes[name] == len(order):
                if difference(found, expected, str(name), order, rtol) is None:
                    return None
    if found is None:
        return "so that it is missing"
    if set(found.dims) != set(expected.dims):
        return f"in its dims: {listing(map(str, found.dims))}"
    found = found.transpose(*expected.dims)
    is_rearranged = False
    for name in expected.dims:
        if _is_labeled(expected, name) and _is_labeled(found, name):
            at = found.indexes[name].get_indexer(expected.indexes[name])
            if len(at) != found.sizes[name] or (at < 0).any():
                return f"in its labels of {name}"
            found = found.isel({name: at})
        elif found.sizes[name] != expected.sizes[name]:
            return f"in its length of {name}"
        elif name == dim and found.sizes[name] == len(order):
            expected = expected.isel({name: order})
        elif name == dim:  # positions are selected from those of the arguments
            is_rearranged = True
    return unequal(found, expected, rtol, is_rearranged)


def _is_labeled(x: xr.DataArray, name: Any) -> bool:
    """Return whether labels of a dim tell its positions apart."""
    return name in x.indexes and x.indexes[name].is_unique


def unequal(
    found: xr.DataArray, expected: xr.DataArray, rtol: float, is_rearranged: bool = False
) -> str | None:
    """Describe the first element in which arrays of the same dims differ; None if all are equal."""
    one, other = found.values, expected.values
    if is_rearranged:
        one, other = np.sort(one, axis=None), np.sort(other, axis=None)
    if one.dtype.kind in "fciub" and other.dtype.kind in "fciub":
        finite = np.abs(other[np.isfinite(other)])
        scale = float(finite.max()) if finite.size else 0.0
        same = np.isclose(one, other, rtol=rtol, atol=rtol * scale, equal_nan=True)
    else:
        same = one == other
    if np.all(same):
        return None
    if is_rearranged:
        return ""
    index = np.unravel_index(int(np.argmin(same)), np.shape(same))
    places = []
    for name, at in zip(expected.dims, index, strict=True):
        label = expected.indexes[name][at] if name in expected.indexes else int(at)
        places.append(f"{name}={label!r}")
    where = f"at {', '.join(places)} " if places else ""
    return f"{where}from {_number(other[index])} to {_number(one[index])}"


def _number(x: Any) -> str:
    return f"{x:.6g}" if isinstance(x, (float, np.floating)) and math.isfinite(x) else str(x)
