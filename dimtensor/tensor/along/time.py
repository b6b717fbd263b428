"""Dates along dims: resampling, shifts by time differences, and periodic designs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Coords, Dim, calendar, dim_labels, find_plain_dim, outer_error
from dimtensor.dims.calendars import cftimes
from dimtensor.dims.dates import calendar_index, date_index, time_index
from dimtensor.errors import DimError, DimtensorError, LabelError, OptionError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import DataAttrs
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import elemwise, renamed, wrap
from dimtensor.tensor.inputs import data, with_recipe
from dimtensor.tensor.selection.groupby import GroupBy
from dimtensor.tensor.selection.reindex import reindex_node

if TYPE_CHECKING:
    import pandas as pd

    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import DtypeLike, Duration


_DAY = np.timedelta64(1, "D")


@calendar.tensor_of_labels.provides()
def tensor_of_labels(dim: Dim, codes: np.ndarray, groups: Dim, *part: Any) -> DimTensor:
    """Make a tensor of known labels along a dim from their positions.

    `part` is the name of their calendar part, with its arguments.
    """
    codes.flags.writeable = False
    recipe = (calendar_tensor, (dim, *part)) if part else None
    return wrap(make("data", (), DataAttrs(None, (dim,), codes, groups, recipe=recipe)))


@calendar.tensor_of_values.provides()
def tensor_of_values(dim: Dim, values: np.ndarray, name: str) -> DimTensor:
    """Make a tensor of known numbers of the calendar along a dim."""
    return with_recipe(data(values, dims=dim, name=name), calendar_tensor, dim, name)


def calendar_tensor(dim: Dim, name: str, *arguments: Any) -> DimTensor:
    """Return a calendar part along a dim by name."""
    found = getattr(dim.dt, name)
    return found(*arguments) if arguments else found


class Resample(GroupBy):
    """Groups of dates by a frequency, made by :meth:`DimTensor.resample`.

    Besides the reductions of groups it has the upsampling methods of xarray, which conform elements
    to the dates of the frequency.

    Examples
    --------
    >>> import dimtensor as dt
    >>> day = dt.date_range("day", start="2021-01-01", periods=2)
    >>> x = dt.data([1.0, 3.0], dims=day)
    >>> x.resample(day="8h").ffill().values.tolist()
    [1.0, 1.0, 1.0, 3.0]
    >>> x.resample(day="12h").interpolate().values.tolist()
    [1.0, 2.0, 3.0]
    >>> x.resample(day="12h").asfreq().values.tolist()
    [1.0, nan, 3.0]
    """

    def _on_dates(self, name: str, method: str, tolerance: Any) -> DimTensor:
        near = None if tolerance is None else pd_timedelta(tolerance, f"{name}: the tolerance")
        found = reindex_node(self._x.node, self._along, self._groups, np.nan, method, near)
        result: DimTensor = wrap(found)
        return say(result, name, self._x, dim=self._groups)

    def asfreq(self) -> DimTensor:
        """Return the element of each date of the frequency, or the mean of several; NaN for none.

        Means leave out NaN, as in xarray.
        """
        return say(self.mean(skipna=True), "asfreq", self._x, dim=self._groups)

    def ffill(self, tolerance: Any = None) -> DimTensor:
        """Return the last element up to each date of the frequency; NaN before the first.

        Parameters
        ----------
        tolerance : str or timedelta, optional
            Largest age of an element.

        Raises
        ------
        LabelError
            If a date is repeated.
        """
        return self._on_dates("ffill", "pad", tolerance)

    def pad(self, tolerance: Any = None) -> DimTensor:
        """Return the last element up to each date of the frequency; see :meth:`ffill`."""
        return self.ffill(tolerance)

    def bfill(self, tolerance: Any = None) -> DimTensor:
        """Return the next element from each date of the frequency on; see :meth:`ffill`."""
        return self._on_dates("bfill", "backfill", tolerance)

    def backfill(self, tolerance: Any = None) -> DimTensor:
        """Return the next element from each date of the frequency on; see :meth:`ffill`."""
        return self.bfill(tolerance)

    def nearest(self, tolerance: Any = None) -> DimTensor:
        """Return the element nearest to each date of the frequency; see :meth:`ffill`."""
        return self._on_dates("nearest", "nearest", tolerance)

    def interpolate(self, kind: str = "linear", **options: Any) -> DimTensor:
        """Interpolate at the dates of the frequency.

        Parameters
        ----------
        kind : str
            A method of :meth:`DimTensor.interp`.
        **options
            Options of ``interp``.
        """
        result = self._x.interp({self._along: self._groups}, method=kind, **options)
        return say(result, "interpolate", self._x, dim=self._groups)


def resampled(
    x: DimTensor,
    given: Mapping[Any, Any],
    closed: str | None,
    label: str | None,
    offset: Any,
    origin: Any,
) -> Resample:
    """Group the dates of a dim by a frequency.

    Raises
    ------
    DimError
        If not exactly one dim of the tensor is given.
    OptionError
        If the frequency is unknown.
    LabelError
        If the labels are no dates.
    """
    if len(given) != 1:
        raise DimError(f"resample takes one dim, {len(given)} are given: x.resample(day='W')")
    ((key, freq),) = given.items()
    dim = find_plain_dim(x.dims, key, "resample")
    if offset is not None:
        offset = pd_timedelta(offset, "resample: the offset")
    codes = resampled_dates(dim, freq, closed, label, offset, origin)
    groups = codes.categories
    assert groups is not None
    return Resample(x, codes, dim, groups)


def resampled_dates(
    dim: Dim, freq: Any, closed: str | None, label: str | None, offset: Any, origin: Any
) -> DimTensor:
    """Return the date of the frequency that each date of a dim belongs to."""
    import pandas as pd

    dates = time_index(dim, "resample")
    if cftimes.is_cftime_index(dates):
        codes, found = cftimes.groups_of_frequency(dates, freq, closed, label, offset, origin)
        labels = tensor_of_labels(dim, codes, Dim(dim.name, coords=Coords(found)))
        return with_recipe(labels, resampled_dates, dim, freq, closed, label, offset, origin)
    numbers = pd.Series(np.arange(len(dates)), index=dates)
    try:
        bins = numbers.resample(freq, closed=closed, label=label, origin=origin, offset=offset)
        counts = bins.count()
    except (ValueError, TypeError) as error:
        raise OptionError(f"resample: {freq!r} is no frequency of dates: {error}") from None
    groups = Dim(dim.name, coords=Coords(counts.index))
    codes = np.empty(len(dates), dtype=np.int64)
    codes[np.argsort(dates, kind="stable")] = np.repeat(np.arange(len(counts)), counts)
    found = tensor_of_labels(dim, codes, groups)
    return with_recipe(found, resampled_dates, dim, freq, closed, label, offset, origin)


def pd_timedelta(value: Any, what: str) -> pd.Timedelta:
    """Convert a time difference of fixed length to a Timedelta of pandas.

    Raises
    ------
    OptionError
        If the value is invalid.
    """
    import pandas as pd

    offset = as_offset(value, what)
    try:
        return pd.Timedelta(offset)
    except ValueError:
        raise OptionError(f"{what}: {value!r} has no length of its own") from None


def as_offset(value: Any, what: str) -> Any:
    """Convert a time difference to an offset of pandas.

    Raises
    ------
    OptionError
        If the value is invalid.
    """
    import pandas as pd

    try:
        if isinstance(value, np.timedelta64):
            return pd.Timedelta(value)
        return pd.tseries.frequencies.to_offset(value)
    except (ValueError, TypeError):
        raise OptionError(f"{what}: {value!r} is no distance between dates, such as '7D'") from None


def has_length(offset: Any) -> bool:
    """Return True if an offset has a fixed length; months and years do not."""
    import pandas as pd

    try:
        pd.Timedelta(offset)
    except ValueError:
        return False
    return True


def is_distance(value: Any) -> bool:
    """Return whether a value is a time difference rather than a number of positions."""
    return isinstance(value, (str, np.timedelta64, timedelta)) or hasattr(value, "rollforward")


def positions_in(dim: Dim, distance: Any, what: str) -> int:
    """Convert a time difference to a number of positions of regular dates.

    Raises
    ------
    LabelError
        If the dates are not regular, or the difference is no multiple of their spacing.
    """
    for dates, offset in _clocks(dim, distance, what):
        n = _positions_until(dates, offset)
        if n:
            return n
    raise LabelError(
        f"{what}: {distance!r} is no number of positions along {dim._title}",
        [("dim", repr(dim))],
        "give a number of positions, or bring the dates to a frequency with reindex",
    )


def _clocks(dim: Dim, distance: Any, what: str) -> list[tuple[Any, Any]]:
    """Return dates or durations, each with a time difference that can be added to them.

    Days and longer units are first tried on the local clock of the time zone; hours and shorter
    units have a fixed length.
    """
    import pandas as pd

    dates, offset = time_index(dim, what), as_offset(distance, what)
    if isinstance(dates, pd.TimedeltaIndex):
        return [(dates, pd_timedelta(distance, what))]
    try:
        length = pd.Timedelta(offset)
    except ValueError:  # months and years have no fixed length
        if cftimes.is_cftime_index(dates):
            return [(dates, offset)]
        return [(dates.tz_localize(None), offset)]
    if cftimes.is_cftime_index(dates):
        return [(dates, length)]
    found = [(dates, length)]
    in_hours = isinstance(offset, pd.offsets.Tick) and not isinstance(distance, timedelta)
    if dates.tz is not None and not in_hours and not length % _DAY:
        found.insert(0, (dates.tz_localize(None), length))
    return found


def _positions_until(dates: Any, offset: Any) -> int | None:
    """Return the number of positions after which every date is that much later, if it is one."""
    if not len(dates) or not dates.is_monotonic_increasing:
        return None
    later = _later(dates[:1], offset)
    n = int(dates.searchsorted(later[0]))
    if n and n < len(dates) and _later(dates[:-n], offset).equals(dates[n:]):
        return n
    steps, span = np.unique((dates[1:] - dates[:-1]).to_numpy()), (later - dates[:1]).to_numpy()[0]
    if n < len(dates) or len(steps) != 1 or span % steps[0]:
        return None
    return int(span / steps[0])  # longer than the dim


def _later(dates: Any, offset: Any, times: int = 1) -> Any:
    if cftimes.is_cftime_index(dates):
        return cftimes.later_by(dates, offset, times)
    return dates + times * offset


def shifted_by(x: DimTensor, dim: Dim, distance: Any, fill_value: Any) -> DimTensor:
    """Shift elements by a time difference, whatever the order and gaps of the dates."""
    dates = time_index(dim, "shift", missing=True)
    offset = as_offset(distance, "shift")
    if dates.dtype.kind == "m" or (cftimes.is_cftime_index(dates) and has_length(offset)):
        offset = pd_timedelta(distance, "shift")
    try:
        before = _later(dates, offset, -1)
    except DimtensorError:  # some are ValueErrors, too
        raise
    except ValueError as error:
        raise _of_calendar(dim, distance, offset, error) from None
    earlier = Dim(dim.name, coords=Coords(pd_index(before, dates)))
    moved = reindex_node(x.node, dim, earlier, fill_value)
    result = renamed(wrap(moved), {earlier: dim})
    return say(result, "shift", x, **{dim._short: str(distance)})


def _of_calendar(dim: Dim, distance: Any, offset: Any, error: ValueError) -> LabelError:
    """Return the error of a calendar shift to times that a clock change skips or repeats."""
    zone = date_index(dim, "shift", missing=True).tz
    why = str(error) if zone is None else f"the clocks of {zone} change on one of these days"
    days = offset.n if type(offset).__name__ == "Day" else None
    way = f": x.shift({dim._short}='{24 * days}h')" if days else ""
    return LabelError(
        f"shift: not all dates that are {distance!s} earlier are there once: {why}",
        [("dim", repr(dim))],
        f"a distance in hours does not depend on clocks{way}",
    )


def pd_index(found: Any, like: pd.DatetimeIndex) -> pd.DatetimeIndex:
    """Convert dates to the unit of others."""
    return found if cftimes.is_cftime_index(like) else found.as_unit(like.unit)


def fourier(dim: Dim, period: Duration, order: int = 1, name: str = "fourier") -> DimTensor:
    """Make a Fourier basis along a dim: sines and cosines of a period.

    Parameters
    ----------
    dim : Dim
        With dates or numbers as labels.
    period : str, timedelta or number
        Period: a time difference such as ``"365.25D"``, or a number in the unit of the labels.
    order : int
        Number of pairs: for the period, half of it, a third, and so on.
    name : str
        Name of the dim of the columns.

    Returns
    -------
    DimTensor
        Data with `dim` and a dim of ``sin_1, cos_1, sin_2, …``. Phases are relative to 1970-01-01,
        or to 0, so that a forecast continues the data.

    Raises
    ------
    LabelError
        If the labels are neither dates nor numbers, or not known.
    OptionError
        If the period is not positive, or the order is no positive integer.

    Examples
    --------
    >>> import dimtensor as dt
    >>> day = dt.date_range("day", start="2021-01-01", periods=7)
    >>> dt.fourier(day, "7D", order=2).sizes
    {'day': 7, 'fourier': 4}
    """
    import pandas as pd

    labels = dim_labels(dim)
    if labels is not None and labels.family == "number":
        where = labels.values.astype(float)
        span = float(period)  # type: ignore[arg-type]
    else:
        dates = calendar_index(dim, "fourier")
        unit = pd.Timedelta(1, "s")
        if cftimes.is_cftime_index(dates):
            where = cftimes.seconds_since_1970(dates)
        else:
            since = dates.tz_localize(None) - pd.Timestamp("1970-01-01")
            where = np.asarray(since / unit, dtype=float)
        if isinstance(period, (int, float)):
            raise OptionError(f"fourier: the period of dates has a unit, such as '{period}D'")
        span = pd.Timedelta(period) / unit
    if not span > 0 or not isinstance(order, int) or order < 1:
        raise OptionError(f"fourier: a period above 0 and an order from 1, not {period}, {order}")
    angles = 2 * np.pi * np.multiply.outer(where / span % 1.0, np.arange(1, order + 1))
    columns = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(where), -1)
    names = [f"{kind}_{k}" for k in range(1, order + 1) for kind in ("sin", "cos")]
    found = data(columns, dims=[dim, Dim(name, coords=names)])
    return with_recipe(found, fourier, dim, period, order, name)


def one_hot(labels: DimTensor, dtype: DtypeLike = "float64") -> DimTensor:
    """Encode labels as indicator columns, one for each label of their dim.

    Parameters
    ----------
    labels : DimTensor
        A tensor of labels, such as ``day.dt.dayofweek``.
    dtype : dtype-like

    Returns
    -------
    DimTensor
        With the dims of `labels` and the dim of the labels.

    Raises
    ------
    LabelError
        If the tensor holds no labels.
    RaggedDimError
        If these are the parents of a ragged dim, each of which has one.

    Examples
    --------
    >>> import dimtensor as dt
    >>> key = dt.Dim("key", coords=["a", "b"])
    >>> dt.one_hot(dt.data(["b", "a"], dims=dt.Dim("obs"), categories=key)).values.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    dim = getattr(labels, "categories", None)
    if dim is None:
        raise LabelError("one_hot takes a tensor of labels; dt.data(..., categories=dim) makes one")
    outer = outer_error((*labels.dims, dim), "the dims of one_hot")
    if outer is not None:
        raise outer
    codes: Node = labels.codes.node
    places = make("positions", (), dim)
    return elemwise("equal", wrap(codes), wrap(places)).astype(dtype)
