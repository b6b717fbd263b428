"""Labels of a dim as numbers."""

from __future__ import annotations

import numpy as np

from dimtensor.dims import Coords, Dim, dim_labels
from dimtensor.errors import InputError, LabelError, build_message, did_you_mean

_UNITS = {"D": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9,
          "W": 604800.0}  # fmt: skip


def coordinate(
    dim: Dim, what: str, otherwise: str = "", unit: str = "s", like: Coords | None = None
) -> np.ndarray:
    """The labels of a dim as numbers; dates in a unit from the first label.

    Raises
    ------
    LabelError
        If they are not known, or neither numbers nor dates.
    """
    labels = dim_labels(dim)
    if labels is None or labels.family not in ("number", "datetime", "timedelta", "zoned"):
        known = "not known before data arrives" if labels is None else "no numbers and no dates"
        raise LabelError(
            build_message(
                f"{what}: the labels of {dim.title} are {known}",
                [("dim", repr(dim))],
                f"{otherwise} counts positions" if otherwise else "",
            )
        )
    if labels.family == "number":
        return np.asarray(labels.values, dtype=float)
    if unit not in _UNITS:
        raise InputError(f"{what}: there is no unit {unit!r}{did_you_mean(unit, list(_UNITS))}")
    origin = (like or labels).index
    if not len(labels) or not len(origin):
        return np.zeros(len(labels))
    since = labels.index - origin[0]
    return np.asarray(since / np.timedelta64(1, "ns"), dtype=float) * 1e-9 / _UNITS[unit]
