"""Tables for formulas, and what terms are in numbers: columns, labels of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.errors import InputError, LabelError, build_message, did_you_mean, listing

if TYPE_CHECKING:
    import pandas as pd


def columns_of(table: Any) -> list[str]:
    """The names of the columns of a table of any library."""
    return list(_frame(table).columns)


def _frame(table: Any) -> Any:
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(table, eager_only=True)
    except TypeError:
        raise InputError(
            f"a formula reads a table of pandas, polars or the like, not {type(table).__name__}"
        ) from None


def as_pandas(table: Any, names: Iterable[str]) -> pd.DataFrame:
    """Columns of a table of any library, for formulae, which reads those of pandas.

    Raises
    ------
    InputError
        If it is no table, lacks a column, or values are missing.
    """
    import pandas as pd

    frame = _frame(table)
    columns = {}
    for name in sorted(set(names) - {""}):  # the name that formulae gives to numbers
        if name not in frame.columns:
            guess = did_you_mean(name, frame.columns)
            raise InputError(
                build_message(
                    f"the table has no column {name!r}{guess}",
                    [("columns", listing(frame.columns))],
                )
            )
        column = frame[name]
        lacking = column.is_null()
        if column.dtype.is_float():
            lacking = lacking | column.is_nan().fill_null(False)
        missing = int(lacking.sum())
        if missing:
            raise InputError(
                build_message(
                    f"column {name!r} of the table lacks values",
                    [("missing", f"{missing} of {len(column)}")],
                    "leave these rows out, or fill them in",
                )
            )
        columns[name] = _values(column)
    return pd.DataFrame(columns, index=range(len(frame)))


def _values(column: Any) -> Any:
    import narwhals.stable.v2 as nw
    import pandas as pd

    if column.dtype in (nw.Categorical, nw.Enum):
        return pd.Categorical(column.to_list(), categories=column.cat.get_categories().to_list())
    if column.dtype == nw.Decimal:
        column = column.cast(nw.Float64)
    return np.asarray(column.to_list()) if column.dtype == nw.String else column.to_numpy()


def levels_of(values: pd.Series) -> list[Any]:
    """Categories in their order, or the values that there are, sorted."""
    if hasattr(values, "cat"):
        return list(values.cat.categories)
    return sorted(set(values.tolist()))


def groups_of(table: pd.DataFrame, names: list[str]) -> tuple[list[Any], list[Any]]:
    """The group of each row, and the groups that there are; of several columns as ``"a:b"``."""
    if len(names) == 1:
        return table[names[0]].tolist(), levels_of(table[names[0]])
    rows = [":".join(map(str, row)) for row in zip(*(table[n] for n in names), strict=True)]
    return rows, sorted(set(rows))


def numbers_of(name: str, compute: Callable[[], Any]) -> np.ndarray:
    """The columns of a term, rows first.

    Raises
    ------
    InputError
        If they cannot be computed, or are not finite.
    """
    try:
        columns = np.asarray(compute(), dtype=float)
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(
            build_message(f"the term {name!r} is not told by the table", [("it says", str(error))])
        ) from error
    columns = columns[:, None] if columns.ndim == 1 else columns
    wrong = int((~np.isfinite(columns)).any(axis=1).sum())
    if wrong:
        raise InputError(
            build_message(
                f"the term {name!r} is infinite, or no number, in rows of the table",
                [("rows", f"{wrong} of {len(columns)}")],
                "leave these rows out",
            )
        )
    return columns


def check_levels(table: pd.DataFrame, known: dict[str, list[Any]]) -> None:
    """Check that categorical predictors of new rows have known levels only.

    Raises
    ------
    LabelError
        If one has others.
    """
    for name, levels in known.items():
        more = sorted(set(table[name].tolist()).difference(levels), key=str)
        if more:
            raise LabelError(
                build_message(
                    f"predictor {name!r} has levels in the new rows that no coefficient is for",
                    [("new", listing(list(map(str, more)))),
                     ("known", listing(list(map(str, levels))))],
                    "levels that may be new are groups: (1 | " + name + ") in the formula",
                )
            )  # fmt: skip
