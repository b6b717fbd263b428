"""Arguments of compiled code for values that fingerprints leave out: positions, lengths, slices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dimtensor.dims import Binding, Dim
from dimtensor.dims.selection import LateSlice, Slice
from dimtensor.errors import PositionError
from dimtensor.graph import Node
from dimtensor.graph.attrs import LabelPosition
from dimtensor.graph.forms import Chosen, Cut, Place


class LengthArgument(NamedTuple):
    """Length of a dim."""

    dim: Dim


class End(NamedTuple):
    """End of a slice, or its length."""

    cut: Cut
    role: str  # "start", "stop", "length"


Source = Chosen | Place | LengthArgument | End


def source_of(argument: Node | Chosen | Place | Dim) -> LabelPosition | Source:
    """Return the source from which the value of an argument is computed."""
    if isinstance(argument, Node):
        return argument.attrs
    return LengthArgument(argument) if isinstance(argument, Dim) else argument


def end_of(cut: Cut, role: str) -> LabelPosition | End:
    """Return the source from which the end of a slice is computed."""
    selection = cut.selection
    if isinstance(selection, LateSlice):
        return LabelPosition(cut.dim, selection.ends, role)
    return End(cut, role)


def value_of(source: Source, binding: Binding) -> np.ndarray:
    """Compute the value of an argument for a call."""
    if isinstance(source, Chosen):
        return source.positions.array
    if isinstance(source, Place):
        return np.asarray(source.position, dtype=np.int64)
    if isinstance(source, LengthArgument):
        return np.asarray(source.dim._bound_length(binding), dtype=np.int64)
    length = source.cut.dim._bound_length(binding)
    if length is None:
        return _open_end(source)
    start, stop, step = source.cut.selection.as_slice().indices(length)  # type: ignore[union-attr]
    if source.role == "length":
        return np.asarray(len(range(start, stop, step)), dtype=np.int64)
    if stop < 0:  # downwards through position 0: as an end, -1 would be the last position
        stop = -length - 1
    return np.asarray(start if source.role == "start" else stop, dtype=np.int64)


def _open_end(end: End) -> np.ndarray:
    """Compute the end of a slice along a dim whose length is known from the arrays of a call only.

    Raises
    ------
    PositionError
        If it depends on that length.
    """
    taken = end.cut.selection
    if isinstance(taken, Slice) and taken.step > 0 and end.role in ("start", "stop"):
        at = taken.start or 0 if end.role == "start" else taken.stop
        return np.asarray(np.iinfo(np.int64).max if at is None else at, dtype=np.int64)
    raise PositionError(
        f"the length of {end.cut.dim._title} has to be known for {end.role} of a slice: call the "
        "function itself, or give the dim a length"
    )
