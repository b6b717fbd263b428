"""Coords: immutable labels of a dim, and their index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dimtensor.dims.calendars import cftimes
from dimtensor.dims.labels import (
    DATES,
    TIMES,
    digest,
    family,
    family_of,
    in_unit,
    label_array,
    places_in_span,
    python_label,
    stand_ins,
    tagged,
)
from dimtensor.dims.texts.dates import as_period, dates_in, iso_dates
from dimtensor.dims.texts.places import places_of_texts
from dimtensor.dims.texts.zones import check_on_clocks, read_in_zone
from dimtensor.errors import LabelError, did_you_mean, listing, plain_repr, printable

_OBJECTS = ("object", "period", "cftime")
_MANY = 10_000  # labels on both sides from which pandas, slow to import, is faster than a dict


class Coords:
    """Labels of a dim, compared by value.

    Parameters
    ----------
    labels : sequence, ndarray, pandas.Index or Coords
        One label per position: numbers, strings, datetimes, tuples or a mixture. None is converted
        to another type: not large integers to floats, None to NaN, nor pandas' time zones, periods
        and intervals to objects.

    Raises
    ------
    LabelError
        If these are not labels, or are a set, which has no order.

    Examples
    --------
    >>> coords = Coords(["Italy", "Kenya", "USA"])
    >>> coords.position("USA")
    2
    >>> coords == Coords(("Italy", "Kenya", "USA"))
    True
    """

    def __init__(self, labels: Any):
        self._array: np.ndarray | None
        self._index: Any
        if isinstance(labels, Coords):
            self._array, self._index = labels._array, labels._index
        else:
            self._array, self._index = label_array(labels)
        if self._array is not None:
            self._array.flags.writeable = False

    def __len__(self) -> int:
        return len(self._array) if self._array is not None else len(self._index)

    @cached_property
    def values(self) -> np.ndarray:
        """Labels as a read-only array; time zones, periods and intervals as pandas objects."""
        if self._array is not None:
            return self._array
        values = self._index.to_numpy(dtype=object)
        values = values.copy()
        values.flags.writeable = False
        return values

    @cached_property
    def index(self) -> Any:
        """Labels as a pandas Index, with the dtype they were given in."""
        import pandas as pd

        if self._array is None:
            return self._index
        if self.family == "cftime":
            return cftimes.index_of(self._array)
        # pandas would find a dtype for objects itself, in which None is NaN
        return pd.Index(self._array, dtype=object if self._array.dtype.kind == "O" else None)

    @property
    def as_coordinate(self) -> Any:
        """Labels for an xarray coordinate: an array, or an Index if an array would convert them."""
        return self.index if self.family in _OBJECTS or self._array is None else self._array

    @property
    def extension(self) -> Any:
        """Pandas dtype of time zones, periods and intervals; None for labels in a NumPy array."""
        return None if self._index is None else self._index.dtype

    @cached_property
    def counts_up(self) -> bool:
        """True for strictly increasing integers."""
        if self._array is None or self._array.dtype.kind != "i":
            return False
        return bool((self._array[:-1] < self._array[1:]).all())

    # -- equality ------------------------------------------------------------------------------

    @cached_property
    def family(self) -> str:
        """Kind of the labels: labels of two kinds are never equal, except to objects."""
        if self._array is not None:
            return family_of(self._array)
        kind = type(self._index.dtype).__name__
        return {"DatetimeTZDtype": "zoned", "PeriodDtype": "period"}.get(kind, "object")

    @cached_property
    def _plain(self) -> list:
        """Hashable keys of the labels, comparable with keys of the same family."""
        if self.family == "zoned":
            return stand_ins(self._utc)
        return stand_ins(self.values)

    def _tagged(self) -> list:
        """Return hashable keys of the labels, comparable with those of any family."""
        kind = self.family
        if kind in ("bool", "datetime", "timedelta", "zoned"):
            return [label if type(label) is tuple else (kind, label) for label in self._plain]
        return self._plain

    @cached_property
    def key(self) -> tuple:
        """Hashable key of all labels: equal for equal labels."""
        if self.family == "zoned":
            return ("zoned", str(self._index.tz), *digest(self._utc))
        if self.family in _OBJECTS:
            kinds = tuple(type(label) is float for label in self.values.tolist())
            return ("O", tuple(self._plain), kinds)
        return digest(self.values)

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Coords) and self.key == other.key)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple:
        return (Coords, (self.values if self._index is None else self._index,))

    def __contains__(self, label: object) -> bool:
        try:
            self.locate(label)
        except LabelError:
            return self._exact(python_label(label)) is not None  # it occurs more than once
        return True

    def to_list(self) -> list:
        """Return labels as Python objects, but datetimes as NumPy's, not as integers."""
        if self.values.dtype.kind in "mM":
            return list(self.values)
        return self.values.tolist()

    def same_labels(self, other: Coords) -> bool:
        """Return True if both have equal labels in the same order; int 1 equals float 1.0."""
        if self == other:
            return True
        if len(self) != len(other):
            return False
        mine, theirs = self._array, other._array
        if mine is not None and theirs is not None and mine.dtype == theirs.dtype != object:
            return bool(np.array_equal(mine, theirs, equal_nan=mine.dtype.kind in "fcmM"))
        if self.family == other.family:
            return self._plain == other._plain
        return "object" in (self.family, other.family) and self._tagged() == other._tagged()

    def first_difference(self, other: Coords) -> int | None:
        """Return the first position with different labels; None if only the lengths differ."""
        pairs = zip(self._tagged(), other._tagged(), strict=False)
        return next((at for at, (mine, theirs) in enumerate(pairs) if mine != theirs), None)

    # -- look-ups ------------------------------------------------------------------------------

    @cached_property
    def _table(self) -> dict[Any, int]:
        """First position of a label by its key."""
        return dict(zip(reversed(self._plain), range(len(self) - 1, -1, -1), strict=True))

    @cached_property
    def _tagged_table(self) -> dict[Any, int]:
        plain = self._tagged()
        return dict(zip(reversed(plain), range(len(self) - 1, -1, -1), strict=True))

    @cached_property
    def _hashed(self) -> Any:
        """Index for a hash join of integers, floats or strings; None for other kinds."""
        import pandas as pd

        values = self._utc if self.family == "zoned" else self.values
        kind = values.dtype.kind
        if kind in "mM":
            exact = in_unit(values, "ns")
            return None if exact is None else pd.Index(exact.view("i8"))
        if kind == "U":
            return pd.Index(values.astype(object), dtype=object)
        widest = {"i": "i8", "u": "u8", "f": "f8"}.get(kind)
        return None if widest is None or values.itemsize > 8 else pd.Index(values.astype(widest))

    @property
    def _utc(self) -> np.ndarray:
        """Labels with a time zone, converted to UTC without one."""
        return self._index.tz_convert("UTC").tz_localize(None).to_numpy()

    @cached_property
    def is_unique(self) -> bool:
        """True if no label occurs twice."""
        if self.family in ("number", "datetime", "timedelta"):
            values = self.values
            if bool((values[1:] > values[:-1]).all()):  # sorted, the common case
                return True
        if len(self) > _MANY and self._hashed is not None:
            return bool(self._hashed.is_unique)
        return len(set(self._plain)) == len(self)

    @cached_property
    def duplicates(self) -> list:
        """Labels that occur more than once."""
        labels = self.to_list() if self._doubled else []
        return [labels[position] for position in sorted(self._doubled)]

    @cached_property
    def _doubled(self) -> frozenset:
        """First positions of the labels that occur more than once."""
        if self.is_unique:
            return frozenset()
        firsts = ((self._table[label], at) for at, label in enumerate(self._plain))
        return frozenset(first for first, at in firsts if first != at)

    def find(self, wanted: Coords) -> np.ndarray:
        """Return the first position of each wanted label, -1 for a label that is missing.

        A hash join, linear in the number of labels on both sides.
        """
        many = self.family == wanted.family and len(self) + len(wanted) > _MANY
        if many and self.values.dtype.kind == wanted.values.dtype.kind == "U":
            found = places_of_texts(self.values, wanted.values)
            if found is not None:
                return found
        if many and self.is_unique:
            close = places_in_span(self.values, wanted.values)
            if close is not None:
                return close
            mine, theirs = self._hashed, wanted._hashed
            if mine is not None and theirs is not None and mine.dtype == theirs.dtype:
                return mine.get_indexer(theirs).astype(np.int64)
        if self.family == wanted.family:
            table, labels = self._table, wanted._plain
        elif "object" in (self.family, wanted.family):
            table, labels = self._tagged_table, wanted._tagged()
        else:
            return np.full(len(wanted), -1, dtype=np.int64)
        get = table.get
        return np.fromiter((get(label, -1) for label in labels), np.int64, len(labels))

    def locate(self, label: Any, dim: str = "the dim") -> int | slice | np.ndarray:
        """Return the position of a label, or the positions that a partial date selects.

        A string of lower resolution than the dates (``"2020-02"`` for days) selects all dates in
        it, as in xarray and pandas; a number selects the interval that contains it.

        Raises
        ------
        LabelError
            If the label is missing, or occurs more than once.
        """
        label = python_label(label)
        if self._read_by_pandas(label):
            if self.family in DATES:
                (label,) = iso_dates([label], dim)
            try:
                found = self.index.get_loc(label)
            except (LookupError, TypeError, ValueError, OverflowError):
                if self.family == "zoned":
                    check_on_clocks([label], self._index.tz, dim)
                found = dates_in(label, self.values) if self.family == "datetime" else None
                if found is None:
                    raise self._missing([label], dim) from None
            if isinstance(found, np.ndarray):
                return np.flatnonzero(found) if found.dtype == bool else found.astype(np.int64)
            return found if isinstance(found, slice) else int(found)
        position = self._exact(label)
        if position is None:
            raise self._missing([label], dim)
        if position in self._doubled:
            raise self._occurs_twice(label, dim)
        return position

    def position(self, label: Any, dim: str = "the dim") -> int:
        """Return the position of one label; `dim` names the dim in an error.

        Raises
        ------
        LabelError
            If the label is missing, occurs more than once, or selects several labels.
        """
        found = self.locate(label, dim)
        if isinstance(found, int):
            return found
        positions = np.arange(len(self))[found]
        raise LabelError(
            f"{plain_repr(label)} stands for {len(positions)} labels of {dim}, but one is needed",
            [("labels", listing(self.values[positions]))],
            f"write the whole label, or take all with slice({label!r}, {label!r})",
        )

    def _read_by_pandas(self, label: Any) -> bool:
        if self.family in TIMES:
            return isinstance(label, str) or (
                self.family == "period" and family(label) == "datetime"
            )
        interval = self._index is not None
        return interval and family(label) in ("number", "datetime", "timedelta", "zoned")

    def _exact(self, label: Any) -> int | None:
        """Return the first position of one label, None if it is missing."""
        kind = family(label)
        try:
            if self.family in _OBJECTS:
                return self._table.get(tagged(label))
            if kind != self.family:
                return None
            stand_in = tagged(label)
            if kind in ("bool", "datetime", "timedelta", "zoned"):
                stand_in = stand_in if len(stand_in) == 1 else stand_in[1]
            found = self._table.get(stand_in)
            if found is None and kind == "number":
                found = self._table.get(self._rounded(stand_in))
            return found
        except Exception:  # an object without a hash is not a label, whatever it raises
            return None

    def _rounded(self, number: Any) -> Any:
        """Round a number to a narrower float dtype of the labels, as xarray does for look-ups."""
        if self.values.dtype.kind == "f" and self.values.dtype.itemsize < 8 and number != ("nan",):
            with np.errstate(over="ignore"):
                return self.values.dtype.type(number).item()
        return number

    def places(self, wanted: Coords, dim: str = "the dim") -> np.ndarray:
        """Return first positions of labels, -1 for missing ones; strings are parsed as dates."""
        return self.find(self.parsed(wanted, dim))

    def positions(self, labels: Any, dim: str = "the dim") -> np.ndarray:
        """Return positions of several labels; an error lists all missing ones."""
        wanted = labels if isinstance(labels, Coords) else Coords(labels)
        found = self.places(wanted, dim)
        lost = np.flatnonzero(found < 0)
        if lost.size and (self._index is not None or self.values.dtype.kind == "f"):
            given = wanted.to_list()
            for at in lost:  # floats of less precision, values in intervals
                found[at] = self._close(given[at], dim)
            lost = np.flatnonzero(found < 0)
        if lost.size:
            given = wanted.to_list()
            unlike = {tagged(given[at]): given[at] for at in reversed(lost)}
            raise self._missing([*reversed(unlike.values())], dim)
        if not self.is_unique:
            twice = np.flatnonzero(np.isin(found, sorted(self._doubled)))
            if twice.size:
                raise self._occurs_twice(wanted.to_list()[twice[0]], dim)
        return found

    def _close(self, label: Any, dim: str) -> int:
        try:
            return self.position(label, dim)
        except LabelError:
            return -1

    def parsed(self, labels: Coords, dim: str) -> Coords:
        """Parse strings as labels of this kind, by pandas; NaT for unreadable ones."""
        if self.family not in TIMES or labels.family != "string":
            return labels
        import pandas as pd

        given = labels.to_list()
        if self.family == "timedelta":
            return Coords(pd.to_timedelta(given, errors="coerce"))
        given = iso_dates(given, dim)
        if self.family == "cftime":
            return Coords([cftimes.read(one, self.values[0]) for one in given])
        if self.family == "period":
            return Coords([as_period(one, self._index.freq) for one in given])
        if self.family == "zoned":
            return Coords(read_in_zone(given, self._index.tz, dim))
        return Coords(pd.to_datetime(given, errors="coerce", format="mixed"))

    def _occurs_twice(self, label: Any, dim: str) -> LabelError:
        return LabelError(
            f"label {plain_repr(label)} occurs more than once in {dim}",
            [("labels", listing(self.values))],
            "select by position with isel",
        )

    def _missing(self, labels: Sequence[Any], dim: str) -> LabelError:
        noun = "label" if len(labels) == 1 else "labels"
        guess = self._guess(python_label(labels[0])) if len(labels) == 1 else ""
        hint = self._hint(labels[0]) if len(labels) == 1 else None
        return LabelError(
            f"{dim} has no {noun} {listing(labels)}{guess}",
            [("labels", listing(self.values))],
            hint,
        )

    def _hint(self, label: Any) -> str | None:
        """Suggest a list of labels instead of a tuple."""
        if isinstance(label, tuple) and any(self._exact(each) is not None for each in label):
            return f"{plain_repr(list(label))} selects several labels; a tuple is one label"
        return None

    def _guess(self, label: Any) -> str:
        """Suggest a label of similar spelling, or a number given as a string."""
        if isinstance(label, str):
            if self.family == "number":
                try:
                    position = self._exact(float(label))
                except ValueError:
                    return ""
                if position is None:
                    return ""
                return f" (did you mean the number {plain_repr(self.values[position])}?)"
            return did_you_mean(label, [v for v in self.to_list() if isinstance(v, str)])
        if self.family == "zoned" and family(label) == "datetime":
            return f" (labels are in the time zone {self._index.tz}, this is in none)"
        if family(label) == "number" and self._exact(str(label)) is not None:
            return f" (did you mean the string {str(label)!r}?)"
        return ""

    def nearest(
        self,
        labels: Any,
        method: str,
        tolerance: Any = None,
        dim: str = "the dim",
    ) -> np.ndarray:
        """Return positions by ``method`` (``nearest``, ``pad``, ``backfill``), as in xarray."""
        found = self.near(labels, method, tolerance, dim)
        if (found < 0).any():
            given = Coords(labels).to_list()
            raise self._missing([given[at] for at in np.flatnonzero(found < 0)], dim)
        return found

    def near(
        self, labels: Any, method: str, tolerance: Any = None, dim: str = "the dim"
    ) -> np.ndarray:
        """Return positions by ``method``, -1 without a label within the tolerance."""
        wanted = self.parsed(labels if isinstance(labels, Coords) else Coords(labels), dim)
        try:
            found = self.index.get_indexer(wanted.index, method=method, tolerance=tolerance)
        except (LookupError, NotImplementedError, TypeError, ValueError) as error:
            raise LabelError(
                f"cannot look up {listing(wanted.values)} in {dim} with method={method!r}: {error}",
                [("labels", listing(self.values))],
            ) from None
        return found.astype(np.int64)

    def take(self, positions: np.ndarray | slice) -> Coords:
        """Return the labels at positions."""
        if self._index is not None:
            return Coords(self._index[positions])
        return Coords(self.values[positions])

    @printable
    def __repr__(self) -> str:
        return f"Coords([{listing(self.values)}])"


def joined(parts: Iterable[Coords]) -> Coords:
    """Concatenate labels."""
    parts = list(parts)
    indexes = [part._index for part in parts]
    if indexes[0] is not None and all(
        index is not None and index.dtype == indexes[0].dtype for index in indexes
    ):
        return Coords(indexes[0].append(indexes[1:]))
    if len({part.family for part in parts}) == 1 and parts[0].family not in _OBJECTS:
        values = np.concatenate([part.values for part in parts])
        if not (values.dtype.kind == "f" and {part.values.dtype.kind for part in parts} - {"f"}):
            return Coords(values)
    return Coords([label for part in parts for label in part.to_list()])
