"""Labeled arguments of functions: their dims and labels, and other orders of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.errors import OptionError, listing
from dimtensor.testing.findings import Report


def dims_of(x: Any) -> Iterator[tuple[str, int]]:
    """Iterate over names and lengths of the dims of labeled arguments."""
    for each in _labeled(x):
        if hasattr(each, "iloc"):
            yield _rows(each), len(each)
        else:
            yield from ((str(dim), length) for dim, length in each.sizes.items())


def _labeled(x: Any) -> Iterator[Any]:
    """Iterate over the DataArrays, Datasets, DataFrames and Series in nested arguments."""
    if isinstance(x, Mapping) and not hasattr(x, "sizes"):
        for value in x.values():
            yield from _labeled(value)
    elif isinstance(x, (list, tuple)):
        for value in x:
            yield from _labeled(value)
    elif hasattr(x, "iloc") or (hasattr(x, "isel") and not hasattr(x, "node")):
        yield x


def _rows(table: Any) -> str:
    """Return the name of the dim of a DataFrame's rows, as xarray calls it."""
    return str(table.index.name or "index")


def _has_meaningful_order(x: Any, dim: str) -> bool:
    """Return whether the labels of a dim are numbers or dates."""
    index = x.indexes.get(dim) if hasattr(x, "indexes") else None
    if hasattr(x, "iloc") and not _is_row_numbers(x.index):
        index = x.index
    return index is not None and index.dtype.kind in "iufmM"


def _is_row_numbers(index: Any) -> bool:
    import pandas as pd

    return isinstance(index, pd.RangeIndex) and index.equals(pd.RangeIndex(len(index)))


def reordered(x: Any, dim: str, order: np.ndarray) -> Any:
    """Bring labeled arguments into another order along a dim; labels move with the values."""
    if isinstance(x, Mapping) and not hasattr(x, "sizes"):
        return {key: reordered(value, dim, order) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(reordered(value, dim, order) for value in x)
    if hasattr(x, "iloc"):
        if _rows(x) != dim:
            return x
        moved = x.iloc[order]
        return moved.set_axis(x.index) if _is_row_numbers(x.index) else moved
    if hasattr(x, "isel") and not hasattr(x, "node") and dim in x.dims:
        return x.isel({dim: order})
    return x


def chosen_dims(
    lengths: Mapping[str, int],
    arguments: Sequence[Any],
    dims: Iterable[str] | None,
    ordered: Iterable[str],
    report: Report,
) -> list[str]:
    """Return the dims to reorder."""
    ordered = set(map(str, ordered))
    asked = None if dims is None else [str(dim) for dim in dims]
    unknown = [dim for dim in (*(asked or ()), *ordered) if dim not in lengths]
    if unknown:
        raise OptionError(
            f"no argument has the dims {listing(unknown)}",
            [("dims of the arguments", listing(lengths) or "none")],
        )
    found = []
    for dim in lengths if asked is None else asked:
        what = f"labels along {dim}"
        arrays = [x for x in _labeled(arguments) if dim in dict(dims_of([x]))]
        if dim in ordered:
            report.skipped[what] = "its order means something"
        elif asked is None and any(_has_meaningful_order(x, dim) for x in arrays):
            report.skipped[what] = "its labels are numbers or dates"
        elif lengths[dim] < 2:
            report.skipped[what] = f"it has length {lengths[dim]}"
        else:
            found.append(dim)
    return found


def labels_of(arguments: Sequence[Any], dim: str) -> list | None:
    """Return the labels of a dim of the arguments."""
    for x in _labeled(arguments):
        if hasattr(x, "iloc"):
            if _rows(x) == dim and not _is_row_numbers(x.index):
                return list(x.index)
        elif dim in x.indexes:
            return x.indexes[dim].tolist()
    return None
