"""Values between labels of a dim: at other labels, or at numbers that a tensor holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Coords, Dim, dim_labels
from dimtensor.errors import LabelError
from dimtensor.graph.rebuilding.substitute import relabel_node
from dimtensor.tensor.along.coordinates import coordinate
from dimtensor.tensor.along.statistics import searchsorted
from dimtensor.tensor.handle import TensorHandle, as_node, elemwise, wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.selection.reindex import moved_to
from dimtensor.values.labelled import is_dataarray

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def interpolated(x: DimTensor, along: Dim, new: Any, method: str) -> DimTensor:
    """Values at new labels along a dim, or at those that a tensor holds.

    Raises
    ------
    LabelError
        If labels are not known, or no numbers and no dates, or there are none.
    """
    if isinstance(new, TensorHandle) or is_dataarray(new):
        return _between_at(x, along, wrap(as_node(new, [], "interp")), method)
    if isinstance(new, Dim):
        return _between(x, along, new, method)
    one = np.ndim(new) == 0
    target = Dim(along.name, coords=_as_dates([new] if one else new, dim_labels(along)))
    result = _between(x, along, target, method)
    return result.isel({target: 0}) if one else result


def _as_dates(new: Any, known: Coords | None) -> Any:
    """Labels, strings as dates where the known labels are dates."""
    dates = known is not None and known.family in ("datetime", "zoned")
    if known is None or not dates or not all(isinstance(each, str) for each in new):
        return new
    import pandas as pd

    return pd.DatetimeIndex(new, tz=known.index.tz)


def _places(along: Dim) -> np.ndarray:
    """Labels between which others lie."""
    places = coordinate(along, "interp")
    if not len(places):
        raise LabelError(f"interp: {along.title} has no labels to lie between")
    return places


def _between_at(x: DimTensor, along: Dim, wanted: DimTensor, method: str) -> DimTensor:
    """Values at labels that a tensor holds, which have the slopes of the pieces."""
    places = _places(along)
    labels = dim_labels(along)
    if labels is None or labels.family != "number":
        raise LabelError(
            f"interp: a tensor holds numbers, and the labels of {along.title} are dates; "
            "give them as labels: x.interp({dim: dates})"
        )
    order = np.argsort(places, kind="stable")
    if method == "cubic":
        return _on_spline(x, along, wanted, places)
    rank = Dim(f"{along.short}:sorted", length=len(places))
    ordered = wrap(x.isel({along: data(order, dims=rank)}).node)
    sorted_places = data(places[order], dims=rank)
    last = len(places) - 1
    upper = elemwise("minimum", searchsorted(sorted_places, wanted, rank, side="right"), last)
    lower = elemwise("maximum", upper - 1, 0)
    low, high = (sorted_places.isel({rank: at}) for at in (lower, upper))
    below, above = (ordered.isel({rank: at}) for at in (lower, upper))
    share = (wanted - low) / elemwise("where", elemwise("greater", high, low), high - low, 1.0)
    if method == "nearest":
        value = elemwise("where", elemwise("less_equal", share, 0.5), below, above)
    else:
        value = below + (above - below) * share.astype(x.dtype)
        # no NaN of the other label's times 0
        for weight, end, other in ((0.0, below, above), (1.0, above, below)):
            exact = elemwise("equal", share, weight) & elemwise("isnan", other)
            value = elemwise("where", exact, end, value)
    outside = elemwise("less", wanted, places.min()) | elemwise("greater", wanted, places.max())
    outside = outside | elemwise("isnan", wanted)
    return elemwise("where", outside, np.nan, value)


def _between(x: DimTensor, along: Dim, target: Dim, method: str) -> DimTensor:
    places = _places(along)
    wanted = coordinate(target, "interp", like=dim_labels(along))
    if method == "cubic":
        return _of_spline(x, along, target, places, wanted)
    order = np.argsort(places, kind="stable")
    rank = np.clip(np.searchsorted(places[order], wanted, side="right") - 1, 0, len(places) - 1)
    low, high = order[rank], order[np.minimum(rank + 1, len(places) - 1)]
    gap = np.where(high == low, 1.0, places[high] - places[low])
    share = (wanted - places[low]) / gap
    outside = ~((wanted >= places.min()) & (wanted <= places.max()))
    below, above = (moved_to(x, along, at, target) for at in (low, high))
    if method == "nearest":
        value = elemwise("where", data(share <= 0.5, dims=target), below, above)
    else:
        value = below + (above - below) * data(share, dims=target).astype(x.dtype)
        exact = data(share == 0, dims=target)  # and not a NaN of the next label's times 0
        value = elemwise("where", exact, below, value)
    return elemwise("where", data(outside, dims=target), np.nan, value)


def _spline(along: Dim, places: np.ndarray) -> Any:
    """The spline through 1 at one label and 0 at all others, for each label.

    Splines are linear in the values that they go through.
    """
    from scipy.interpolate import CubicSpline

    if len(places) < 4:
        raise LabelError(
            f"interp: a cubic spline has four labels or more, {along.title} has {len(places)}"
        )
    order = np.argsort(places)
    return CubicSpline(places[order], np.eye(len(places))[order], extrapolate=False)


def _of_spline(
    x: DimTensor, along: Dim, target: Dim, places: np.ndarray, wanted: np.ndarray
) -> DimTensor:
    if target is along:
        return x
    weights = _spline(along, places)(wanted)
    known = along.rename(f"{along.short}:known")  # the name is that of the target
    x = wrap(relabel_node(x.node, (along, known)))
    return (x * data(weights, dims=[target, known]).astype(x.dtype)).sum(known)


def _on_spline(x: DimTensor, along: Dim, wanted: DimTensor, places: np.ndarray) -> DimTensor:
    """A spline at computed numbers: the polynomial of the piece that each lies in."""
    spline = _spline(along, places)
    piece = Dim(f"{along.short}:piece", length=len(places) - 1)
    starts = data(spline.x[:-1], dims=piece)
    last = len(places) - 2
    at = searchsorted(starts, wanted, piece, side="right") - 1
    at = elemwise("minimum", elemwise("maximum", at, 0), last)
    step = (wanted - starts.isel({piece: at})).astype(x.dtype)
    value: Any = 0.0
    for coefficients in spline.c:
        each = (x * data(coefficients, dims=[piece, along]).astype(x.dtype)).sum(along)
        value = value * step + each.isel({piece: at})
    outside = elemwise("less", wanted, places.min()) | elemwise("greater", wanted, places.max())
    return elemwise("where", outside | elemwise("isnan", wanted), np.nan, value)
