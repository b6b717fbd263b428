"""The call boundary: users' values become arrays with axes in order, and say what dims are."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Hashable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import numpy as np

from dimtensor.dims import Binding, Coords, Dim, Dims, product_below, sort_dims
from dimtensor.errors import (
    DtypeError,
    InputError,
    LabelError,
    PositionError,
    build_message,
    listing,
)
from dimtensor.graph.infer import describe

# labels by the id of the immutable index that they were read from, for as long as that is alive
_labels_of_index: dict[int, tuple[weakref.ref, Coords]] = {}


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
    pandas = type(value).__module__.startswith("pandas")
    return pandas and hasattr(value, "to_numpy") and hasattr(value, "ndim")


def axis_names(dims: Dims) -> dict[Dim, str]:
    """Names of dims as axes of a DataArray; an anonymous dim is called ``dim_0`` and so on."""
    taken = {dim.name for dim in dims}
    numbers = (n for n in range(2 * len(dims) + 1) if f"dim_{n}" not in taken)
    return {
        dim: dim.name if dim.name is not None else f"dim_{next(numbers)}" for dim in sort_dims(dims)
    }


def as_labelled(value: Any, dims: Dims, source: str) -> Labelled | None:
    """Named axes of a value; None for plain arrays and numbers.

    A pair ``(names, array)`` names the axes of an array, as in xarray.

    Raises
    ------
    InputError
        If the axes of a pandas object cannot be told apart by name, or a pair does not name each
        axis.
    """
    if is_dataarray(value):
        indexes = dict(value.indexes)
        indexes = {name: indexes[name] for name in value.dims if name in indexes}
        labels = {name: labels_of(index) for name, index in indexes.items()}
        levels = {name: tuple(i.names) for name, i in indexes.items() if i.nlevels > 1}
        return Labelled(np.asarray(value.data), tuple(value.dims), labels, levels)
    if is_pandas(value):
        return _from_pandas(value, dims, source)
    if isinstance(value, tuple) and len(value) == 2:
        return _from_pair(*value, dims, source)
    return None


def labels_of(index: Any) -> Coords:
    """Labels of a pandas Index; the same object for the same index."""
    key = id(index)
    known = _labels_of_index.get(key)
    if known is not None and known[0]() is index:
        return known[1]
    labels = Coords(index)
    forget = weakref.ref(index, lambda _: _labels_of_index.pop(key, None))
    _labels_of_index[key] = (forget, labels)
    return labels


def _from_pair(names: Any, array: Any, dims: Dims, source: str) -> Labelled | None:
    """A pair of names and an array; None for a tuple of two other things."""
    if isinstance(names, (Dim, str)):
        names = (names,)
    if not isinstance(names, (tuple, list)) or not all(isinstance(n, (str, Dim)) for n in names):
        return None
    if isinstance(array, str):  # two labels
        return None
    values = as_array(array, source)
    if values.ndim != len(names):
        raise InputError(
            f"{source}: {len(names)} dims are named for an array of {values.ndim} axes"
        )
    own = axis_names(dims)
    return Labelled(
        values, tuple(own.get(n, n.short) if isinstance(n, Dim) else n for n in names), {}
    )


def _from_pandas(value: Any, dims: Dims, source: str) -> Labelled:
    if value.ndim == 2:
        return _from_frame(value, dims, source)
    array = value.to_numpy()
    index = getattr(value, "index", None)
    if index is None:  # an Index: labels without an index of their own
        return Labelled(array, (_only_name(dims, source),), {})
    if index.nlevels > 1 and len(dims) == index.nlevels:
        stacked = value.to_xarray()
        labels = {name: labels_of(stacked.indexes[name]) for name in stacked.dims}
        return Labelled(stacked.values, tuple(stacked.dims), labels)
    if not dims and isinstance(index.name, str):
        return Labelled(array, (index.name,), {index.name: labels_of(index)})
    name = _only_name(dims, source)
    if index.nlevels > 1:
        return Labelled(array, (name,), {name: labels_of(index)}, {name: tuple(index.names)})
    # a default index numbers the rows; it is not a set of labels
    plain = type(index).__name__ == "RangeIndex" and index.name is None
    labels = {} if plain and dims[0].coords is None else {name: labels_of(index)}
    return Labelled(array, (name,), labels)


def _only_name(dims: Dims, source: str) -> str:
    if len(dims) != 1:
        raise InputError(f"{source}: a Series has one dim, the tensor has dims {_names(dims)}")
    (name,) = axis_names(dims).values()
    return name


def _from_frame(value: Any, dims: Dims, source: str) -> Labelled:
    names = (value.index.name, value.columns.name)
    if None in names or names[0] == names[1]:
        raise InputError(
            build_message(
                f"{source}: the axes of a DataFrame are told apart by the names of its index and "
                "its columns",
                [("names", listing(names)), ("dims", _names(dims))],
                "set df.index.name and df.columns.name, or pass an xarray.DataArray",
            )
        )
    labels = {names[0]: labels_of(value.index), names[1]: labels_of(value.columns)}
    return Labelled(value.to_numpy(), names, labels)


def _names(dims: Dims) -> str:
    return "{" + ", ".join(axis_names(dims).values()) + "}"


def own_names(names: Sequence[Hashable], dims: Dims, source: str) -> Collection[str]:
    """Names of the dims of a tensor, all of which a value must have.

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
            build_message(
                f"{source} lacks {noun} {listing(missing)}{guess}",
                [("tensor", _names(dims)), ("value", "{" + ", ".join(map(str, names)) + "}")],
            )
        )
    return own


