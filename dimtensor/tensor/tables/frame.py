"""Data frames: columns become tensors that share the dims of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dimtensor.dims import (
    Coords,
    Dim,
    Dims,
    ProductDim,
    RowNumbers,
    as_dim_tuple,
    dim_labels,
    dim_set,
)
from dimtensor.dims.product import check_combinations
from dimtensor.errors import (
    ArgumentError,
    DimError,
    DimtensorError,
    GraphError,
    InputError,
    LabelError,
    NoAttributeError,
    did_you_mean,
    listing,
    printable,
)
from dimtensor.renderers import html
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.inputs import data
from dimtensor.values.columns import read_column
from dimtensor.values.labeled import Labeled, axis_names, labels_of_rows

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import Table


_ATTRIBUTES = ("_columns", "dims")


class Frame(Mapping[str, Any]):
    """Columns of a table as tensors by name, made by :func:`frame`.

    ``table["price"]`` or ``table.price`` is a column, ``table[["price", "size"]]`` a table; the dim
    of a column of labels is ``table.county.categories``. Methods are those of columns:
    ``table.price.mean()``. A column that cannot be converted, for instance because a label is
    missing, raises its error when it is
    accessed, so a table may have unusable columns.

    Attributes
    ----------
    dims : tuple of Dim
        Dims of the rows.
    """

    def __init__(self, columns: Mapping[str, DimTensor | DimtensorError], dims: Dims):
        self._columns = dict(columns)
        self.dims = dims

    @overload
    def __getitem__(self, name: str) -> DimTensor: ...
    @overload
    def __getitem__(self, name: list[str]) -> Frame: ...
    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, list):
            return Frame({each: self[each] for each in name}, self.dims)
        try:
            return _read(self._columns[name])
        except KeyError:
            guess = did_you_mean(name, list(self)) if isinstance(name, str) else ""
            raise LabelError(
                f"the table has no column {name!r}{guess}", [("columns", listing(list(self)))]
            ) from None

    def __getattr__(self, name: str) -> DimTensor:
        columns = self.__dict__.get("_columns", {})
        if name in columns:
            return _read(columns[name])
        method = None if name.startswith("_") else getattr(TensorHandle._class, name, None)
        if method is not None and columns:
            call = f"{name}()" if callable(method) else name
            raise NoAttributeError(
                f"a table has no {name!r}: columns have it",
                [("columns", listing(list(columns)))],
                f"table[{next(iter(columns))!r}].{call}, or of each column: "
                f"{{name: table[name].{call} for name in table}}",
                name=name,
                obj=self,
            )
        raise AttributeError(f"the table has no column {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _ATTRIBUTES:
            raise GraphError(
                f"a table keeps its columns, and {name!r} is not set",
                hint="columns are changed before: dt.frame(df.assign(column=values), dims=...)",
            )
        object.__setattr__(self, name, value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self if name.isidentifier())]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def _repr_html_(self) -> str:
        return html(self)

    @printable
    def __repr__(self) -> str:
        width = max((len(name) for name in self), default=0)
        lines = [f"<Frame {dim_set(self.dims)}, {len(self)} columns>"]
        for name, column in self._columns.items():
            if isinstance(column, Exception):
                what = str(column).split(": ", 1)[-1].splitlines()[0]
            else:
                what = f"labels of {column.categories!r}" if column.categories else column.dtype
            lines.append(f"  {name:<{width}}  {what}")
        return "\n".join(lines)


def _read(column: DimTensor | DimtensorError) -> DimTensor:
    if isinstance(column, Exception):
        raise column.with_traceback(None)
    return column


def _or_error(read: Callable[[], DimTensor]) -> DimTensor | DimtensorError:
    """Read a column, or return the error to raise when it is accessed."""
    try:
        return read()
    except DimtensorError as error:
        return error


def frame(
    table: Table,
    dims: Dim | Any = None,
    categories: Mapping[str, Dim] | None = None,
) -> Frame:
    """Convert the columns of a table to data tensors that share the dims of its rows.

    Parameters
    ----------
    table : DataFrame
        Of pandas, polars, pyarrow or any library that narwhals supports, or a table with Arrow's
        stream interface (``__arrow_c_stream__``).
    dims : Dim or sequence of Dim, optional
        The dim of the rows. By default it is made from pandas' index, which must have a name: a dim
        of that name with these labels. A MultiIndex gives a dim per level; combinations that do not
        occur are missing values.
    categories : dict of str to Dim, optional
        For columns of labels, existing dims that have these labels.

    Returns
    -------
    Frame
        Numbers become data, with NaN for missing values. Categoricals, enums, strings, dates and
        periods become tensors of labels of a dim named after the column. Its labels are all
        categories, in their order, or else the values found, sorted. Dates keep their time zone.

    Raises
    ------
    ArgumentError
        If `table` is not a table, or a lazy query.
    InputError
        If two columns have the same name.
    DimError
        If the dim of the rows is not given and the index has no name, if it has another length, or
        if a column has its name.
    LabelError
        If `categories` names a column that does not exist, if a label in a column of `categories`
        is missing or is not in its dim, or if a label of a MultiIndex is missing. For other
        columns, on access, if a label is missing.

    Examples
    --------
    >>> import dimtensor as dt
    >>> import pandas as pd
    >>> table = pd.DataFrame({"county": ["b", "a", "b"], "price": [1.0, None, 3.0]})
    >>> houses = dt.frame(table, dims=dt.Dim("house"))
    >>> houses.price.values.tolist(), houses.county.categories.coords.tolist()
    ([1.0, nan, 3.0], ['a', 'b'])
    >>> houses.price.groupby(houses.county).mean(skipna=True).values.tolist()
    [nan, 2.0]
    """
    rows = _as_rows(table)
    known = dict(categories or {})
    unknown = [name for name in known if name not in rows.columns]
    if unknown:
        raise LabelError(
            f"frame: the table has no columns {listing(unknown)}",
            [("columns", listing(rows.columns))],
        )
    if dims is None:
        return _by_index(table, known)
    row = _row_dim(dims, len(rows))
    index = _index_labels(table, row)
    columns: dict[str, DimTensor | DimtensorError] = {}
    for name in rows.columns:
        if name == row.name:
            raise DimError(f"frame: column {name!r} has the name of the dim of the rows")
        read = partial(_column, rows[name], name, row, index, known.get(name))
        columns[name] = read() if name in known else _or_error(read)
    return Frame(columns, (row,))


def _as_rows(table: Any) -> nw.DataFrame:
    """Wrap a table of any library in a narwhals DataFrame.

    Raises
    ------
    ArgumentError
        If it is not a table.
    InputError
        If its column names are not unique strings.
    """
    import narwhals.stable.v2 as nw

    columns = list(getattr(table, "columns", ())) if hasattr(table, "index") else []
    twice = [name for at, name in enumerate(columns) if name in columns[:at]]
    if twice:
        raise InputError(f"frame: column names occur more than once: {listing(twice)}")
    odd = [name for name in columns if not isinstance(name, str)]
    if odd:
        raise InputError(
            "frame: the name of a column is a string",
            [("others", listing(odd))],
            "table.columns = [...] sets them; an array is data: dt.data(array, dims=[...])",
        )
    try:
        return nw.from_native(table, eager_only=True)
    except TypeError:
        if hasattr(table, "__arrow_c_stream__"):
            return nw.from_arrow(table, backend="pyarrow" if find_spec("pyarrow") else "polars")
    hint = "a DataFrame of pandas, polars or pyarrow; dt.data takes arrays and columns"
    if hasattr(table, "collect"):
        hint = "table.collect() runs a query and gives a table"
    raise ArgumentError(f"frame takes a table, not {type(table).__name__}", hint=hint)


def _row_dim(dims: Any, n: int) -> Dim:
    given = as_dim_tuple(dims, "the dims of frame")
    if len(given) != 1:
        raise DimError(f"frame: the rows of a table are one dim, not {dim_set(given)}")
    (row,) = given
    if row.length is None:
        return row
    if row.length != n:
        raise DimError(f"frame: {row._title} has length {row.length}, the table has {n} rows")
    return row


def _index_labels(table: Any, row: Dim) -> tuple[Coords | None, tuple | None]:
    """Return the labels of a table's rows, and the level names of a MultiIndex.

    Raises
    ------
    LabelError
        If the dim of the rows has labels of the index in another order, so that it is ambiguous
        whether rows match labels by position or by label.
    """
    index: Any = getattr(table, "index", None)
    if not hasattr(index, "nlevels"):
        return None, None
    levels = tuple(index.names) if index.nlevels > 1 else None
    own = dim_labels(row)
    if own is None:
        return labels_of_rows(index, row), levels
    named = tuple(factor.name for factor in row.factors) if isinstance(row, ProductDim) else ()
    if (row.name is not None and index.name == row.name) or (levels and {*levels} == {*named}):
        return Coords(index), levels
    labels = labels_of_rows(index, Dim())
    shared = int((own.find(labels) >= 0).sum())
    by_position = shared < len(own) if isinstance(labels, RowNumbers) else not shared
    if by_position or own.same_labels(labels):
        return None, None
    raise LabelError(
        f"frame: {row._title} has labels of the table's index in another order",
        [("index", listing(labels.values)), ("dim", listing(own.values))],
        f"table.rename_axis({row._short!r}) moves rows to their labels; where rows are in the "
        f"order of the dim, table.set_axis({row._short}.coords.tolist()) gives them its labels",
    )


def _column(
    series: nw.Series,
    name: str,
    row: Dim,
    index: tuple[Coords | None, tuple | None],
    categories: Dim | None,
) -> DimTensor:
    values, found = read_column(series, name, f"frame: column {name!r}")
    labels, levels = index
    axis = axis_names((row,))[row]
    if labels is not None:
        values = Labeled(values, (axis,), {axis: labels}, {axis: levels} if levels else None)
    return data(values, dims=row, name=name, categories=categories or found)


def _by_index(table: Any, known: Mapping[str, Dim]) -> Frame:
    """Convert columns to tensors on dims made from the levels of pandas' index."""
    names = list(getattr(getattr(table, "index", None), "names", [None]))
    if None in names:
        raise DimError(
            "frame: the dim of the rows is not given, and the table's index has no name",
            [("columns", listing(list(getattr(table, "columns", []))))],
            "dt.frame(table, dims=dt.Dim('obs')), or name pandas' index",
        )
    if len(names) == 1:
        row = Dim(names[0], coords=Coords(table.index))
        return frame(table, row, known)
    lacking = np.logical_or.reduce([np.asarray(codes) < 0 for codes in table.index.codes])
    if lacking.any():  # pandas has position -1 for them, which is the last label
        raise LabelError(
            f"frame: rows of the index {listing(names)} lack labels",
            [("rows", listing(list(table.index[lacking])))],
            "leave them out, or give the rows a dim of their own: "
            "dt.frame(table.reset_index(), dims=...)",
        )
    if not table.index.is_unique:
        twice = table.index[table.index.duplicated()].unique()
        raise LabelError(
            f"frame: rows of the index {listing(names)} occur more than once",
            [("rows", listing(list(twice)))],
            "give the rows a dim of their own: dt.frame(table.reset_index(), dims=...)",
        )
    return _grid(table, names, known)


