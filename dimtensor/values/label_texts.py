"""Serialization of labels as texts and JSON, for files.

Reading a file imports nothing, opens no other file and makes only objects of the types listed here.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Mapping
from enum import Enum
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

_UNIT = r"(?:datetime64|timedelta64)\[\d{0,9}[A-Za-z]{1,3}\]"
# pandas would open files for dateutil's zones, and for paths
_ZONED = r"datetime64\[[a-z]{1,2}, (?!dateutil)(?!.*\.\.)[A-Za-z0-9_+][A-Za-z0-9_+:/-]{0,63}\]"
_END = rf"(?:[a-z]{{3,7}}\d{{1,2}}|{_UNIT}|{_ZONED})"
_KINDS = re.compile(
    rf"{_UNIT}|{_ZONED}|period\[[A-Za-z0-9-]{{1,16}}\]|interval\[{_END}, [a-z]{{4,7}}\]"
)
_NUMBERS = {"float": float, "complex": complex}


def labels_of_kind(kind: str, texts: list[str]) -> Any:
    """Return the labels of a kind from their texts.

    Parameters
    ----------
    kind : str
        Dtype of pandas of the labels, or "json" for texts of :func:`encode_label`.
    texts : list of str

    Raises
    ------
    Exception
        Of any class for invalid texts: callers catch all exceptions.

    Examples
    --------
    >>> labels_of_kind("period[Q-DEC]", ["2020Q1", "2020Q2"])
    PeriodIndex(['2020Q1', '2020Q2'], dtype='period[Q-DEC]')
    """
    if kind == "json":
        labels = object_array([decode_label(json.loads(text)) for text in texts])
        numbers = all(type(x) is complex for x in labels)
        return labels.astype("complex128") if numbers else pd.Index(labels, dtype=object)
    if not _KINDS.fullmatch(kind):
        raise ValueError(f"{kind!r} is no kind of labels")
    if kind.startswith("datetime64") and "," not in kind:
        return pd.DatetimeIndex(np.array(texts, dtype=kind))
    if kind.startswith("timedelta64"):
        return pd.TimedeltaIndex(np.array(texts, dtype="int64").astype(kind))
    dtype = pd.api.types.pandas_dtype(kind)
    if isinstance(dtype, pd.IntervalDtype):
        return pd.IntervalIndex([_interval(dtype, text) for text in texts], dtype=dtype)
    if isinstance(dtype, pd.DatetimeTZDtype):
        times = pd.to_datetime(texts, utc=True, format="ISO8601").as_unit(dtype.unit)
        return times.tz_convert(dtype.tz)
    return pd.PeriodIndex(texts, dtype=dtype)


def object_array(values: list[Any]) -> np.ndarray:
    """Make a one-dimensional array of objects, which may be tuples."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def text_of(label: Any) -> str:
    """Return the text of a label of a pandas index, from which it is read again."""
    if isinstance(label, pd.Interval):
        left, right = (text_of(x) for x in (label.left, label.right))
        closed = label.closed
        start = "[" if closed in ("left", "both") else "("
        return f"{start}{left}, {right}{']' if closed in ('right', 'both') else ')'}"
    if isinstance(label, pd.Timestamp):
        return label.isoformat()
    if isinstance(label, Real) and not isinstance(label, Integral):
        return repr(float(label))
    return str(label)


def _interval(dtype: pd.IntervalDtype, text: str) -> pd.Interval | float:
    if text == "nan":
        return float("nan")
    subtype = dtype.subtype
    ends: Any = text[1:-1].split(", ")
    if subtype.kind == "M":
        ends = pd.DatetimeIndex(labels_of_kind(str(subtype), ends)) if "," in str(subtype) else (
            pd.to_datetime(ends, format="ISO8601")
        )  # fmt: skip
    elif subtype.kind == "m":
        ends = [pd.Timedelta(end) for end in ends]
    else:
        ends = np.array(ends, dtype=subtype).tolist()
    return pd.Interval(ends[0], ends[1], closed=dtype.closed)


