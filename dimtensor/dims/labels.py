"""Labels as values: the arrays that hold them unchanged, and when two of them are the same."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Mapping, Set
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.arrays import array_of, has, is_array_like, is_masked, is_na, items_of, with_gaps
from dimtensor.dims.calendars.cftimes import are_cftimes, identity, is_cftime
from dimtensor.errors import LabelError, clipped, listing, plain_repr

if TYPE_CHECKING:
    import pandas as pd

# keys of missing labels, which unlike NaN equal themselves
NAN = ("nan",)
NAT = ("nat",)
NA = ("na",)  # pandas.NA, which equals nothing

_FAMILIES = {"i": "number", "u": "number", "f": "number", "b": "bool", "U": "string",
             "S": "bytes", "c": "complex", "M": "datetime", "m": "timedelta"}  # fmt: skip
_NANOSECONDS: dict[str, Any] = {
    "D": 86_400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000,
    "ns": 1, "ps": Fraction(1, 1000), "fs": Fraction(1, 10**6), "as": Fraction(1, 10**9),
}  # fmt: skip
_EPOCH = datetime.datetime(1970, 1, 1)
_FAMILY_OF: dict[type, str] = {str: "string", int: "number", float: "number", bool: "bool"}
# families whose labels a string may abbreviate or round
TIMES = ("datetime", "timedelta", "zoned", "period", "cftime")
DATES = ("datetime", "zoned", "period", "cftime")
_EXTENSIONS = ("DatetimeTZDtype", "PeriodDtype", "IntervalDtype")


def family_of(values: np.ndarray) -> str:
    """Return the kind of the labels in an array; labels of different kinds are never equal."""
    if values.dtype.kind == "O" and are_cftimes(values):
        return "cftime"
    return _FAMILIES.get(values.dtype.kind, "object")


def family(label: object) -> Any:
    """Return the kind of a label; all numbers have the same kind, bools another one."""
    if isinstance(label, (bool, np.bool_)):
        return "bool"
    if isinstance(label, (np.timedelta64, datetime.timedelta)):  # the first is an integer, too
        return "timedelta"
    if isinstance(label, (int, float, np.integer, np.floating)):
        return "number"
    if isinstance(label, str):
        return "string"
    if isinstance(label, bytes):
        return "bytes"
    if isinstance(label, (complex, np.complexfloating)):
        return "complex"
    if isinstance(label, (np.datetime64, datetime.date)):  # a datetime is a date, a Timestamp, too
        return "datetime" if getattr(label, "tzinfo", None) is None else "zoned"
    return "cftime" if is_cftime(label) else type(label)


def python_label(label: Any) -> Any:
    """Convert a NumPy scalar to a Python object, except datetimes, which may have nanoseconds."""
    if isinstance(label, np.ndarray) and label.ndim == 0:
        label = label[()]
    if isinstance(label, np.generic) and not isinstance(label, (np.datetime64, np.timedelta64)):
        return label.item()
    return label


def tagged(label: Any) -> Any:
    """Return a hashable key of a label, which is equal for equal labels only."""
    if isinstance(label, tuple):
        return ("tuple", *map(tagged, label))
    kind = family(label)
    if kind in ("number", "complex"):
        number = python_label(label)
        if type(number) not in _NUMBERS:  # of a subclass, whose equality may be its own
            exact = [base for base in _NUMBERS if isinstance(number, base)]
            number = (exact[0] if exact else float if kind == "number" else complex)(number)
        return NAN if number != number else number
    if kind == "bool":
        return ("bool", bool(label))
    if kind in ("datetime", "timedelta", "zoned"):
        count = nanoseconds(label)
        return NAT if count is None else (kind, count)
    if kind == "cftime":
        return identity(label)
    if is_na(label):
        return NA
    if isinstance(label, str):
        return str.__str__(label)
    return label if type(label) in _TRUSTED else OpaqueLabel(label)


_NUMBERS = (int, float, complex)
_TRUSTED = frozenset({str, bytes, type(None)})


class OpaqueLabel:
    """Stand-in for a label of an unknown class, compared by identity alone.

    The hash is asked for once. Labels of two classes differ, and so do those whose comparison
    raises an error: dims with other labels of the same hash are found all the same.
    """

    __slots__ = ("_hash", "label")

    def __init__(self, label: Any):
        self.label = label
        self._hash = hash(label)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpaqueLabel) or type(self.label) is not type(other.label):
            return False
        if self.label is other.label:
            return True
        try:
            return bool(self.label == other.label)
        except Exception:
            return False


def index_of_tuples(levels: pd.MultiIndex, tuples: Iterable[tuple], name: str | None) -> pd.Index:
    """Return labels that are tuples as a MultiIndex, or as an Index of tuples.

    A MultiIndex would replace None and NA by NaN.
    """
    if any((np.asarray(codes) < 0).any() for codes in levels.codes):
        labels = list(tuples)
        if any(part is None or is_na(part) for label in labels for part in label):
            import pandas as pd

            return pd.Index(labels, dtype=object, name=name, tupleize_cols=False)
    return levels


class Labels(tuple):
    """Tuple of labels with strict equality: 1, True and 1.0 differ, and NaN equals itself.

    Examples
    --------
    >>> Labels([1]) == Labels([True]), Labels([float("nan")]) == Labels([float("nan")])
    (False, True)
    """

    __slots__ = ()

    def __new__(cls, labels: Iterable[Any]) -> Labels:
        return super().__new__(cls, map(python_label, labels))

    @property
    def _identity(self) -> tuple:
        return tuple((type(v) is float, tagged(v)) for v in self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels) and self._identity == other._identity

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._identity)

    def __reduce__(self) -> tuple:
        return (Labels, (tuple(self),))


def nanoseconds(label: Any) -> int | Fraction | None:
    """Return exact nanoseconds since 1970, or of a duration; None for NaT."""
    label = getattr(label, "asm8", label)  # of pandas
    if isinstance(label, (np.datetime64, np.timedelta64)):
        return None if np.isnat(label) else nanosecond_counts(np.array([label]))[0]
    if isinstance(label, datetime.timedelta):
        span = label
    elif not isinstance(label, datetime.datetime):
        span = datetime.datetime(label.year, label.month, label.day) - _EPOCH
    elif label.tzinfo is None:
        span = label - _EPOCH
    else:
        span = label - _EPOCH.replace(tzinfo=datetime.UTC)
    return ((span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds) * 1000


def nanosecond_counts(values: np.ndarray) -> list:
    """Return exact nanoseconds of datetimes or durations in any unit, ``NAT`` for NaT."""
    exact = in_unit(values, "ns")
    if exact is not None:
        counts = exact.view("i8").tolist()
    else:
        unit, step = np.datetime_data(values.dtype)
        if unit in "YMW":
            values, unit, step = values.astype(f"{values.dtype.kind}8[D]"), "D", 1
        per = _NANOSECONDS[unit]
        counts = [count * per * step for count in values.astype(values.dtype).view("i8").tolist()]
    if np.isnat(values).any():
        return [
            NAT if gone else count for count, gone in zip(counts, np.isnat(values), strict=True)
        ]
    return counts


def in_unit(values: np.ndarray, unit: str) -> np.ndarray | None:
    """Convert datetimes or durations to a unit; None if this is not exact."""
    try:
        converted = values.astype(f"{values.dtype.kind}8[{unit}]")
        back = converted.astype(values.dtype)
    except OverflowError:
        return None
    same = bool(((back == values) | np.isnat(values)).all())
    return converted if same and bool((np.isnat(converted) == np.isnat(values)).all()) else None


def stand_ins(values: np.ndarray) -> list:
    """Return hashable keys of the labels of an array, comparable within its family."""
    kind = values.dtype.kind
    if kind in "mM":
        return nanosecond_counts(values)
    if kind == "O":
        return list(map(tagged, values.tolist()))
    plain = values.tolist()
    if kind in "fc" and np.isnan(values).any():
        return [NAN if label != label else label for label in plain]
    return plain


def digest(values: np.ndarray) -> tuple:
    """Return dtype, length and hash of labels, independent of the size and unit of their dtype."""
    values = _in_widest_dtype(values)
    code = hashlib.blake2b(np.ascontiguousarray(values).view("u1"), digest_size=16)
    return (values.dtype.str, len(values), code.hexdigest())


def _in_widest_dtype(values: np.ndarray) -> np.ndarray:
    """Convert labels to the dtype for comparisons: sizes and units of dtypes are irrelevant."""
    kind = values.dtype.kind
    if kind == "U":
        return values.astype(f"U{max(1, int(np.strings.str_len(values).max(initial=1)))}")
    if kind == "S":
        return values.astype(f"S{max(1, int(np.strings.str_len(values).max(initial=1)))}")
    if kind in "mM":
        for unit in ("ns", "us"):
            converted = in_unit(values, unit)
            if converted is not None:
                return converted
        return values
    if kind == "f":
        values = values.astype("f8") if values.dtype.itemsize < 8 else values + 0
        values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
        return values + 0  # one zero, one NaN
    if kind == "i" or (kind == "u" and not (values.size and values.max() > np.iinfo("i8").max)):
        return values.astype("i8", copy=False)
    return values


_SPREAD = 8  # entries of a table per label


def places_in_span(own: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """Look integers or dates up in distinct ones, -1 for a missing one.

    A table of all numbers from the smallest to the largest is ten times faster than a hash join.
    None if the table would be too large, and for other labels.
    """
    if own.dtype != wanted.dtype or own.dtype.kind not in "iumM" or not own.size:
        return None
    if own.dtype.itemsize != 8 or not own.dtype.isnative:
        return None
    numbers, others = own.view("i8"), wanted.view("i8")
    low, high = int(numbers.min()), int(numbers.max())
    if high - low >= _SPREAD * (own.size + wanted.size):
        return None
    if own.dtype.kind == "u" and (low < 0 or (others.size and int(others.min()) < 0)):
        return None  # from 2**63 on
    table = np.full(high - low + 1, -1, np.int64)
    table[numbers - low] = np.arange(own.size)
    inside = (others >= low) & (others <= high)
    if inside.all():
        return table[others - low]
    found = np.full(others.size, -1, np.int64)
    found[inside] = table[others[inside] - low]
    return found


# -- arrays of labels --------------------------------------------------------------------------


def label_array(labels: Any) -> tuple[np.ndarray | None, Any]:
    """Convert labels to an array, or to a pandas Index of a dtype that NumPy lacks.

    Returns
    -------
    ndarray or None, pandas.Index or None
        One of the two: one-dimensional, and a copy. Time zones, periods and intervals are an Index.

    Raises
    ------
    LabelError
        If these are not one label per position.
    """
    if type(getattr(labels, "dtype", None)).__name__ in _EXTENSIONS:
        import pandas as pd

        return None, pd.Index(labels, copy=True)
    if has(labels, "columns") and has(labels, "to_numpy"):
        columns = list(labels.columns)
        text = "labels of a dim are one for each position, not a table"
        hint = f"those of one column: coords=df[{columns[0]!r}]" if columns else None
        raise LabelError(text, [("columns", listing(columns))], hint)
    if has(labels, "to_numpy"):  # pandas objects and DataArrays, without importing them
        labels = labels.to_numpy() if (listed := with_gaps(labels)) is None else listed
    elif is_array_like(labels):
        labels = array_of(labels, "an array of labels", gaps=False)
    if not isinstance(labels, np.ndarray):
        return _of_items(_items(labels))
    if labels.ndim != 1:
        raise LabelError(f"labels of a dim are one-dimensional, these have shape {labels.shape}")
    if labels.dtype.kind == "V":
        raise LabelError(f"labels of a dim are single values, not records of {labels.dtype}")
    if labels.dtype.kind in "mM" and np.datetime_data(labels.dtype)[0] == "generic":
        raise LabelError(
            "dates and spans of time need a unit to be labels",
            [("dtype", labels.dtype)],
            'labels.astype("datetime64[ns]"), or another unit, says what is counted',
        )
    elif labels.dtype.kind in "mM":  # xarray has no units with a multiplier, such as 25 seconds
        labels = labels.astype(f"{labels.dtype.kind}8[{np.datetime_data(labels.dtype)[0]}]")
    if labels.dtype.itemsize > {"f": 8, "c": 16}.get(labels.dtype.kind, np.inf):
        labels = _of_usual_length(labels)
    if labels.dtype.kind in ("O", "T"):
        return _of_items(labels.tolist())
    return np.array(labels, dtype=labels.dtype.newbyteorder("=")), None


def _of_usual_length(labels: np.ndarray) -> np.ndarray:
    """Convert extended floats to 64 bits, as pandas and xarray do for look-ups, if exact."""
    found = labels.astype("f8" if labels.dtype.kind == "f" else "c16")
    if not np.array_equal(found, labels, equal_nan=True):
        raise LabelError(
            f"labels of {labels.dtype} are not all numbers of {found.dtype}, which labels are",
            hint=f'labels.astype("{found.dtype}") rounds them',
        )
    return found


def _items(labels: Any) -> list:
    if isinstance(labels, (Set, Mapping)):
        raise LabelError(
            f"labels of a dim have an order, a {type(labels).__name__} does not say which",
            [("given", ", ".join(sorted(map(plain_repr, labels))))],
            "pass a list, such as sorted(labels)",
        )
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        what = "one label" if isinstance(labels, (str, bytes)) else "no sequence of labels"
        way = f"length={labels} for a dim without labels" if isinstance(labels, int) else ""
        raise LabelError(
            f"coords are one label for each position, {plain_repr(labels)} is {what}",
            hint=way or f"coords=[{plain_repr(labels)}]",
        )
    return items_of(labels, "a sequence of labels")


def _of_items(items: list) -> tuple[np.ndarray | None, Any]:
    """Convert Python objects to an array of labels of a dtype that holds all of them exactly."""
    types = set(map(type, items))
    if any(issubclass(kind, (np.ndarray, np.void)) for kind in types):
        items = list(map(python_label, items))
        types = set(map(type, items))
    if any(issubclass(kind, (np.ndarray, np.void)) for kind in types):
        items = list(map(python_label, items))
        types = set(map(type, items))
    kinds = {_FAMILY_OF[one] for one in types} if types <= _FAMILY_OF.keys() else set()
    kinds = kinds or set(map(family, items))
    kind = kinds.pop() if len(kinds) == 1 else "object"
    array: np.ndarray | None = None
    if kind in ("number", "bool", "complex"):
        array = np.array(items)
        if (
            array.dtype.kind == "f"
            and types != {float}
            and not all(
                one == other or (one != one and other != other)
                for one, other in zip(array.tolist(), items, strict=True)
            )
        ):
            array = None  # integers that floats do not hold
    elif kind in ("string", "bytes"):
        nul: Any = "\0" if kind == "string" else b"\0"  # an array of fixed width strips it
        stripped = nul in nul[:0].join(items) and any(item.endswith(nul) for item in items)
        array = None if stripped else np.array(items)
    elif kind in ("datetime", "timedelta"):
        array = _of_times(items, "M" if kind == "datetime" else "m")
    elif kind == "zoned" or getattr(kind, "__name__", "") in ("Period", "Interval"):
        import pandas as pd

        index = pd.Index(items)
        if type(index.dtype).__name__ in _EXTENSIONS:
            return None, index
    if array is not None and array.dtype.kind != "O":
        return array, None
    array = np.empty(len(items), dtype=object)
    for at, item in enumerate(items):
        label = python_label(item)
        array[at] = label if _is_plain(label) else checked_label(label)
    return array, None


_PLAIN = frozenset({str, bytes, int, float, bool, type(None), np.datetime64, np.timedelta64})
_SOUND = ("pandas", "datetime", "cftime", "uuid", "pathlib")


def _is_plain(label: Any) -> bool:
    """Return whether the class of a label, or of each part of a tuple, has a stable hash."""
    kind = type(label)
    if kind is tuple:
        return _PLAIN.issuperset(map(type, label))
    if kind in _PLAIN:
        return True
    # a Series or an Index of pandas is no label
    return kind.__module__.partition(".")[0] in _SOUND and not hasattr(kind, "__array__")


def checked_label(label: Any) -> Any:
    """Check that a label has a stable hash and equals itself, and return it.

    Raises
    ------
    LabelError
        If it does not.
    """
    try:
        if is_masked(label):
            raise LabelError("a label is masked, and each position needs one")
        stand_in = tagged(label)
        fine = hash(stand_in) == hash(tagged(label)) and _equals_itself(stand_in)
        why = "its hash changes, or it does not equal itself"
    except LabelError:
        raise
    except Exception as error:
        if isinstance(error, TypeError) and getattr(type(label), "__hash__", None) is None:
            raise LabelError(
                f"a label is a value that does not change, {plain_repr(label)} is a "
                f"{type(label).__name__}"
            ) from None
        fine, why = False, f"its hash or comparison raises {type(error).__name__}"
    if not fine:
        raise LabelError(
            f"{clipped(plain_repr(label))} cannot be a label: {why}",
            hint="use texts, numbers, dates or tuples of them as labels",
        )
    return label


def _equals_itself(stand_in: Any) -> bool:
    if isinstance(stand_in, OpaqueLabel):
        return bool(stand_in.label == stand_in.label)
    if type(stand_in) is tuple:
        return all(map(_equals_itself, stand_in))
    return True


def _of_times(items: list, kind: str) -> np.ndarray | None:
    dtypes = {getattr(item, "dtype", None) for item in items}
    if None not in dtypes and len(dtypes) == 1:
        return np.array(items)
    counts = list(map(nanoseconds, items))
    for unit, per in (("ns", 1), ("us", 1000)):
        scaled = [None if count is None else Fraction(count, per) for count in counts]
        if all(c is None or (c.denominator == 1 and abs(c) < 2**63) for c in scaled):
            whole = [np.iinfo("i8").min if c is None else int(c) for c in scaled]
            return np.array(whole, dtype="i8").view(f"{kind}8[{unit}]")
    return None
