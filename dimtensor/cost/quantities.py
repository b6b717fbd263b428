"""Formatting and parsing of numbers of bytes and operations."""

from __future__ import annotations

import re
from typing import Any

from dimtensor.cost.polynomial import Number
from dimtensor.errors import OptionError

_UNITS = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def bytes_of(limit: Any) -> int:
    """Parse a number of bytes: an integer, or a text with a unit.

    Raises
    ------
    OptionError
        If it is neither.

    Examples
    --------
    >>> bytes_of("2 GB"), bytes_of("1.5 KiB"), bytes_of(100)
    (2000000000, 1536, 100)
    """
    if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0:
        return limit
    found = _QUANTITY.fullmatch(limit) if isinstance(limit, str) else None
    if found is None or found[2] not in _UNITS:
        raise OptionError(
            f"{limit!r} is not a number of bytes",
            [("units", ", ".join(_UNITS))],
            'write it as limit="2 GB", or as an integer',
        )
    return int(float(found[1]) * _UNITS[found[2]])


def bytes_text(count: Number) -> str:
    """Format a number of bytes with a unit.

    Examples
    --------
    >>> bytes_text(24.3e9), bytes_text(17)
    ('24.3 GB', '17 B')
    """
    return _scaled(count, ("B", "kB", "MB", "GB", "TB", "PB", "EB"))


def count_text(count: Number) -> str:
    """Format a number of operations.

    Examples
    --------
    >>> count_text(2_400_000), count_text(12)
    ('2.4 M', '12')
    """
    return _scaled(count, ("", "k", "M", "G", "T", "P"))


def _scaled(count: Number, units: tuple[str, ...]) -> str:
    scaled = float(count)
    for unit in units[:-1]:
        if abs(scaled) < 999.5:
            return f"{scaled:.3g} {unit}".strip()
        scaled /= 1000
    return f"{scaled:.3g} {units[-1]}"
