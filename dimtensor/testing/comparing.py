"""Comparison of results with DataArrays."""

from __future__ import annotations

from typing import Any

import numpy as np

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
