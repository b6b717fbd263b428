"""Labeled values of parameters: DataArrays gathered into one Dataset."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Coords, Dims
from dimtensor.errors import (
    ArgumentError,
    DimError,
    DtypeError,
    GraphError,
    InputError,
    OptionError,
    clipped,
    plain_repr,
)
from dimtensor.values.admission import real_numbers
from dimtensor.values.datasets import arrays_of, label_text

if TYPE_CHECKING:
    import xarray as xr

_FLOAT64 = np.dtype("float64")
LEADING = ((), ("draw",), ("chain", "draw"))


def as_numbers(x: Any, requirements: Any = None) -> np.ndarray:
    """Convert to an array of float64.

    Raises
    ------
    InputError
        If it is no array, some elements are masked, or it holds something else than real numbers.
    """
    if type(x) is np.ndarray and x.dtype == _FLOAT64:
        flags = x.flags
        if flags.c_contiguous and flags.aligned:  # np.require takes a microsecond
            return x
    else:
        try:
            x = real_numbers(x, "a vector")
        except DtypeError as error:
            kind, shown = type(x).__name__, clipped(plain_repr(x))
            text = f"a vector is an array of real numbers, not {kind}: {shown}"
            raise InputError(text) from error
    return np.require(x, requirements=requirements)


def as_vectors(x: Any, size: int, name: str) -> xr.DataArray:
    """Flat vectors with named leading dims.

    Parameters
    ----------
    x : array-like or DataArray
        Shape (..., size). A DataArray has the dim `name`, or the vectors along its last dim.
    size : int
    name : str
        Name of the dim of the vectors.

    Raises
    ------
    InputError
        If the last axis has another length, or there are leading axes without names.
    """
    import xarray as xr

    if isinstance(x, xr.DataArray):
        along = name if name in x.dims else (x.dims[-1] if x.dims else None)
        leading = [dim for dim in x.dims if dim != along]
        if along is not None:
            x = x.transpose(*leading, along).drop_vars([along], errors="ignore")
            x = x.rename({along: name}) if along != name else x
    else:
        array = as_numbers(x)
        if array.ndim == 0 or array.ndim > len(LEADING):
            raise InputError(
                f"vectors are an array of shape (..., {size}), this one has {array.ndim} axes",
                hint="pass an xarray.DataArray that names more leading dims than chain, draw",
            )
        x = xr.DataArray(array, dims=(*LEADING[array.ndim - 1], name))
    if x.sizes.get(name) != size:
        raise InputError(
            f"the model has {size} unconstrained elements, the vectors have {x.sizes.get(name, 0)}"
        )
    return x.astype("float64")


def as_dataset(arrays: Mapping[str, xr.DataArray], leading: Sequence[Any]) -> xr.Dataset:
    """DataArrays as one Dataset, leading dims first.

    In a Dataset a name stands for one dim. Where an array has another dim of a name than the ones
    before it (a selection of it, say), its dim gets the array's name behind its own. A level of a
    MultiIndex that is named like a dim, an array or a level of another dim gets the name of
    its dim before its own.
    """
    import xarray as xr

    taken: dict[Any, tuple[int, Any]] = {}
    used = {*arrays, *(dim for array in arrays.values() for dim in array.dims)}
    owners: dict[Any, Any] = {}  # the dims of levels
    variables = {}
    for name, array in arrays.items():
        renames: dict[Any, str] = {}
        for dim in array.dims:
            sizes = (array.sizes[dim], array.indexes.get(dim))
            if dim in leading:
                continue
            first = taken.setdefault(dim, sizes)
            if first is sizes or _same(first, sizes):
                continue
            if _same_texts(first, sizes):  # as which files keep labels
                array = array.drop_vars([dim]).assign_coords({dim: first[1]})
            else:
                renames[dim] = _unused(f"{dim}_{name}", used)
        array = array.rename(renames) if renames else array
        renames = {}
        for dim, index in array.indexes.items():
            levels = index.names if dim in array.dims and index.nlevels > 1 else ()
            if any(level in used or owners.setdefault(level, dim) != dim for level in levels):
                renames |= {level: _unused(f"{dim}_{level}", used) for level in levels}
        array = array.rename(renames) if renames else array
        variables[name] = array.transpose(*[d for d in leading if d in array.dims], ...)
    return xr.Dataset(variables)


def _unused(name: str, used: set) -> str:
    while name in used:
        name += "_"
    return name


def _same(one: tuple[int, Any], other: tuple[int, Any]) -> bool:
    if one[0] != other[0]:
        return False
    if one[1] is None or other[1] is None:
        return one[1] is other[1]
    return bool(one[1].equals(other[1]))


def _same_texts(one: tuple[int, Any], other: tuple[int, Any]) -> bool:
    """Return True if one of two indexes has the other's labels as text."""
    if one[0] != other[0] or one[1] is None or other[1] is None:
        return False
    texts = [all(isinstance(label, str) for label in index) for _, index in (one, other)]
    left, right = (list(map(label_text, index)) for _, index in (one, other))
    return any(texts) and left == right


