"""Conversion of call arguments to arrays in axis order, and to lengths and labels of dims."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np

from dimtensor.arrays import array_of, is_na, no_floats
from dimtensor.caches import bounded
from dimtensor.dims import (
    Binding,
    Coords,
    Dim,
    Dims,
    ProductDim,
    RowNumbers,
    dim_labels,
    product_below,
    sort_dims,
)
from dimtensor.errors import DtypeError, InputError, LabelError, PositionError, listing, prefixed
from dimtensor.values.labeled import (
    Labeled,
    LabeledPositions,
    as_array,
    axis_names,
    names_of,
    own_names,
)


def admit(
    value: Any,
    labeled: Labeled | None,
    dims: Dims,
    dtype: str,
    categories: Dim | None,
    binding: Binding,
    source: str,
    late: bool = False,
) -> np.ndarray:
    """Convert a value to an array with axes in the order of `dims`, and bind lengths and labels.

    Parameters
    ----------
    late : bool
        Leave values that are labels unchanged: other arguments may bring the labels of
        `categories`.

    Raises
    ------
    InputError
        If the axes do not name the dims of the tensor.
    LabelError
        If labels are missing, unknown, or disagree with other inputs.
    DimError
        If a length differs from that of the dim.
    DtypeError
        If values would be lost.
    """
    if labeled is None:
        array = as_array(value, source)
        require_plain(array, dims, source)
        for dim, length in zip(dims, array.shape, strict=True):
            binding.add_length(dim, length, source)
    else:
        array = in_axis_order(labeled, dims, binding, source)
    if categories is None or isinstance(labeled, LabeledPositions):
        return as_dtype(array, dtype, source)
    return array if late else label_positions(array, categories, source)


def require_elements(array: np.ndarray, dims: Dims, source: str) -> None:
    """Check that a value is not a single object without elements, such as a dict or a generator.

    Raises
    ------
    InputError
        If it is.
    """
    if array.ndim == 0 and array.dtype == object and dims:
        kind = type(array.item()).__name__
        raise InputError(
            f"{source} has dims {names_of(dims)} and is given a value of type {kind}, which "
            "holds no numbers",
            hint="pass an xarray.DataArray, a pandas.Series, an array or a list",
        )


def require_plain(array: np.ndarray, dims: Dims, source: str) -> None:
    """Check that axes are identified by more than their order."""
    require_elements(array, dims, source)
    if array.ndim != len(dims):
        what = "is a scalar" if array.ndim == 0 else f"has shape {array.shape}"
        has = f"dims {names_of(dims)}" if dims else "no dims"
        raise InputError(f"{source} {what}, the tensor has {has}")
    if array.ndim > 1:
        fitting = (
            order
            for order in permutations(dims)
            if all(d.length in (None, n) for d, n in zip(order, array.shape, strict=True))
        )
        own = axis_names(dims)
        names = tuple(own[dim] for dim in next(fitting, sort_dims(dims)))
        raise InputError(
            f"{source}: dims have no order, so the axes of a plain array of {array.ndim} "
            "axes cannot be told apart",
            [("dims", names_of(dims)), ("shape", array.shape)],
            f"name the axes: ({names}, array), or pass an xarray.DataArray",
        )


def in_axis_order(labeled: Labeled, dims: Dims, binding: Binding, source: str) -> np.ndarray:
    """Return the array of a labeled value in the order of the dims, and bind its labels."""
    own = own_names(labeled.names, dims, source)
    unknown = [str(name) for name in labeled.names if name not in own]
    if unknown:
        raise InputError(
            f"{source} has {'dim' if len(unknown) == 1 else 'dims'} {listing(unknown)}, "
            "the tensor does not",
            [
                ("tensor", names_of(dims)),
                ("value", "{" + ", ".join(map(str, labeled.names)) + "}"),
            ],
        )
    names = axis_names(dims)
    array = labeled.values.transpose([labeled.names.index(names[dim]) for dim in dims])
    for axis, dim in enumerate(dims):
        labels = labeled.labels.get(names[dim])
        if isinstance(labels, RowNumbers):
            if dim._within is None:  # rows of a table are in the order of a ragged dim
                binding.add_labels(dim, labels, source)
        elif labels is not None:
            labels = _in_order_of_factors(labels, labeled.levels.get(names[dim]), dim, source)
            own_labels = dim_labels(dim)
            wanted = _arranged(dim, labels) if own_labels is None else own_labels
            if not wanted.same_labels(labels):
                array = np.take(array, _alignment(wanted, labels, dim, source), axis=axis)
            if own_labels is None:
                binding.add_labels(dim, wanted, source)
        binding.add_length(dim, array.shape[axis], source)
    return array


def _in_order_of_factors(labels: Coords, levels: tuple | None, dim: Dim, source: str) -> Coords:
    """Reorder the levels of a MultiIndex to the factors of a product dim.

    Raises
    ------
    LabelError
        If the levels and the factors have different names.
    """
    product = product_below(dim)
    if levels is None or product is None or None in levels:
        return labels
    factors = tuple(factor._short for factor in product.factors)
    while set(levels) != set(factors) and all(str(level).endswith("'") for level in levels):
        levels = tuple(str(level)[:-1] for level in levels)  # a renamed product, as in results
    if levels == factors:
        return labels
    if set(levels) != set(factors):
        raise LabelError(
            f"{source}: the levels along {dim._title} are not its factors",
            [("levels", listing(levels)), ("factors", listing(factors))],
            "rename the levels of the index",
        )
    order = [levels.index(name) for name in factors]
    values = np.empty(len(labels), dtype=object)
    values[:] = [tuple(label[at] for at in order) for label in labels.values]
    return Coords(values)


@bounded(16)  # a value often comes with the same labels at every call
def _arranged(dim: Dim, labels: Coords) -> Coords:
    """Return labels of a value in the order of the dim.

    A product dim has all combinations of the labels of its factors.
    """
    product = dim._unrenamed
    return product._arranged(labels) if isinstance(product, ProductDim) else labels


@bounded(16)
def _alignment(own: Coords, labels: Coords, dim: Dim, source: str) -> np.ndarray:
    """Return positions that reorder labels to those of the dim."""
    at = own.find(labels)
    if len(own) == len(labels) and bool((at >= 0).all()):
        order = np.full(len(own), -1, dtype=np.int64)
        order[at] = np.arange(len(own))
        if (order >= 0).all():
            return order
    if labels.duplicates:
        raise LabelError(
            f"{source} has labels of {dim._title} more than once: {listing(labels.duplicates)}",
            hint="make them unique, or average over them, before the call",
        )
    missing = own.take(np.flatnonzero(labels.find(own) < 0)).values
    unknown = labels.take(np.flatnonzero(at < 0)).values
    hint = f"dt.reindex(value, dim, fill_value=...) gives it the labels of {dim._title}"
    if len(own) == len(labels) and np.array_equal(labels.values, np.arange(len(own))):
        hint = (
            "its labels are row numbers; values in the order of the dim are an array, "
            "value.to_numpy()"
        )
    raise LabelError(
        f"{source} does not have the labels of {dim._title}",
        [("missing", listing(missing)), ("unknown", listing(unknown))],
        hint,
    )


def label_positions(
    array: np.ndarray, categories: Dim, source: str, binding: Binding | None = None
) -> np.ndarray:
    """Look up the positions of labels along their dim.

    Parameters
    ----------
    array : ndarray
        Labels, or positions for a dim without labels.
    categories : Dim
    source : str
    binding : Binding, optional
        Labels and lengths of the call.

    Raises
    ------
    LabelError
        If the dim lacks a label, or has no labels and the values are not integers.
    PositionError
        If positions are outside of the dim.
    """
    binding = binding or Binding()
    own = categories._bound_labels(binding)
    if own is None:
        if array.dtype.kind not in "iu" and array.size:
            raise LabelError(
                f"{source} has labels of {categories._title}, which has no labels",
                [("dim", repr(categories)), ("values", listing(array.ravel(), 4))],
                "give the dim coords or pass integers, which are positions along it",
            )
        check_positions(array, categories._bound_length(binding), categories, source)
        return array.astype(np.int64)
    try:
        return own.positions(array.ravel(), categories._title).reshape(array.shape)
    except LabelError as error:
        raise LabelError(prefixed(f"{source}: ", error)) from None


def check_positions(array: np.ndarray, length: int | None, dim: Dim, source: str) -> None:
    """Check that integers are positions along a dim.

    Raises
    ------
    PositionError
        If one is out of range.
    """
    if length is None or array.size == 0:
        return
    if array.min() < -length or array.max() >= length:
        outside = array[(array < -length) | (array >= length)].ravel()
        raise PositionError(
            f"{source} has positions outside of {dim._title} of length {length}: "
            f"{listing(outside, 4)}"
        )


_NUMBERS = (bool, int, float, complex, np.number, np.bool_)
_KINDS = {"U": "strings", "T": "strings", "M": "datetimes", "m": "timedeltas", "O": "objects"}


def what_is_in(array: np.ndarray) -> str:
    """Describe elements of an array that are not numbers, for messages."""
    if array.dtype.kind == "O" and all(isinstance(v, str) for v in array.ravel()):
        return "strings"
    return _KINDS.get(array.dtype.kind, f"values of {array.dtype}")


def in_dtype(array: np.ndarray, dtype: Any) -> np.ndarray:
    """View an array in an equivalent dtype.

    NumPy has two integer types of 8 bytes, ``long`` and ``longlong``, and compiled code has one.
    The dtype of a buffer may state a byte order that is the native one.
    """
    exact, own = np.dtype(dtype), array.dtype
    if own.num == exact.num and own.byteorder == exact.byteorder:
        return array
    return array.view(exact)


def numbers_of(array: np.ndarray, source: str) -> np.ndarray:
    """Convert objects that are all numbers to numbers, with NaN for NA; pass other arrays through.

    Raises
    ------
    InputError
        If elements are missing, and an integer is not a float exactly.
    """
    if array.dtype.kind != "O":
        return array
    items = array.ravel().tolist()
    gaps = any(map(is_na, items))
    if gaps:
        lost = [int(v) for v in items if isinstance(v, (int, np.integer)) and abs(int(v)) > 2**53]
        items = [math.nan if is_na(v) else v for v in items]
    if not all(isinstance(v, _NUMBERS) for v in items):
        return array
    if gaps and lost:
        raise no_floats(lost, source)
    return array_of(items, source).reshape(array.shape)


def as_dtype(array: np.ndarray, dtype: str, source: str) -> np.ndarray:
    """Convert an array to the dtype of a tensor.

    Integers are converted to floats, floats of 64 bits to 32 bits, and integers to narrower ones if
    all values fit.

    Raises
    ------
    DtypeError
        If a value does not fit, or the values are not numbers.
    """
    if array.dtype == dtype:
        return in_dtype(array, dtype)
    if array.size == 0:
        return array.astype(dtype)
    array = numbers_of(array, source)
    kind, target = array.dtype.kind, np.dtype(dtype)
    if kind == "O" and all(isinstance(item, int) for item in array.flat):
        if target.kind not in "fc":
            raise _no_room(array, dtype, source)
        try:
            return array.astype(target)
        except OverflowError:
            raise _no_room(array, dtype, source) from None
    if kind not in "biufc":
        raise DtypeError(
            f"{source} has {what_is_in(array)}, the tensor has dtype {dtype}",
            [("values", listing(array.ravel(), 4))],
        )
    if kind in "iu" and target.kind in "iu":
        info = np.iinfo(target)
        outside = array[(array < info.min) | (array > info.max)]
        if outside.size:
            raise _no_room(outside, dtype, source)
        return array.astype(target)
    fits = kind == "b" or "biufc".index(kind) <= "biufc".index(target.kind)
    if target.kind == "b":
        fits = kind == "b"
    if not fits:
        raise DtypeError(
            f"{source} has values of {array.dtype}, the tensor has dtype {dtype}",
            hint=_conversion(array, target),
        )
    return array.astype(target)


def _no_room(values: np.ndarray, dtype: str, source: str) -> DtypeError:
    """Return the error for integers beyond a dtype."""
    return DtypeError(
        f"{source} has values that do not fit into {dtype}: {listing(values.ravel(), 4)}",
        hint="declare the tensor with a wider dtype",
    )


def _conversion(array: np.ndarray, target: np.dtype) -> str:
    """Suggest how to convert values to a narrower dtype."""
    if array.dtype.kind == "f" and target.kind in "iu" and (array == np.floor(array)).all():
        return (
            f'all of them are whole: np.asarray(values).astype("{target}") says that integers '
            f"are meant; or declare the tensor with dtype={array.dtype}"
        )
    return "convert the values with astype, or declare the tensor with the wider dtype"


def real_numbers(value: Any, source: str) -> np.ndarray:
    """Convert real numbers without masked elements to an array of float64.

    Raises
    ------
    InputError
        If the value is not an array, or an element is masked.
    DtypeError
        If elements are not real numbers.

    Examples
    --------
    >>> real_numbers([1, 2], "the edges").tolist()
    [1.0, 2.0]
    """
    return as_dtype(as_array(value, source, gaps=False), "float64", source)
