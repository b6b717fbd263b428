"""Labels of cftime: dates of other calendars, such as noleap and 360_day of climate models.

cftime is never imported here: a process with such labels has imported it, and xarray calls it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.errors import LabelError, OptionError, listing

if TYPE_CHECKING:
    from dimtensor.dims.dim import Dim

_LAST_DAY_OF_YEAR = {"noleap": 365, "365_day": 365, "360_day": 360}
_ISO = re.compile(
    r"\s*(-?\d{4,})-(\d{2})(?:-(\d{2})(?:[T ](\d{2})(?::(\d{2})(?::(\d{2}))?)?)?)?\s*"
)


def is_cftime(label: object) -> bool:
    """Return True for a date of cftime."""
    return type(label).__module__.partition(".")[0] == "cftime"


def are_cftimes(values: np.ndarray) -> bool:
    """Return True if all labels are cftime dates of one calendar."""
    labels = values.tolist() if values.dtype.kind == "O" else []
    if not labels or not all(map(is_cftime, labels)):
        return False
    return len({(type(label), label.calendar) for label in labels}) == 1


def identity(label: Any) -> tuple:
    """Return a comparable key of a date; cftime raises if dates of two calendars are compared."""
    day = (label.calendar, label.year, label.month, label.day)
    return ("cftime", *day, label.hour, label.minute, label.second, label.microsecond)


def index_of(values: np.ndarray) -> Any:
    """Return the CFTimeIndex of an array of dates."""
    import xarray as xr

    return xr.CFTimeIndex(values)


def is_cftime_index(index: object) -> bool:
    """Return True for xarray's CFTimeIndex, without importing xarray."""
    return type(index).__name__ == "CFTimeIndex"


def read(text: str, like: Any) -> Any:
    """Parse a date of ISO 8601 in the calendar of another one; return other texts unchanged."""
    match = _ISO.fullmatch(text)
    if match is None:
        return text
    numbers = [1 if at == 2 and part is None else int(part or 0)
               for at, part in enumerate(match.groups())]  # fmt: skip
    try:
        return like.replace(
            **dict(zip(("year", "month", "day", "hour", "minute", "second"), numbers, strict=True)),
            microsecond=0,
        )
    except ValueError:
        return text


def ends_of_part(part: str, calendar: str) -> tuple[int, int] | None:
    """Return the first and last value of a part if they differ from the standard calendar."""
    if part == "dayofyear" and calendar in _LAST_DAY_OF_YEAR:
        return (1, _LAST_DAY_OF_YEAR[calendar])
    return (1, 30) if part == "day" and calendar == "360_day" else None


def part_of(dim: Dim, index: Any, part: str) -> np.ndarray:
    """Compute a calendar part of dates by its name in pandas.

    Raises
    ------
    LabelError
        If the calendar lacks the part, as the weeks of ISO 8601.
    """
    found = _COMPUTED[part](index) if part in _COMPUTED else getattr(index, part, None)
    if found is None:
        raise LabelError(
            f"{part}: the weeks of ISO 8601 are those of the standard calendar, and the labels "
            f"of {dim._title} are dates of the calendar {index.calendar!r}",
            [("labels", listing(index))],
            f"resample({dim._short}='7D') makes weeks of 7 days, and dayofweek, dayofyear, "
            "month and season are there",
        )
    return np.asarray(found)


def _by_label(function: Callable[[Any], Any]) -> Callable[[Any], np.ndarray]:
    return lambda index: np.array([function(label) for label in index.tolist()])


def _begin_of_year(label: Any, later: int = 0) -> Any:
    return label.replace(
        year=label.year + later, month=1, day=1, hour=0, minute=0, second=0, microsecond=0
    )


def _length_of_year(label: Any) -> datetime.timedelta:
    return _begin_of_year(label, 1) - _begin_of_year(label)


def _year_as_decimal(label: Any) -> float:
    return float(label.year + (label - _begin_of_year(label)) / _length_of_year(label))


def _ends_month(index: Any) -> np.ndarray:
    return np.asarray(index.day) == _days_in_month(index)


def _begins_month(index: Any) -> np.ndarray:
    return np.asarray(index.day) == 1


