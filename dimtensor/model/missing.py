"""Observations: values of random variables, some of which may be missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.arrays import array_of, is_masked, is_missing
from dimtensor.dims import Dim, dim_labels
from dimtensor.dist.supports import Support
from dimtensor.errors import InputError, OptionError, listing
from dimtensor.graph import Node
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.rebuilding.parents import plain
from dimtensor.graph.rebuilding.substitute import relabel_node
from dimtensor.graph.walk import toposort
from dimtensor.model.observations import Observation, StreamedObservation
from dimtensor.model.predictive.generation import admitted, held
from dimtensor.model.sliced.observed import PossibleObservations
from dimtensor.streams.stream import as_values, stream_of
from dimtensor.tensor.elementwise import where
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data as make_data
from dimtensor.tensor.inputs import tensor
from dimtensor.values.labeled import is_dataarray, is_pandas, labels_of, with_attributes

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor

HOW = ("drop", "infer")


def read_observation(node: Node, value: Any, missing: str | None) -> Observation:
    """Read and check the observations of a variable.

    Raises
    ------
    InputError
        If some are NaN and nothing is said of missing ones, or those of a discrete variable are not
        whole numbers.
    """
    if missing is not None and missing not in HOW:
        raise OptionError(f"observe: missing is {listing(HOW)} or None, not {missing!r}")
    stream = stream_of(value)
    if stream is not None:
        if missing is not None:
            raise OptionError(
                f"observe: missing observations of {node.name!r} are not searched in a stream",
                hint="leave these rows out of the source",
            )
        return StreamedObservation(as_values(node, stream, PossibleObservations(node, stream.dims)))
    whole = not is_float(node.dtype)
    found = _labels(node, value) if node.categories is not None else _numbers(node, value)
    incomplete = not found.complete
    if incomplete and missing is None:
        absent = found.array.isnull()
        raise InputError(
            f"observations of {node.name!r} are missing: {int(absent.sum())} of {absent.size}",
            [("at", listing(places(absent)))],
            "observe(..., missing='drop') leaves them out of the density, missing='infer' "
            "makes them parameters",
        )
    if node.categories is not None:
        return found
    finite = whole and node.attrs.spec.build(node.inputs).support.is_bounded
    if missing == "infer" and incomplete and not finite and (whole or not found.values.ndim):
        why = "is discrete, and no gradient tells where to move it" if whole else "has no dims"
        raise InputError(
            f"observe: missing values of {node.name!r} cannot be inferred: it {why}",
            hint="missing='drop' leaves them out" if whole else "leave it out of observe",
        )
    if whole:
        broken = found.values[np.isfinite(found.values) & (found.values != np.floor(found.values))]
        if broken.size:
            raise InputError(
                f"observations of {node.name!r} are whole numbers, not {broken[0].item():g}"
            )
        if not incomplete:
            found = found.astype(node.dtype)
    return found


def refuse_readers(
    node: Node, value: Observation, readers: Mapping[str, Node], missing: str | None
) -> None:
    """Refuse to leave values out that something else is computed from.

    Raises
    ------
    InputError
        With what reads them: at missing values it would read some other number.
    """
    if missing != "drop" or value.complete:
        return
    reading = [n for n, other in readers.items() if other is not node and node in toposort([other])]
    if reading:
        raise InputError(
            f"observe: missing values of {node.name!r} cannot be left out: other variables "
            "depend on them",
            [
                ("read by", listing(reading)),
                ("missing at", listing(places(value.array.isnull()))),
            ],
            "missing='infer' makes them unknowns",
        )


def _numbers(node: Node, value: Any) -> Observation:
    whole = not is_float(node.dtype)
    return _read(tensor(node.name, node.dims, "float64").node if whole else node, value)


def _read(node: Node, value: Any) -> Observation:
    """Read a value; its labels are checked at once if it has any."""
    plain = is_dataarray(value) or is_pandas(value) or hasattr(value, "node")
    found = held(node, value)
    if not plain or found.numbered:
        return Observation(found)
    array = found.labeled(found.values)
    return Observation(with_attributes(array, value) if is_dataarray(value) else array)


def _labels(node: Node, value: Any) -> Observation:
    """Read labels, or positions if there are none; NaN for missing ones."""
    plain, absent = _apart(value, first_of(node))
    if plain is None:
        return _read(node, value)
    gone = tensor(node.name, node.dims, "float64").node
    if not hasattr(value, "isnull"):
        known = held(node, plain)
        dates = known.values.dtype.kind in "mM"  # as objects they may be integers
        values = known.values if dates else known.values.astype(object)
        values[held(gone, absent).values != 0] = "NaT" if dates else np.nan
        return Observation(known, values)
    known, where = held(node, plain), admitted(gone, absent)
    found = known.labeled(known.values)
    found = found if found.dtype.kind in "mM" else found.astype(object)
    found = found.where(where.transpose(*found.dims) == 0)
    return Observation(found, numbered=known.numbered)


def first_of(node: Node) -> Any:
    """Return the first value that a variable of labels can have."""
    dim = node.categories
    assert dim is not None
    return 0 if dim.coords is None else dim.coords[0]


def _apart(value: Any, other: Any) -> tuple[Any, Any]:
    """Values with another one where they are missing, and 1 there; None if none is."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], (tuple, list)):
        plain, absent = _apart(value[1], other)
        return (None, None) if plain is None else ((value[0], plain), (value[0], absent))
    if hasattr(value, "isnull") and not hasattr(value, "loc"):  # an Index or array of pandas
        value = np.asarray(value)
    if hasattr(value, "isnull"):
        absent = value.isnull()
        if not absent.to_numpy().any():
            return None, None
        if getattr(value.dtype, "kind", "") in "mM":
            return value.where(~absent, other), absent.astype(float)
        plain = value.astype(object).where(~absent, other)
        array = plain.to_numpy()
        plain = plain.astype(np.array(array.ravel().tolist()).dtype)
        return plain, absent.astype(float)
    if is_masked(value) or isinstance(value, (list, tuple)):
        value = array_of(value, "the observations")
    if isinstance(value, np.ndarray) and value.dtype.kind in "mM":
        gone = np.isnat(value)
        found = np.where(gone, np.asarray(other, dtype=value.dtype), value)
        return (found, gone.astype(float)) if gone.any() else (None, None)
    array = np.asarray(value, dtype=object)
    gone = np.array([is_missing(x) for x in array.ravel()], bool).reshape(array.shape)
    if not gone.any():
        return None, None
    plain = np.where(gone, other, array)
    return np.array(plain.ravel().tolist()).reshape(array.shape), gone.astype(float)


