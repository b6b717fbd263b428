"""Ranks, binary search and cross products; as in xarray and NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import (
    Dim,
    SortedDim,
    dim_set,
    find_dim,
    find_plain_dim,
    only_dim,
    refuse_ragged,
    without,
)
from dimtensor.errors import DimError, OptionError
from dimtensor.graph.dtypes import is_inexact
from dimtensor.graph.printing.words import say
from dimtensor.tensor.constructors import length, zeros
from dimtensor.tensor.control.loops import fori_loop
from dimtensor.tensor.handle import TensorHandle, as_node, elemwise, renamed, require_float, wrap
from dimtensor.tensor.ragged.layout import ragged_ranks
from dimtensor.tensor.reductions.order_statistics import with_an_element

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


def searchsorted(
    x: TensorLike, v: TensorLike, dim: Dim | str | None = None, side: str = "left"
) -> DimTensor:
    """Find the positions at which values would be inserted to keep elements sorted.

    Parameters
    ----------
    x : DimTensor
        In ascending order along the dim.
    v : DimTensor or number
        Values to search for.
    dim : Dim or str, optional
        The only dim by default.
    side : {"left", "right"}
        Whether the position is before or after equal elements.

    Returns
    -------
    DimTensor
        Integers from 0 to the length, found by bisection. NaN are after all numbers, as in NumPy.

    Raises
    ------
    DimError
        If the tensor lacks the dim, or the values have it.
    OptionError
        If the side is unknown.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0, 2.0, 5.0], dims=dt.Dim("k"))
    >>> dt.searchsorted(x, 2.0).item(), dt.searchsorted(x, 2.0, side="right").item()
    (1, 3)
    """
    node = as_node(x, [], "searchsorted")
    values = as_node(v, [node], "the values of searchsorted")
    if side not in ("left", "right"):
        raise OptionError(f"searchsorted: the side is 'left' or 'right', not {side!r}")
    along = only_dim(node.dims, dim, "searchsorted")
    refuse_ragged(along, "searchsorted")
    if along in values.dims:
        raise DimError(
            f"searchsorted: the values have {along._title} themselves",
            [("dims of the values", dim_set(values.dims))],
            "rename it: v.rename_dim(dim)",
        )
    return say(_place(wrap(node), along, wrap(values), side), "searchsorted", node, values)


def _place(x: DimTensor, along: Dim, v: DimTensor, side: str) -> DimTensor:
    elements, (longer,) = with_an_element(x, (along,), 0)
    n = length(along)
    dims = tuple(dict.fromkeys((*v.dims, *without(x.dims, (along,)))))
    before = "less" if side == "left" else "less_equal"
    missing = elemwise("isnan", v) if is_inexact(v.dtype) else None

    def halve(_: Any, ends: Any) -> Any:
        low, high = ends
        middle = elemwise("floor_divide", low + high, 2)
        there = elemwise("minimum", middle, elemwise("maximum", n - 1, 0))
        element = elements.isel({longer: there})
        later = elemwise(before, element, v)
        if missing is not None:  # NaN are after all numbers
            after = missing if side == "right" else missing & ~elemwise("isnan", element)
            later = later | after
        looking = elemwise("less", low, high)
        return (
            elemwise("where", looking & later, middle + 1, low),
            elemwise("where", looking & ~later, middle, high),
        )

    start = zeros(dims, "int64")
    steps = elemwise("ceil", elemwise("log2", (n + 1).astype("float64"))).astype("int64")
    return fori_loop(0, steps, halve, (start, start + n))[0]


def cross(x: TensorLike, y: TensorLike, dim: Dim | str) -> DimTensor:
    """Compute the cross product of vectors of three elements along a dim.

    Parameters
    ----------
    x, y : DimTensor
        Both with the dim.
    dim : Dim or str
        Of length 3.

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If a tensor lacks the dim, or it has another length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> axis = dt.Dim("axis", coords=["x", "y", "z"])
    >>> x, y = dt.data([1.0, 0.0, 0.0], dims=axis), dt.data([0.0, 1.0, 0.0], dims=axis)
    >>> dt.cross(x, y, axis).values.tolist()
    [0.0, 0.0, 1.0]
    """
    one = as_node(x, [], "cross")
    left, right = wrap(one), wrap(as_node(y, [one], "cross"))
    along = find_plain_dim(left.dims, dim, "cross")
    find_plain_dim(right.dims, along, "cross")
    if along.length != 3:
        raise DimError(f"cross: {along._title} has length {along.length}, not 3")
    up, down = left.roll({along: -1}), left.roll({along: 1})
    result = up * right.roll({along: 1}) - down * right.roll({along: -1})
    return say(result, "cross", x, y, dim=along)


class StatisticsMixin(TensorHandle):
    """Method that ranks elements."""

    __slots__ = ()

    def rank(self, dim: Dim | str, *, pct: bool = False) -> DimTensor:
        """Rank the elements along a dim, from 1; equal elements have their mean rank.

        Parameters
        ----------
        dim : Dim or str
        pct : bool
            Whether to divide ranks by the number of valid elements.

        Returns
        -------
        DimTensor
            NaN for NaN.

        Raises
        ------
        DimError
            If the dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([3.0, 1.0, 3.0], dims=dt.Dim("k")).rank("k").values.tolist()
        [2.5, 1.0, 2.5]
        """
        along = find_dim(self.dims, dim, "rank")
        x = wrap(require_float(self.node))
        if along._within is not None:
            below, above = ragged_ranks(along, x)
        else:
            ordered, ranks = x.sort(along), SortedDim(along)
            below, above = (
                _place(renamed(ordered, {ranks: _apart(along)}), _apart(along), x, side)
                for side in ("left", "right")
            )
        mean = (below + above + 1).astype(x.dtype) / 2
        if pct:
            mean = mean / x.count(along).astype(x.dtype)
        return say(elemwise("where", elemwise("isnan", x), np.nan, mean), "rank", self, dim=along)


def _apart(dim: Dim) -> Dim:
    """Make a dim for the sorted elements, beside the dim of the values."""
    return SortedDim(dim).rename(f"{dim._short}:sorted")
