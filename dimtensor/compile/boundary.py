"""The call boundary: users' values become arrays with axes in order, and say what dims are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from dimtensor.dims import Binding, Coords, Dim, Dims, product_below
from dimtensor.errors import DimError, DtypeError, InputError, LabelError, build_message, listing
from dimtensor.graph.dtypes import valid_dtype


class Labelled:
    """A value with named axes and perhaps labels, as which DataArrays, Series and frames enter.

    ``levels`` are the names of what is in the tuples that label an axis with a MultiIndex.
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


def is_dataarray(value: Any) -> bool:
    """Whether a value is an xarray.DataArray, without importing xarray."""
    return type(value).__name__ == "DataArray" and type(value).__module__.startswith("xarray")


def is_pandas(value: Any) -> bool:
    """Whether a value is a pandas Series, DataFrame or Index, without importing pandas."""
    return type(value).__module__.startswith("pandas") and hasattr(value, "to_numpy")


def as_labelled(value: Any, dims: Dims, source: str) -> Labelled | None:
    """Named axes of a value; None for plain arrays and numbers.

    A pair ``(names, array)`` names the axes of an array, as in xarray.

    Raises
    ------
    InputError
        If the axes of a pandas object cannot be told apart by name.
    """
    if is_dataarray(value):
        indexes = {name: value.indexes[name] for name in value.dims if name in value.indexes}
        labels = {name: Coords(index) for name, index in indexes.items()}
        levels = {name: tuple(i.names) for name, i in indexes.items() if i.nlevels > 1}
        return Labelled(np.asarray(value.data), tuple(value.dims), labels, levels)
    if is_pandas(value):
        return _from_pandas(value, dims, source)
    if isinstance(value, tuple) and len(value) == 2 and not np.isscalar(value[0]):
        names = value[0]
        if isinstance(names, (Dim, str)):
            names = (names,)
        if isinstance(names, (tuple, list)) and all(isinstance(n, (str, Dim)) for n in names):
            array = np.asarray(value[1])
            if array.ndim != len(names):
                raise InputError(f"{source}: {len(names)} dims are named for {array.ndim} axes")
            return Labelled(array, tuple(n.short if isinstance(n, Dim) else n for n in names), {})
    return None


def _from_pandas(value: Any, dims: Dims, source: str) -> Labelled:
    array = value.to_numpy()
    if array.ndim == 1:
        index = getattr(value, "index", None)
        if index is None or index.nlevels > 1:
            if index is not None and len(dims) == index.nlevels:
                stacked = value.to_xarray()
                labels = {name: Coords(stacked.indexes[name]) for name in stacked.dims}
                return Labelled(stacked.values, tuple(stacked.dims), labels)
            if len(dims) == 1:
                name = dims[0].short
                labels = {} if index is None else {name: Coords(index)}
                names_of_levels = {} if index is None else {name: tuple(index.names)}
                return Labelled(array, (name,), labels, names_of_levels)
            levels = 0 if index is None else index.nlevels
            raise InputError(f"{source}: an index of {levels} levels does not name {dims}")
        if len(dims) != 1:
            raise InputError(f"{source}: a Series has one dim, the tensor has {_names(dims)}")
        # a default index numbers the rows; it is not a set of labels
        plain = type(index).__name__ == "RangeIndex" and index.name is None
        labels = {} if plain and dims[0].coords is None else {dims[0].short: Coords(index)}
        return Labelled(array, (dims[0].short,), labels)
    names = (value.index.name, value.columns.name)
    if set(names) != {dim.short for dim in dims}:
        raise InputError(
            build_message(
                f"{source}: the axes of a DataFrame are told apart by the names of its index and "
                "its columns",
                [("names", listing(names)), ("dims", _names(dims))],
                "set df.index.name and df.columns.name, or pass an xarray.DataArray",
            )
        )
    return Labelled(array, names, {names[0]: Coords(value.index), names[1]: Coords(value.columns)})


def _names(dims: Dims) -> str:
    return "{" + ", ".join(dim.short for dim in dims) + "}"


def extra_names(value: Any, dims: Dims, source: str) -> tuple[tuple[str, ...], Labelled | None]:
    """Names of axes that the tensor has not, by which the call is batched."""
    labelled = as_labelled(value, dims, source)
    if labelled is None:
        return (), None
    own = {dim.short for dim in dims}
    return tuple(str(name) for name in labelled.names if name not in own), labelled


def admit(
    value: Any,
    labelled: Labelled | None,
    dims: Dims,
    dtype: str,
    categories: Dim | None,
    binding: Binding,
    source: str,
) -> np.ndarray:
    """The array of a value, axes in the order of `dims`, and what it says of dims in `binding`.

    Raises
    ------
    InputError
        If the axes do not name the dims of the tensor.
    LabelError
        If labels are missing, unknown, or disagree with other inputs.
    DimError
        If a length is not that of the dim.
    DtypeError
        If values would be lost.
    """
    if labelled is None:
        array = np.asarray(value)
        if array.ndim != len(dims):
            raise InputError(f"{source} has {array.ndim} axes, the tensor has dims {_names(dims)}")
        if array.ndim > 1:
            raise InputError(
                build_message(
                    f"{source}: dims have no order, so the axes of an array of {array.ndim} "
                    "dimensions cannot be told apart",
                    [("dims", _names(dims)), ("shape", array.shape)],
                    f"pass an xarray.DataArray, or ({[dim.short for dim in dims]}, array)",
                )
            )
        for dim, length in zip(dims, array.shape, strict=True):
            binding.add_length(dim, length, source)
    else:
        array = _ordered(labelled, dims, binding, source)
    if categories is not None:
        return label_positions(array, categories, source)
    return as_dtype(array, dtype, source)


