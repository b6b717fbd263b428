"""Symbolic inputs and data."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.backends.progress import wake_soon
from dimtensor.dims import Binding, Dim, Dims, as_dim_tuple, canonical_dims, in_order, sort_dims
from dimtensor.errors import ArgumentError, DimError, DtypeError, InputError, listing, plain_repr
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import DataAttrs, InputAttrs
from dimtensor.graph.beside import Beside
from dimtensor.graph.dtypes import require_castable, valid_dtype
from dimtensor.spellings import spelled
from dimtensor.tensor.handle import labeled_operand, wrap
from dimtensor.typing import DimsLike
from dimtensor.values.admission import (
    as_dtype,
    in_axis_order,
    numbers_of,
    require_elements,
    what_is_in,
)
from dimtensor.values.admission import label_positions as _label_positions
from dimtensor.values.columns import as_column, string_labels
from dimtensor.values.labeled import (
    as_array,
    as_labeled,
    dims_of,
    is_dataarray,
    is_pandas,
    refuse_dataset,
)

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import ArrayLike, DtypeLike

# the DataArrays that data were made of, without elements, for their units
attributes: Beside[Any] = Beside(clear=False)

_UNNAMED = "label"  # name of the dim of the labels of data without a name


@spelled("function")
def tensor(
    name: str | None = None,
    dims: DimsLike = None,
    dtype: DtypeLike | None = "float64",
    categories: Dim | None = None,
) -> DimTensor:
    """Make a symbolic input.

    Parameters
    ----------
    name : str, optional
        Name of the argument of compiled functions. Two tensors of the same name, dims and dtype are
        the same tensor; one without a name is equal only to itself.
    dims : Dim or iterable of Dim, optional
        In any order; none for a scalar.
    dtype : dtype-like
    categories : Dim, optional
        For a tensor of labels: the dim they belong to. The dtype is then int64.

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If something is not a Dim, or two dims have one name.
    DtypeError
        If tensors cannot have the dtype.

    Examples
    --------
    >>> import dimtensor as dt
    >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
    >>> dt.tensor("effect", dims=country).sizes
    {'country': 2}
    """
    wake_soon()
    if name is not None and not (isinstance(name, str) and name):
        hint = None if isinstance(name, str) else "values are dt.data(values, dims=...)"
        raise ArgumentError(
            f"the name of a tensor is a non-empty string, not {plain_repr(name)}", hint=hint
        )
    require_dim(categories)
    dtype = "int64" if categories is not None else valid_dtype(dtype)
    token = uuid.uuid4().hex if name is None else None
    attrs = InputAttrs(name, token, canonical_dims(dims, "the dims of a tensor"), dtype, categories)
    return wrap(make("input", (), attrs))


@spelled("function")
def scalar(name: str | None = None, dtype: DtypeLike = "float64") -> DimTensor:
    """Make a symbolic input without dims.

    Parameters
    ----------
    name : str, optional
    dtype : dtype-like

    Returns
    -------
    DimTensor

    Raises
    ------
    ArgumentError
        If the name is no string, or an empty one.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.scalar("sigma").ndim
    0
    """
    return tensor(name, (), dtype)


def _named_constructor(dtype: str) -> Any:
    def construct(name: str | None = None, dims: DimsLike = None) -> DimTensor:
        return tensor(name, dims, dtype)

    construct.__name__ = construct.__qualname__ = dtype
    construct.__doc__ = f"""Make a symbolic input of dtype {dtype}; see :func:`dimtensor.tensor`.

    Parameters
    ----------
    name : str, optional
    dims : Dim or iterable of Dim, optional

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.{dtype}("x").dtype
    '{dtype}'
    """
    return construct


float64 = _named_constructor("float64")
float32 = _named_constructor("float32")
int64 = _named_constructor("int64")
int32 = _named_constructor("int32")
bool = _named_constructor("bool")
complex128 = _named_constructor("complex128")


def _numbers(given: Any) -> Any:
    return any(not isinstance(each, (Dim, str)) for each in given)


def data(
    value: ArrayLike,
    dims: Dim | Sequence[Dim] | None = None,
    name: str | None = None,
    categories: Dim | None = None,
    dtype: DtypeLike | None = None,
) -> DimTensor:
    """Make a tensor of known values.

    Compiled functions hold data apart from their code: ``f.with_data(...)`` replaces them without
    another compilation.

    Parameters
    ----------
    value : DataArray, Series, DataFrame, Index, ndarray, list or number
        Columns and tables of polars and Arrow, too; of a table, one dim has the names of the
        columns as labels. Numbers and bools that a column lacks (NA, null) or that a mask of NumPy
        hides are NaN.
    dims : Dim or sequence of Dim, optional
        The dims of the value. For a DataArray or a named Series they may be left out: dims with
        the names and labels of the value are made. For an ndarray they are in the order of its
        axes; axes of a DataArray are matched by name. A dim without labels takes those of the
        value, in calls with this data.
    name : str, optional
        By default the name of the DataArray or Series.
    categories : Dim, optional
        The values are labels of this dim (strings, datetimes, numbers); where it has no labels,
        they are positions along it. Strings have by default a dim of the strings that occur,
        sorted; a categorical or enum one of its categories. It has the name of the data, or
        ``"label"``.
    dtype : dtype-like, optional

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If lengths are not those of the dims.
    LabelError
        If labels of the value are not those of its dims, or the values are no labels of
        `categories`; if some strings are missing.
    DtypeError
        If the values are neither numbers nor strings and `categories` is not given, or if they are
        no numbers and `dtype` is given.
    InputError
        If a column has missing numbers and integers above 2**53, which floats do not represent
        exactly; if the value is no array, such as a generator, or one of its methods raises.
    InputError
        If nothing says which dims the axes of the values are.
    MemoryLimitError
        If an array of dask, or one in a file, does not fit into memory.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs = dt.Dim("obs")
    >>> country = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
    >>> where = dt.data(["USA", "Italy", "USA"], dims=obs, categories=country)
    >>> where.codes.values.tolist()
    [2, 0, 2]
    >>> dt.data(["USA", "Italy", "USA"], dims=obs, name="country").categories.coords.tolist()
    ['Italy', 'USA']
    """
    wake_soon()
    if isinstance(value, str) and isinstance(dims, (list, np.ndarray)) and _numbers(dims):
        hint = f"dt.data(values, dims=dt.Dim('obs'), name={value!r})"
        raise ArgumentError("dt.data takes values first, and a name by keyword", hint=hint)
    if hasattr(value, "node"):
        raise ArgumentError("dt.data takes values; this is a dims-tensor already")
    refuse_dataset(value, f"data {name!r}" if name else "dt.data", name)
    require_dim(categories)
    if name is None:  # the name of a Series of polars may be empty
        own = getattr(value, "name", None)
        name = own if isinstance(own, str) and own else None
    what = f"data {name!r}" if name else "data"
    value, declared = as_column(value, name or _UNNAMED, what)
    if categories is None and dtype is None:
        categories = declared
    given = None if dims is None else as_dim_tuple(dims, "the dims of data")
    if not (is_dataarray(value) or is_pandas(value)):
        in_order(() if isinstance(dims, Dim) or dims is None else dims, "the dims of data")
    if given is None:
        given = dims_of(value)
    canonical_dims(given, "the dims of data")
    binding = Binding()
    array, order = _axes_in_order(value, given, binding, what)
    if categories is None and dtype is None:
        categories = string_labels(array, name or _UNNAMED, what)
    if categories is not None:
        array = _label_positions(array, categories, what)
    elif dtype is not None:
        array, target = _as_numbers(array, what), valid_dtype(dtype)
        require_castable(array.dtype.name, target, lambda: what)
        array = array.astype(target)
    else:
        array = _as_numbers(array, what)
        array = as_dtype(array, valid_dtype(array.dtype), what)
    labels = tuple(
        (dim, found) for dim in sort_dims(order) if (found := binding.said(dim)) is not None
    )
    canonical = sort_dims(order)
    array = array.transpose([order.index(dim) for dim in canonical])
    described = _described(value) if is_dataarray(value) else None
    attrs = DataAttrs(name, canonical, array, categories, labels, described=described)
    node = make("data", (), attrs)
    if described is not None:
        # without its elements, which would be kept alive
        attributes.set(node, value.isel({dim: slice(0) for dim in value.dims}).copy())
    return wrap(node)


def _described(array: Any) -> str | None:
    """Return the attributes of a DataArray and of its coordinates as text; None without any."""
    found = {str(name): dict(x.attrs) for name, x in array.coords.items() if x.attrs}
    return repr((dict(array.attrs), found)) if array.attrs or found else None


def require_dim(categories: Any) -> None:
    """Check that categories are a dim.

    Raises
    ------
    DimError
        If they are something else, such as the labels themselves.
    """
    if categories is not None and not isinstance(categories, Dim):
        raise DimError(
            f"categories are a Dim, the one whose labels the values are, not {categories!r}",
            hint="make one: dt.Dim(name, coords=[...])",
        )


def _axes_in_order(value: Any, given: Dims, binding: Binding, what: str) -> tuple[np.ndarray, Dims]:
    """Convert a value to an array, and return it with the dims of its axes, which are checked."""
    labeled = as_labeled(value, given, what)
    if labeled is not None:
        return in_axis_order(labeled, given, binding, what), given
    array = as_array(value, what)
    require_elements(array, given, what)
    if array.ndim != len(given):
        raise DimError(
            f"{what} has {array.ndim} axes and is given {len(given)} dims",
            [("shape", array.shape), ("dims", ", ".join(dim._short for dim in given))],
        )
    for dim, length in zip(given, array.shape, strict=True):
        binding.add_length(dim, length, what)
    return array, given


def _as_numbers(array: np.ndarray, what: str) -> np.ndarray:
    """Convert an array to one of numbers.

    Raises
    ------
    DtypeError
        If some elements are no numbers.
    """
    array = numbers_of(array, what)
    if array.dtype.kind in "biufc":
        return array
    raise DtypeError(
        f"{what} has {what_is_in(array)}, but tensors hold numbers or labels of a dim",
        [("values", listing(array.ravel(), 4))],
        "for labels pass categories=dim, the dim that has them",
    )


@labeled_operand.provides()
def data_beside(
    value: Any, beside: Sequence[Node], categories: Dim | None = None, what: str = "operand"
) -> DimTensor:
    """Convert a labeled array beside tensors; it has their dims where the names are the same.

    Raises
    ------
    InputError
        If the index of a Series has no name.
    """
    known = {dim.name: dim for x in beside for dim in x.dims if dim.name is not None}
    if is_pandas(value) and value.ndim == 1 and getattr(value, "index", None) is not None:
        if list(value.index.names) == [None]:
            raise _no_index_name(value, beside, what)
    own = dims_of(value)
    dims = tuple(known.get(dim.name or "", dim) for dim in own)
    return data(value, dims, categories=categories)


def _no_index_name(value: Any, beside: Sequence[Node], what: str) -> InputError:
    """Return the error of a Series beside tensors whose index has no name."""
    names = list(dict.fromkeys(dim._short for x in beside for dim in x.dims))
    column = f"the Series {value.name!r}" if value.name is not None else "the Series"
    series = f"df[{value.name!r}]" if value.name is not None else "series"
    named = [x.name for x in beside if len(x.dims) == 1 and x.name and x.name.isidentifier()]
    given = f", or give the dim: dt.data({series}, dims={named[0]}.dims)" if named else ""
    return InputError(
        f"{what}: the index of {column} has no name, so nothing says along which dim it is",
        [("dims of the tensors", "{" + ", ".join(names) + "}")],
        f"name the index after the dim: {series}.rename_axis("
        f"{names[0] if len(names) == 1 else 'dim'!r}){given}",
    )


def with_recipe(x: DimTensor, function: Callable[..., DimTensor], *arguments: Any) -> DimTensor:
    """Note the function that made data, and its arguments, so that other dims give other data."""
    try:
        hash(arguments)
    except TypeError:
        return x
    return wrap(make("data", (), replace(x.node.attrs, recipe=(function, arguments))))
