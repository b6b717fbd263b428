"""Values with named axes: DataArrays, pandas objects, and pairs of names and an array."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence, Set
from difflib import get_close_matches
from itertools import permutations
from typing import Any

import numpy as np

from dimtensor.arrays import array_of, has, with_gaps
from dimtensor.caches import WeakIds, bounded, clears
from dimtensor.dims import Coords, Dim, Dims, RowNumbers, in_order, sort_dims
from dimtensor.errors import InputError, LabelError, listing
from dimtensor.graph.infer import describe
from dimtensor.values.columns import as_column
from dimtensor.values.loading import check_loadable

# labels by the immutable index that they were read from
_labels_of_index: WeakIds[Any, Coords] = WeakIds()
clears(_labels_of_index.clear)


class Labeled:
    """Value with named axes and optional labels: the common form of DataArrays, Series and frames.

    ``levels`` are the names of the levels of an axis with a MultiIndex.
    """

    __slots__ = ("labels", "levels", "names", "values")

    def __init__(
        self,
        values: np.ndarray,
        names: tuple,
        labels: Mapping[Hashable, Coords],
        levels: Mapping[Hashable, tuple] | None = None,
    ):
        self.values = values
        self.names = names
        self.labels = labels
        self.levels = levels or {}


class LabeledPositions(Labeled):
    """Value with named axes whose elements are positions along a dim that may have labels."""

    __slots__ = ()


def is_dataarray(value: Any) -> bool:
    """Return True for an xarray.DataArray, without importing xarray."""
    return _is_of("xarray", "DataArray", type(value))


def is_dataset(value: Any) -> bool:
    """Return True for an xarray.Dataset or DataTree, without importing xarray."""
    kind = type(value)
    return _is_of("xarray", "Dataset", kind) or _is_of("xarray", "DataTree", kind)


def is_pandas(value: Any) -> bool:
    """Return True for a pandas Series, DataFrame or Index, without importing pandas."""
    pandas = any(cls.__module__.startswith("pandas") for cls in type(value).__mro__)
    return pandas and hasattr(value, "to_numpy") and hasattr(value, "ndim")


@bounded(256)  # calls have the same few types
def _is_of(package: str, name: str, kind: type) -> bool:
    return any(cls.__name__ == name and cls.__module__.startswith(package) for cls in kind.__mro__)


@bounded(256)
def _is_table(kind: type) -> bool:
    """Return True for a class of tables without an index, such as those of polars and pyarrow."""
    columns = hasattr(kind, "columns") or hasattr(kind, "column_names")
    return columns and hasattr(kind, "__arrow_c_stream__")


def refuse_dataset(value: Any, source: str, name: str | None) -> None:
    """Raise if a value is a Dataset, for which one variable is expected.

    Raises
    ------
    InputError
        With the names of its variables.
    """
    if not is_dataset(value):
        return
    kind = type(value).__name__
    known = [str(one) for one in value.data_vars] if hasattr(value, "data_vars") else []
    chosen = name if name in known else known[0] if known else "name"
    raise InputError(
        f"{source} takes one array, not a {kind}",
        [(f"variables of the {kind}", listing(known))],
        f"pass one of them: {kind.lower()}[{chosen!r}]",
    )


def axis_names(dims: Dims) -> dict[Dim, str]:
    """Return names of dims for a DataArray; anonymous dims are ``dim_0`` and so on."""
    taken = {dim.name for dim in dims}
    numbers = (n for n in range(2 * len(dims) + 1) if f"dim_{n}" not in taken)
    return {
        dim: dim.name if dim.name is not None else f"dim_{next(numbers)}" for dim in sort_dims(dims)
    }


def as_labeled(value: Any, dims: Dims, source: str) -> Labeled | None:
    """Read the named axes of a value; None for plain arrays and numbers.

    A pair ``(names, array)`` names the axes of an array, as in xarray.

    Raises
    ------
    InputError
        If axes of a pandas object have no distinct names, or a pair does not name every axis.
    """
    if isinstance(value, Labeled):
        return value
    refuse_dataset(value, source, None)
    if hasattr(type(value), "known_values"):  # a tensor of data has values
        known = value.known_values()
        value = value if known is None else known
    if is_dataarray(value):
        check_loadable(value.variable._data, value.dims, source)
        indexes = indexes_of(value)
        labels = {name: labels_of(index) for name, index in indexes.items()}
        levels = {name: tuple(i.names) for name, i in indexes.items() if i.nlevels > 1}
        return Labeled(_exact(value.data, source), tuple(value.dims), labels, levels)
    if is_pandas(value):
        return _from_pandas(value, dims, source)
    if isinstance(value, tuple) and len(value) == 2:
        return _from_pair(*value, dims, source)
    if _is_table(type(value)):
        return _from_table(value, dims, source)
    return None


def indexes_of(value: Any) -> dict[Hashable, Any]:
    """Return the pandas indexes of the labeled axes of a DataArray.

    Coords without an index, as of a file opened without one, are labels, too.
    """
    if not len(value.coords):  # a fast check, as indexes are slow to make
        return {}
    found, indexes, coords = {}, value.xindexes, value.coords
    for name in value.dims:
        if name in indexes:
            found[name] = indexes[name].to_pandas_index()
        elif name in coords:
            found[name] = coords[name].variable.to_index()
    return found


def labels_of(index: Any) -> Coords:
    """Return the labels of a pandas Index, the same object for the same index."""
    known = _labels_of_index.get(index)
    return _labels_of_index.put(index, Coords(index)) if known is None else known


def _from_pair(names: Any, array: Any, dims: Dims, source: str) -> Labeled | None:
    """Read a pair of names and an array; None for other tuples."""
    if isinstance(names, (Dim, str)):
        names = (names,)
    if isinstance(names, Set):
        names = in_order(names, f"{source}: the dims of an array")
    if not isinstance(names, (tuple, list)) or not all(isinstance(n, (str, Dim)) for n in names):
        return None
    if isinstance(array, str):  # two labels
        return None
    short = [name._short if isinstance(name, Dim) else name for name in names]
    check_loadable(array, short, source)
    values = as_array(array, source)
    if values.ndim != len(names):
        raise InputError(
            f"{source}: {len(names)} dims are named for an array of {values.ndim} axes"
        )
    own = axis_names(dims)
    named = zip(names, short, strict=True)
    return Labeled(values, tuple(own.get(n, s) if isinstance(n, Dim) else s for n, s in named), {})


def _from_pandas(value: Any, dims: Dims, source: str) -> Labeled:
    if value.ndim == 2:
        return _from_frame(value, dims, source)
    array = _exact(value, source)
    index = getattr(value, "index", None)
    if index is None:  # an Index is labels without an index
        return Labeled(array, (_only_name(dims, source),), {})
    if index.nlevels > 1 and len(dims) == index.nlevels:
        _require_complete(index, source)
        levels = [_level(at, index) for at in range(index.nlevels)]
        grid = np.empty([len(labels) for _, labels, _ in levels], array.dtype)
        grid[tuple(places for _, _, places in levels)] = array
        names = tuple(name for name, _, _ in levels)
        return Labeled(grid, names, {name: labels_of(labels) for name, labels, _ in levels})
    if not dims and isinstance(index.name, str):
        return Labeled(array, (index.name,), {index.name: labels_of(index)})
    name = _only_name(dims, source)
    if index.nlevels > 1:
        return Labeled(array, (name,), {name: labels_of(index)}, {name: tuple(index.names)})
    return Labeled(array, (name,), {name: labels_of_rows(index, dims[0])})


def with_row_numbers(array: Any, axes: Collection[str]) -> Any:
    """Mark axes of a DataArray whose labels are the default index of a table."""
    if not axes:
        return array
    known = as_labeled(array, (), "values")
    assert known is not None
    labels = dict(known.labels) | {name: RowNumbers(array.sizes[name]) for name in axes}
    return Labeled(known.values, known.names, labels, known.levels)


def with_attributes(array: Any, like: Any) -> Any:
    """Give a DataArray the attributes of another and of its coords, such as units."""
    labels = {
        dim: array[dim].assign_attrs(like[dim].attrs)
        for dim in array.dims
        if dim in array.coords and dim in like.coords and like[dim].attrs
        if array.indexes[dim].nlevels == 1
    }
    array = array.assign_coords(labels) if labels else array
    return array.assign_attrs(like.attrs) if like.attrs else array


def labels_of_rows(index: Any, dim: Dim) -> Coords:
    """Return the labels of an index; a default index gives row numbers to an unlabeled dim."""
    plain = type(index).__name__ == "RangeIndex" and index.name is None
    unlabeled = dim._within is not None or dim.coords is None
    if plain and index.start == 0 and index.step == 1 and unlabeled:
        return RowNumbers(len(index))
    return labels_of(index)


def _exact(value: Any, source: str) -> np.ndarray:
    """Return the array of a value of one dtype, which may have NA among its elements."""
    if not has(value, "to_numpy", "dtype"):
        return array_of(value, source)
    items = None if value.dtype.kind == "f" else with_gaps(value)
    return value.to_numpy() if items is None else np.array(items, dtype=object)


def _level(at: int, index: Any) -> tuple[str, Any, np.ndarray]:
    """Return the name of a level of a MultiIndex, its used labels, and the position of each row.

    Labels have the order of the level. A missing label, which has no place in this order, has that
    of its first occurrence if all labels do, and is the last one otherwise.
    """
    codes = np.where(index.codes[at] < 0, len(index.levels[at]), index.codes[at])
    used, first, places = np.unique(codes, return_index=True, return_inverse=True)
    known = first[used < len(index.levels[at])]
    if (known[1:] > known[:-1]).all():
        places, first = np.argsort(np.argsort(first))[places], np.sort(first)
    name = index.names[at]
    labels = index.get_level_values(at).take(first)
    return (f"level_{at}" if name is None else name), labels, places


def _require_complete(index: Any, source: str) -> None:
    """Check that the rows of a Series are all combinations of the levels of its index.

    Raises
    ------
    LabelError
        If one is missing or duplicated.
    """
    twice = index[index.duplicated()]
    if len(twice):
        raise LabelError(
            f"{source} has labels more than once: {listing(list(twice.unique()), 4)}",
            [("levels", listing(index.names))],
            "make them unique, or average over them",
        )
    whole = int(np.prod([len(np.unique(codes)) for codes in index.codes]))
    if whole != len(index):
        raise LabelError(
            f"{source} has {len(index)} rows, and there are {whole} combinations of the "
            "labels of its index",
            [("levels", listing(index.names))],
            "fill them (value.unstack(fill_value=...).stack(), or value.to_xarray(), which "
            "fills with NaN), or pass one dim for the rows, dims=dt.Dim(name)",
        )


def _only_name(dims: Dims, source: str) -> str:
    if len(dims) == 1:
        return axis_names(dims)[dims[0]]
    hint = None
    if len(dims) == 2:  # rows of a table have no labels
        rows, other = (dim._short for dim in sorted(dims, key=lambda dim: dim.coords is not None))
        hint = f"the same for each {other}: dt.data(values, dims={rows}).expand({other}); "
        hint += "one row of a table is a table, too: df.iloc[[0]]"
    text = f"{source}: a Series has one dim, the tensor has dims {names_of(dims)}"
    raise InputError(text, hint=hint)


def _from_frame(value: Any, dims: Dims, source: str) -> Labeled:
    """Read a DataFrame, whose axes have names, or the labels of different dims.

    Raises
    ------
    InputError
        If neither names nor labels tell which dim an axis has.
    """
    axes, own = (value.index, value.columns), axis_names(dims)
    names = tuple(axis.name for axis in axes)
    if any(_labels_in_common((d,), (axis,)) == len(axis) > 0 for d in dims for axis in axes):
        names = tuple(name if name in own.values() else None for name in names)
    if None not in names and names[0] != names[1]:
        labels = {axis.name: labels_of(axis) for axis in axes}
        return Labeled(value.to_numpy(), names, labels)
    orders = [
        (_labels_in_common(order, axes), order)
        for order in permutations(dims)
        if len(dims) == 2 and all(n in (None, own[d]) for n, d in zip(names, order, strict=True))
    ]
    orders.sort(key=lambda pair: pair[0], reverse=True)  # stable: at first the given order
    if len(orders) == 1 or (orders and orders[0][0] > orders[1][0]):
        chosen = orders[0][1]
        labels = {own[d]: labels_of_rows(x, d) for d, x in zip(chosen, axes, strict=True)}
        return Labeled(value.to_numpy(), tuple(labels), labels)
    if len(dims) == 1 and len(axes[1]):
        raise InputError(
            f"{source}: a table has two axes, the tensor has dims {names_of(dims)}",
            [("columns", listing(axes[1]))],
            f"one column is a Series: df[{axes[1][0]!r}]",
        )
    index, columns = map(own.get, dims) if len(dims) == 2 else ("row", "column")
    raise InputError(
        f"{source}: the axes of a DataFrame are told apart by the names of its index and "
        "its columns",
        [("names", listing(names)), ("dims", names_of(dims))],
        f"name them as the dims: df.rename_axis(index={index!r}, columns={columns!r})",
    )


def _labels_in_common(dims: Dims, axes: tuple[Any, ...]) -> int:
    """Count the labels that the axes of a frame would share with dims."""
    known = [(dim.coords, axis) for dim, axis in zip(dims, axes, strict=True)]
    return sum(len(axis.intersection(labels)) for labels, axis in known if labels is not None)


def _from_table(value: Any, dims: Dims, source: str) -> Labeled:
    """Read a table without an index, whose columns are the labels of one of two dims.

    Raises
    ------
    InputError
        If not exactly one dim has the names of the columns as labels.
    """
    columns = list(value.column_names if hasattr(value, "column_names") else value.columns)
    wanted = set(columns)
    across = [d for d in dims if d.coords is not None and set(d.coords.tolist()) == wanted]
    if len(dims) != 2 or len(across) != 1:
        raise InputError(
            f"{source}: the columns of a table are those of the dim that has their names as labels",
            [("columns", listing(columns)), ("dims", names_of(dims))],
            "dt.frame(table, dims=...) has a tensor for each column; (names, array) names the "
            "axes of an array",
        )
    names = axis_names(dims)
    (down,) = (dim for dim in dims if dim is not across[0])
    values = np.stack([as_array(value[name], source) for name in columns], axis=1)
    column = names[across[0]]
    return Labeled(values, (names[down], column), {column: Coords(columns)})


def names_of(dims: Dims) -> str:
    return "{" + ", ".join(axis_names(dims).values()) + "}"


def own_names(names: Sequence[Hashable], dims: Dims, source: str) -> Collection[str]:
    """Return the names of the dims of a tensor, and check that a value has all of them.

    Raises
    ------
    InputError
        If the value lacks one.
    """
    own = axis_names(dims).values()
    missing = [name for name in own if name not in names]
    if missing:
        extra = [str(name) for name in names if name not in own]
        close = get_close_matches(str(missing[0]), extra, n=1) if len(missing) == 1 else []
        guess = f" (is {close[0]!r} meant for it?)" if close else ""
        noun = "dim" if len(missing) == 1 else "dims"
        raise InputError(
            f"{source} lacks {noun} {listing(missing)}{guess}",
            [("tensor", names_of(dims)), ("value", "{" + ", ".join(map(str, names)) + "}")],
        )
    return own


def as_array(value: Any, source: str, gaps: bool = True) -> np.ndarray:
    """Convert a value to an array; missing numbers of a column become NaN.

    Parameters
    ----------
    value : object
    source : str
    gaps : bool
        Whether elements may be masked.

    Raises
    ------
    InputError
        If it is a symbolic tensor or variable, or nested lists of different lengths.
    """
    symbolic = has(value, "owner", "type")
    if symbolic or has(value, "node"):
        what = str(value) if symbolic else describe(value.node)
        raise InputError(
            f"{source} takes a value, not a symbolic tensor: {what}",
            hint="x.eval() gives the value of an expression; dt.substitute puts one expression "
            "into another",
        )
    check_loadable(value, None, source)
    value, _ = as_column(value, None, source)
    return _exact(value, source) if is_pandas(value) else array_of(value, source, gaps)


def dims_of(value: Any) -> Dims:
    """Dims with the names and labels of a labeled value."""
    if is_dataarray(value):
        labels = indexes_of(value)
        return tuple(
            Dim(str(key), coords=labels[key])
            if key in labels
            else Dim(str(key), length=value.sizes[key])
            for key in value.dims
        )
    if is_pandas(value) and hasattr(value, "index"):
        return _dims_of_pandas(value)
    array = as_array(value, "the value")
    if array.ndim == 0:
        return ()
    raise InputError(
        f"nothing says which dims the {array.ndim} axes of the value are",
        [("shape", array.shape)],
        f"name them: {_dims_argument(array.ndim)}",
    )


def _dims_argument(ndim: int) -> str:
    """Code of an argument that names axes."""
    if ndim == 1:
        return "dims=dt.Dim('obs')"
    return f"dims=[{', '.join(f'dt.Dim({name!r})' for name in _AXES[:ndim])}]"


_AXES = ("row", "column", "layer", "fourth", "fifth", "sixth")


def _naming(value: Any, stacked: bool) -> str:
    """Suggest how to name the axes of a pandas object."""
    if stacked:
        names = [name or f"level_{at}" for at, name in enumerate(value.index.names)]
        return f"name its levels: series.rename_axis({list(map(str, names))!r})"
    if value.ndim == 1:
        return "pass dims=dt.Dim('obs'), or name its index: series.rename_axis('obs')"
    return (
        "a table with a column for each quantity is dt.frame(df, dims=dt.Dim('obs')); "
        "a matrix has two dims: dt.data(df.rename_axis(index='row', columns='column'))"
    )


def _dims_of_pandas(value: Any) -> Dims:
    """Make dims of the index and columns of a pandas object, one per level of a MultiIndex.

    Raises
    ------
    InputError
        If they have no names, or a frame has several levels.
    """
    axes = [value.index, *([value.columns] if value.ndim == 2 else [])]
    stacked = any(axis.nlevels > 1 for axis in axes)
    names = [name for axis in axes for name in axis.names]
    if not all(isinstance(name, str) for name in names):
        what = (
            "the levels of its index" if stacked else "its axes" if value.ndim > 1 else "its index"
        )
        raise InputError(
            f"the dims of a {type(value).__name__} have the names of {what}, and not all have one",
            [("names", listing(names))],
            _naming(value, stacked),
        )
    if not stacked:
        return tuple(Dim(axis.name, coords=axis) for axis in axes)
    if value.ndim == 2:
        raise InputError(
            "a DataFrame with a MultiIndex has more than two dims",
            [("levels", listing(names))],
            "value.stack(...) makes a Series of it, whose levels become dims",
        )
    (axis,) = axes
    levels = [_level(at, axis) for at in range(axis.nlevels)]
    return tuple(Dim(name, coords=labels) for name, labels, _ in levels)