def as_array(value: Any, source: str) -> np.ndarray:
    """A value as an array.

    Raises
    ------
    InputError
        If it is a symbolic tensor or variable, or nested lists of different lengths.
    """
    symbolic = hasattr(value, "owner") and hasattr(value, "type")
    if hasattr(value, "node") or symbolic:
        what = str(value) if symbolic else describe(value.node)
        raise InputError(
            build_message(
                f"{source} takes a value and is given a symbolic tensor: {what}",
                hint="x.eval() gives the value of an expression; dt.substitute puts one expression "
                "into another",
            )
        )
    try:
        return np.asarray(value)
    except ValueError:
        raise InputError(f"{source}: the nested sequences do not make an array") from None


def admit(
    value: Any,
    labelled: Labelled | None,
    dims: Dims,
    dtype: str,
    categories: Dim | None,
    binding: Binding,
    source: str,
    late: bool = False,
) -> np.ndarray:
    """The array of a value, axes in the order of `dims`, and what it says of dims in `binding`.

    Parameters
    ----------
    late : bool
        Leave values that are labels as they are: the labels of `categories` may still arrive.

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
        array = as_array(value, source)
        _require_plain(array, dims, source)
        for dim, length in zip(dims, array.shape, strict=True):
            binding.add_length(dim, length, source)
    else:
        array = _ordered(labelled, dims, binding, source)
    if categories is None:
        return as_dtype(array, dtype, source)
    return array if late else label_positions(array, categories, source)


def _require_plain(array: np.ndarray, dims: Dims, source: str) -> None:
    """Check that nothing but the order of the axes, which says nothing, tells them apart."""
    if array.ndim != len(dims):
        what = "is a scalar" if array.ndim == 0 else f"has shape {array.shape}"
        has = f"dims {_names(dims)}" if dims else "no dims"
        raise InputError(f"{source} {what}, the tensor has {has}")
    if array.ndim > 1:
        names = tuple(axis_names(dims).values())
        raise InputError(
            build_message(
                f"{source}: dims have no order, so the axes of a plain array of {array.ndim} "
                "axes cannot be told apart",
                [("dims", _names(dims)), ("shape", array.shape)],
                f"name the axes: ({names}, array), or pass an xarray.DataArray",
            )
        )


def _ordered(labelled: Labelled, dims: Dims, binding: Binding, source: str) -> np.ndarray:
    own = own_names(labelled.names, dims, source)
    unknown = [str(name) for name in labelled.names if name not in own]
    if unknown:
        raise InputError(
            build_message(
                f"{source} has {'dim' if len(unknown) == 1 else 'dims'} {listing(unknown)}, "
                "the tensor does not",
                [
                    ("tensor", _names(dims)),
                    ("value", "{" + ", ".join(map(str, labelled.names)) + "}"),
                ],
            )
        )
    names = axis_names(dims)
    array = labelled.values.transpose([labelled.names.index(names[dim]) for dim in dims])
    for axis, dim in enumerate(dims):
        labels = labelled.labels.get(names[dim])
        if labels is not None:
            labels = _in_order_of_factors(labels, labelled.levels.get(names[dim]), dim, source)
            own_labels = dim._labels()
            if own_labels is None:
                binding.add_length(dim, array.shape[axis], source)
                binding.add_labels(dim, labels, source)
                continue
            if not own_labels.same_labels(labels):
                array = array.take(_alignment(own_labels, labels, dim, source), axis=axis)
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
    while set(levels) != set(factors) and all(str(level).endswith("'") for level in levels):
        levels = tuple(str(level)[:-1] for level in levels)  # of a product renamed, as in results
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


@lru_cache(maxsize=16)  # the labels of one value come back at every call
def _alignment(own: Coords, labels: Coords, dim: Dim, source: str) -> np.ndarray:
    """Positions that put labels into the order of the dim."""
    if labels.duplicates:
        raise LabelError(
            build_message(
                f"{source} has labels of {dim.title} more than once: {listing(labels.duplicates)}",
                hint="make them unique, or average over them, before the call",
            )
        )
    unknown = [label for label in labels.values if label not in own]
    missing = [label for label in own.values if label not in labels]
    if unknown or missing or len(own) != len(labels):
        raise LabelError(
            build_message(
                f"{source} does not have the labels of {dim.title}",
                [("missing", listing(missing)), ("unknown", listing(unknown))],
                f"dt.reindex(value, dim, fill_value=...) gives it the labels of {dim.title}",
            )
        )
    return labels.positions(own.values, dim.title)


def label_positions(
    array: np.ndarray, categories: Dim, source: str, binding: Binding | None = None
) -> np.ndarray:
    """Positions of labels in their dim.

    Parameters
    ----------
    array : ndarray
        Labels; of a dim that has none, positions.
    categories : Dim
    source : str
    binding : Binding, optional
        Labels and lengths that came with the call.

    Raises
    ------
    LabelError
        If the dim has no such labels; of a dim without labels, if the values are no integers.
    PositionError
        If positions are outside of the dim.
    """
    binding = binding or Binding()
    own = categories.bound_labels(binding)
    if own is None:
        if array.dtype.kind not in "iu" and array.size:
            raise LabelError(
                build_message(
                    f"{source} has labels of {categories.title}, which has no labels",
                    [("dim", repr(categories)), ("values", listing(array.ravel(), 4))],
                    "give the dim coords or pass integers, which are positions along it",
                )
            )
        check_positions(array, categories.bound_length(binding), categories, source)
        return array.astype(np.int64)
    unique, inverse = _unique(array.ravel())
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
    PositionError
        If one is outside of it.
    """
    if length is None or array.size == 0:
        return
    if array.min() < -length or array.max() >= length:
        outside = array[(array < -length) | (array >= length)].ravel()
        raise PositionError(
            f"{source} has positions outside of {dim.title} of length {length}: "
            f"{listing(outside, 4)}"
        )


