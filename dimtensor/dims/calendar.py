"""Dims whose labels are dates: made by a frequency, continued, and taken apart by calendar."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dimtensor.dims.coords import Coords
from dimtensor.errors import DimError, InputError, LabelError, build_message

if TYPE_CHECKING:
    import pandas as pd

    from dimtensor.dims.dim import Dim

# first and last value of what comes round; of the others, what is found
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
PARTS = ("year", *_CYCLES)


class CalendarParts:
    """Calendar parts of a dim of dates, each a tensor of labels along the dim.

    ``x.groupby(day.month).mean()`` has a position for every month of the year; of ``year`` there
    are those from the first to the last one of the dim.
    """

    __slots__ = ()

    # makes a tensor of labels: the dim, values, the dim of the part; set where tensors are made
    _tensor_of_labels: ClassVar[Callable[..., Any]]

    def _part(self, name: str) -> Any:
        values, groups = calendar_part(self, name)  # type: ignore[arg-type]
        return self._tensor_of_labels(self, values, groups)

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
        >>> day = dt.time("day", start="2020-12-31", periods=2)
        >>> day.year.values.tolist(), day.month.values.tolist()
        ([2020, 2021], [12, 1])
        """
        return self._part("year")

    @property
    def quarter(self) -> Any:
        """The quarter of each date, 1 to 4."""
        return self._part("quarter")

    @property
    def month(self) -> Any:
        """The month of each date, 1 to 12."""
        return self._part("month")

    @property
    def week(self) -> Any:
        """The ISO week of each date, 1 to 53."""
        return self._part("week")

    @property
    def day(self) -> Any:
        """The day of the month of each date, 1 to 31."""
        return self._part("day")

    @property
    def dayofyear(self) -> Any:
        """The day of the year of each date, 1 to 366."""
        return self._part("dayofyear")

    @property
    def dayofweek(self) -> Any:
        """The day of the week of each date, 0 (Monday) to 6."""
        return self._part("dayofweek")

    @property
    def hour(self) -> Any:
        """The hour of each date, 0 to 23."""
        return self._part("hour")

    @property
    def minute(self) -> Any:
        """The minute of each date, 0 to 59."""
        return self._part("minute")

    @property
    def second(self) -> Any:
        """The second of each date, 0 to 59."""
        return self._part("second")

    @property
    def freq(self) -> str | None:
        """The frequency of dates, as pandas writes it; None where they have none."""
        import pandas as pd

        dates = date_index(self, "freq")  # type: ignore[arg-type]
        if len(dates) < 3:
            return None
        with warnings.catch_warnings():  # what it returns will be an offset
            warnings.simplefilter("ignore")
            found = pd.infer_freq(dates)
        return getattr(found, "freqstr", found)

    def extend(self, periods: int, freq: Any = None) -> Dim:
        """The dim with more dates after the last one.

        Parameters
        ----------
        periods : int
            How many.
        freq : str or pandas offset, optional
            By default the frequency of the dates that there are.

        Returns
        -------
        Dim

        Raises
        ------
        LabelError
            If the labels are no dates, or not known, or have no frequency and none is given.

        Examples
        --------
        >>> import dimtensor as dt
        >>> day = dt.time("day", start="2021-01-01", periods=3)
        >>> len(day.extend(14)), str(day.extend(14).coords[-1])[:10]
        (17, '2021-01-17')
        """
        from dimtensor.dims.dim import Dim

        dim: Dim = self  # type: ignore[assignment]
        dates = date_index(dim, "extend")
        freq = freq or self.freq
        if freq is None or not len(dates):
            raise LabelError(
                build_message(
                    f"extend: the labels of {dim.title} have no frequency",
                    [("dim", repr(dim))],
                    "say it: day.extend(14, freq='D')",
                )
            )
        new = extended(dates, periods, freq)
        return Dim(dim.name, coords=Coords(dates.append(new)))


def extended(dates: pd.DatetimeIndex, periods: int, freq: Any) -> pd.DatetimeIndex:
    """The dates that follow at a frequency."""
    import pandas as pd

    if isinstance(periods, bool) or not isinstance(periods, (int, np.integer)) or periods < 0:
        raise InputError(f"extend takes a number of dates of at least 0, not {periods!r}")
    later = pd.date_range(dates[-1], periods=periods + 2, freq=freq)
    return later[later > dates[-1]][:periods].as_unit(dates.unit)


def date_index(dim: Dim, what: str) -> pd.DatetimeIndex:
    """The labels of a dim as dates.

    Raises
    ------
    LabelError
        If they are none, or not known.
    """
    import pandas as pd

    labels = dim._labels()
    index = None if labels is None else labels.index
    if not isinstance(index, pd.DatetimeIndex):
        known = "not known before data arrives" if labels is None else f"of dtype {index.dtype}"  # type: ignore[union-attr]
        raise LabelError(
            build_message(
                f"{what}: the labels of {dim.title} are no dates, they are {known}",
                [("dim", repr(dim))],
                "dt.time(name, start=..., periods=..., freq=...) makes a dim of dates",
            )
        )
    return index


def calendar_part(dim: Dim, part: str) -> tuple[np.ndarray, Dim]:
    """A calendar part of dates, and the dim of its values."""
    from dimtensor.dims.dim import Dim

    dates = date_index(dim, part)
    name = {"dayofyear": "day_of_year", "dayofweek": "day_of_week"}.get(part, part)
    found = dates.isocalendar()["week"] if part == "week" else getattr(dates, name)
    values = np.asarray(found, dtype=np.int64)
    first, last = _CYCLES.get(part, (values.min(), values.max()) if len(values) else (0, -1))
    return values, Dim(part, coords=np.arange(first, last + 1, dtype=np.int64))


def time(
    name: str,
    start: Any = None,
    end: Any = None,
    periods: int | None = None,
    freq: Any = None,
    tz: Any = None,
) -> Dim:
    """A dim of dates.

    Parameters
    ----------
    name : str
    start, end : str, datetime or numpy.datetime64, optional
        The first and the last date.
    periods : int, optional
        How many dates there are.
    freq : str or pandas offset, optional
        How far they are apart, days by default: ``"h"``, ``"W"``, ``"MS"``, ``"3D"``, …
    tz : str or tzinfo, optional
        Time zone.

    Returns
    -------
    Dim
        With dates as labels: the same dim as one that is given these labels in another way.
        Its ``freq`` is that of the labels, ``extend`` continues them, and ``day.month`` and its
        like are tensors of labels for ``groupby`` and ``sel``.

    Raises
    ------
    DimError
        If start, end, number and frequency do not say which dates.

    Examples
    --------
    >>> import dimtensor as dt
    >>> week = dt.time("week", start="2021-01-03", periods=3, freq="W")
    >>> week.freq, str(week.coords[1])[:10]
    ('W-SUN', '2021-01-10')
    """
    import pandas as pd

    from dimtensor.dims.dim import Dim

    if freq is None and None in (start, end, periods):
        freq = "D"
    try:
        dates = pd.date_range(start, end, periods, freq=freq, tz=tz)
    except (ValueError, TypeError) as error:
        given = {"start": start, "end": end, "periods": periods, "freq": freq, "tz": tz}
        raise DimError(
            build_message(
                f"dt.time: these say no dates: {error}",
                [(key, repr(value)) for key, value in given.items() if value is not None],
                "dt.time('day', start='2020-01-01', periods=366, freq='D')",
            )
        ) from None
    return Dim(name, coords=Coords(dates))