def beside(
    dataset: xr.Dataset, arrays: Mapping[str, xr.DataArray], leading: Sequence[Any]
) -> xr.Dataset:
    """Add or replace variables of a Dataset; :func:`as_dataset` names the dims.

    Nothing is aligned: where an array has another dim of a name, it keeps its own elements. Dims of
    the Dataset that have no labels get those of an array with as many elements.
    """
    for x in arrays.values():
        labels = {
            dim: index
            for dim, index in x.indexes.items()
            if dataset.sizes.get(dim) == len(index) and dim not in dataset.coords
            if index.nlevels == 1
        }
        dataset = dataset.assign_coords(labels)
    own = {str(name): x for name, x in arrays_of(dataset).items() if name not in arrays}
    found = as_dataset({**own, **arrays}, leading)
    others = {
        name: x
        for name, x in dataset.coords.items()
        if name not in found.variables and set(x.dims) <= set(found.dims)
    }
    return found.assign_coords(others).assign_attrs(dataset.attrs)


def without_multiindex(dataset: xr.Dataset) -> xr.Dataset:
    """Replace each MultiIndex by texts: ArviZ and files do not support it.

    Levels of a ragged dim are kept as coords, such as ``trial_subject`` and ``trial_index`` of a
    dim ``trial`` within ``subject``: results are grouped and selected by them.
    """
    for dim, index in dataset.indexes.items():
        if dim in dataset.dims and index.nlevels > 1:
            coords: dict[Any, Any] = {dim: (dim, [label_text(label) for label in index])}
            if str(index.names[-1]).endswith("_index"):
                for number, level in enumerate(map(str, index.names)):
                    while level.startswith(f"{dim}_"):
                        level = level.removeprefix(f"{dim}_")
                    labels = Coords(index.get_level_values(number))
                    coords[f"{dim}_{level}"] = (dim, labels.as_coordinate)
            dataset = dataset.drop_vars([dim, *index.names]).assign_coords(coords)
    return dataset


def spread_over(dataset: xr.Dataset, leading: Mapping[str, int]) -> xr.Dataset:
    """Broadcast all variables of a Dataset to the leading dims."""
    import xarray as xr

    variables = {}
    for name in dataset.data_vars:
        array = dataset.variables[name]
        others = {dim: n for dim, n in array.sizes.items() if dim not in leading}
        variables[name] = array.set_dims({**leading, **others})
    return xr.Dataset(variables, coords=dataset.coords, attrs=dataset.attrs)


def check_names(
    parameters: Mapping[str, Dims], recorded: Mapping[str, Dims], kind: str = "deterministic"
) -> None:
    """Check that everything a model records can stand beside the rest under its name.

    Parameters
    ----------
    parameters, recorded : dict of str to tuple of Dim
        Names and dims of parameters and of what is recorded beside them.
    kind : str
        What is recorded, for messages.

    Raises
    ------
    ArgumentError
        If a name is no text or empty, or has a slash.
    GraphError
        If two have one name, or one the name of a dim: in a Dataset a variable named like a dim is
        that dim's labels, and the draws under this name would be lost.
    """
    for name in recorded:
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"the name of a {kind} is a non-empty string, not {name!r}")
    check_slashes(parameters, "parameter")
    check_slashes(recorded, kind)
    twice = [name for name in recorded if name in parameters]
    if twice:
        raise GraphError(f"{kind}s have names of parameters: {', '.join(map(repr, twice))}")
    everything = {**parameters, **recorded}
    dims = {dim._short: name for name, dims in everything.items() for dim in dims}
    for name in everything:
        what = "parameter" if name in parameters else kind
        if name in LEADING[-1]:
            clash = "draws have a dim of this name"
        elif name in dims:
            clash = f"{dims[name]!r} has a dim of this name"
        else:
            continue
        raise GraphError(
            f"the {what} {name!r} would be lost among labels: {clash}",
            hint=f"give the {what} another name",
        )


def check_slashes(named: Mapping[str, Dims], kind: str) -> None:
    """Check that names and dims can be those of results: in a DataTree a slash makes a path.

    Parameters
    ----------
    named : dict of str to tuple of Dim
    kind : str
        What has the names, for messages.

    Raises
    ------
    OptionError
        If one has a slash.
    """
    told = [(kind, name) for name in named]
    told += [("dim", dim._short) for dims in named.values() for dim in dims]
    for what, name in told:
        if "/" in name:
            other = re.sub(r"\s*/\s*", "_per_", name)
            raise OptionError(
                f"the {what} {name!r} could not be kept among results: in an xarray.DataTree a "
                "slash makes a path",
                hint=f"call it {other!r}; in a formula, name a column so and use the column",
            )


def check_leading(names: Sequence[str], what: str) -> None:
    """Check that no dim of a model has the name of a leading dim.

    Raises
    ------
    DimError
        If one has.
    """
    clashing = sorted(set(names) & set(LEADING[-1]))
    if clashing:
        raise DimError(
            f"{what}: the model has dims named {', '.join(map(repr, clashing))}, which are "
            "the dims of draws",
            hint="rename the dims of the model",
        )


def broadcast(one: xr.DataArray, other: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Values of two arrays with the dims of both, in one order."""
    import xarray as xr

    left, right = xr.broadcast(one, other)
    return left.values, right.transpose(*left.dims).values
