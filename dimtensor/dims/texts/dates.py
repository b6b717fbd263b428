"""Dates as text: formats, and partial dates as intervals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from dimtensor.errors import LabelError, listing

# day and month in one order or the other, then the year
_DAY_AND_MONTH = re.compile(r"\s*(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})(?!\d)(.*)", re.DOTALL)


def iso_dates(texts: Iterable[Any], title: str) -> list:
    """Convert dates that begin with day and month to ISO 8601; others are unchanged.

    All texts have the same format: a day above 12 in one text determines the order in all.

    Raises
    ------
    LabelError
        If days and months are ambiguous, or the texts have several formats.

    Examples
    --------
    >>> iso_dates(["13/02/2020", "01/02/2020"], "the dates")
    ['2020-02-13', '2020-02-01']
    """
    given = list(texts)
    written = [text for text in dict.fromkeys(given) if isinstance(text, str)]
    parts = {text: match for text in written if (match := _DAY_AND_MONTH.fullmatch(text))}
    if not parts:
        return given
    pairs = {text: (int(match[1]), int(match[3])) for text, match in parts.items()}
    day_first = [text for text, (first, _) in pairs.items() if first > 12]
    month_first = [text for text, (_, second) in pairs.items() if second > 12]
    unknown = [text for text, (first, second) in pairs.items() if first != second]
    short = [text for text, match in parts.items() if len(match[4]) == 2]
    others = [text for text in written if text not in parts]
    if short:
        what = f"{short[0]!r} has two digits for its year: nothing tells year, month and day apart"
    elif others:
        what = f"dates have several formats: {next(iter(parts))!r} and {others[0]!r}"
    elif day_first and month_first:
        what = f"the day is first in {day_first[0]!r}, and the month in {month_first[0]!r}"
    elif unknown and not (day_first or month_first):
        what = f"nothing tells which is the day in {unknown[0]!r}, and which the month"
    else:
        order = (3, 1) if day_first else (1, 3)
        iso = {text: "-".join((m[4], *(m[at].zfill(2) for at in order))) + m[5]
               for text, m in parts.items()}  # fmt: skip
        return [iso.get(text, text) if isinstance(text, str) else text for text in given]
    raise LabelError(
        f"{title}: {what}",
        [("dates", listing(written))],
        "write them as ISO 8601 has it, '2020-12-31', or read them first: "
        "pd.to_datetime(dates, dayfirst=True), or with format='%m/%d/%Y'",
    )


# a year, or more of a date, as NumPy reads it: pandas takes dates before 1677 for overflows
_PART = re.compile(r"\s*\d{4}(-\d{2}(-\d{2}([T ]\d{2}(:\d{2}(:\d{2})?)?)?)?)?\s*")


def part_of_date(text: Any, dates: np.ndarray) -> tuple[np.datetime64, np.datetime64] | None:
    """Return the start of a partial date, and the start of the next one.

    None for a text that is not ISO 8601, or that overflows nanoseconds if the dates have them.

    Examples
    --------
    >>> [str(end) for end in part_of_date("1500-06", np.array(["1500-06-01"], "M8[D]"))]
    ['1500-06', '1500-07']
    """
    if not isinstance(text, str) or not _PART.fullmatch(text):
        return None
    try:
        first = np.datetime64(text.strip())
    except ValueError:
        return None
    fine = np.datetime_data(dates.dtype)[0] in ("ns", "ps", "fs", "as")
    if fine and not 1678 <= int(text.strip()[:4]) < 2261:
        return None
    one: Any = np.datetime_data(first.dtype)[0]
    return first, first + np.timedelta64(1, one)


def dates_in(text: Any, dates: np.ndarray) -> np.ndarray | None:
    """Return positions of the dates within a partial date; None if there are none."""
    part = part_of_date(text, dates)
    if part is None:
        return None
    found = np.flatnonzero((dates >= part[0]) & (dates < part[1]))
    return found if len(found) else None


def as_period(text: str, freq: Any) -> Any:
    """Parse a text as a period; return other texts unchanged."""
    import pandas as pd

    try:
        return pd.Period(text, freq=freq)
    except ValueError:
        return text
