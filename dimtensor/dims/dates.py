"""Dates as labels, and their calendar parts as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.dims.calendars.cftimes import ends_of_part, is_cftime_index, later_dates, part_of
from dimtensor.dims.coords import Coords
from dimtensor.dims.dim import Dim
from dimtensor.dims.texts.dates import iso_dates
from dimtensor.dims.texts.zones import check_on_clocks
from dimtensor.errors import LISTED, LabelError, OptionError, listing

if TYPE_CHECKING:
    import pandas as pd

# first and last value of cyclic parts; other parts have the values that occur
_CYCLES = {
    "quarter": (1, 4),
    "month": (1, 12),
    "day": (1, 31),
    "dayofyear": (1, 366),
    "dayofweek": (0, 6),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
    "week": (1, 53),
}
# attributes of labels that are periods; calendar parts are those of the last date, as in pandas
_OF_PERIODS = {*_CYCLES, "year", "season", "days_in_month", "is_leap_year"} | {
    "strftime", "freq", "extend",
}  # fmt: skip
OF_PANDAS = {"dayofyear": "day_of_year", "dayofweek": "day_of_week"}
_SEASONS = ["DJF", "MAM", "JJA", "SON"]
NUMBERS = ("days_in_month", "days_in_year", "microsecond", "nanosecond")
CONDITIONS = (
    "is_leap_year", "is_month_start", "is_month_end", "is_quarter_start", "is_quarter_end",
    "is_year_start", "is_year_end",
)  # fmt: skip
PARTS = ("year", *_CYCLES, "season", "date", "time", *NUMBERS, "decimal_year", *CONDITIONS)


class IsoCalendar(NamedTuple):
    """The ISO year, week and day of the week (1 to 7) of each date of a dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> day = dt.date_range("day", start="2021-01-03", periods=2)
    >>> iso = day.dt.isocalendar()
    >>> iso.year.values.tolist(), iso.week.values.tolist(), iso.weekday.values.tolist()
    ([2020, 2021], [53, 1], [7, 1])
    """

    year: Any
    week: Any
    weekday: Any


def whole_periods(periods: Any) -> int:
    """Return a number of further labels.

    Raises
    ------
    OptionError
        If it is no integer, or negative.
    """
    if isinstance(periods, bool) or not isinstance(periods, (int, np.integer)) or periods < 0:
        raise OptionError(f"extend takes a number of labels of at least 0, not {periods!r}")
    return int(periods)


def even_numbers(dim: Dim) -> np.ndarray | None:
    """Return labels that are numbers at equal distances, such as years; None for others.

    Distances of floats are equal up to rounding.
    """
    labels = dim._labels()
    index = None if labels is None else labels.index
    if index is None or index.dtype.kind not in "iuf" or len(index) < 2:
        return None
    numbers = index.to_numpy()
    steps = np.diff(numbers.astype(np.float64 if index.dtype.kind == "f" else np.int64))
    slack = 4 * np.finfo(numbers.dtype).eps * abs(numbers).max() if index.dtype.kind == "f" else 0
    return numbers if steps[0] and (abs(steps - steps[0]) <= slack).all() else None


def extended(dates: Any, periods: int, freq: Any) -> Any:
    """Return the next dates at a frequency, or the next periods."""
    import pandas as pd

    periods = whole_periods(periods)
    if is_cftime_index(dates):
        return later_dates(dates, periods, freq)
    if isinstance(dates, pd.PeriodIndex):
        return pd.period_range(dates[-1] + 1, periods=periods, freq=dates.freq)
    later = pd.date_range(dates[-1], periods=periods + 2, freq=freq)
    return later[later > dates[-1]][:periods].as_unit(dates.unit)


def dates_between(
    name: str, start: Any, end: Any, periods: Any, freq: Any, tz: Any
) -> pd.DatetimeIndex:
    """Return the dates of a new dim.

    Raises
    ------
    OptionError
        If start, end, number and frequency do not determine the dates.
    """
    import pandas as pd

    if freq is None and None in (start, end, periods):
        freq = "D"
    for which, given in (("start", start), ("end", end)):
        if np.iterable(given) and not isinstance(given, str):
            several = [str(date) for date in given]
            shown = f"pd.to_datetime({several})" if len(several) <= LISTED else "dates"
            text = f"dt.date_range: {which} is one date, and {len(several)} are given"
            hint = f"dates that are known one by one are labels: dt.Dim({name!r}, coords={shown})"
            raise OptionError(text, [(which, listing(several))], hint)
    start, end = iso_dates((start, end), "dt.date_range")
    try:
        dates = pd.date_range(start, end, periods, freq=freq, tz=tz)
    except (ValueError, TypeError) as error:
        if tz is not None:
            check_on_clocks((start, end), tz, "dt.date_range")
        given = {"start": start, "end": end, "periods": periods, "freq": freq, "tz": tz}
        raise OptionError(
            f"dt.date_range: these arguments do not determine the dates: {error}",
            [(key, repr(value)) for key, value in given.items() if value is not None],
            "dt.date_range('day', start='2020-01-01', periods=366, freq='D')",
        ) from None
    return dates


def date_index(dim: Dim, what: str, missing: bool = False) -> pd.DatetimeIndex:
    """Return the labels of a dim as dates.

    Raises
    ------
    LabelError
        If they are not dates, are not known, or include NaT without `missing`.
    """
    import pandas as pd

    return _index_of(dim, what, missing, pd.DatetimeIndex)


def time_index(dim: Dim, what: str, missing: bool = False) -> pd.DatetimeIndex | pd.TimedeltaIndex:
    """Return the labels of a dim as dates of any calendar, or durations; see `date_index`."""
    import pandas as pd

    return _index_of(dim, what, missing, (pd.DatetimeIndex, pd.TimedeltaIndex), cftime=True)


def calendar_index(dim: Dim, what: str) -> Any:
    """Return the labels of a dim as dates of any calendar, or periods; see `date_index`."""
    import pandas as pd

    kinds = (pd.DatetimeIndex, pd.PeriodIndex) if what in _OF_PERIODS else pd.DatetimeIndex
    return _index_of(dim, what, False, kinds, cftime=True)


def _index_of(dim: Dim, what: str, missing: bool, kinds: Any, cftime: bool = False) -> Any:
    labels = dim._labels()
    index = None if labels is None else labels.index
    if cftime and is_cftime_index(index):
        return index
    if is_cftime_index(index):
        raise _of_another_calendar(dim, what, index)
    if not isinstance(index, kinds):
        known = "not known before data arrives" if labels is None else f"of dtype {index.dtype}"  # type: ignore[union-attr]
        hint = "dt.date_range(name, start=..., periods=..., freq=...) makes a dim of dates"
        if type(index).__name__ == "PeriodIndex":
            start = f"{dim._short}.to_index().to_timestamp()"
            hint = f"dates on which they start: dt.Dim({dim._short!r}, coords={start})"
        raise LabelError(
            f"{what}: the labels of {dim._title} are no dates, they are {known}",
            [("dim", repr(dim))],
            hint,
        )
    if index.hasnans and not missing:
        at = np.flatnonzero(index.isna()).tolist()
        raise LabelError(
            f"{what}: some labels of {dim._title} are no dates, they are NaT",
            [("dim", repr(dim)), ("positions", listing(at))],
            "leave these positions out first, by isel",
        )
    return index


def _of_another_calendar(dim: Dim, what: str, index: Any) -> LabelError:
    return LabelError(
        f"{what}: dates of the standard calendar have it, and the labels of {dim._title} are "
        f"of the calendar {index.calendar!r}",
        [("dim", repr(dim))],
        "the parts of the calendar without weeks, resample, rolling, shift and sel are there",
    )


def calendar_part(dim: Dim, part: str) -> tuple[np.ndarray, Dim]:
    """Encode a calendar part of dates: positions along a dim of its values, and this dim."""
    dates = calendar_index(dim, part)
    ends = _CYCLES.get(part)
    if is_cftime_index(dates):
        ends = ends_of_part(part, dates.calendar) or ends
    if part == "season":
        return np.asarray(dates.month, dtype=np.int64) % 12 // 3, Dim(part, coords=_SEASONS)
    return in_range(part, np.asarray(found_part(dim, part), dtype=np.int64), ends)


def calendar_numbers(dim: Dim, part: str) -> np.ndarray:
    """Compute a calendar part of dates with values that are numbers or bools."""
    dtype = bool if part in CONDITIONS else float if part == "decimal_year" else np.int64
    return np.asarray(found_part(dim, part), dtype=dtype)


def found_part(dim: Dim, part: str) -> Any:
    """Compute a calendar part of each date in the calendar of the dates."""
    dates, name = calendar_index(dim, part), OF_PANDAS.get(part, part)
    if is_cftime_index(dates):
        return part_of(dim, dates, name)
    if part == "week":
        return dates.week if hasattr(dates, "week") else dates.isocalendar()["week"]
    if part == "days_in_year":
        return np.where(dates.is_leap_year, 366, 365)
    if part == "decimal_year":
        years = dates.tz_localize(None).to_period("Y")
        begin, end = years.start_time, (years + 1).start_time
        return dates.year + (dates.tz_localize(None) - begin) / (end - begin)
    return getattr(dates, name)


def in_range(name: str, values: np.ndarray, ends: tuple[int, int] | None) -> tuple[np.ndarray, Dim]:
    """Encode integers as positions along a dim from a first to a last integer."""
    first, last = ends or ((int(values.min()), int(values.max())) if len(values) else (0, -1))
    return values - first, Dim(name, coords=np.arange(first, last + 1, dtype=np.int64))


def among_found(name: str, labels: Any) -> tuple[np.ndarray, Dim]:
    """Encode labels as positions along a dim of the labels that occur, sorted."""
    import pandas as pd

    codes, found = pd.factorize(pd.Index(labels), sort=True)
    return codes.astype(np.int64), Dim(name, coords=Coords(found))


def rounded(dim: Dim, method: str, freq: str) -> pd.DatetimeIndex | pd.TimedeltaIndex:
    """Round dates or durations to a frequency, in local time.

    An ambiguous local time is the earlier one, unless the date itself is the later one.
    """
    import pandas as pd

    dates = time_index(dim, method)
    try:
        if not isinstance(dates, pd.DatetimeIndex) or dates.tz is None:
            return getattr(dates, method)(freq)
        clocks, world = dates.tz_localize(None), dates.tz_convert("UTC")
        offsets = clocks - world.tz_localize(None)
        step = pd.tseries.frequencies.to_offset(freq)
        ticks = getattr(step, "nanos", None) if type(step).__name__ != "Day" else None
        if ticks and not (offsets % pd.Timedelta(ticks)).any():  # as in every zone
            return getattr(world, method)(freq).tz_convert(dates.tz)
        early = clocks.tz_localize(dates.tz, np.ones(len(dates), bool), "shift_forward")
        first = np.asarray(early == dates)
        return getattr(dates, method)(freq, ambiguous=first, nonexistent="shift_forward")
    except (ValueError, TypeError, AttributeError) as error:
        raise OptionError(f"{method}: {freq!r} is no fixed frequency: {error}") from None
