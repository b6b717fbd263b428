"""Hidden inputs: arguments of compiled code besides inputs and data, computed at each call."""

from __future__ import annotations

import numpy as np

from dimtensor.compile.arguments import Source, value_of
from dimtensor.dims import Binding, Dim
from dimtensor.dims.selection import LateSlice, is_position, no_labels
from dimtensor.errors import PositionError
from dimtensor.graph.attrs import LabelPosition


def locate(source: LabelPosition | Source, binding: Binding) -> np.ndarray:
    """Compute a hidden input: positions of late labels, or a value that fingerprints leave out.

    Raises
    ------
    LabelError
        If a label is not among the late labels, or there are none and it is not an integer.
    PositionError
        If there are no labels and the integer is out of range.
    """
    if not isinstance(source, LabelPosition):
        return value_of(source, binding)
    if source.role in ("one", "many"):
        positions = _positions(source, binding)
        return np.asarray(positions if source.role == "many" else positions[0], dtype=np.int64)
    length = source.dim._bound_length(binding)
    labels = source.dim._bound_labels(binding)
    if length is None:
        raise no_labels(source.dim._title, source.labels[:2])
    taken = LateSlice(*source.labels).resolve(labels, source.dim._title)
    start, stop, step = taken.indices(length)
    if source.role == "length":
        return np.asarray(len(range(start, stop, step)), dtype=np.int64)
    if stop < 0:  # downwards through position 0: as an end, -1 would be the last position
        stop = -length - 1
    return np.asarray(start if source.role == "start" else stop, dtype=np.int64)


def _positions(source: LabelPosition, binding: Binding) -> np.ndarray:
    labels = source.dim._bound_labels(binding)
    if labels is not None:
        if source.role == "one":
            return np.array([labels.position(source.labels[0], source.dim._title)])
        return labels.positions(source.labels, source.dim._title)
    if not all(map(is_position, source.labels)):
        raise no_labels(source.dim._title, source.labels)
    return _within(source.dim, np.array(source.labels, dtype=np.int64), binding)


def _within(dim: Dim, positions: np.ndarray, binding: Binding) -> np.ndarray:
    length = dim._bound_length(binding)
    if length is not None:
        outside = positions[(positions < -length) | (positions >= length)]
        if outside.size:
            raise PositionError(
                f"position {outside[0]} is outside of {dim._title} of length {length}"
            )
    return positions