_NUMBERS = (bool, int, float, complex, np.number, np.bool_)
_KINDS = {"U": "strings", "T": "strings", "M": "datetimes", "m": "timedeltas", "O": "objects"}


def what_is_in(array: np.ndarray) -> str:
    """What a message calls the elements of an array that are no numbers."""
    if array.dtype.kind == "O" and all(isinstance(v, str) for v in array.ravel()):
        return "strings"
    return _KINDS.get(array.dtype.kind, f"values of {array.dtype}")


def as_dtype(array: np.ndarray, dtype: str, source: str) -> np.ndarray:
    """The array in the dtype of the tensor, where no value can be lost.

    Integers go into floats, and floats of 64 bits into those of 32; integers go into smaller ones
    that hold all the values.

    Raises
    ------
    DtypeError
        If a value would be lost, or the values are no numbers.
    """
    if array.dtype == dtype:
        return array
    if array.size == 0:
        return array.astype(dtype)
    if array.dtype.kind == "O" and all(isinstance(v, _NUMBERS) for v in array.ravel()):
        array = np.array(array.tolist()).reshape(array.shape)
    kind, target = array.dtype.kind, np.dtype(dtype)
    if kind not in "biufc":
        raise DtypeError(
            build_message(
                f"{source} has {what_is_in(array)}, the tensor takes {dtype}",
                [("values", listing(array.ravel(), 4))],
            )
        )
    if kind in "iu" and target.kind in "iu":
        info = np.iinfo(target)
        outside = array[(array < info.min) | (array > info.max)]
        if outside.size:
            raise DtypeError(
                build_message(
                    f"{source} has values that do not fit into {dtype}: {listing(outside, 4)}",
                    hint="declare the tensor with a wider dtype",
                )
            )
        return array.astype(target)
    fits = kind == "b" or "biufc".index(kind) <= "biufc".index(target.kind)
    if target.kind == "b":
        fits = kind == "b"
    if not fits:
        raise DtypeError(
            build_message(
                f"{source} has values of {array.dtype}, the tensor takes {dtype}",
                hint="convert the values with astype, or declare the tensor with the wider dtype",
            )
        )
    return array.astype(target)