def places(absent: xr.DataArray) -> list[str]:
    places = []
    for position in np.argwhere(absent.values):
        labels = [
            f"{dim}={absent.indexes[dim][at] if dim in absent.indexes else at}"
            for dim, at in zip(absent.dims, position, strict=True)
        ]
        places.append(", ".join(labels) or "the only value")
    return places


def filled(node: Node, known: Observation) -> Observation:
    """Observations in which missing ones are another value, at which densities are finite."""
    if node.categories is not None:
        return known if known.complete else known.filled(first_of(node))
    if not known.complete:
        there = known.values[np.isfinite(known.values)]
        known = known.filled(there[0] if there.size else 0.0)
    return known.astype(node.dtype)


def evidence(x: DimTensor, observed: Observation) -> DimTensor:
    """0 where a variable has the value that was observed, or where none was; -inf elsewhere."""
    there = observed.there
    dims = x.dims
    if x.node.categories is not None:
        known = filled(x.node, observed).given
        known = make_data(known, dims=dims, categories=x.node.categories)
    else:
        known = make_data(observed.filled(0).astype(x.dtype).given, dims=dims)
    return where(make_data(there, dims=dims) & (x != known), -math.inf, 0.0)


def missing_name(name: str) -> str:
    """Return the name of the parameter of missing values."""
    return f"{name}_missing"


