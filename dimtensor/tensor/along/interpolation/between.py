"""Interpolation at other labels, or at the values of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.arrays import has, ndim_of
from dimtensor.dims import Coords, Dim, dim_labels
from dimtensor.errors import DtypeError, LabelError, listing
from dimtensor.tensor.along.interpolation.coordinates import coordinate, numbers_of
from dimtensor.tensor.along.interpolation.methods import LOCAL, SLOPED, WHOLE, Method
from dimtensor.tensor.along.interpolation.slopes import slopes_at
from dimtensor.tensor.along.statistics import searchsorted
from dimtensor.tensor.handle import TensorHandle, as_node, elemwise, wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.selection.lookup import as_plain, is_mask
from dimtensor.tensor.selection.reindex import moved_to
from dimtensor.values.labeled import is_dataarray

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_DATES = ("datetime", "zoned", "timedelta", "cftime")


def interpolated(x: DimTensor, along: Dim, new: Any, method: Method) -> DimTensor:
    """Interpolate at new labels along a dim, or at the values of a tensor.

    Raises
    ------
    LabelError
        If labels are not known, neither numbers nor dates, or too few.
    """
    places = coordinate(along, "interp")
    if not len(places):
        raise LabelError(f"interp: {along._title} has no labels to lie between")
    method.require(along, len(places), "interp")
    labels = dim_labels(along)
    assert labels is not None
    if is_dataarray(new) and new.dtype.kind in "mM":
        numbers = numbers_of(Coords(new.values.ravel()), labels)
        new = new.copy(data=numbers.reshape(new.shape))
        return _value(x, along, places, _Computed(wrap(as_node(new, [x.node], "interp"))), method)
    if is_mask(new) or (has(new, "dtype") and str(new.dtype) == "bool"):
        raise DtypeError(f"interp: booleans are not labels of {along._title}; isel takes a mask")
    if isinstance(new, TensorHandle) or is_dataarray(new):
        if labels.family in _DATES:
            raise LabelError(
                f"interp: a tensor holds numbers, and the labels of {along._title} are dates; "
                "give them as labels: x.interp({dim: dates})"
            )
        return _value(x, along, places, _Computed(wrap(as_node(new, [], "interp"))), method)
    new = as_plain(new)
    one = not isinstance(new, (Dim, list, tuple, range)) and not ndim_of(new)
    if isinstance(new, Dim):
        target = new
    else:
        target = Dim(along.name, coords=_as_dates([new] if one else new, labels))
    wanted = _Known(target, coordinate(target, "interp", like=labels))
    result = _value(x, along, places, wanted, method)
    return result.isel({target: 0}) if one else result


def _as_dates(new: Any, known: Coords) -> Any:
    """Convert strings to dates if the known labels are dates."""
    dates = known.family in ("datetime", "zoned", "cftime")
    numbers = [each for each in new if isinstance(each, (int, float))]
    if dates and numbers:
        raise LabelError(
            f"interp: labels are dates, and these are numbers: {listing(numbers)}",
            hint="write dates: x.interp(day='2020-01-15')",
        )
    if not dates or not all(isinstance(each, str) for each in new):
        return new
    found = known.parsed(Coords(new), "interp")
    unread = [text for text, date in zip(new, found.index, strict=True) if date != date]
    if unread:
        raise LabelError(f"interp: these are no dates: {listing(unread)}")
    return found.index


class _Known:
    """Targets that are labels; NumPy computes with them when the expression is built."""

    def __init__(self, target: Dim, value: np.ndarray):
        self.value = value
        self._target = target

    def piece(self, starts: np.ndarray) -> Any:
        """Return the last of ascending numbers up to each target; the first for earlier targets."""
        return np.maximum(np.searchsorted(starts, self.value, side="right") - 1, 0)

    def next(self, at: Any, last: int) -> Any:
        """Return the next position, at most the last one."""
        return np.minimum(at + 1, last)

    def known(self, values: np.ndarray, at: Any) -> Any:
        """Return known values at positions."""
        return values[at]

    def take(self, x: DimTensor, dim: Dim, at: Any) -> DimTensor:
        """Return elements at positions."""
        return moved_to(x, dim, at, self._target)

    def tensor(self, value: Any) -> DimTensor:
        """Convert the targets, or numbers computed from them, to a tensor."""
        return data(value, dims=self._target)

    def tensor_along(self, value: Any, dim: Dim) -> DimTensor:
        """Convert known values along a further dim to a tensor."""
        return data(value, dims=[self._target, dim])


class _Computed:
    """Targets that are the values of a tensor, with the methods of `_Known`."""

    def __init__(self, value: DimTensor):
        self.value = value

    def piece(self, starts: np.ndarray) -> Any:
        dim = Dim("interp:piece", length=len(starts))
        at = searchsorted(data(starts, dims=dim), self.value, dim, side="right") - 1
        return elemwise("minimum", elemwise("maximum", at, 0), len(starts) - 1)

    def next(self, at: Any, last: int) -> Any:
        return elemwise("minimum", at + 1, last)

    def known(self, values: np.ndarray, at: Any) -> Any:
        dim = Dim("interp:known", length=len(values))
        return data(values, dims=dim).isel({dim: at})

    def take(self, x: DimTensor, dim: Dim, at: Any) -> DimTensor:
        return x.isel({dim: at})

    def tensor(self, value: Any) -> DimTensor:
        return value


_Wanted = _Known | _Computed


def _value(
    x: DimTensor, along: Dim, places: np.ndarray, wanted: _Wanted, method: Method
) -> DimTensor:
    order = np.argsort(places, kind="stable")
    rank = Dim(f"{along._short}:sorted", length=len(places))
    ordered, places = moved_to(x, along, order, rank), places[order]
    if method.name in LOCAL:
        value = _local(ordered, rank, places, wanted, method.name)
    elif method.name in SLOPED:
        value = _hermite(ordered, rank, places, wanted, method.name)
    elif isinstance(wanted, _Known):
        value = _weighted(ordered, rank, places, wanted, method)
    elif method.name in WHOLE:
        value = _newton(ordered, rank, places, wanted)
    else:
        value = _pieces(ordered, rank, places, wanted, method)
    return _with_ends(value, wanted, places, method)


def _with_ends(value: DimTensor, wanted: _Wanted, places: np.ndarray, method: Method) -> DimTensor:
    """Replace values beyond the ends by their filling."""
    at = wanted.value
    nothing = np.isnan(at) if isinstance(wanted, _Known) else elemwise("isnan", at)
    if method.ends is None:
        return elemwise("where", wanted.tensor(nothing), np.nan, value)
    before, after = method.ends
    if before is np.nan and after is np.nan:
        outside = nothing | (at < places[0]) | (at > places[-1])
        return elemwise("where", wanted.tensor(outside), np.nan, value)
    for beyond, end in ((at < places[0], before), (at > places[-1], after), (nothing, np.nan)):
        value = elemwise("where", wanted.tensor(beyond), end, value)
    return value


def _local(x: DimTensor, rank: Dim, places: np.ndarray, wanted: _Wanted, method: str) -> DimTensor:
    """Interpolate from the two adjacent elements."""
    if method == "zero":
        return wanted.take(x, rank, wanted.piece(places))
    n = len(places)
    at = wanted.piece(places[: max(n - 1, 1)])
    gaps = np.append(np.diff(places), 1.0)
    gaps[gaps == 0.0] = 1.0
    share = wanted.tensor((wanted.value - wanted.known(places, at)) / wanted.known(gaps, at))
    below, above = (wanted.take(x, rank, each) for each in (at, wanted.next(at, n - 1)))
    if method == "nearest":
        return elemwise("where", elemwise("less_equal", share, 0.5), below, above)
    value = below + (above - below) * share.astype(x.dtype)
    undefined = elemwise("isnan", value)  # NaN of the other label times 0 is NaN
    for weight, end in ((0.0, below), (1.0, above)):
        value = elemwise("where", elemwise("equal", share, weight) & undefined, end, value)
    return value


def _hermite(
    x: DimTensor, rank: Dim, places: np.ndarray, wanted: _Wanted, method: str
) -> DimTensor:
    """Interpolate by cubic Hermite pieces with given slopes at labels."""
    slopes = slopes_at(x, rank, places, method)
    at = wanted.piece(places[:-1])
    gap = wanted.tensor(wanted.known(np.diff(places), at)).astype(x.dtype)
    step = wanted.tensor(wanted.value - wanted.known(places, at)).astype(x.dtype)
    after = wanted.next(at, len(places) - 1)
    low, high = wanted.take(x, rank, at), wanted.take(x, rank, after)
    first, last = wanted.take(slopes, rank, at), wanted.take(slopes, rank, after)
    rise = (high - low) / gap
    bend = (first + last - 2 * rise) / gap
    return low + step * (first + step * ((rise - first) / gap - bend + step * (bend / gap)))


def _basis(method: Method, places: np.ndarray) -> Any:
    """Return the cardinal curves: 1 at one label and 0 at all others.

    Interpolation is linear in the elements, so it is a sum of cardinal curves.
    """
    return method.curve(places, np.eye(len(places)))


def _weighted(
    x: DimTensor, rank: Dim, places: np.ndarray, wanted: _Known, method: Method
) -> DimTensor:
    weights = wanted.tensor_along(_basis(method, places)(wanted.value), rank)
    return (x * weights.astype(x.dtype)).sum(rank)


def _pieces(
    x: DimTensor, rank: Dim, places: np.ndarray, wanted: _Wanted, method: Method
) -> DimTensor:
    """Evaluate a spline at symbolic numbers, piece by piece."""
    spline, order = _basis(method, places), method.order
    assert order is not None
    starts = np.unique(spline.t[order : len(spline.t) - order])[:-1]
    piece = Dim(f"{rank._short}:piece", length=len(starts))
    at = wanted.piece(starts)
    step = wanted.tensor(wanted.value - wanted.known(starts, at)).astype(x.dtype)
    value: Any = 0.0
    factorial = float(np.prod(np.arange(1, order + 1)))
    for power in range(order, -1, -1):
        coefficients = spline(starts, nu=power) / factorial
        factorial /= max(power, 1)
        each = (x * data(coefficients, dims=[piece, rank]).astype(x.dtype)).sum(rank)
        value = value * step + each.isel({piece: at})
    return value


def _newton(x: DimTensor, rank: Dim, places: np.ndarray, wanted: _Wanted) -> DimTensor:
    """Evaluate the polynomial through all elements at symbolic numbers, by divided differences."""
    n = len(places)
    differences = np.eye(n)
    for step in range(1, n):
        gap = places[step:] - places[:-step]
        differences[step:] = (differences[step:] - differences[step - 1 : -1]) / gap[:, None]
    value: Any = 0.0
    for at in range(n - 1, -1, -1):
        each = (x * data(differences[at], dims=rank).astype(x.dtype)).sum(rank)
        value = value * (wanted.value - places[at]).astype(x.dtype) + each
    return value
