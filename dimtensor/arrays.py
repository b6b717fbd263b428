"""Conversion of users' objects of any class to arrays.

An object of an unknown class may raise in any method. Its exception is the cause of an
:class:`~dimtensor.errors.InputError` that names the value.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from dimtensor.errors import (
    ArgumentError,
    DimtensorError,
    InputError,
    OptionError,
    clipped,
    listing,
    plain_repr,
)

_LARGEST = 2**53  # floats represent all integers up to this one
_SCALARS = (bool, int, float, complex, str, bytes, np.generic)


def array_of(value: Any, source: str, gaps: bool = True) -> np.ndarray:
    """Read a value as an array, in which masked elements are NaN or NaT.

    Sequences of texts and other objects become arrays of objects; NumPy would convert all elements
    to texts.

    Parameters
    ----------
    value : object
    source : str
        Name of the value in messages.
    gaps : bool
        Allow masked elements.

    Raises
    ------
    InputError
        If the value is not an array, or one of its methods raises.

    Examples
    --------
    >>> array_of(np.ma.array([1, 2], mask=[True, False]), "x").tolist()
    [nan, 2.0]
    >>> array_of([1.0, np.ma.masked], "x").tolist()
    [1.0, nan]
    """
    if type(value) is np.ndarray:
        return value
    if isinstance(value, (list, tuple)):
        return _of_sequence(value, source, gaps)
    if is_masked(value):
        return _unmasked(value, source, gaps)
    if not isinstance(value, _SCALARS):
        _refuse_unordered(value, source)
    return _read(value, source)


def is_masked(value: Any) -> bool:
    """Return True for a masked array, without importing ``numpy.ma``.

    Examples
    --------
    >>> is_masked(np.ma.masked), is_masked(np.array(1.0))
    (True, False)
    """
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(value, masked.MaskedArray)


def is_na(label: object) -> bool:
    """Return whether a label is ``pandas.NA`` or masked, without importing pandas."""
    return type(label).__name__ == "NAType" or is_masked(label)


def is_missing(label: object) -> bool:
    """Return whether a label is None, NaN, NaT, ``pandas.NA`` or masked."""
    if label is None or is_na(label):
        return True
    try:
        return bool(label != label)
    except Exception:  # no label at all, which is an error where it is looked up
        return False


def with_gaps(column: Any) -> list | None:
    """List the elements of a column with missing ones; its array would have floats for integers.

    None if nothing is missing, or missing elements are NaN.
    """
    if hasattr(column, "to_pylist"):  # pyarrow, which converts few types to arrays
        return column.to_pylist()
    if hasattr(column, "null_count"):  # polars
        return column.to_list() if column.null_count() else None
    if hasattr(column, "isna") and is_na(getattr(column.dtype, "na_value", None)):  # pandas
        return column.to_numpy(dtype=object).tolist() if column.isna().any() else None
    return None


def ndim_of(value: Any) -> int:
    """Count the axes of a value; objects of unknown classes have none.

    Examples
    --------
    >>> ndim_of([[1.0]]), ndim_of("ab"), ndim_of(object())
    (2, 0, 0)
    """
    if isinstance(value, np.ndarray):
        return value.ndim
    if isinstance(value, (list, tuple)):
        return array_of(value, "the value").ndim
    return 0


def is_array_like(value: Any) -> bool:
    """Return True for an object that has elements and is neither a sequence nor a text of Python.

    Examples
    --------
    >>> is_array_like(memoryview(b"ab")), is_array_like([1.0]), is_array_like("ab")
    (True, False, False)
    """
    if isinstance(value, (list, tuple, type, *_SCALARS)):
        return False
    kind = type(value)
    return isinstance(value, (np.ndarray, memoryview, bytearray)) or any(
        hasattr(kind, name) for name in _PROTOCOLS
    )


def items_of(values: Any, source: str) -> list[Any]:
    """Return the items of an iterable in a list.

    Raises
    ------
    InputError
        If one of its methods raises.

    Examples
    --------
    >>> items_of((v for v in "ab"), "labels")
    ['a', 'b']
    """
    try:
        return list(values)
    except (DimtensorError, MemoryError):
        raise
    except Exception as error:
        raise raised_by(values, error, source) from error


def has_elements(value: Any) -> bool:
    """Return True for a list, a tuple, or an array of any library with at least one axis.

    Examples
    --------
    >>> has_elements([1.0]), has_elements(np.ones(2)), has_elements(np.array(1.0))
    (True, True, False)
    """
    if isinstance(value, (list, tuple, range)):
        return True
    return is_array_like(value) and not (has(value, "ndim") and value.ndim == 0)


_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__dlpack__", "__buffer__")


def no_floats(integers: Sequence[int], source: str) -> InputError:
    """Return the error for integers beside gaps that floats do not represent."""
    return InputError(
        f"{source} has gaps, and integers that are no floats: NaN is one",
        [("integers", listing(integers))],
        "leave out the rows with gaps, or give the integers as labels: strings",
    )


def raised_by(value: Any, error: Exception, source: str) -> InputError:
    """Return the error for a value one of whose methods raises."""
    return InputError(
        f"{source} cannot be read: the {type(value).__name__} that is given raises an error",
        [("raised", f"{type(error).__name__}: {_text_of(error)}")],
        "pass an array or a list of numbers",
    )


def _text_of(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return "…"


def _read(value: Any, source: str) -> np.ndarray:
    """Convert a value by NumPy, which calls its methods.

    Raises
    ------
    InputError
        If a method raises.
    """
    try:
        if hasattr(type(value), "__dlpack__") and not hasattr(type(value), "__array__"):
            return np.from_dlpack(value)
        return np.asarray(value)
    except (DimtensorError, MemoryError):
        raise
    except Exception as error:
        if isinstance(value, (list, tuple)) and isinstance(error, ValueError):
            text = f"{source}: the nested sequences do not make an array"
            raise InputError(f"{text}: {_text_of(error)}") from error
        raise raised_by(value, error, source) from error


def _of_sequence(value: Sequence[Any], source: str, gaps: bool) -> np.ndarray:
    kinds = set(map(type, value))
    if kinds - _PLAIN:
        missing = next((kind("NaT", "D") for kind in _DATES if kind in kinds), math.nan)
        value = [_without_mask(item, missing, source, gaps) for item in value]
    found = _read(value, source)
    if found.dtype.kind in "US" and found.size:
        items = _as_objects(value, found.shape)
        texts = str if found.dtype.kind == "U" else bytes
        nul: Any = "\0" if texts is str else b"\0"  # an array of fixed width strips it
        if not all(isinstance(item, texts) and not item.endswith(nul) for item in items.flat):
            return items
    if found.dtype.kind == "f" and (np.abs(found) > _LARGEST).any():
        return _large_integers(found, _as_objects(value, found.shape), source)
    return found


def _large_integers(found: np.ndarray, items: np.ndarray, source: str) -> np.ndarray:
    """Return integers that NumPy has read as floats, as it does from 2**63 on, without rounding.

    Raises
    ------
    InputError
        If neither unsigned integers nor floats represent all of them.
    """
    if not all(isinstance(item, (int, np.integer)) for item in items.flat):
        return found
    if min(items.flat) >= 0:
        return items.astype(np.uint64)
    near = found.ravel().tolist()
    lost = [int(n) for n, at in zip(items.flat, near, strict=True) if int(n) != at]
    if lost:
        raise InputError(
            f"{source} has integers from 2**63 on beside negative ones, and no dtype has both",
            [("integers", listing(lost))],
            "give the integers as floats, which rounds them, or as labels: strings",
        )
    return found


_PLAIN: set[type] = {bool, int, float, complex, str, bytes, np.float64, np.int64, np.str_}


_DATES = (np.datetime64, np.timedelta64)


def _without_mask(item: Any, missing: Any, source: str, gaps: bool, depth: int = 0) -> Any:
    """Return an element of a sequence, or the missing value if it is masked."""
    if is_masked(item):
        found = _unmasked(item, source, gaps)[()]
        return missing if item is np.ma.masked else found
    if isinstance(item, (list, tuple)) and depth < _DEEPEST:
        return [_without_mask(each, missing, source, gaps, depth + 1) for each in item]
    return item


_DEEPEST = 64  # of the axes of an array


def _as_objects(value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return the elements of nested sequences as an array of objects."""
    items: list[Any] = [value]
    for _ in shape:
        items = [each for item in items for each in item]
    found = np.empty(len(items), dtype=object)
    for at, item in enumerate(items):
        found[at] = item
    return found.reshape(shape)


