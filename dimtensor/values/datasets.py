"""Values of inputs from Datasets of xarray, such as posteriors."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, product_below
from dimtensor.errors import InputError, listing, plain_repr
from dimtensor.graph import Node

if TYPE_CHECKING:
    import xarray as xr

_POSTERIOR = "posterior"
# variables of a Dataset that are not divided into halves
_FEW = 32


def label_text(label: Any) -> str:
    """Write a label as a text for names; commas separate the parts of a tuple.

    Dates and durations of pandas are written as those of NumPy.

    Examples
    --------
    >>> label_text(("Italy", 3))
    'Italy,3'
    >>> import pandas as pd
    >>> label_text(pd.Timestamp("2020-01-02")), label_text(np.datetime64("2020-01-02"))
    ('2020-01-02', '2020-01-02')
    """
    if isinstance(label, tuple):
        return ",".join(label_text(part) for part in label)
    if getattr(label, "tzinfo", None) is None:
        for convert in ("to_datetime64", "to_timedelta64"):
            if hasattr(label, convert):
                label = getattr(label, convert)()
    if isinstance(label, np.generic) and not isinstance(label, str):
        return plain_repr(label)
    return str(label)


def as_dataset(value: Any) -> xr.Dataset:
    """Return a Dataset, or that of a DataTree: its group ``posterior`` if it has one.

    All labels of dims get an index, which files may be opened without.

    Raises
    ------
    InputError
        If a DataTree has neither a group ``posterior`` nor variables.
    """
    if not hasattr(value, "children"):
        return _indexed(value)
    if _POSTERIOR in value.children:
        return _indexed(value[_POSTERIOR].to_dataset())
    own = value.to_dataset()
    if not own.data_vars:
        raise InputError(
            "a DataTree gives the values of its group 'posterior', which this one lacks",
            [("groups", listing(list(value.children)))],
            "pass one of its groups: tree['group']",
        )
    return _indexed(own)


def _indexed(dataset: xr.Dataset) -> xr.Dataset:
    for dim in dataset.dims:
        if dim in dataset.coords and dim not in dataset.indexes:
            dataset = dataset.set_xindex([dim])
    return dataset


def arrays_of(
    dataset: xr.Dataset, names: Iterable[Hashable] | None = None
) -> dict[Hashable, xr.DataArray]:
    """Return data variables of a Dataset, by default all, as DataArrays.

    ``dataset[name]`` searches all variables for coords, so it takes that long for each of many:
    halves of the Dataset have half as many.
    """
    names = list(dataset.data_vars if names is None else names)
    if len(names) <= _FEW:
        return {name: dataset[name] for name in names}
    half = len(names) // 2
    return {**arrays_of(dataset[names[:half]]), **arrays_of(dataset[names[half:]])}


def values_from(dataset: Any, sources: Iterable[Node | Dim]) -> dict[Node | Dim, Any]:
    """Look up values of inputs and dims by name; other variables of a Dataset are ignored.

    Parameters
    ----------
    dataset : Dataset or DataTree
    sources : iterable of Node or Dim

    Returns
    -------
    dict
        Values of the sources that are in the Dataset.
    """
    dataset = as_dataset(dataset)
    sources = list(sources)
    names = {x.name for x in sources if not isinstance(x, Dim)}
    arrays = arrays_of(dataset, [name for name in dataset.data_vars if name in names])
    found: dict[Node | Dim, Any] = {}
    for source in sources:
        if isinstance(source, Dim):
            if source._short in dataset.dims:
                index = dataset.indexes.get(source._short)
                size = dataset.sizes[source._short]
                found[source] = size if index is None else np.asarray(index)
        elif source.name in arrays:
            found[source] = _with_dims_of(source, arrays[source.name])
    return found


def _with_dims_of(node: Node, array: xr.DataArray) -> xr.DataArray:
    """Restore names and labels of dims that were changed for a Dataset.

    In a Dataset, a dim with the name of another dim has the name of its variable appended, and
    underscores if this name exists, too. Labels that Datasets and files cannot hold are texts.
    """
    for dim in node.dims:
        name = dim._short
        renamed = [d for d in array.dims if str(d).rstrip("_") == f"{name}_{node.name}".rstrip("_")]
        if name not in array.dims and renamed:
            array = array.rename({renamed[0]: name})
        if name not in array.indexes:
            continue
        if dim.coords is not None:
            array = _without_texts(array, name, dim.coords.tolist())
        elif product_below(dim) is not None and array.indexes[name].dtype.kind in "OUT":
            # these are texts of labels that are tuples
            if all(isinstance(label, str) for label in array.indexes[name]):
                array = array.drop_vars(name)
    return array


def _without_texts(array: xr.DataArray, name: str, labels: list[Any]) -> xr.DataArray:
    found = list(array.indexes[name])
    if all(isinstance(label, str) for label in labels) or not all(
        isinstance(label, str) for label in found
    ):
        return array
    places: Mapping[str, int] = {label: at for at, label in enumerate(found)}
    texts = [label_text(label) for label in labels]
    if len(places) < len(found) or set(texts) != set(places):
        return array  # an error elsewhere lists the missing labels
    ordered = array.isel({name: [places[text] for text in texts]})
    return ordered.drop_vars(name)
