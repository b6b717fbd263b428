"""Columns of tables of other libraries: numbers, or labels and the dim of these labels."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.arrays import is_missing, no_floats, raised_by
from dimtensor.caches import bounded
from dimtensor.dims import Coords, Dim
from dimtensor.errors import DimtensorError, DtypeError, LabelError, MissingExtraError, listing

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


def read_column(series: nw.Series, name: str, source: str) -> tuple[Any, Dim | None]:
    """Read a column: its values, and the dim of its labels if they are not numbers.

    Parameters
    ----------
    series : narwhals.Series
    name : str
        Name of the dim.
    source : str
        Name of the column in errors.

    Raises
    ------
    LabelError
        If labels are missing.
    DtypeError
        If the column has elements other than numbers, labels and dates, or gaps beside integers
        above 2**53, which floats do not represent.
    """
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype == nw.Unknown and hasattr(getattr(series.to_native(), "type", None), "extension_name"):
        # periods of pandas in an array of pyarrow are stored as numbers
        series = nw.from_native(series.to_native().to_pandas(), series_only=True)
        dtype = series.dtype
    gaps = int(series.is_null().sum())
    if dtype.is_numeric() or dtype == nw.Boolean:
        if gaps and dtype.is_integer():
            _check_floats(series, source)
        numbers = series.to_numpy()
        if numbers.dtype.kind not in "biufc" or (gaps and numbers.dtype.kind != "f"):
            return series.cast(nw.Float64).fill_null(float("nan")).to_numpy(), None
        return numbers, None
    if gaps:
        raise _lacking(series.is_null().to_numpy(), source)
    if dtype.is_temporal():
        dates = series.to_numpy()
        zone = getattr(dtype, "time_zone", None)
        if zone is None:
            return dates, Dim(name, coords=np.unique(dates))
        return _sorted_labels(_in_zone(dates, zone), name)
    values = np.asarray(series.to_list(), dtype=object)
    if dtype == nw.Categorical or dtype == nw.Enum:
        return values, Dim(name, coords=series.cat.get_categories().to_list())
    if {type(value) for value in values} <= {str}:
        return values, Dim(name, coords=sorted(set(values.tolist())))
    native = np.asarray(series.to_numpy())  # dtypes of one library only
    if native.dtype.kind in "biufc":
        return native, None
    if type(getattr(series.to_native(), "dtype", None)).__name__ == "PeriodDtype":
        import pandas as pd

        return _sorted_labels(pd.PeriodIndex(values), name)
    raise DtypeError(f"{source} holds {dtype}, no numbers, labels or dates")


def _lacking(absent: np.ndarray, source: str) -> LabelError:
    rows = np.flatnonzero(absent)
    return LabelError(
        f"{source} lacks {len(rows)} {'label' if len(rows) == 1 else 'labels'}",
        [("rows", listing(rows))],
        "leave these rows out, or fill in a label that says so",
    )


def _check_floats(series: nw.Series, source: str) -> None:
    """Check that floats, which have NaN for gaps, represent the integers between gaps."""
    known = series.drop_nulls().to_numpy()  # of any width, so compared with NumPy's rules
    changed = known[(known > 2**53) | (known < -(2**53))]
    if len(changed):
        raise no_floats(changed.tolist(), source)


def string_labels(array: np.ndarray, name: str, source: str) -> Dim | None:
    """Make a dim of the sorted, distinct strings of an array; None for an array of others.

    Raises
    ------
    LabelError
        If strings are missing.
    """
    if not array.ndim or array.dtype.kind not in "UTO":
        return None
    items = array.ravel().tolist()
    if not items and array.dtype.kind == "O":
        return None
    strings = np.array([isinstance(item, str) for item in items], dtype=bool)
    if not strings.any():
        return None
    if not strings.all():
        absent = np.array([is_missing(item) for item in items])
        if (strings | absent).all():
            raise _lacking(absent, source)
        return None
    found = set(items)
    return Dim(name, coords=np.array(sorted(found), dtype=object))


def as_column(value: Any, name: str | None, source: str) -> tuple[Any, Dim | None]:
    """Convert a column of polars or pyarrow to an array of NumPy, with the dim of its categories.

    A Series of pandas is passed through with its dim, and other values alone.
    """
    kind = _kind(type(value))
    if kind == "pandas":
        categories = getattr(value.dtype, "categories", None)
        if categories is None or not hasattr(value.dtype, "ordered"):
            return value, None
        absent = np.asarray(value.isna())
        if absent.any():
            raise _lacking(absent, source)
        if name is None:
            return value, None
        return value, Dim(name, coords=Coords(categories))
    if kind not in ("arrow", "array", "capsule"):
        return value, None
    import narwhals.stable.v2 as nw

    try:
        if kind == "capsule":
            value = _from_capsule(value, source)
        if kind != "arrow":
            value = sys.modules["pyarrow"].chunked_array([value])  # the array of a ChunkedArray
        series = nw.from_native(value, series_only=True)
    except TypeError:
        return value, None
    except (DimtensorError, MemoryError):
        raise
    except Exception as error:
        raise raised_by(value, error, source) from error
    values, found = read_column(series, name or "values", source)
    declared = series.dtype == nw.Categorical or series.dtype == nw.Enum
    return values, found if declared and name is not None else None


@bounded(256)
def _kind(kind: type) -> str:
    """Classify a class: a column of pandas, an Arrow column, or an array of pyarrow."""
    if kind.__module__.startswith("pandas"):
        return "pandas" if hasattr(kind, "to_frame") else ""
    if hasattr(kind, "columns") or hasattr(kind, "column_names"):
        return ""
    if kind.__module__.startswith("pyarrow") and hasattr(kind, "type"):
        return "arrow" if hasattr(kind, "chunks") else "array"
    if hasattr(kind, "__arrow_c_stream__"):
        return "arrow"
    foreign = hasattr(kind, "__arrow_c_array__") and not hasattr(kind, "__array__")
    return "capsule" if foreign else ""


def _from_capsule(value: Any, source: str) -> Any:
    """Convert an array of another Arrow library to pyarrow, by Arrow's PyCapsule interface.

    Raises
    ------
    MissingExtraError
        If pyarrow is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError(
            f"{source}: a {type(value).__name__} of Arrow is read by pyarrow, which is not "
            "installed",
            hint="install pyarrow, or pass an array of NumPy",
        ) from None
    return pyarrow.array(value)


def _sorted_labels(index: Any, name: str) -> tuple[np.ndarray, Dim]:
    return index.to_numpy(dtype=object), Dim(name, coords=Coords(index.unique().sort_values()))


def _in_zone(dates: np.ndarray, zone: str) -> Any:
    """Convert dates in UTC to a time zone."""
    import pandas as pd

    return pd.DatetimeIndex(dates).tz_localize("UTC").tz_convert(zone)
