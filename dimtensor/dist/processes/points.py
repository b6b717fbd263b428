"""Points of kernels: the labels of a dim as numbers, and durations as numbers of days."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim
from dimtensor.dist.processes.kernels import CovarianceFunction
from dimtensor.errors import DimError, OptionError, listing
from dimtensor.tensor.handle import TensorHandle, as_node, wrap
from dimtensor.tensor.inputs import data, with_recipe

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

    Duration = str | timedelta | np.timedelta64


def points(dim: Dim) -> DimTensor:
    """Return the labels of a dim as points: numbers unchanged, dates in days since 1970.

    Dates with a time zone count from 1970 in UTC; durations are in days, too.

    In predictions along a dim with other labels they are those of the new labels.

    Parameters
    ----------
    dim : Dim

    Returns
    -------
    DimTensor of float64

    Raises
    ------
    OptionError
        If the labels are neither numbers nor dates, missing, or not known yet.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.gp.points(dt.date_range("day", "1970-01-03", periods=2)).eval().values.tolist()
    [2.0, 3.0]
    """
    return with_recipe(data(_coordinates(dim), dims=dim), points, dim)


def _coordinates(dim: Dim) -> np.ndarray:
    import pandas as pd

    hint = f"give the points: at=x, a tensor along {dim._short}"
    labels = dim.coords
    if labels is None:
        raise OptionError(
            f"labels of {dim._short} are not known, so that they are no points of a kernel",
            hint=hint,
        )
    if not len(labels):
        return np.zeros(0)
    if pd.isna(labels).any():
        raise OptionError(f"labels of {dim._short} are missing, and no points", hint=hint)
    if are_times(dim):
        times = pd.Index(labels)
        zero = pd.Timedelta(0) if times.dtype.kind == "m" else pd.Timestamp(0, tz=times.tz)
        return np.asarray((times - zero) / pd.Timedelta(days=1))
    if labels.dtype.kind not in "iuf":
        raise OptionError(
            f"labels of {dim._short} are neither numbers nor dates",
            [("labels", listing(labels.tolist()))],
            hint,
        )
    return labels.astype(float)


def are_times(dim: Dim) -> bool:
    """Return whether the labels of a dim are dates, with or without a time zone, or durations."""
    import pandas as pd

    return dim.coords is not None and pd.Index(dim.coords).dtype.kind in "mM"


def check_durations(kernel: CovarianceFunction, dim: Dim) -> None:
    """Refuse durations as parameters of a kernel whose points are no dates.

    Raises
    ------
    OptionError
    """
    found = kernel._durations()
    if found and not are_times(dim):
        raise OptionError(
            f"{found[0]!r} is a duration, and labels of {dim._short} are not dates",
            [("kernel", repr(kernel))],
            "give a number in the unit of the points",
        )


def points_of(kernel: Any, dim: Dim, at: Any) -> DimTensor:
    """Return the points of a kernel along a dim: given ones, or its labels.

    Raises
    ------
    OptionError
        If there are none.
    DimError
        If given points lack the dim.
    """
    if at is None and isinstance(kernel, CovarianceFunction):
        check_durations(kernel, dim)
        return points(dim)
    if at is None:
        raise OptionError(
            f"GP: a kernel that is a function needs points along {dim._short}: at=..."
        )
    found: Any = at if isinstance(at, TensorHandle) else wrap(as_node(at, what="at of GP"))
    if dim not in found.dims:
        raise DimError(f"GP: the points, at, lack {dim._short}")
    return found


def is_duration(x: Any) -> bool:
    """Return whether a parameter of a kernel is a duration."""
    return isinstance(x, (str, timedelta, np.timedelta64))


def in_days(x: Any) -> Any:
    """Return a duration as a number of days, and anything else unchanged.

    Raises
    ------
    OptionError
        If a text is no duration.
    """
    if not is_duration(x):
        return x
    import pandas as pd

    try:
        return pd.Timedelta(x) / pd.Timedelta(days=1)
    except ValueError as error:
        raise OptionError(f"{x!r} is no duration", hint='such as "30D" or "12h"') from error