def _unmasked(value: Any, source: str, gaps: bool) -> np.ndarray:
    """Fill masked elements of an array with NaN or NaT.

    Raises
    ------
    InputError
        If gaps are not allowed, or floats do not represent integers beside gaps.
    """
    plain = np.asarray(value.data)
    hidden = np.ma.getmaskarray(value)
    if hidden.dtype != bool or not hidden.any():  # of records, which are refused later
        return plain
    if not gaps:
        raise InputError(
            f"{source}: {np.count_nonzero(hidden)} of {hidden.size} elements are masked",
            [("at", listing(map(tuple, np.argwhere(hidden).tolist())))],
            "array.compressed() leaves them out, array.filled(...) puts a value in their place",
        )
    kind = plain.dtype.kind
    if kind in "fc":
        return np.where(hidden, plain.dtype.type(math.nan), plain)
    if kind in "mM":
        return np.where(hidden, np.array("NaT", plain.dtype), plain)
    if kind in "biu":
        known = plain[~hidden]
        lost = known[(known > _LARGEST) | (known < -_LARGEST)] if kind != "b" else known[:0]
        if lost.size:
            raise no_floats(lost.tolist(), source)
        return np.where(hidden, math.nan, plain.astype(float))
    return np.where(hidden, math.nan, plain.astype(object))