def _grid(table: Any, names: list[str], known: Mapping[str, Dim]) -> Frame:
    import narwhals.stable.v2 as nw

    levels = [
        Dim(name, coords=Coords(level))
        for name, level in zip(names, table.index.levels, strict=True)
    ]
    way_out = "give the rows a dim of their own: dt.frame(table.reset_index(), dims=dt.Dim('row'))"
    check_combinations(levels, "frame", way_out)
    rows = nw.from_native(table, eager_only=True)
    shape = tuple(len(dim) for dim in levels)
    places = tuple(np.asarray(codes) for codes in table.index.codes)
    whole = len(table) == int(np.prod(shape))

    def column(name: str) -> DimTensor:
        values, found = read_column(rows[name], name, f"frame: column {name!r}")
        dim = known.get(name) or found
        if dim is not None:
            if not whole:
                raise LabelError(
                    f"frame: column {name!r} has labels, and {dim_set(tuple(levels))} combinations "
                    f"that are not in the table"
                )
            grid = np.empty(shape, dtype=object)
        elif whole:
            grid = np.empty(shape, dtype=values.dtype)
        else:
            grid = np.full(shape, np.nan)
        grid[places] = values
        return wrap(data(grid, dims=levels, name=name, categories=dim).node)

    columns = {
        name: column(name) if name in known else _or_error(partial(column, name))
        for name in rows.columns
    }
    return Frame(columns, tuple(levels))