def is_text(label: object) -> bool:
    r"""Return True for a text that files of every format hold: no NUL, no halves of letters.

    Examples
    --------
    >>> is_text("a"), is_text("\ud800"), is_text(1)
    (True, False, False)
    """
    if type(label) is not str:
        return False
    try:
        return "\0" not in label and (label.isascii() or bool(label.encode()))
    except UnicodeEncodeError:
        return False


def encode_label(label: Any) -> Any:
    """Return a label as JSON: tuples are lists, and types that JSON lacks are objects with a type.

    Labels of other types are written as their text.

    Examples
    --------
    >>> encode_label(("a", float("inf"), None))
    ['a', {'float': 'inf'}, None]
    """
    if isinstance(label, Enum):
        return {"enum": [type(label).__module__, type(label).__qualname__, label.name]}
    if isinstance(label, np.generic):
        if label.dtype.kind in "mM":
            return {str(label.dtype): str(label.astype("int64"))}
        label = label.item()
    if isinstance(label, str):
        # surrogates, which JSON would join in pairs
        code = None if is_text(label) else label.encode("utf-8", "surrogatepass")
        return label if code is None else {"utf-8": base64.b64encode(code).decode()}
    if label is None or isinstance(label, bool):
        return label
    if isinstance(label, tuple):
        return [encode_label(part) for part in label]
    if isinstance(label, int):
        return int(label)
    if isinstance(label, float):
        return float(label) if np.isfinite(label) else {"float": repr(float(label))}
    if isinstance(label, complex):
        return {"complex": repr(label)}
    if isinstance(label, bytes):
        return {"bytes": base64.b64encode(label).decode()}
    if label is pd.NaT or label is pd.NA:
        return {"NaT" if label is pd.NaT else "NA": ""}
    index = pd.Index([label])
    texts = _forced(index)
    return str(label) if texts is None else {str(index.dtype): texts}


def _forced(index: pd.Index) -> str | None:
    """Return the text of a date or duration of pandas or the standard library."""
    dtype = index.dtype
    if isinstance(dtype, (pd.PeriodDtype, pd.IntervalDtype, pd.DatetimeTZDtype)):
        return text_of(index[0])
    return str(index.to_numpy().astype("int64")[0]) if dtype.kind in "mM" else None


def decode_label(value: Any) -> Any:
    """Return the label of a value of :func:`encode_label`.

    Raises
    ------
    Exception
        Of any class for an invalid value.

    Examples
    --------
    >>> decode_label(["a", {"float": "inf"}, None])
    ('a', inf, None)
    """
    if isinstance(value, list):
        return tuple(decode_label(part) for part in value)
    if not isinstance(value, Mapping):
        return value
    ((kind, text),) = value.items()
    if kind in _NUMBERS:
        return _NUMBERS[kind](text)
    if kind in ("bytes", "utf-8"):
        code = base64.b64decode(text, validate=True)
        return code if kind == "bytes" else code.decode("utf-8", "surrogatepass")
    if kind in ("NaT", "NA"):
        return pd.NaT if kind == "NaT" else pd.NA
    if kind == "enum":
        return _member(*text)
    if not _KINDS.fullmatch(kind):
        raise ValueError(f"{kind!r} is no kind of labels")
    if kind.startswith(("datetime64", "timedelta64")) and "," not in kind:
        return pd.Index(np.array([int(text)]).astype(kind))[0]
    return labels_of_kind(kind, [text])[0]


def _member(module: str, kind: str, name: str) -> Any:
    """Look up a member of an Enum in imported modules; nothing is imported for a file."""
    found: Any = sys.modules.get(module)
    for part in kind.split("."):  # `getattr` would run a module's own `__getattr__`
        found = getattr(found, "__dict__", {}).get(part)
    known = isinstance(found, type) and issubclass(found, Enum) and name in found.__members__
    return found.__members__[name] if known else f"{kind}.{name}"