def _refuse_unordered(value: Any, source: str) -> None:
    """Reject iterators, which can be read only once, and unordered collections.

    Raises
    ------
    InputError
        With a hint how to make a list of it.
    """
    kind = type(value).__name__
    if isinstance(value, Iterator):
        why, hint = f"a {kind}, which can be read only once", "make a list of it: list(values)"
    elif isinstance(value, Set):
        why, hint = f"a {kind}, which has no order", "make a list of it: sorted(values)"
    elif isinstance(value, Mapping):
        why = f"a {kind}, whose keys are no dims"
        hint = "a pair of names and an array, (names, array), or an xarray.DataArray names axes"
    elif type(value).__module__.startswith("scipy.sparse") and hasattr(value, "toarray"):
        why, hint = f"a {kind}, a sparse matrix", "values.toarray() is the dense array"
    elif kind == "dict_values":
        why, hint = "the values of a dict", "make a list of them: list(values)"
    else:
        return
    raise InputError(f"{source} takes an array and is given {why}", hint=hint)


def whole(value: Any) -> int | None:
    """Return the integer that a float is; None for any other value.

    Examples
    --------
    >>> whole(3.0), whole(3.5), whole("3")
    (3, None, None)
    """
    is_float = isinstance(value, (float, np.floating))
    return int(value) if is_float and math.isfinite(value) and value == int(value) else None


def meant_integer(name: str, value: Any) -> str | None:
    """Return a hint for a whole float where an integer of at least 0 is taken.

    Examples
    --------
    >>> meant_integer("length", 3.0), meant_integer("length", 3.5)
    ('write an integer: length=3', None)
    """
    found = whole(value)
    return None if found is None or found < 0 else f"write an integer: {name}={found}"


def check_whole(what: str, **numbers: Any) -> None:
    """Check that numbers are integers above 0.

    Raises
    ------
    OptionError
        If one is not.
    """
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            text = f"{what}: {name} is an integer, not {clipped(plain_repr(number))}"
            raise OptionError(text, hint=meant_integer(name, number))
        if number < 1:
            raise OptionError(f"{what}: {name}={number} is below 1")


def check_function(what: str, function: Any, hint: str = "") -> None:
    """Check that a value can be called.

    Raises
    ------
    ArgumentError
        If it cannot.
    """
    if not callable(function):
        kind = type(function).__name__
        raise ArgumentError(f"{what} takes a function, not {kind}", hint=hint)


def has(value: Any, *names: str) -> bool:
    """Return True if a value has all of the attributes, whatever its properties raise."""
    try:
        return all(hasattr(value, name) for name in names)
    except Exception:
        return False
