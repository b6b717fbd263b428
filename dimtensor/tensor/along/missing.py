"""Filling and dropping of missing elements; as in xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dimtensor.dims import Coords, Dim, dim_labels, dim_set, find_dim, find_plain_dim, without
from dimtensor.errors import DimError, LabelError, OptionError
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.interpolation.gaps import gaps_filled, last_present, next_present
from dimtensor.tensor.along.interpolation.methods import Method
from dimtensor.tensor.along.places import nearest_to, positive_integer
from dimtensor.tensor.constructors import arange, length
from dimtensor.tensor.handle import TensorHandle, as_node, elemwise, require_float, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import Duration, TensorLike


class MissingMixin(TensorHandle):
    """Methods that fill or drop missing elements."""

    __slots__ = ()

    def ffill(self, dim: Dim | str, limit: int | None = None) -> DimTensor:
        """Fill missing elements by the last valid one before them.

        Parameters
        ----------
        dim : Dim or str
        limit : int, optional
            Largest number of consecutive elements to fill.

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
        """Fill missing elements by the next valid one after them; see :meth:`ffill`.

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
        source = (last_present if name == "ffill" else next_present)(x, along)
        found = elemwise("less", source, length(along)) & elemwise("greater_equal", source, 0)
        if limit is not None:
            most = positive_integer(limit, f"{name}: the limit")
            distance = elemwise("abs", elemwise("subtract", arange(along), source))
            found = found & elemwise("less_equal", distance, most)
        result = elemwise("where", found, nearest_to(x, along, source, np.nan), np.nan)
        return say(result, name, self, dim=along, limit=limit)

    def interpolate_na(
        self,
        dim: Dim | str,
        method: str = "linear",
        limit: int | None = None,
        use_coordinate: bool = True,
        max_gap: Duration | None = None,
        *,
        fill_value: float | str | None = None,
        order: int | None = None,
    ) -> DimTensor:
        """Interpolate missing elements.

        Parameters
        ----------
        dim : Dim or str
        method : str
            A method of :meth:`interp`. All but ``"linear"``, ``"slinear"``, ``"nearest"`` and
            ``"zero"`` need known values: tensors of data alone.
        limit : int, optional
            Largest number of consecutive elements to fill.
        use_coordinate : bool
            Whether to interpolate along the labels, which must be numbers or dates; otherwise along
            positions.
        max_gap : number or distance between dates, optional
            Largest gap to fill, as the distance between the valid elements on both sides, or
            between one and the end.
        fill_value : number, (before, after) or "extrapolate", optional
            Values at the ends, as for :meth:`interp`.
        order : int, optional
            Order of ``"polynomial"``.

        Returns
        -------
        DimTensor
            Unchanged if fewer than two elements are valid.

        Raises
        ------
        DimError
            If the dim is not there.
        LabelError
            If labels are needed and not known, or neither numbers nor dates; if too few elements
            are valid for the method.
        OptionError
            If there is no such method.
        ArgumentError
            If there is no such option.
        GraphError
            If the method needs data.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, np.nan, 4.0, np.nan], dims=dt.Dim("t", coords=[0, 1, 3, 4]))
        >>> x.interpolate_na("t").values.tolist()
        [1.0, 2.0, 4.0, nan]
        >>> x.interpolate_na("t", fill_value="extrapolate").values.tolist()
        [1.0, 2.0, 4.0, 5.0]
        >>> x.interpolate_na("t", max_gap=2).values.tolist()
        [1.0, nan, 4.0, nan]
        """
        along = find_plain_dim(self.dims, dim, "interpolate_na")
        how = Method.of("interpolate_na", method, fill_value, order)
        most = None if limit is None else positive_integer(limit, "interpolate_na: the limit")
        x = wrap(require_float(self.node))
        return say(
            gaps_filled(x, along, how, most, use_coordinate, max_gap),
            "interpolate_na", self, dim=along, method=method, limit=limit,
        )  # fmt: skip

    def dropna(self, dim: Dim | str, *, how: str = "any", thresh: int | None = None) -> DimTensor:
        """Drop positions along a dim with missing elements.

        Parameters
        ----------
        dim : Dim or str
        how : {"any", "all"}
            Whether to drop positions where any element is missing, or where all are.
        thresh : int, optional
            Keep positions with at least this number of valid elements, and ignore `how`.

        Returns
        -------
        DimTensor
            Along a dim whose length is known when a function is called.

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
        along = find_plain_dim(self.dims, dim, "dropna")
        if how not in ("any", "all"):
            raise OptionError(f"dropna: how is 'any' or 'all', not {how!r}")
        present = elemwise("logical_not", elemwise("isnan", self))
        others = without(self.dims, (along,))
        if thresh is not None:
            kept = elemwise("greater_equal", present.astype("int64").sum(others), thresh)
        elif not others:  # the same as x[x.notnull()]
            kept = present
        else:
            kept = present.all(others) if how == "any" else present.any(others)
        return wrap(self.node).isel({along: kept})

    def combine_first(self, other: TensorLike) -> DimTensor:
        """Fill missing elements by those of another tensor.

        Parameters
        ----------
        other : DimTensor, DataArray or number
            With dims of this tensor. If a dim has other labels, the result has those of both, in
            ascending order, as in xarray.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the other tensor has further dims.
        LabelError
            If dims of one name differ, and the labels of one are not known.

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
                f"combine_first: the other tensor has {dim_set(foreign)}, this one has not",
                [("dims", dim_set(left.dims)), ("of the other", dim_set(node.dims))],
                "x.expand(dim) repeats elements along a dim",
            )
        missing = elemwise("isnan", left)
        return say(elemwise("where", missing, wrap(node), left), "combine_first", self, node)


def _on_all_labels(x: DimTensor, y: DimTensor) -> tuple[DimTensor, DimTensor]:
    """Reindex two tensors to the union of labels along different dims of one name."""
    names = {dim.name: dim for dim in x.dims if dim.name is not None}
    for own in y.dims:
        dim = names.get(own.name or "")
        if dim is None or dim is own:
            continue
        labels = [dim_labels(each) for each in (dim, own)]
        if labels[0] is None or labels[1] is None:
            raise LabelError(
                f"combine_first: two different dims are named {own.name!r}, and the labels of "
                "one are not known",
                [("this one", repr(dim)), ("the other", repr(own))],
            )
        both = labels[0].index.union(labels[1].index)
        target = Dim(own.name, coords=Coords(both))
        x, y = x.reindex(target), y.reindex(target)
    return x, y
