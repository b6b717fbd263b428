"""Labels of a dim as numbers."""

from __future__ import annotations

import numpy as np

from dimtensor.dims import Coords, Dim, dim_labels
from dimtensor.errors import LabelError, check_choice, listing

_UNITS = ("W", "D", "h", "m", "s", "ms", "us", "ns")


def coordinate(
    dim: Dim, what: str, otherwise: str = "", unit: str = "s", like: Coords | None = None
) -> np.ndarray:
    """Convert the labels of a dim to numbers; dates to a unit from the first label.

    Raises
    ------
    LabelError
        If the labels are not known, or neither numbers nor dates.
    """
    labels = dim_labels(dim)
    if labels is None or labels.family not in (
        "number",
        "datetime",
        "timedelta",
        "zoned",
        "cftime",
    ):
        known = "not known before data arrives" if labels is None else "no numbers and no dates"
        raise LabelError(
            f"{what}: the labels of {dim._title} are {known}",
            [("dim", repr(dim))],
            f"{otherwise} counts positions" if otherwise else "",
        )
    if labels.family == "number":
        return np.asarray(labels.values, dtype=float)
    check_choice(what, "unit", unit, _UNITS)
    return numbers_of(labels, like or labels, unit)


def numbers_of(labels: Coords, like: Coords, unit: str = "s") -> np.ndarray:
    """Convert dates to numbers in a unit from the first of others; NaT to NaN."""
    if not len(labels) or not len(like):
        return np.zeros(len(labels))
    if labels.family != like.family:
        raise LabelError(
            "dates and other labels are not compared",
            [("labels", listing(like.values)), ("given", listing(labels.values))],
        )
    since = labels.index - like.index[0]
    return np.asarray(since / np.timedelta64(1, unit), dtype=float)  # type: ignore[call-overload]