def _month(index: Any) -> np.ndarray:
    return np.asarray(index.month)


_days_in_month = _by_label(lambda label: label.daysinmonth)
_days_in_year = _by_label(lambda label: _length_of_year(label).days)
_COMPUTED: dict[str, Callable[[Any], np.ndarray]] = {
    "quarter": lambda index: (_month(index) + 2) // 3,
    "day_of_year": _by_label(lambda label: label.dayofyr),
    "day_of_week": _by_label(lambda label: label.dayofwk),
    "days_in_month": _days_in_month,
    "days_in_year": _days_in_year,
    "nanosecond": lambda index: np.zeros(len(index), np.int64),
    "decimal_year": _by_label(_year_as_decimal),
    "is_leap_year": lambda index: _days_in_year(index) > 365,
    "is_month_start": _begins_month,
    "is_month_end": _ends_month,
    "is_quarter_start": lambda index: _begins_month(index) & (_month(index) % 3 == 1),
    "is_quarter_end": lambda index: _ends_month(index) & (_month(index) % 3 == 0),
    "is_year_start": lambda index: _begins_month(index) & (_month(index) == 1),
    "is_year_end": lambda index: _ends_month(index) & (_month(index) == 12),
    "time": _by_label(
        lambda label: datetime.time(label.hour, label.minute, label.second, label.microsecond)
    ),
}


def seconds_since_1970(index: Any) -> np.ndarray:
    """Dates as seconds from 1970-01-01 of their calendar."""
    return np.array([(one - _begin_of_year(one, 1970 - one.year)).total_seconds()
                     for one in index.tolist()], dtype=float)  # fmt: skip


def later_by(index: Any, offset: Any, times: int = 1) -> Any:
    """Dates moved by an offset of pandas, on their calendar.

    Raises
    ------
    OptionError
        If their calendar does not have it.
    """
    import pandas as pd

    if isinstance(offset, (pd.Timedelta, datetime.timedelta)):
        return index + times * offset
    freq = getattr(offset, "freqstr", str(offset))
    try:
        return index.shift(times, freq)
    except (ValueError, TypeError) as error:
        raise _no_frequency("the distance", freq, error) from None


def _no_frequency(what: str, freq: Any, error: Exception) -> OptionError:
    return OptionError(
        f"{what}: {freq!r} is no frequency of dates of cftime: {error}",
        hint="'D', 'h', 'min', 's', 'MS', 'ME', 'QS', 'QE', 'YS' and 'YE' are there, with a "
        "number or without; '7D' for 'W'",
    )


def groups_of_frequency(
    index: Any, freq: Any, closed: Any, label: Any, offset: Any, origin: Any
) -> tuple[np.ndarray, Any]:
    """Positions of dates among those of a frequency, and the latter.

    Raises
    ------
    OptionError
        If their calendar does not have the frequency.
    """
    import xarray as xr
    from xarray.groupers import TimeResampler

    order = np.argsort(index.to_numpy(), kind="stable")
    dates = xr.DataArray(index[order], dims="dates", name="dates")
    dates = dates.assign_coords(dates=index[order])["dates"]
    freq = getattr(freq, "freqstr", freq)
    resampler = TimeResampler(freq, closed=closed, label=label, origin=origin, offset=offset)
    try:
        found = resampler.factorize(dates)
    except (ValueError, TypeError, AttributeError) as error:
        raise _no_frequency("resample", freq, error) from None
    codes = np.empty(len(index), dtype=np.int64)
    codes[order] = found.codes.to_numpy()
    return codes, found.full_index.to_numpy()


def inferred_frequency(index: Any) -> str | None:
    """Infer the frequency of at least three dates."""
    import xarray as xr

    return xr.infer_freq(index)


def later_dates(index: Any, periods: int, freq: Any) -> Any:
    """Return the next dates at a frequency."""
    import xarray as xr

    freq = getattr(freq, "freqstr", freq)
    try:
        later = xr.date_range(
            index[-1], periods=periods + 2, freq=freq, calendar=index.calendar, use_cftime=True
        )
    except (ValueError, TypeError) as error:
        raise _no_frequency("extend", freq, error) from None
    return later[later > index[-1]][:periods]
