"""Labels as numbers: distances, slopes, areas, values between them; and their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Coords, Dim, find_dim
from dimtensor.errors import InputError, LabelError, build_message, did_you_mean, listing
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import TensorHandle, elemwise, require_float, wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.selection.indexing import gathered
from dimtensor.tensor.selection.reindex import moved_to

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_UNITS = {"D": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9,
          "W": 604800.0}  # fmt: skip


def coordinate(
    dim: Dim, what: str, otherwise: str = "", unit: str = "s", like: Coords | None = None
) -> np.ndarray:
    """The labels of a dim as numbers; dates in a unit from the first label.

    Raises
    ------
    LabelError
        If they are not known, or neither numbers nor dates.
    """
    labels = dim._labels()
    if labels is None or labels.family not in ("number", "datetime", "timedelta", "zoned"):
        known = "not known before data arrives" if labels is None else "no numbers and no dates"
        raise LabelError(
            build_message(
                f"{what}: the labels of {dim.title} are {known}",
                [("dim", repr(dim))],
                f"{otherwise} counts positions" if otherwise else "",
            )
        )
    if labels.family == "number":
        return np.asarray(labels.values, dtype=float)
    if unit not in _UNITS:
        raise InputError(f"{what}: there is no unit {unit!r}{did_you_mean(unit, list(_UNITS))}")
    origin = (like or labels).index
    if not len(labels) or not len(origin):
        return np.zeros(len(labels))
    since = labels.index - origin[0]
    return np.asarray(since / np.timedelta64(1, "ns"), dtype=float) * 1e-9 / _UNITS[unit]


class LabelMixin(TensorHandle):
    """What is computed with the labels of a dim as numbers, or by their order."""

    __slots__ = ()

    def differentiate(self, dim: Dim | str, datetime_unit: str = "s") -> DimTensor:
        """Slopes along the labels of a dim, by differences of neighbours.

        Parameters
        ----------
        dim : Dim or str
            With numbers or dates as labels.
        datetime_unit : str
            Dates are counted in it: ``"D"``, ``"h"``, ``"s"``, …

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the dim is not there.
        LabelError
            If its labels are not known, no numbers and no dates, or fewer than two.

        Notes
        -----
        Inside, the slope of the parabola through three points; at the ends the difference of two,
        as ``numpy.gradient`` and xarray have it.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([0.0, 1.0, 9.0], dims=dt.Dim("t", coords=[0, 1, 3]))
        >>> x.differentiate("t").values.tolist()
        [1.0, 2.0, 4.0]
        """
        along = find_dim(self.dims, dim, "differentiate")
        places = coordinate(along, "differentiate", unit=datetime_unit)
        n = len(places)
        if n < 2:
            raise LabelError(f"differentiate: {along.title} has {n} labels, two are needed")
        weights = _slopes(places)
        x = wrap(require_float(self.node))
        terms = []
        for offset in (-1, 0, 1):
            at = np.clip(np.arange(n) + offset, 0, n - 1)
            terms.append(
                moved_to(x, along, at, along)
                * data(weights[offset + 1], dims=along).astype(x.dtype)
            )
        return say(terms[0] + terms[1] + terms[2], "differentiate", self, along=along)

    def integrate(self, dim: Dim | str, datetime_unit: str = "s") -> DimTensor:
        """Area along the labels of a dim, by trapezoids.

        Parameters
        ----------
        dim : Dim or str
            With numbers or dates as labels.
        datetime_unit : str
            Dates are counted in it.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the dim is not there.
        LabelError
            If its labels are not known, or no numbers and no dates.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([0.0, 1.0, 1.0], dims=dt.Dim("t", coords=[0, 1, 3])).integrate("t").item()
        2.5
        """
        along = find_dim(self.dims, dim, "integrate")
        steps = np.diff(coordinate(along, "integrate", unit=datetime_unit))
        weights = np.zeros(len(along))
        if len(along) > 1:
            weights[:-1] += steps / 2
            weights[1:] += steps / 2
        x = wrap(require_float(self.node))
        area = (x * data(weights, dims=along).astype(x.dtype)).sum(along)
        return say(area, "integrate", self, along=along)

    def interp(
        self,
        coords: Mapping[Any, Any] | None = None,
        method: str = "linear",
        **by_name: Any,
    ) -> DimTensor:
        """Values between labels that are numbers or dates.

        Parameters
        ----------
        coords : dict of Dim or str to Dim or labels, optional
            New labels along dims; one label takes the dim away.
        method : {"linear", "nearest"}
        **by_name

        Returns
        -------
        DimTensor
            NaN outside of the labels that there are.

        Raises
        ------
        DimError
            If a dim is not there.
        LabelError
            If labels are not known, or no numbers and no dates, or there are none.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([0.0, 1.0, 3.0], dims=dt.Dim("t", coords=[0, 1, 2]))
        >>> x.interp(t=[0.5, 1.5]).values.tolist(), x.interp(t=0.25).item()
        ([0.5, 2.0], 0.25)
        """
        if method not in ("linear", "nearest"):
            raise InputError(f"interp: the method is 'linear' or 'nearest', not {method!r}")
        result = wrap(require_float(self.node))
        for key, new in gathered(coords, by_name, "interp", "labels").items():
            along = find_dim(result.dims, key, "interp")
            one = not isinstance(new, Dim) and np.ndim(new) == 0
            target = new if isinstance(new, Dim) else Dim(along.name, coords=[new] if one else new)
            result = _between(result, along, target, method)
            if one:
                result = result.isel({target: 0})
        return say(result, "interp", self)

    def sortby(self, key: Any, ascending: bool = True) -> DimTensor:
        """Elements in the order of labels, or of another tensor.

        Parameters
        ----------
        key : Dim, str or DimTensor
            A dim, to be sorted by its labels, or a tensor along one dim.
        ascending : bool

        Returns
        -------
        DimTensor
            Labels stay with their elements, where the order is known when the expression is built:
            by labels or by data. Otherwise on ``SortedDim(dim)``, which has none.

        Raises
        ------
        DimError
            If the tensor lacks the dim, or the key has not exactly one.
        LabelError
            If the labels are not known.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k", coords=["b", "c", "a"]))
        >>> x.sortby("k").values.tolist(), x.sortby("k").dims[0].coords.tolist()
        ([3.0, 1.0, 2.0], ['a', 'b', 'c'])
        """
        x = wrap(self.node)
        if isinstance(key, TensorHandle):
            if len(key.dims) != 1:
                raise InputError(f"sortby: a key has one dim, not {len(key.dims)}")
            along = find_dim(self.dims, key.dims[0], "sortby")
            if key.node.kind != "data":
                by = wrap(key.node).codes if key.categories is not None else wrap(key.node)
                order = (by if ascending else -by).argsort(along)
                return x.isel({along: order})
            numbers = key.node.attrs.values
            return _in_order(x, along, np.argsort(numbers, kind="stable"), ascending)
        along = find_dim(self.dims, key, "sortby")
        labels = along._labels()
        if labels is None:
            raise LabelError(f"sortby: the labels of {along.title} are not known")
        return _in_order(x, along, labels.index.argsort(kind="stable"), ascending)

    def drop_sel(self, labels: Mapping[Any, Any] | None = None, **by_name: Any) -> DimTensor:
        """All labels along dims but these.

        Parameters
        ----------
        labels : dict of Dim or str to label or labels, optional
        **by_name

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there.
        LabelError
            If a label is not there, or the labels of a dim are not known.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k", coords=["a", "b", "c"]))
        >>> x.drop_sel(k="b").values.tolist()
        [1.0, 3.0]
        """
        result = wrap(self.node)
        for key, given in gathered(labels, by_name, "drop_sel", "labels").items():
            along = find_dim(result.dims, key, "drop_sel")
            known = along._labels()
            if known is None:
                raise LabelError(f"drop_sel: the labels of {along.title} are not known")
            several = [given] if isinstance(given, (str, bytes)) or np.ndim(given) == 0 else given
            gone = known.positions(several, along.title)
            result = result.isel({along: np.delete(np.arange(len(known)), gone)})
        return result

    def drop_isel(self, positions: Mapping[Any, Any] | None = None, **by_name: Any) -> DimTensor:
        """All positions along dims but these.

        Parameters
        ----------
        positions : dict of Dim or str to int or list of int, optional
        **by_name

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there, or its length is not known.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k", length=3)).drop_isel(k=-1).values.tolist()
        [1.0, 2.0]
        """
        result = wrap(self.node)
        for key, given in gathered(positions, by_name, "drop_isel", "positions").items():
            along = find_dim(result.dims, key, "drop_isel")
            n = len(along)
            gone = np.atleast_1d(np.asarray(given, dtype=np.int64))
            outside = gone[(gone >= n) | (gone < -n)]
            if outside.size:
                raise LabelError(
                    f"drop_isel: {along.title} of length {n} has no positions {listing(outside)}"
                )
            result = result.isel({along: np.delete(np.arange(n), gone)})
        return result

    def isin(self, test_elements: Any) -> DimTensor:
        """Whether each element is one of some values.

        Parameters
        ----------
        test_elements : list or array of numbers or labels

        Returns
        -------
        DimTensor
            Of bools, with the dims of the tensor.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1, 2, 3], dims=dt.Dim("k")).isin([3, 1]).values.tolist()
        [True, False, True]
        """
        from dimtensor.tensor.constructors import zeros

        values = np.asarray(test_elements).ravel()
        result = zeros(self.dims, "bool")
        for value in dict.fromkeys(values.tolist()):
            if self.categories is not None and value not in self.categories:
                continue
            result = result | elemwise("equal", self, value)
        return say(result, "isin", self)

    @property
    def loc(self) -> Loc:
        """Selection by label in brackets: ``x.loc[{"country": "Italy"}]`` is ``x.sel(...)``.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0], dims=dt.Dim("k", coords=["a", "b"]))
        >>> x.loc[{"k": "b"}].item(), x.loc["a"].item()
        (2.0, 1.0)
        """
        return Loc(wrap(self.node))


class Loc:
    """Selection by label in brackets, made by :attr:`DimTensor.loc`."""

    def __init__(self, x: DimTensor):
        self._x = x

    def __getitem__(self, key: Any) -> DimTensor:
        """Select by label: a dict by dim, or a label or labels where there is one dim."""
        if isinstance(key, Mapping):
            return self._x.sel(key)
        if len(self._x.dims) != 1:
            raise LabelError(
                build_message(
                    "dims have no order, so loc takes labels by dim",
                    [("dims", list(self._x.sizes))],
                    'x.loc[{"country": "Italy"}]',
                )
            )
        return self._x.sel({self._x.dims[0]: key})


def _in_order(x: DimTensor, along: Dim, order: np.ndarray, ascending: bool) -> DimTensor:
    return x.isel({along: order if ascending else order[::-1]})


def _slopes(places: np.ndarray) -> np.ndarray:
    """Weights of the element before, the element itself, and the one after."""
    n = len(places)
    weights = np.zeros((3, n))
    steps = np.diff(places)
    before, after = steps[:-1], steps[1:]
    weights[0, 1:-1] = -after / (before * (before + after))
    weights[1, 1:-1] = (after - before) / (before * after)
    weights[2, 1:-1] = before / (after * (before + after))
    weights[1, 0], weights[2, 0] = -1 / steps[0], 1 / steps[0]
    weights[0, n - 1], weights[1, n - 1] = -1 / steps[-1], 1 / steps[-1]
    return weights


def _between(x: DimTensor, along: Dim, target: Dim, method: str) -> DimTensor:
    places = coordinate(along, "interp")
    wanted = coordinate(target, "interp", like=along._labels())
    if not len(places):
        raise LabelError(f"interp: {along.title} has no labels to lie between")
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
