"""Missing elements filled from their neighbours along a dim, or left out; as in xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Coords, Dim, dim_labels, dim_set, find_dim, without
from dimtensor.errors import DimError, InputError, LabelError, build_message
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.coordinates import coordinate
from dimtensor.tensor.along.places import nearest_to, positive_integer
from dimtensor.tensor.constructors import arange, full, length
from dimtensor.tensor.handle import TensorHandle, as_node, elemwise, require_float, wrap
from dimtensor.tensor.inputs import data

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def _last_present(x: DimTensor, along: Dim) -> DimTensor:
    """The position of the last element up to each one that is not NaN, -1 where there is none."""
    from dimtensor.tensor.control.loops import cumulate

    present = elemwise("logical_not", elemwise("isnan", x))
    places = elemwise("where", present, arange(along), -1)
    start = full(without(places.dims, (along,)), -1, "int64")
    return cumulate(lambda last, at: elemwise("maximum", last, at), start, places, along)


def _next_present(x: DimTensor, along: Dim) -> DimTensor:
    """The position of the next element from each one that is not NaN; the length, if none is."""
    from dimtensor.tensor.control.loops import cumulate

    present = elemwise("logical_not", elemwise("isnan", x))
    end = length(along)
    places = elemwise("where", present, arange(along), end)
    start = full(without(places.dims, (along,)), end)
    return cumulate(
        lambda found, at: elemwise("minimum", found, at), start, places, along, reverse=True
    )


class MissingMixin(TensorHandle):
    """Missing elements filled or left out."""

    __slots__ = ()

    def ffill(self, dim: Dim | str, limit: int | None = None) -> DimTensor:
        """Missing elements take the last one before them that is not missing.

        Parameters
        ----------
        dim : Dim or str
        limit : int, optional
            How far an element is carried on at most.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, np.nan, np.nan, 4.0], dims=dt.Dim("t"))
        >>> x.ffill("t").values.tolist(), x.ffill("t", limit=1).values.tolist()
        ([1.0, 1.0, 1.0, 4.0], [1.0, 1.0, nan, 4.0])
        """
        return self._filled(dim, limit, "ffill")

    def bfill(self, dim: Dim | str, limit: int | None = None) -> DimTensor:
        """Missing elements take the next one after them that is not missing; see :meth:`ffill`.

        Parameters
        ----------
        dim : Dim or str
        limit : int, optional

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([np.nan, 2.0, np.nan], dims=dt.Dim("t")).bfill("t").values.tolist()
        [2.0, 2.0, nan]
        """
        return self._filled(dim, limit, "bfill")

    def _filled(self, dim: Dim | str, limit: int | None, name: str) -> DimTensor:
        along = find_dim(self.dims, dim, name)
        x = wrap(require_float(self.node))
        source = (_last_present if name == "ffill" else _next_present)(x, along)
        found = elemwise("less", source, length(along)) & elemwise("greater_equal", source, 0)
        if limit is not None:
            most = positive_integer(limit, f"{name}: the limit")
            distance = elemwise("abs", elemwise("subtract", arange(along), source))
            found = found & elemwise("less_equal", distance, most)
        result = elemwise("where", found, nearest_to(x, along, source, np.nan), np.nan)
        return say(result, name, self, along=along, limit=limit)

    def interpolate_na(
        self,
        dim: Dim | str,
        method: str = "linear",
        *,
        use_coordinate: bool = True,
        limit: int | None = None,
    ) -> DimTensor:
        """Missing elements between others, interpolated by the labels.

        Parameters
        ----------
        dim : Dim or str
        method : {"linear", "nearest"}
        use_coordinate : bool
            Whether distances are those of the labels, which must be numbers or dates; else
            positions are counted.
        limit : int, optional
            How many missing elements in a row are filled at most.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the dim is not there.
        LabelError
            If distances of labels are asked for that are not known, or have none.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, np.nan, 4.0], dims=dt.Dim("t", coords=[0, 1, 3]))
        >>> x.interpolate_na("t").values.tolist()
        [1.0, 2.0, 4.0]
        """
        if method not in ("linear", "nearest"):
            raise InputError(f"interpolate_na: the method is 'linear' or 'nearest', not {method!r}")
        along = find_dim(self.dims, dim, "interpolate_na")
        x = wrap(require_float(self.node))
        if use_coordinate:
            places = data(coordinate(along, "interpolate_na", "use_coordinate=False"), dims=along)
        else:
            places = arange(along).astype("float64")
        before, after = _last_present(x, along), _next_present(x, along)
        between = elemwise("greater_equal", before, 0) & elemwise("less", after, length(along))
        missing = elemwise("isnan", x)
        if limit is not None:
            most = positive_integer(limit, "interpolate_na: the limit")
            gone = elemwise("subtract", arange(along), before)
            between = between & elemwise("less_equal", gone, most)
        first, last = (
            nearest_to(places, along, before, np.nan),
            nearest_to(places, along, after, np.nan),
        )
        gap = elemwise("where", missing & between, last - first, 1.0)
        share = (places - first) / gap
        low, high = (nearest_to(x, along, at, np.nan) for at in (before, after))
        if method == "linear":
            value = low + (high - low) * share.astype(x.dtype)
        else:
            value = elemwise("where", elemwise("less_equal", share, 0.5), low, high)
        filled = elemwise("where", between, value, np.nan)
        result = elemwise("where", missing, filled, x)
        return say(result, "interpolate_na", self, along=along, method=method, limit=limit)

    def dropna(self, dim: Dim | str, how: str = "any", thresh: int | None = None) -> DimTensor:
        """Positions along a dim without missing elements.

        Parameters
        ----------
        dim : Dim or str
        how : {"any", "all"}
            Whether positions are left out where any element is missing, or where all are.
        thresh : int, optional
            Positions with at least so many elements are kept, whatever `how` says.

        Returns
        -------
        DimTensor
            Along a dim whose length comes with the data.

        Raises
        ------
        DimError
            If the dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1.0, np.nan, 3.0], dims=dt.Dim("t")).dropna("t").values.tolist()
        [1.0, 3.0]
        """
        along = find_dim(self.dims, dim, "dropna")
        if how not in ("any", "all"):
            raise InputError(f"dropna: how is 'any' or 'all', not {how!r}")
        present = elemwise("logical_not", elemwise("isnan", self))
        others = without(self.dims, (along,))
        if thresh is not None:
            kept = elemwise("greater_equal", present.astype("int64").sum(others), thresh)
        else:
            kept = present.all(others) if how == "any" else present.any(others)
        return wrap(self.node).isel({along: kept})

    def combine_first(self, other: Any) -> DimTensor:
        """Elements of another tensor where those of this one are missing.

        Parameters
        ----------
        other : DimTensor, DataArray or number
            With dims of this tensor. A dim may have other labels: then the result has those of
            both, in ascending order, as in xarray.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If it has other dims.
        LabelError
            If a dim is another one of the same name, and labels of one of them are not known.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k")
        >>> x = dt.data([1.0, np.nan], dims=k)
        >>> x.combine_first(dt.data([7.0, 8.0], dims=k)).values.tolist()
        [1.0, 8.0]
        >>> a = dt.data([1.0, 2.0], dims=dt.Dim("year", coords=[2020, 2021]))
        >>> b = dt.data([7.0, 8.0], dims=dt.Dim("year", coords=[2021, 2022]))
        >>> a.combine_first(b).values.tolist()
        [1.0, 2.0, 8.0]
        """
        left = wrap(self.node)
        if isinstance(other, TensorHandle):
            left, other = _on_all_labels(left, wrap(other.node))
        node = as_node(other, [left.node], "combine_first")
        foreign = without(node.dims, left.dims)
        if foreign:
            raise DimError(
                build_message(
                    f"combine_first: the other tensor has {dim_set(foreign)}, this one has not",
                    [("dims", dim_set(left.dims)), ("of the other", dim_set(node.dims))],
                    "x.expand(dim) repeats elements along a dim",
                )
            )
        missing = elemwise("isnan", left)
        return say(elemwise("where", missing, wrap(node), left), "combine_first", self, node)


def _on_all_labels(x: DimTensor, y: DimTensor) -> tuple[DimTensor, DimTensor]:
    """Both on the labels of both along dims that have one name and are not one dim."""
    names = {dim.name: dim for dim in x.dims if dim.name is not None}
    for own in y.dims:
        dim = names.get(own.name or "")
        if dim is None or dim is own:
            continue
        labels = [dim_labels(each) for each in (dim, own)]
        if labels[0] is None or labels[1] is None:
            raise LabelError(
                build_message(
                    f"combine_first: two different dims are named {own.name!r}, and the labels of "
                    "one are not known",
                    [("this one", repr(dim)), ("the other", repr(own))],
                )
            )
        both = labels[0].index.union(labels[1].index)
        target = Dim(own.name, coords=Coords(both))
        x, y = x.reindex(target), y.reindex(target)
    return x, y
