"""Basic selections by positions and slices: entries, selected positions, lengths.

An entry is what selects along one axis: an integer, a slice, or a variable. Entries of constants
are integers, and slices of integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.tensor.subtensor import Subtensor, indices_from_subtensor

from dimtensor.ops.constants import integer_of

WHOLE = slice(None)


def along_axes(entries: Iterable[Any], ndim: int) -> list[Any]:
    """Return one entry for each axis: axes after the given entries are selected in full."""
    found = list(entries)
    return [*found, *[WHOLE] * (ndim - len(found))]


def parts_of(entry: Any) -> tuple[Any, ...]:
    """Return the start, stop and step of a slice, or the position alone."""
    return (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)


def entries_of(node: Apply) -> list[Any]:
    """Return the entries of a basic selection, or of an update of one, one for each axis.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> entries_of(pt.dtensor3("x")[1, 2:].owner)
    [1, slice(2, None, None), slice(None, None, None)]
    """
    first = 1 if isinstance(node.op, Subtensor) else 2
    entries = indices_from_subtensor(node.inputs[first:], node.op.idx_list)
    found = [
        slice(*map(_plain, parts_of(entry))) if isinstance(entry, slice) else _plain(entry)
        for entry in entries
    ]
    return along_axes(found, node.inputs[0].type.ndim)


def _plain(part: Any) -> Any:
    value = integer_of(part) if isinstance(part, Variable) else None
    return part if value is None else value


def is_known(entry: Any) -> bool:
    """Return whether an entry consists of integers."""
    optional = isinstance(entry, slice)
    return all(
        isinstance(part, (int, np.integer)) or (optional and part is None)
        for part in parts_of(entry)
    )


def selected_positions(entry: Any, length: int | None) -> range | None:
    """Return the positions that an entry selects along an axis; None if they are not known.

    A position that is outside of the axis is not known, either.

    Examples
    --------
    >>> selected_positions(slice(-3, None, 2), 10), selected_positions(-1, 10)
    (range(7, 10, 2), range(9, 10))
    """
    if length is None or not is_known(entry):
        return None
    if isinstance(entry, slice):
        return range(length)[entry]
    at = int(entry) % length if -length <= entry < length else None
    return None if at is None else range(at, at + 1)


def as_slice(positions: range) -> slice:
    """Return the slice that selects a range of positions from the start of an axis."""
    if not positions:
        return slice(0, 0)
    stop = positions[-1] + positions.step
    return slice(positions.start, stop if stop >= 0 else None, positions.step)


def slice_length(entry: slice, length: Any) -> Any:
    """Compute the length of a slice with constant ends along an axis.

    PyTensor's graph for it has four selections, as the sign of the step may be unknown there.

    Examples
    --------
    >>> slice_length(slice(2, -1), 10)
    7
    """
    if isinstance(length, (int, np.integer)):
        return len(range(int(length))[entry])
    start, stop, step = entry.start, entry.stop, 1 if entry.step is None else entry.step
    if step < 0:  # a forward slice of the reversed axis
        start, stop = (None if end is None else -1 - end for end in (start, stop))
    # the distance is negative for an empty slice
    first = 0 if start is None else start if start >= 0 else pt.maximum(length + start, 0)
    last = length if stop is None else length + stop if stop < 0 else pt.minimum(stop, length)
    distance = last if start is None else last - first
    return pt.maximum(distance if abs(step) == 1 else -(-distance // abs(step)), 0)
