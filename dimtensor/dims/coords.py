"""Coords: the immutable labels of a dim and the look-ups in them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dimtensor.errors import LabelError, build_message, did_you_mean, listing, plain_repr


def _as_label_array(labels: Any) -> np.ndarray:
    """One-dimensional read-only labels; strings as ``U``, tuples and mixtures as objects."""
    if isinstance(labels, Coords):
        return labels.values
    if hasattr(labels, "to_numpy"):  # pandas objects and DataArrays, without importing them
        labels = labels.to_numpy()
    if not isinstance(labels, np.ndarray):
        items = list(labels)
        mixed = len({_family(item) for item in items}) > 1
        if mixed or any(isinstance(item, tuple) for item in items):
            array = np.empty(len(items), dtype=object)
            array[:] = items
        else:
            array = np.array(items) if items else np.array(items, dtype=object)
    else:
        array = labels
    if array.ndim != 1:
        raise LabelError(f"labels of a dim are one-dimensional, these have shape {array.shape}")
    if array.dtype.kind == "O" and len(array) and all(isinstance(v, str) for v in array):
        array = array.astype(str)
    elif array.dtype.kind == "T":
        array = array.astype(str)
    elif array.dtype.kind == "O" and len(array) and all(_is_timestamp(v) for v in array):
        array = array.astype("datetime64[ns]")
    elif array.dtype.kind == "O" and len(array) and {_family(v) for v in array} == {"number"}:
        array = np.array(array.tolist())
    array = array.copy()
    array.flags.writeable = False
    return array


def _family(label: object) -> object:
    """Labels of one family make one array; numbers of all kinds do, bools are apart."""
    if isinstance(label, (bool, np.bool_)):
        return "bool"
    if isinstance(label, (int, float, np.integer, np.floating)):
        return "number"
    return "string" if isinstance(label, str) else type(label)


def _in_widest_dtype(values: np.ndarray) -> np.ndarray:
    """The labels in the dtype by which they are compared: its size and unit say nothing of them."""
    kind = values.dtype.kind
    if kind == "U":
        return values.astype(f"U{max(1, int(np.char.str_len(values).max(initial=1)))}")
    widest = {"i": "i8", "u": "i8", "f": "f8", "M": "M8[ns]", "m": "m8[ns]"}.get(kind)
    if widest is None:
        return values
    if kind == "u" and values.size and values.max() > np.iinfo("i8").max:
        return values
    widened = values.astype(widest)
    lossless = np.array_equal(widened.astype(values.dtype), values, equal_nan=kind not in "iu")
    return widened if lossless else values


def _is_timestamp(value: object) -> bool:
    import datetime

    # NumPy's datetimes have no time zones; with one they stay the objects that they are
    zone = getattr(value, "tzinfo", None)
    return isinstance(value, (datetime.datetime, datetime.date, np.datetime64)) and zone is None


class Coords:
    """Labels of a dim, compared by value.

    Parameters
    ----------
    labels : sequence, ndarray, pandas.Index or Coords
        One label per position: numbers, strings, datetimes, tuples or a mixture.

    Examples
    --------
    >>> coords = Coords(["Italy", "Kenya", "USA"])
    >>> coords.position("USA")
    2
    >>> coords == Coords(("Italy", "Kenya", "USA"))
    True
    """

    def __init__(self, labels: Any):
        self.values = _as_label_array(labels)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def key(self) -> tuple:
        """Hashable stand-in for the value: equal keys are equal labels."""
        values = self.values
        if values.dtype.kind == "O":
            return ("O", tuple(values.tolist()))
        values = _in_widest_dtype(values)
        digest = hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16)
        return (values.dtype.str, len(values), digest.hexdigest())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coords) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple:
        return (Coords, (self.values,))

    def __contains__(self, label: object) -> bool:
        try:
            return self._query(label) in self._table
        except (LookupError, TypeError, ValueError):
            return False

    def to_list(self) -> list:
        """Labels as Python objects, but datetimes as NumPy's: ``tolist`` may make integers."""
        if self.values.dtype.kind in "mM":
            return list(self.values)
        return self.values.tolist()

    def same_labels(self, other: Coords) -> bool:
        """Whether both have the same labels in the same order, int 1 and float 1.0 alike."""
        if self.key == other.key:
            return True
        if len(self) != len(other):
            return False
        mine, theirs = self.values, other.values
        if {mine.dtype.kind, theirs.dtype.kind} <= set("iufb"):
            return bool(np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"))
        if mine.dtype.kind == theirs.dtype.kind and mine.dtype.kind in "UmM":
            return bool(np.array_equal(mine, theirs))
        return mine.tolist() == theirs.tolist()

    @cached_property
    def _table(self) -> dict[Any, int]:
        """Label → first position."""
        table: dict[Any, int] = {}
        for position, label in enumerate(self._plain(self.values)):
            table.setdefault(label, position)
        return table

    @cached_property
    def duplicates(self) -> list:
        """Labels that occur more than once."""
        if len(self._table) == len(self.values):
            return []
        seen: set = set()
        twice: dict = {}
        for label in self._plain(self.values):
            if label in seen:
                twice[label] = None
            seen.add(label)
        return list(twice)

    @staticmethod
    def _plain(values: np.ndarray) -> list:
        if values.dtype.kind in "mM":
            return values.astype(f"{values.dtype.kind}8[ns]").view("i8").tolist()
        return values.tolist()

    def _query(self, label: Any) -> Any:
        """The form in which a label is looked up in the table, or a LookupError."""
        kind = self.values.dtype.kind
        if kind == "M":
            if isinstance(label, (int, float)):
                raise LabelError("not a datetime")
            return int(np.datetime64(label).astype("M8[ns]").astype("i8"))
        if kind == "m":
            if isinstance(label, (int, float, str)):
                raise LabelError("not a timedelta")
            return int(np.timedelta64(label).astype("m8[ns]").astype("i8"))
        if isinstance(label, np.generic):
            label = label.item()
        if isinstance(label, bool) != (kind == "b") and kind != "O":
            raise LabelError("a bool is not a number")
        return label

    def position(self, label: Any, dim: str = "the dim") -> int:
        """Position of one label; `dim` names the dim in the error."""
        try:
            position = self._table[self._query(label)]
        except (LookupError, TypeError, ValueError):
            raise self._missing([label], dim) from None
        if self.duplicates and self._plain(self.values)[position] in self.duplicates:
            raise LabelError(
                build_message(
                    f"label {plain_repr(label)} occurs more than once in {dim}",
                    [("labels", listing(self.values))],
                    "select by position with isel",
                )
            )
        return position

    def positions(self, labels: Iterable[Any], dim: str = "the dim") -> np.ndarray:
        """Positions of many labels; all the unknown ones are named together."""
        found, missing = [], []
        for label in labels:
            try:
                found.append(self._table[self._query(label)])
            except (LookupError, TypeError, ValueError):
                missing.append(label)
        if missing:
            raise self._missing(missing, dim)
        if self.duplicates:
            for label in labels:
                self.position(label, dim)
        return np.array(found, dtype=np.int64)

    def _missing(self, labels: Sequence[Any], dim: str) -> LabelError:
        noun = "label" if len(labels) == 1 else "labels"
        guess = ""
        if len(labels) == 1 and isinstance(labels[0], str) and self.values.dtype.kind == "U":
            guess = did_you_mean(labels[0], self.values.tolist())
        return LabelError(
            build_message(
                f"{dim} has no {noun} {listing(labels)}{guess}",
                [("labels", listing(self.values))],
            )
        )

    def slice_positions(self, selection: slice, dim: str = "the dim") -> slice | np.ndarray:
        """Positions of a slice by label, both ends included, as pandas and xarray have it.

        They are an array where dates in no order are sliced by parts of dates.
        """
        import pandas as pd

        if selection.start is None and selection.stop is None:
            return selection
        index = pd.Index(self.values)
        try:
            return index.slice_indexer(selection.start, selection.stop, selection.step)
        except (KeyError, TypeError, ValueError) as error:
            raise LabelError(
                build_message(
                    f"cannot slice {dim} from {plain_repr(selection.start)} to "
                    f"{plain_repr(selection.stop)}: {error}",
                    [("labels", listing(self.values))],
                )
            ) from None

    def nearest(
        self,
        labels: Sequence[Any] | np.ndarray,
        method: str,
        tolerance: Any = None,
        dim: str = "the dim",
    ) -> np.ndarray:
        """Positions by ``method`` (``nearest``, ``pad``, ``backfill``), as in xarray."""
        import pandas as pd

        index = pd.Index(self.values)
        found = index.get_indexer(pd.Index(labels), method=method, tolerance=tolerance)
        if (found < 0).any():
            missing = [label for label, at in zip(labels, found, strict=True) if at < 0]
            raise self._missing(missing, dim)
        return found.astype(np.int64)

    def take(self, positions: np.ndarray | slice) -> Coords:
        """Labels at positions."""
        return Coords(self.values[positions])

    def __repr__(self) -> str:
        return f"Coords([{listing(self.values)}])"
