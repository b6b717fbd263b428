"""Tables for formulas: kinds of columns, conversion to pandas, and groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dimtensor.errors import (
    ArgumentError,
    DimtensorError,
    InputError,
    LabelError,
    clipped,
    did_you_mean,
    listing,
)

if TYPE_CHECKING:
    import pandas as pd


class Columns:
    """Columns of a table of any library, with their kinds and numbers of levels."""

    def __init__(self, table: Any):
        self._frame = _frame(table)
        self._names = set(self._frame.columns)
        self._kinds: dict[str, str] = {}
        self._levels: dict[str, int] = {}

    @property
    def rows(self) -> int:
        """Number of rows of the table."""
        return len(self._frame)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def kind(self, name: str) -> str | None:
        """Return ``"numbers"``, ``"text"``, ``"objects"`` or ``"other"``; None if it is missing."""
        if name not in self._names:
            return None
        if name not in self._kinds:
            self._kinds[name] = _kind(self._frame[name])
        return self._kinds[name]

    def levels(self, name: str) -> int:
        """Return the number of distinct values of a column."""
        if name not in self._levels:
            column = self._frame[name]
            try:
                self._levels[name] = len(column.cat.get_categories())
            except Exception:  # other dtypes, of any library
                self._levels[name] = _count(column)
        return self._levels[name]

    def has_level(self, name: str, level: str) -> bool:
        """Return whether a column contains a level."""
        return any(value == level for value in self._frame[name].to_list())

    def lacks(self, name: str) -> NoReturn:
        """Raise the error for a missing column."""
        known = [str(column) for column in self._frame.columns]
        raise LabelError(
            f"the table has no column {clipped(repr(name))}{did_you_mean(name, known)}",
            [("columns", listing(self._frame.columns))],
        )


def _count(column: Any) -> int:
    try:
        return int(column.n_unique())
    except Exception:  # objects that are not hashable
        return len(column)


def _kind(column: Any) -> str:
    import narwhals.stable.v2 as nw
    import pandas as pd

    dtype = column.dtype
    if str(getattr(column.to_native(), "dtype", "")).startswith("complex"):  # pyarrow has none
        return "complex"
    if dtype.is_numeric() or dtype in (nw.Boolean, nw.Decimal):
        return "numbers"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    if dtype != nw.Object:
        return "other" if dtype.is_temporal() else "objects"
    inferred = pd.api.types.infer_dtype(column.to_list(), skipna=True)
    return "numbers" if inferred in _NUMBERS else "text" if inferred == "string" else "objects"


_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "boolean")


def _frame(table: Any) -> Any:
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(table, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError(
            f"a formula reads a table whose columns have different names: {error}"
        ) from None
    except TypeError:
        raise ArgumentError(
            f"a formula reads a table of pandas, polars or the like, not {type(table).__name__}"
        ) from None


def as_pandas(table: Any, names: Iterable[str]) -> pd.DataFrame:
    """Convert columns of a table of any library to a pandas table, for formulae.

    Raises
    ------
    InputError
        If it is not a table, lacks a column, or has missing values.
    """
    import pandas as pd

    frame, known = _frame(table), Columns(table)
    columns = {}
    for name in sorted(set(names) - {""}):  # the name that formulae gives to numbers
        if name not in known:
            known.lacks(name)
        column = frame[name]
        lacking = column.is_null()
        if column.dtype.is_float():
            lacking = lacking | column.is_nan().fill_null(False)
        missing = int(lacking.sum())
        if missing:
            raise InputError(
                f"column {name!r} of the table lacks values",
                [("missing", f"{missing} of {len(column)}")],
                "leave these rows out, or fill them in",
            )
        columns[name] = _values(column)
    return pd.DataFrame(columns, index=range(len(frame)))


def _values(column: Any) -> Any:
    import narwhals.stable.v2 as nw
    import pandas as pd

    if column.dtype in (nw.Categorical, nw.Enum):
        levels = column.cat.get_categories().to_list()
        kind = getattr(column.to_native(), "type", None)  # of pyarrow
        # ordered categories of pandas are an Enum of narwhals, too
        ordered = column.dtype == nw.Enum or getattr(kind, "ordered", False)
        return pd.Categorical(column.to_list(), levels, ordered)
    if column.dtype == nw.Decimal:
        column = column.cast(nw.Float64)
    if column.dtype == nw.Object and _kind(column) == "numbers":
        return np.asarray(column.to_list(), dtype=float)
    return np.asarray(column.to_list()) if column.dtype == nw.String else column.to_numpy()


def levels_of(values: pd.Series) -> list[Any]:
    """Return the categories in order, or the sorted distinct values."""
    if hasattr(values, "cat"):
        return list(values.cat.categories)
    return sorted(set(values.tolist()))


def groups_of(table: pd.DataFrame, names: list[str]) -> tuple[list[Any], list[Any]]:
    """Return the group of each row, and all groups; those of several columns are ``"a:b"``."""
    if len(names) == 1:
        return table[names[0]].tolist(), levels_of(table[names[0]])
    rows = [":".join(map(str, row)) for row in zip(*(table[n] for n in names), strict=True)]
    return rows, sorted(set(rows))


def numbers_of(name: str, compute: Callable[[], Any]) -> np.ndarray:
    """Return the design matrix of a term, rows first.

    Raises
    ------
    InputError
        If it cannot be computed, or is not finite.
    """
    try:
        columns = np.asarray(compute(), dtype=float)
    except DimtensorError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the term {name!r} is not told by the table", [("it says", str(error))]
        ) from error
    columns = columns[:, None] if columns.ndim == 1 else columns
    wrong = int((~np.isfinite(columns)).any(axis=1).sum())
    if wrong:
        raise InputError(
            f"the term {name!r} is infinite, or no number, in rows of the table",
            [("rows", f"{wrong} of {len(columns)}")],
            "leave these rows out",
        )
    return columns


def check_levels(table: pd.DataFrame, known: dict[str, list[Any]]) -> None:
    """Check that categorical predictors of new rows have known levels only.

    Raises
    ------
    LabelError
        If there is a new level.
    """
    for name, levels in known.items():
        more = sorted(set(table[name].tolist()).difference(levels), key=str)
        if more:
            told = [("new", more), ("known", levels)]
            raise LabelError(
                f"predictor {name!r} has levels in the new rows that no coefficient is for",
                [(what, listing(list(map(str, labels)))) for what, labels in told],
                f"levels that may be new are groups: (1 | {name}) in the formula",
            )
