"""Dims of dates: construction from a frequency, continuation, and calendar parts."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dimtensor.dims.calendars.cftimes import inferred_frequency, is_cftime_index
from dimtensor.dims.coords import Coords
from dimtensor.dims.dates import (
    IsoCalendar,
    among_found,
    calendar_index,
    calendar_numbers,
    calendar_part,
    date_index,
    dates_between,
    even_numbers,
    extended,
    found_part,
    in_range,
    rounded,
    whole_periods,
)
from dimtensor.dims.dim import Dim, calendar_parts, extend_dim
from dimtensor.errors import LabelError, NoAttributeError, did_you_mean, printable
from dimtensor.hooks import Hook

if TYPE_CHECKING:
    from dimtensor.typing import DateLike, Frequency, TimeZone

tensor_of_labels = Hook("a tensor of labels")
tensor_of_values = Hook("a tensor")


def _labels(part: str, doc: str) -> Any:
    """Make the property of a calendar part that is labels."""
    return property(lambda self: self._part(part), doc=doc)


def _numbers(part: str, doc: str) -> Any:
    """Make the property of a calendar part that is numbers or bools."""
    return property(lambda self: self._values(part), doc=doc)


@calendar_parts.provides()
class CalendarParts:
    """Calendar parts of the dates of a dim, :attr:`Dim.dt`, each a tensor along the dim.

    ``x.groupby(day.dt.month).mean()`` has a position for every month of the year; ``day.dt.year``
    has all years from the first to the last one of the dim. Names are those of xarray and pandas.
    Quantities such as ``days_in_month`` are tensors of numbers, and conditions such as
    ``is_leap_year`` tensors of bools.
    """

    __slots__ = ("_dim",)

    def __init__(self, dim: Dim):
        self._dim = dim

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            known = [each for each in dir(type(self)) if each[0] != "_"]
            text = f"dates have no {name!r}" + did_you_mean(name, known)
            raise NoAttributeError(text, name=name, obj=self)

    @printable
    def __repr__(self) -> str:
        return f"<CalendarParts of {self._dim!r}>"

    def _tensor_of_labels(self, codes: np.ndarray, groups: Dim, *part: Any) -> Any:
        return tensor_of_labels(self._dim, codes, groups, *part)

    def _tensor_of_values(self, values: np.ndarray, name: str) -> Any:
        return tensor_of_values(self._dim, values, name)

    def _part(self, name: str) -> Any:
        return self._tensor_of_labels(*calendar_part(self._dim, name), name)

    def _values(self, name: str) -> Any:
        return self._tensor_of_values(calendar_numbers(self._dim, name), name)

    def _found(self, name: str, labels: Any, *arguments: Any) -> Any:
        return self._tensor_of_labels(*among_found(name, labels), name, *arguments)

    @property
    def year(self) -> Any:
        """The year of each date.

        Raises
        ------
        LabelError
            If the labels are no dates, or not known; so for all parts.

        Examples
        --------
        >>> import dimtensor as dt
        >>> day = dt.date_range("day", start="2020-12-31", periods=2)
        >>> day.dt.year.values.tolist(), day.dt.month.values.tolist()
        ([2020, 2021], [12, 1])
        """
        return self._part("year")

    quarter = _labels("quarter", "The quarter of each date, 1 to 4.")
    month = _labels("month", "The month of each date, 1 to 12.")
    week = _labels("week", "The ISO week of each date, 1 to 53.")
    day = _labels("day", "The day of the month of each date, 1 to 31.")
    dayofyear = _labels("dayofyear", "The day of the year of each date, 1 to 366.")
    dayofweek = _labels("dayofweek", "The day of the week of each date, 0 (Monday) to 6.")
    hour = _labels("hour", "The hour of each date, 0 to 23.")
    minute = _labels("minute", "The minute of each date, 0 to 59.")
    second = _labels("second", "The second of each date, 0 to 59.")

    @property
    def season(self) -> Any:
        """The season of each date: DJF, MAM, JJA or SON, after the first letters of its months.

        Examples
        --------
        >>> import dimtensor as dt
        >>> month = dt.date_range("month", start="2021-01-01", periods=12, freq="MS")
        >>> dt.data(range(12), dims=month).groupby(month.dt.season).sum().values.tolist()
        [12, 9, 18, 27]
        """
        return self._part("season")

    @property
    def days_in_month(self) -> Any:
        """The number of days of the month of each date, as numbers.

        Examples
        --------
        >>> import dimtensor as dt
        >>> month = dt.date_range("month", start="2021-01-01", periods=3, freq="MS")
        >>> month.dt.days_in_month.values.tolist()
        [31, 28, 31]
        """
        return self._values("days_in_month")

    days_in_year = _numbers("days_in_year", "Number of days in the year of each date, as numbers.")
    microsecond = _numbers("microsecond", "The microsecond of each date, as numbers.")
    nanosecond = _numbers("nanosecond", "The nanosecond of each date, as numbers.")
    is_leap_year = _numbers("is_leap_year", "True for each date in a leap year.")
    is_month_start = _numbers("is_month_start", "True for the first day of a month.")
    is_month_end = _numbers("is_month_end", "True for the last day of a month.")
    is_quarter_start = _numbers("is_quarter_start", "True for the first day of a quarter.")
    is_quarter_end = _numbers("is_quarter_end", "True for the last day of a quarter.")
    is_year_start = _numbers("is_year_start", "True for the first day of a year.")
    is_year_end = _numbers("is_year_end", "True for the last day of a year.")
    decimal_year = _numbers("decimal_year", "Each date as a decimal year, such as 2020.5.")

    @property
    def date(self) -> Any:
        """Each date without its time of day; labels are the days that occur."""
        return self._found("date", rounded(self._dim, "floor", "D"))

    @property
    def time(self) -> Any:
        """Time of day of each date; labels are the times that occur."""
        return self._found("time", found_part(self._dim, "time"))

    def floor(self, freq: str) -> Any:
        """Round each date down to a fixed frequency.

        Parameters
        ----------
        freq : str
            Such as ``"D"`` or ``"6h"``.

        Returns
        -------
        DimTensor
            Of labels: the dates that occur.

        Raises
        ------
        LabelError
            If the labels are no dates, or not known.
        InputError
            If the frequency is not fixed, as that of months.

        Examples
        --------
        >>> import dimtensor as dt
        >>> hour = dt.date_range("hour", start="2021-01-01", periods=36, freq="h")
        >>> dt.data(range(36), dims=hour).groupby(hour.dt.floor("D")).max().values.tolist()
        [23.0, 35.0]
        """
        return self._found("floor", rounded(self._dim, "floor", freq), freq)

    def ceil(self, freq: str) -> Any:
        """Round each date up to a fixed frequency.

        Parameters
        ----------
        freq : str

        Returns
        -------
        DimTensor
            Of labels; see :meth:`floor`.

        Examples
        --------
        >>> import dimtensor as dt
        >>> hour = dt.date_range("hour", start="2021-01-01", periods=3, freq="7h")
        >>> [str(date)[:10] for date in hour.dt.ceil("D").values]
        ['2021-01-01', '2021-01-02', '2021-01-02']
        """
        return self._found("ceil", rounded(self._dim, "ceil", freq), freq)

    def round(self, freq: str) -> Any:
        """Round each date to the nearest one of a fixed frequency.

        Parameters
        ----------
        freq : str

        Returns
        -------
        DimTensor
            Of labels; see :meth:`floor`.

        Examples
        --------
        >>> import dimtensor as dt
        >>> hour = dt.date_range("hour", start="2021-01-01", periods=3, freq="7h")
        >>> [str(date)[:10] for date in hour.dt.round("D").values]
        ['2021-01-01', '2021-01-01', '2021-01-02']
        """
        return self._found("round", rounded(self._dim, "round", freq), freq)

    def strftime(self, date_format: str) -> Any:
        """Format each date as text.

        Parameters
        ----------
        date_format : str
            As of ``datetime.strftime``.

        Returns
        -------
        DimTensor
            Of labels: the texts that occur, in alphabetical order.

        Raises
        ------
        LabelError
            If the labels are no dates, or not known.

        Examples
        --------
        >>> import dimtensor as dt
        >>> day = dt.date_range("day", start="2021-01-30", periods=3)
        >>> day.dt.strftime("%Y-%m").values.tolist()
        ['2021-01', '2021-01', '2021-02']
        """
        dates = calendar_index(self._dim, "strftime")
        return self._found("strftime", dates.strftime(date_format), date_format)

    def isocalendar(self) -> IsoCalendar:
        """Return the ISO year, week and day of the week (1 to 7) of each date.

        Returns
        -------
        IsoCalendar
            Three tensors of labels.

        Raises
        ------
        LabelError
            If the labels are no dates, or not known.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.date_range(
        ...     "day", start="2021-01-03", periods=2
        ... ).dt.isocalendar().week.values.tolist()
        [53, 1]
        """
        found = date_index(self._dim, "isocalendar").isocalendar()
        columns = {
            "year": (np.asarray(found["year"], dtype=np.int64), None),
            "week": (np.asarray(found["week"], dtype=np.int64), (1, 53)),
            "weekday": (np.asarray(found["day"], dtype=np.int64), (1, 7)),
        }
        return IsoCalendar(
            *(
                self._tensor_of_labels(*in_range(name, values, ends))
                for name, (values, ends) in columns.items()
            )
        )

    @property
    def freq(self) -> str | None:
        """The frequency of the dates, as pandas writes it; None where they have none.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.date_range("month", start="2021-01-01", periods=3, freq="MS").dt.freq
        'MS'
        """
        import pandas as pd

        dates = calendar_index(self._dim, "freq")
        if isinstance(dates, pd.PeriodIndex):
            return dates.freqstr
        if len(dates) < 3:
            return None
        if is_cftime_index(dates):
            return inferred_frequency(dates)
        with warnings.catch_warnings():  # pandas will return an offset
            warnings.simplefilter("ignore")
            found = pd.infer_freq(dates)
        return getattr(found, "freqstr", found)


@extend_dim.provides()
def extended_dim(dim: Dim, periods: int, freq: Any = None) -> Dim:
    """Return a dim with more labels after the last one; see :meth:`Dim.extend`."""
    numbers = None if freq is not None else even_numbers(dim)
    if numbers is not None:
        first, second, last = (number.item() for number in numbers[[0, 1, -1]])
        step = second - first
        if isinstance(step, float):  # the mean one, as each is rounded
            step = (last - first) / (len(numbers) - 1)
        later = [last + step * place for place in range(1, whole_periods(periods) + 1)]
        return Dim(dim.name, coords=Coords([*numbers.tolist(), *later]))
    dates = calendar_index(dim, "extend")
    freq = freq or dim.dt.freq
    if freq is None or not len(dates):
        raise LabelError(
            f"extend: the labels of {dim._title} have no frequency",
            [("dim", repr(dim))],
            f"say it: {dim._short}.extend({periods!r}, freq='D')",
        )
    new = extended(dates, periods, freq)
    return Dim(dim.name, coords=Coords(dates.append(new)))


def date_range(
    name: str,
    start: DateLike | None = None,
    end: DateLike | None = None,
    periods: int | None = None,
    freq: Frequency | None = None,
    tz: TimeZone | None = None,
) -> Dim:
    """Make a dim of dates, as `pandas.date_range` makes an index.

    Parameters
    ----------
    name : str
    start, end : str, datetime or numpy.datetime64, optional
        The first and the last date.
    periods : int, optional
        How many dates there are.
    freq : str or pandas offset, optional
        Distance between dates, a day by default: ``"h"``, ``"W"``, ``"MS"``, ``"3D"``, …
    tz : str or tzinfo, optional
        Time zone.

    Returns
    -------
    Dim
        With dates as labels, equal to every dim with this name and these labels. ``dim.dt.freq`` is
        the frequency, ``dim.extend`` adds later dates, and ``dim.dt.month`` and other parts are
        tensors of labels for ``groupby`` and ``sel``.

    Raises
    ------
    OptionError
        If start, end, number and frequency do not determine the dates.
    LabelError
        If a start or an end can be read with the day first or with the month first.

    Examples
    --------
    >>> import dimtensor as dt
    >>> week = dt.date_range("week", start="2021-01-03", periods=3, freq="W")
    >>> week.dt.freq, str(week.coords[1])[:10]
    ('W-SUN', '2021-01-10')
    """
    return Dim(name, coords=Coords(dates_between(name, start, end, periods, freq, tz)))
