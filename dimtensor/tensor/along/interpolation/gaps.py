"""Interpolation of missing elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, dim_labels, without
from dimtensor.errors import GraphError, OptionError
from dimtensor.tensor.along.interpolation.coordinates import coordinate
from dimtensor.tensor.along.interpolation.methods import LOCAL, Method
from dimtensor.tensor.along.places import nearest_to, taken_at
from dimtensor.tensor.along.time import pd_timedelta
from dimtensor.tensor.constructors import arange, full, length
from dimtensor.tensor.control.loops import cumulate
from dimtensor.tensor.handle import elemwise
from dimtensor.tensor.inputs import data

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def last_present(x: DimTensor, along: Dim) -> DimTensor:
    """Return the position of the last valid element up to each one, -1 for none."""
    present = elemwise("logical_not", elemwise("isnan", x))
    places = elemwise("where", present, arange(along), -1)
    start = full(without(places.dims, (along,)), -1, "int64")
    return cumulate(lambda last, at: elemwise("maximum", last, at), start, places, along)


def next_present(x: DimTensor, along: Dim) -> DimTensor:
    """Return the position of the next valid element from each one on; the length for none."""
    present = elemwise("logical_not", elemwise("isnan", x))
    end = length(along)
    places = elemwise("where", present, arange(along), end)
    start = full(without(places.dims, (along,)), end)
    return cumulate(
        lambda found, at: elemwise("minimum", found, at), start, places, along, reverse=True
    )


def gaps_filled(
    x: DimTensor, along: Dim, method: Method, limit: int | None, by_labels: bool, max_gap: Any
) -> DimTensor:
    """Fill gaps of missing elements.

    Parameters
    ----------
    x : DimTensor
    along : Dim
    method : Method
    limit : int, optional
        Largest number of consecutive elements to fill.
    by_labels : bool
        Whether to interpolate along labels, or along positions.
    max_gap : optional
        Largest gap to fill.
    """
    if by_labels:
        places = data(coordinate(along, "interpolate_na", "use_coordinate=False"), dims=along)
    else:
        places = arange(along).astype("float64")
    missing = elemwise("isnan", x)
    before, after = last_present(x, along), next_present(x, along)
    if method.name in LOCAL:
        filled = _local(x, along, places, before, after, method)
    else:
        filled = _known(x, along, places, method)
    fits = missing
    if limit is not None:
        fits = fits & elemwise("less_equal", arange(along) - before, limit)
    if max_gap is not None:
        ends = [nearest_to(places, along, at, np.nan) for at in (before, after)]
        fits = fits & elemwise("less_equal", ends[1] - ends[0], _length(max_gap, along, by_labels))
    return elemwise("where", fits, filled, x)


def _length(max_gap: Any, along: Dim, by_labels: bool) -> float:
    """Return the longest gap to fill, in the unit of the labels."""
    labels = dim_labels(along)
    if by_labels and labels is not None and labels.family != "number":
        return pd_timedelta(max_gap, "interpolate_na: max_gap").total_seconds()
    if isinstance(max_gap, bool) or not isinstance(max_gap, (int, float, np.number)):
        raise OptionError(f"interpolate_na: max_gap is a number here, not {max_gap!r}")
    return float(max_gap)


def _local(
    x: DimTensor, along: Dim, places: DimTensor, before: DimTensor, after: DimTensor, method: Method
) -> DimTensor:
    """Interpolate from the elements on both sides of a gap."""
    n = length(along)
    first, last = elemwise("less", before, 0), elemwise("greater_equal", after, n)
    low, high = before, after
    straight = method.name in ("linear", "slinear")
    if straight and method.goes_on:  # extrapolate at the ends
        second = taken_at(after, along, after + 1, n)
        one_before = taken_at(before, along, before - 1, -1)
        low = elemwise("where", first, after, elemwise("where", last, one_before, before))
        high = elemwise("where", first, second, elemwise("where", last, before, after))
    elif method.goes_on:
        low = elemwise("where", first, after, before)
        high = elemwise("where", last, before, after)
    there = elemwise("greater_equal", low, 0) & elemwise("less", high, n)
    below, above = (nearest_to(x, along, at, np.nan) for at in (low, high))
    if method.name == "zero":
        value = below
    else:
        begin, end = (nearest_to(places, along, at, np.nan) for at in (low, high))
        apart = there & elemwise("greater", high, low)
        gap = elemwise("where", apart, end - begin, 1.0)
        share = elemwise("where", apart, places - begin, 0.0) / gap
        if method.name == "nearest":
            value = elemwise("where", elemwise("less_equal", share, 0.5), below, above)
        else:
            value = below + (above - below) * share.astype(x.dtype)
    value = elemwise("where", there, value, np.nan)
    if method.ends is not None:
        for beyond, filling in zip((first, last), method.ends, strict=True):
            if filling is not np.nan:
                value = elemwise("where", beyond, filling, value)
    if method.ends is not None and all(each is np.nan for each in method.ends):
        return value
    some = elemwise("logical_not", elemwise("isnan", x)).astype("int64").sum(along)
    return elemwise("where", elemwise("greater", some, 1), value, x)


def _known(x: DimTensor, along: Dim, places: DimTensor, method: Method) -> DimTensor:
    """Interpolate known values by the curve through all valid elements."""
    known = x.known_values()
    if known is None:
        raise GraphError(
            f"interpolate_na: method={method.name!r} needs to know which elements are missing, "
            "and these are not known before a call",
            hint="methods 'linear', 'nearest' and 'zero' need not",
        )
    wanted = np.asarray(places.values, dtype=float)
    table = known.transpose(along.name, ...)
    rows = table.values.reshape(len(wanted), -1).copy()
    for row in rows.T:
        _fill(row, wanted, along, method)
    others = without(x.dims, (along,))
    order = [along, *(dim for name in table.dims[1:] for dim in others if dim.name == name)]
    return data(rows.reshape(table.shape), dims=order)


def _fill(row: np.ndarray, places: np.ndarray, along: Dim, method: Method) -> None:
    missing = np.isnan(row)
    there = np.flatnonzero(~missing)
    there = there[np.argsort(places[there], kind="stable")]
    if len(there) < 2 or not missing.any():
        return
    method.require(along, len(there), "interpolate_na")
    at = places[missing]
    found = np.asarray(method.curve(places[there], row[there])(at), dtype=row.dtype)
    if method.ends is not None:
        found[at < places[there[0]]] = method.ends[0]
        found[at > places[there[-1]]] = method.ends[1]
    row[missing] = found
