"""Slices by label: both ends included, as pandas and xarray have it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dimtensor.dims.coords import Coords
from dimtensor.dims.labels import DATES, TIMES, family, python_label
from dimtensor.dims.texts.dates import iso_dates, part_of_date
from dimtensor.dims.texts.zones import check_on_clocks
from dimtensor.errors import LabelError, listing, plain_repr

_OTHER_KIND = "the labels are of another kind"
_ENDS = {int, type(None)}


def slice_positions(coords: Coords, selection: slice, dim: str = "the dim") -> slice | np.ndarray:
    """Positions of a slice by label.

    They are an array where dates in no order are sliced by parts of dates.

    Raises
    ------
    LabelError
        If the labels have no place for an end, or it selects nothing because its ends are in the
        opposite order of the labels.
    """
    if selection.start is None and selection.stop is None:
        return selection
    start, stop = python_label(selection.start), python_label(selection.stop)
    if coords.family in DATES:
        start, stop = iso_dates((start, stop), dim)
    if selection.step is None and {type(start), type(stop)} <= _ENDS and coords.counts_up:
        # without pandas, which takes longer to import than models take to compile
        first = 0 if start is None else int(np.searchsorted(coords.values, start))
        last = len(coords) if stop is None else int(np.searchsorted(coords.values, stop, "right"))
        if first < last or start is None or stop is None:
            return slice(first, last)
    found = _found(coords, start, stop, selection.step, dim)
    if start is not None and stop is not None and _is_empty(found, coords):
        _refuse_opposite(coords, slice(start, stop, selection.step), dim)
    return found


def _found(coords: Coords, start: Any, stop: Any, step: int | None, dim: str) -> slice | np.ndarray:
    try:
        _require_ends(coords, (start, stop))
        if coords.family in TIMES and not coords.index.is_monotonic_increasing:
            if all(end is None or isinstance(end, str) for end in (start, stop)):
                return _between(coords.index, start, stop, step)
        found = coords.index.slice_indexer(start, stop, step)
    except (LookupError, TypeError, ValueError, OverflowError) as fault:
        by_numpy = _by_parts(coords, start, stop, step)
        if by_numpy is not None:
            return by_numpy
        if coords.family == "zoned":
            check_on_clocks((start, stop), coords.index.tz, dim)
        error = _OTHER_KIND if isinstance(fault, TypeError) else fault
        raise LabelError(
            f"cannot slice {dim} from {plain_repr(start)} to {plain_repr(stop)}: {error}",
            [("labels", listing(coords.values))],
        ) from None
    if isinstance(found, np.ndarray) and found.dtype == bool:
        return np.flatnonzero(found)
    return found


def _by_parts(coords: Coords, start: Any, stop: Any, step: int | None) -> np.ndarray | None:
    """Positions between parts of dates, some of which pandas cannot read; None of anything else."""
    if coords.family != "datetime":
        return None
    dates = coords.values
    first, last = (None if end is None else part_of_date(end, dates) for end in (start, stop))
    if (first is None and start is not None) or (last is None and stop is not None):
        return None
    inside = np.ones(len(dates), bool)
    inside &= True if first is None else dates >= first[0]
    inside &= True if last is None else dates < last[1]
    return np.flatnonzero(inside)[::step]


def _is_empty(found: slice | np.ndarray, coords: Coords) -> bool:
    if isinstance(found, slice):
        return not range(*found.indices(len(coords)))
    return not len(found)


def _refuse_opposite(coords: Coords, empty: slice, dim: str) -> None:
    """Refuse an empty slice that has elements with its ends exchanged."""
    start, stop, step = empty.start, empty.stop, empty.step
    if _is_empty(_found(coords, stop, start, step, dim), coords):
        return
    ends = [
        repr(str(end)) if coords.family == "datetime" else plain_repr(end) for end in (stop, start)
    ]
    ends += [] if step is None else [str(step)]
    raise LabelError(
        f"a slice from {plain_repr(start)} to {plain_repr(stop)} selects nothing: along {dim}, "
        f"{plain_repr(stop)} comes first",
        [("labels", listing(coords.values))],
        f"exchange the ends: slice({', '.join(ends)})",
    )


def _between(index: Any, start: str | None, stop: str | None, step: int | None) -> np.ndarray:
    """Positions of the dates between parts of dates, wherever they lie, in their order."""
    order = np.argsort(index, kind="stable")
    found = order[index[order].slice_indexer(start, stop)]
    return np.sort(found)[::step]


def _require_ends(coords: Coords, ends: Iterable[Any]) -> None:
    """Refuse ends of another kind than the labels: pandas finds places for some of them."""
    kinds = {family(end) for end in ends if end is not None}
    known = {coords.family, "string"} if coords.family in TIMES else {coords.family}
    if coords.extension is None and coords.family != "object" and not kinds <= known:
        raise TypeError(_OTHER_KIND)
