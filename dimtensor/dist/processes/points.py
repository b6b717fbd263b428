"""Points of kernels: the labels of a dim as numbers, and durations as numbers of days."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, RaggedDim
from dimtensor.dist.processes.kernels import CovarianceFunction
from dimtensor.errors import DimError, OptionError, listing
from dimtensor.tensor.handle import TensorHandle, as_node, wrap
from dimtensor.tensor.inputs import data, with_recipe

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

    Duration = str | timedelta | np.timedelta64


def points(dim: Dim, numbers: Dim | None = None) -> DimTensor:
    """Return the labels of a dim as points: numbers unchanged, dates in days since 1970.

    Dates with a time zone count from 1970 in UTC; durations are in days, too. Labels that are
    tuples, such as coordinates of places, are points of several numbers, along a further dim.

    Along a ragged dim they are the labels within each parent, or the numbers 0, 1 and so on. In
    predictions along a dim with other labels they are those of the new labels.

    Parameters
    ----------
    dim : Dim
    numbers : Dim, optional
        The dim of the numbers in a label that is a tuple. By default it is named ``number`` and has
        the labels 0, 1 and so on.

    Returns
    -------
    DimTensor of float64

    Raises
    ------
    OptionError
        If the labels are neither numbers nor dates nor tuples of these, missing, or not known yet.
    DimError
        If `numbers` has another length than the tuples, or labels are no tuples.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.gp.points(dt.date_range("day", "1970-01-03", periods=2)).eval().values.tolist()
    [2.0, 3.0]
    >>> place = dt.Dim("place", coords=[(0.0, 1.5), (2.0, 3.0)])
    >>> axis = dt.Dim("axis", coords=["east", "north"])
    >>> dt.gp.points(place, axis).sel(axis="north").eval().values.tolist()
    [1.5, 3.0]
    """
    found = _coordinates(dim)
    if numbers is None and found.ndim > 1:
        numbers = Dim("number", coords=range(found.shape[1]))
    if numbers is not None and found.shape[1:] != (numbers.length,):
        raise DimError(
            f"labels of {dim._short} are not tuples of {numbers.length} numbers",
            [("labels", listing(dim.to_index().tolist())), ("dim of the numbers", repr(numbers))],
        )
    along = [dim] if numbers is None else [dim, numbers]
    arguments = along[: 2 if found.ndim > 1 else 1]
    return with_recipe(data(found, dims=along), points, *arguments)


def _coordinates(dim: Dim) -> np.ndarray:
    """Convert labels to numbers, and tuples to rows of numbers."""
    hint = f"give the points: at=x, a tensor along {dim._short}"
    labels = _labels_of(dim)
    if labels is None:
        raise OptionError(
            f"labels of {dim._short} are not known, so that they are no points of a kernel",
            hint=hint,
        )
    rows = labels.tolist()
    if rows and all(isinstance(row, tuple) for row in rows):
        if len({len(row) for row in rows}) == 1 and rows[0]:
            columns = [_as_numbers([*each], dim, hint) for each in zip(*rows, strict=True)]
            return np.stack(columns, axis=1)
    return _as_numbers(labels, dim, hint)


def _as_numbers(labels: Any, dim: Dim, hint: str) -> np.ndarray:
    import pandas as pd

    if not len(labels):
        return np.zeros(0)
    index = pd.Index(labels)
    if index.isna().any():
        raise OptionError(f"labels of {dim._short} are missing, and no points", hint=hint)
    if index.dtype.kind in "mM":
        zero = pd.Timedelta(0) if index.dtype.kind == "m" else pd.Timestamp(0, tz=index.tz)
        return np.asarray((index - zero) / pd.Timedelta(days=1))
    if index.dtype.kind not in "iuf":
        raise OptionError(
            f"labels of {dim._short} are neither numbers nor dates, nor tuples of these",
            [("labels", listing(index.tolist()))],
            hint,
        )
    return np.asarray(index, float)


def are_times(dim: Dim) -> bool:
    """Return whether the labels of a dim are dates, with or without a time zone, or durations."""
    import pandas as pd

    labels = _labels_of(dim)
    return labels is not None and pd.Index(labels).dtype.kind in "mM"


def _labels_of(dim: Dim) -> Any:
    """Return the labels of a dim; along a ragged dim those within each parent."""
    return dim._own_labels() if isinstance(dim, RaggedDim) else dim.coords


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
