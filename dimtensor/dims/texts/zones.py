"""Local times, some of which are ambiguous or nonexistent when clocks change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.errors import LabelError

if TYPE_CHECKING:
    import pandas as pd

_OFFSET = re.compile(r"\d{2}.*(Z|[+-]\d{2}:?\d{2})\s*")


def read_in_zone(texts: Sequence[str], zone: Any, title: str) -> pd.DatetimeIndex:
    """Parse texts as times in a time zone; NaT where a text is no time.

    Texts without an offset are local times of the zone.

    Raises
    ------
    LabelError
        If a local time is ambiguous or nonexistent.
    """
    import pandas as pd

    offset = np.array([_OFFSET.search(text[10:]) is not None for text in texts], bool)
    given = np.asarray(texts, dtype=object)
    found = np.empty(len(given), dtype=object)
    found[offset] = pd.to_datetime(given[offset], errors="coerce", format="mixed", utc=True)
    clocks = pd.DatetimeIndex(pd.to_datetime(given[~offset], errors="coerce", format="mixed"))
    found[~offset] = on_clocks(clocks, zone, title)
    return pd.DatetimeIndex(pd.to_datetime(found, utc=True)).tz_convert(zone)


def on_clocks(times: pd.DatetimeIndex, zone: Any, title: str) -> pd.DatetimeIndex:
    """Localize times in a time zone.

    Raises
    ------
    LabelError
        If one is ambiguous or nonexistent.

    Examples
    --------
    >>> import pandas as pd
    >>> str(on_clocks(pd.DatetimeIndex(["2024-10-27 04:00"]), "Europe/Rome", "h")[0])
    '2024-10-27 04:00:00+01:00'
    """
    clear = times.tz_localize(zone, ambiguous="NaT", nonexistent="NaT")
    lost = times[clear.isna() & ~times.isna()]
    if not len(lost):
        return clear
    time, after = lost[0], lost[:1].tz_localize(zone, "NaT", "shift_forward")
    if after.isna()[0]:
        both = [lost[:1].tz_localize(zone, np.array([summer]))[0] for summer in (True, False)]
        raise LabelError(
            f"{title}: the clocks of {zone} go back, and {time} is there twice",
            hint=f"write the offset: '{both[0]}' or '{both[1]}'",
        )
    raise LabelError(
        f"{title}: the clocks of {zone} go forward, and {time} is not there",
        hint=f"the first time after it is '{after[0]}'",
    )


def check_on_clocks(times: Sequence[Any], zone: Any, title: str) -> None:
    """Check that local times given as texts exist once.

    Raises
    ------
    LabelError
        If one is ambiguous or nonexistent.
    """
    read_in_zone([time for time in times if isinstance(time, str)], zone, title)
