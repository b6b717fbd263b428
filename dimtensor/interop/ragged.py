"""Ragged tensors from and to lists, list columns, awkward arrays and CF datasets."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from dimtensor.dims import Dim, RaggedDim
from dimtensor.dims.ragged import RaggedLayout
from dimtensor.errors import DimError, InputError, LabelError, OptionError, listing
from dimtensor.tensor.inputs import data
from dimtensor.tensor.ragged.making import ragged

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor

# attributes of variables, and the name of the counts, in the CF conventions
_SAMPLES, _INSTANCES = "sample_dimension", "instance_dimension"
_COUNTS = "row_size"


def from_ragged(
    values: Any, within: Dim | None = None, name: str = "position", *, variable: str | None = None
) -> DimTensor:
    """Make a tensor along a ragged dim from a list for each parent, or from a CF dataset.

    Parameters
    ----------
    values : sequence of sequences, array of lists of awkward, pyarrow, polars, pandas, or Dataset
        A list, possibly empty, for each position of `within` in order. A pandas Series whose index
        has the labels of `within` may have another order. In a Dataset a count variable with the
        attribute ``sample_dimension``, or an index variable with the attribute
        ``instance_dimension``, says which instance the samples belong to.
    within : Dim, optional
        The dim of the parents; that of a Dataset is its instance dimension.
    name : str
        The name of the ragged dim; that of a Dataset is its sample dimension.
    variable : str, optional
        The variable of a Dataset, along the sample dimension.

    Returns
    -------
    DimTensor
        Data with a ragged dim.

    Raises
    ------
    InputError
        If a list is missing, is no list of single elements, or if there are more or fewer lists
        than parents; if a Dataset does not say which instance the samples belong to.
    LabelError
        If the index of a Series has other labels than the parents.
    DimError
        If there is no dim of the parents.

    Notes
    -----
    Contiguous and indexed ragged arrays: CF Metadata Conventions 1.11, sections 9.3.3 and 9.3.4.

    Examples
    --------
    >>> import dimtensor as dt
    >>> import xarray as xr
    >>> subject = dt.Dim("subject", coords=["Ann", "Bob", "Cem"])
    >>> rt = dt.from_ragged([[0.5, 0.7], [], [0.9]], within=subject, name="trial")
    >>> rt.sum("trial").values.tolist()
    [1.2, 0.0, 0.9]
    >>> stations = xr.Dataset(
    ...     {
    ...         "temp": ("obs", [1.0, 2.0, 4.0]),
    ...         "row_size": ("station", [2, 1], {"sample_dimension": "obs"}),
    ...     },
    ...     coords={"station": ["A", "B"]},
    ... )
    >>> dt.from_ragged(stations, variable="temp").sum("obs").to_series().to_dict()
    {'A': 3.0, 'B': 4.0}
    """
    if variable is not None:
        return _from_cf(values, variable)
    if not isinstance(within, Dim):
        raise DimError(
            "from_ragged takes the dim of the parents, or a variable of a Dataset",
            hint="dt.from_ragged([[1, 2], [3]], within=dt.Dim('subject', length=2))",
        )
    lengths, flat = _parts(_ordered(values, within))
    if within.length is not None and len(lengths) != len(within):
        raise InputError(
            f"from_ragged: {len(lengths)} lists do not fit {within._title} of length {len(within)}",
            hint="give a list for each parent; an empty one is []",
        )
    return data(flat, dims=ragged(name, within=within, lengths=lengths))


@overload
def to_ragged(x: DimTensor, form: Literal["lists"] = "lists") -> list[np.ndarray]: ...
@overload
def to_ragged(x: DimTensor, form: Literal["cf"]) -> xr.Dataset: ...
def to_ragged(x: DimTensor, form: Literal["lists", "cf"] = "lists") -> Any:
    """Return the elements of each parent of a ragged dim, or write a CF dataset.

    Parameters
    ----------
    x : DimTensor
        With a ragged dim alone, whose elements can be computed.
    form : {"lists", "cf"}
        Arrays in the order of the parents, those without positions included, which
        ``awkward.Array``, ``pyarrow.array`` and ``polars.Series`` take; or a Dataset.

    Returns
    -------
    list of ndarray or Dataset
        A Dataset has the counts of the parents, ``row_size``. It is a contiguous ragged array where
        positions are sorted by parent, and an indexed one with the parent of each position
        elsewhere.

    Raises
    ------
    DimError
        If the tensor has other dims, or the parents of the positions are not known.
    OptionError
        If the form is unknown.

    Examples
    --------
    >>> import dimtensor as dt
    >>> subject = dt.Dim("subject", coords=["Ann", "Bob"])
    >>> trial = dt.ragged("trial", within=subject, by=["Bob", "Ann", "Bob"])
    >>> x = dt.data([1, 2, 3], dims=trial, name="x")
    >>> dt.to_ragged(x)
    [array([2]), array([1, 3])]
    >>> dt.from_ragged(dt.to_ragged(x, "cf"), variable="x").dims == x.dims
    True
    """
    if form not in ("lists", "cf"):
        raise OptionError(f"to_ragged: the form is 'lists' or 'cf', not {form!r}")
    dim = _only_ragged(x)
    layout, values = dim.layout, np.asarray(x.values)
    assert layout is not None
    if form == "cf":
        return _to_cf(dim, layout, values, x.name or "value")
    if layout.order is not None:
        values = values[layout.order]
    return np.split(values, layout.ends[:-1]) if len(dim.within) else []


def _from_cf(dataset: xr.Dataset, name: str) -> DimTensor:
    array = dataset[name]
    sample = array.dims[0] if array.ndim == 1 else None
    for key, variable in dataset.variables.items():
        instances = str(variable.attrs.get(_INSTANCES, ""))
        is_count = variable.ndim == 1 and variable.attrs.get(_SAMPLES) == sample
        if sample is None or not (is_count or (instances and variable.dims == (sample,))):
            continue
        above = str(variable.dims[0]) if is_count else instances
        within = _instances(dataset, above)
        own = f"{sample}_index"
        coords = dataset[own].values if own in dataset and dataset[own].dims == (sample,) else None
        counts = np.asarray(dataset[key].values)
        outside = (counts < 0) | (counts >= len(within)) if not is_count else counts[:0]
        if np.any(outside):
            raise InputError(
                f"from_ragged: positions in {key!r} are outside of {within._title}",
                [("positions", listing(counts[outside][:3])), ("length", len(within))],
            )
        if is_count:
            dim = ragged(str(sample), within=within, lengths=counts, coords=coords)
        else:
            labels = counts if within.coords is None else within.to_index().take(counts)
            dim = ragged(str(sample), within=within, by=labels, coords=coords)
        return data(np.asarray(array.values), dims=dim, name=name)
    raise InputError(
        f"from_ragged: the dataset does not say which instance the samples of {name!r} belong to",
        [("dims", ", ".join(map(str, array.dims)) or "none")],
        f"it needs a count variable with the attribute {_SAMPLES!r}, or an index variable with "
        f"the attribute {_INSTANCES!r}",
    )


def _to_cf(dim: RaggedDim, layout: RaggedLayout, values: np.ndarray, name: str) -> xr.Dataset:
    import xarray as xr

    above = dim.within._short
    if isinstance(dim.within, RaggedDim):
        raise DimError("to_ragged: CF has no ragged dims within others", [("dim", repr(dim))])
    variables: dict[str, Any] = {name: (dim.name, values)}
    is_sorted = layout.order is None
    variables[_COUNTS] = ((above,), layout.sizes, {_SAMPLES: dim.name} if is_sorted else {})
    if not is_sorted:
        variables[f"{above}_index"] = ((dim.name,), layout.owners, {_INSTANCES: above})
    coords: dict[str, Any] = {}
    if dim.within.coords is not None:
        coords[above] = (above, dim.within.to_index())
    if dim._index is not None:
        coords[f"{dim.name}_index"] = (dim.name, dim._index.index)
    return xr.Dataset(variables, coords, {"Conventions": "CF-1.11"})


def _only_ragged(x: DimTensor) -> RaggedDim:
    dim = x.dims[0]._unrenamed if len(x.dims) == 1 else None
    if not isinstance(dim, RaggedDim) or dim.layout is None:
        raise DimError(
            "to_ragged takes a tensor with one ragged dim, whose positions have known parents",
            [("dims", ", ".join(each._short for each in x.dims) or "none")],
            "select one position along the other dims",
        )
    return dim


def _instances(dataset: xr.Dataset, name: str) -> Dim:
    """Return the dim of the instances, with the labels that the dataset has for them."""
    found = dataset.variables.get(name)
    for variable in dataset.variables.values():
        if found is None and "cf_role" in variable.attrs and variable.dims == (name,):
            found = variable
    if found is None and name not in dataset.sizes:
        raise InputError(
            f"from_ragged: the dataset has no dim {name!r}, the instances of the samples"
        )
    if found is None:
        return Dim(name, length=dataset.sizes[name])
    return Dim(name, coords=np.asarray(found.values))


def _ordered(values: Any, within: Dim) -> Any:
    """Put a Series into the order of the parents, if it has their labels."""
    if type(values).__module__.split(".")[0] != "pandas" or within.coords is None:
        return values
    index, own = values.index, within.to_index()
    if not index.isin(own).any():
        return values
    if len(index) != len(own) or not index.is_unique or not index.isin(own).all():
        raise LabelError(
            f"from_ragged: the index has other labels than {within._title}",
            [("index", listing(list(index))), ("labels", listing(list(own)))],
        )
    return values.loc[own]


def _parts(values: Any) -> tuple[np.ndarray, Any]:
    """Return the lengths of lists, and their elements one after the other."""
    library = type(values).__module__.split(".")[0]
    if library == "polars":
        values, library = values.to_arrow(), "pyarrow"
    if library == "pyarrow":
        return _of_arrow(values)
    if library == "awkward":
        awkward = import_module(library)
        return _of_arrow(awkward.to_arrow(values, extensionarray=False))
    return _of_sequences(values)


def _of_arrow(values: Any) -> tuple[np.ndarray, Any]:
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(test(values.type) for test in kinds):
        raise _no_lists(f"an array of type {values.type}")
    if values.null_count:
        raise _no_lists("a missing value")
    flat = values.flatten()
    if any(test(flat.type) for test in kinds):
        raise _no_lists("lists of lists")
    lengths = np.asarray(values.value_lengths().to_numpy(zero_copy_only=False), dtype="int64")
    return lengths, flat.to_numpy(zero_copy_only=False)


def _of_sequences(values: Sequence[Any]) -> tuple[np.ndarray, Any]:
    parts = []
    for each in values:
        if each is None or isinstance(each, str) or np.ndim(each) != 1:
            what = "lists of lists" if np.ndim(each) > 1 else f"{each!r}"
            raise _no_lists(what)
        parts.append(np.asarray(each))
    lengths = np.array([len(part) for part in parts], dtype="int64")
    some = [part for part in parts if len(part)]  # an empty list has no dtype
    return lengths, np.concatenate(some) if some else np.zeros(0)


def _no_lists(found: str) -> InputError:
    return InputError(
        f"from_ragged takes a list of elements for each parent, and found {found}",
        hint="an empty list is []; for nested ragged dims flatten the inner lists first",
    )