def _ordered(labelled: Labelled, dims: Dims, binding: Binding, source: str) -> np.ndarray:
    by_name = {dim.short: dim for dim in dims}
    missing = [dim.short for dim in dims if dim.short not in labelled.names]
    unknown = [name for name in labelled.names if name not in by_name]
    if missing or unknown:
        raise InputError(
            build_message(
                f"{source} has not the dims of the tensor",
                [
                    ("tensor", _names(dims)),
                    ("value", listing(labelled.names)),
                    ("missing", listing(missing)),
                    ("unknown", listing(unknown)),
                ],
            )
        )
    array = labelled.values.transpose([labelled.names.index(dim.short) for dim in dims])
    for axis, dim in enumerate(dims):
        labels = labelled.labels.get(dim.short)
        if labels is not None:
            labels = _in_order_of_factors(labels, labelled.levels.get(dim.short), dim, source)
            own = dim._labels()
            if own is None:
                binding.add_length(dim, array.shape[axis], source)
                binding.add_labels(dim, labels, source)
                continue
            if not own.same_labels(labels):
                array = array.take(_alignment(own, labels, dim, source), axis=axis)
        binding.add_length(dim, array.shape[axis], source)
    return array


def _in_order_of_factors(labels: Coords, levels: tuple | None, dim: Dim, source: str) -> Coords:
    """Tuples of a MultiIndex, whose levels have names, in the order of the factors of the dim.

    Raises
    ------
    LabelError
        If the names of the levels are not those of the factors.
    """
    product = product_below(dim)
    if levels is None or product is None or None in levels:
        return labels
    factors = tuple(factor.short for factor in product.factors)
    if levels == factors:
        return labels
    if set(levels) != set(factors):
        raise LabelError(
            build_message(
                f"{source}: the levels along {dim.title} are not its factors",
                [("levels", listing(levels)), ("factors", listing(factors))],
                "rename the levels of the index",
            )
        )
    order = [levels.index(name) for name in factors]
    values = np.empty(len(labels), dtype=object)
    values[:] = [tuple(label[at] for at in order) for label in labels.values]
    return Coords(values)


def _alignment(own: Coords, labels: Coords, dim: Dim, source: str) -> np.ndarray:
    """Positions that put labels into the order of the dim."""
    if labels.duplicates:
        raise LabelError(
            f"{source} has labels of {dim.title} more than once: {listing(labels.duplicates)}"
        )
    unknown = [label for label in labels.values if label not in own]
    missing = [label for label in own.values if label not in labels]
    if unknown or missing or len(own) != len(labels):
        raise LabelError(
            build_message(
                f"{source} has not the labels of {dim.title}",
                [("missing", listing(missing)), ("unknown", listing(unknown))],
                "align it first with xarray's reindex, or with dt.align",
            )
        )
    return labels.positions(own.values, dim.title)


def label_positions(array: np.ndarray, categories: Dim, source: str) -> np.ndarray:
    """Positions of labels in their dim.

    Raises
    ------
    LabelError
        If the dim has no such labels; of a dim without labels, if the values are no positions.
    """
    own = categories._labels()
    if own is None:
        if array.dtype.kind not in "iu":
            raise LabelError(
                build_message(
                    f"{source}: {categories!r} has no labels, so its positions are integers",
                    [("values", f"{array.dtype}: {listing(array.ravel()[:4])}")],
                    "give the dim coords",
                )
            )
        check_positions(array, categories.length, categories, source)
        return array.astype(np.int64)
    flat = array.ravel()
    unique, inverse = _unique(flat)
    try:
        positions = own.positions(unique, categories.title)
    except LabelError as error:
        raise LabelError(f"{source}: {error}") from None
    return positions[inverse].reshape(array.shape)


def _unique(flat: np.ndarray) -> tuple[list, np.ndarray]:
    if flat.dtype.kind == "O":
        numbers: dict[Any, int] = {}
        inverse = np.array([numbers.setdefault(v, len(numbers)) for v in flat], dtype=np.int64)
        return list(numbers), inverse
    if flat.dtype.kind == "T":
        flat = flat.astype(str)
    unique, inverse = np.unique(flat, return_inverse=True)
    return list(unique), inverse


def check_positions(array: np.ndarray, length: int | None, dim: Dim, source: str) -> None:
    """Check that integers are positions along a dim.

    Raises
    ------
    DimError
        If one is outside of it.
    """
    if length is None or array.size == 0:
        return
    low, high = int(array.min()), int(array.max())
    if low < -length or high >= length:
        outside = array[(array < -length) | (array >= length)].ravel()
        raise DimError(
            f"{source} has positions outside of {dim.title} of length {length}: "
            f"{listing(outside, 4)}"
        )


def as_dtype(array: np.ndarray, dtype: str, source: str) -> np.ndarray:
    """The array in the dtype of the tensor, where no value can be lost.

    Raises
    ------
    DtypeError
        If one could be, or if the values are no numbers.
    """
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "O" and all(isinstance(v, (int, float, bool)) for v in array.ravel()):
        array = np.array(array.tolist())
    given = valid_dtype(array.dtype) if array.dtype.kind in "biufc" else str(array.dtype)
    if array.dtype.kind not in "biufc":
        raise DtypeError(f"{source} has values of {given}, the tensor takes {dtype}")
    target = np.dtype(dtype)
    widens = np.can_cast(array.dtype, target, "same_kind") or (
        array.dtype.kind in "biu" and target.kind in "fc"
    )
    if not widens and array.dtype.kind in "iu" and target.kind in "iu" and array.size:
        info = np.iinfo(dtype)
        widens = info.min <= array.min() and array.max() <= info.max
    if not widens:
        raise DtypeError(f"{source} has values of {given}, the tensor takes {dtype}")
    return array.astype(dtype)
