"""Arguments of code that are neither inputs nor data: constants left out of fingerprints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dimtensor.dims import Binding, Dim
from dimtensor.dims.selection import LateSlice
from dimtensor.graph import Node
from dimtensor.graph.attrs import LabelPosition
from dimtensor.graph.forms import Chosen, Cut, Place


class Length(NamedTuple):
    """The length of a dim."""

    dim: Dim


class End(NamedTuple):
    """An end of a slice, or its length."""

    cut: Cut
    role: str  # "start", "stop", "length"


Source = Chosen | Place | Length | End


def source_of(argument: Node | Chosen | Place | Dim) -> LabelPosition | Source:
    """The source that an argument's value is computed from."""
    if isinstance(argument, Node):
        return argument.attrs
    return Length(argument) if isinstance(argument, Dim) else argument


def end_of(cut: Cut, role: str) -> LabelPosition | End:
    """The source that the end of a slice is computed from."""
    selection = cut.selection
    if isinstance(selection, LateSlice):
        return LabelPosition(cut.dim, selection.ends, role)
    return End(cut, role)


def value_of(source: Source, binding: Binding) -> np.ndarray:
    """The value of an argument in a call."""
    if isinstance(source, Chosen):
        return source.positions.array
    if isinstance(source, Place):
        return np.asarray(source.position, dtype=np.int64)
    if isinstance(source, Length):
        return np.asarray(source.dim.bound_length(binding), dtype=np.int64)
    length = source.cut.dim.bound_length(binding)
    assert length is not None
    start, stop, step = source.cut.selection.as_slice().indices(length)  # type: ignore[union-attr]
    if source.role == "length":
        return np.asarray(len(range(start, stop, step)), dtype=np.int64)
    if stop < 0:  # downwards through position 0: as an end, -1 would be the last position
        stop = -length - 1
    return np.asarray(start if source.role == "start" else stop, dtype=np.int64)