def with_missing(node: Node, observed: Observation) -> tuple[DimTensor, DimTensor | None]:
    """Observations with a parameter in the place of missing ones, and the parameter.

    It has the dim of the observations, or the product of them, at the missing positions, with
    their labels; positions are the labels along dims without.
    """
    known = make_data(filled(node, observed).given, node.dims, node.name, dtype=node.dtype)
    value = observed.array
    absent = _absent(node, value)
    if not absent.any():
        return known, None
    pairs = _with_labels(node, value)
    own = [dim for dim in node.dims if dim._within is not None and dim not in dict(pairs)]
    pairs = [*pairs, *((dim, plain(dim)) for dim in own)]
    part = _at(absent, wrap(relabel_node(known.node, *pairs)))
    unknown = tensor(missing_name(str(node.name)), part.dims, node.dtype)
    whole = part.set(unknown)
    whole = whole if absent.ndim == 1 else whole.unravel()
    return wrap(relabel_node(whole.node, *((new, old) for old, new in pairs))), unknown


def _absent(node: Node, value: xr.DataArray) -> np.ndarray:
    return value.isnull().transpose(*(dim._short for dim in node.dims)).values


def _at(absent: np.ndarray, x: DimTensor) -> DimTensor:
    """Select missing elements of a tensor, along one dim."""
    flat = x if absent.ndim == 1 else x.ravel()
    return flat.isel({flat.dims[0]: np.flatnonzero(absent.ravel())})


def _with_labels(node: Node, value: xr.DataArray) -> list[tuple[Dim, Dim]]:
    """Pair the dims of a variable without labels with labeled ones, as of its observations."""
    found = []
    for dim in (dim for dim in node.dims if dim_labels(dim) is None):
        index = value.indexes.get(dim._short)
        labels = range(value.sizes[dim._short]) if index is None else labels_of(index)
        found.append((dim, Dim(dim._short, coords=labels)))
    return found


def support_of_missing(support: Support, node: Node, value: xr.DataArray) -> Support:
    """Return the support of missing values: that of the variable at their positions.

    Raises
    ------
    InputError
        If elements of the variable determine each other, such as shares that add up to 1.
    """
    if not support.is_elementwise:
        raise InputError(
            f"observe: missing values of {node.name!r} cannot be inferred: its elements "
            f"determine each other ({support})",
            [("missing at", listing(places(value.isnull())))],
            "leave the variable out of observe: all of it is a parameter then",
        )
    if not any(x.dims for x in support.tensors):
        return support
    whole = make_data(filled(node, Observation(value)).given, node.dims, dtype=node.dtype)
    absent, pairs = _absent(node, value), _with_labels(node, value)
    return support.map_tensors(
        lambda x: _at(absent, wrap(relabel_node((0.0 * whole + x).node, *pairs)))
    )


def completed(
    node: Node, observed: xr.DataArray, unknown: xr.DataArray, leading: Sequence[str]
) -> xr.DataArray:
    """Observations with draws of the missing ones in their places, which have the leading dims."""
    import xarray as xr

    observed = observed.transpose(*(dim._short for dim in node.dims))
    drawn = unknown.transpose(*leading, ...).values
    values = np.broadcast_to(observed.values, (*drawn.shape[: len(leading)], *observed.shape))
    values = values.copy()
    values[..., observed.isnull().values] = drawn
    return xr.DataArray(values, observed.coords, (*leading, *observed.dims), node.name)


def left(values: xr.DataArray, observed: xr.DataArray) -> xr.DataArray:
    """Drop the elements of `values` whose observation is missing.

    Several dims become one, whose labels are those of the elements that are left; along dims
    without labels these are positions.
    """
    absent = observed.isnull()
    if not bool(absent.any()):
        return values
    dims = observed.dims
    there = np.flatnonzero(~absent.values.ravel())
    if len(dims) == 1:
        (dim,) = dims
        if dim not in values.coords:
            values = values.assign_coords({dim: np.arange(values.sizes[dim])})
        return values.isel({dim: there})
    stacked = "_".join(map(str, dims))
    while stacked in values.dims:
        stacked += "_"
    others = [dim for dim in values.dims if dim not in dims]
    return values.transpose(*others, *dims).stack({stacked: dims}).isel({stacked: there})
