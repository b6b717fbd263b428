"""Weighted sums, means, variances and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, ProductDim, SortedDim, find_dims
from dimtensor.errors import InputError
from dimtensor.graph import Node, make
from dimtensor.graph.dtypes import is_inexact
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import TensorHandle, TensorLike, as_node, elemwise, require_float, wrap
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.reductions.basic import DimKey, nan_filled, root_of_variance
from dimtensor.tensor.reductions.quantiles import levels_of, shown_levels

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def as_weights(weights: Any, beside: TensorHandle, what: str) -> DimTensor:
    """Convert weights to a tensor; bools count 1 or 0.

    Raises
    ------
    InputError
        If known weights have NaN.
    """
    node = as_node(weights, [beside.node], f"the weights of {what}")
    if _is_missing(node):
        raise InputError(f"{what}: weights are missing; those of weights.fillna(0.0) count nothing")
    return wrap(make("cast", (node,), "int64") if node.dtype == "bool" else node)


def _is_missing(node: Node) -> bool:
    return node.kind == "data" and is_inexact(node.dtype) and np.isnan(node.attrs.values).any()


@with_named_dims
class Weighted:
    """Weighted reductions of a tensor, made by :meth:`DimTensor.weighted`.

    A NaN makes the result NaN; with ``skipna=True`` NaN are left out, with their weights. The means
    of elements whose weights add up to 0 are NaN.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=3)
    >>> x = dt.data([1.0, 4.0, float("nan")], dims=k).weighted(dt.data([2.0, 1.0, 5.0], dims=k))
    >>> x.mean().item(), x.mean(skipna=True).item(), x.sum_of_weights().item()
    (nan, 2.0, 3.0)
    """

    def __init__(self, x: TensorHandle, weights: DimTensor):
        self._x = wrap(require_float(x.node))
        self._weights = weights

    def _over(self, dim: DimKey) -> Dims:
        joint = elemwise("multiply", self._x, self._weights)
        return find_dims(joint.dims, dim, "weighted")

    def _say(self, result: DimTensor, name: str, dim: DimKey, **options: Any) -> DimTensor:
        return say(result, name, self._x, weights=self._weights, dim=self._over(dim), **options)

    def sum_of_weights(self, dim: DimKey = None) -> DimTensor:
        """Sum the weights of elements that are not NaN; the result is NaN where it is 0.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default, as in all weighted reductions.
        """
        present = elemwise("logical_not", elemwise("isnan", self._x))
        total = elemwise("where", present, self._weights, 0).sum(self._over(dim))
        some = elemwise("not_equal", total, 0)
        total = elemwise("where", some, wrap(require_float(total.node)), np.nan)
        return self._say(total, "sum_of_weights", dim)

    def sum(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Sum the elements times weights.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
        skipna : bool
            Whether to leave out NaN, as in all weighted reductions.
        """
        present = nan_filled(self._x, 0, skipna)
        total = elemwise("multiply", present, self._weights).sum(self._over(dim))
        return self._say(total, "sum", dim, skipna=skipna)

    def mean(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute the weighted mean. See :meth:`sum` for `skipna`."""
        mean = elemwise("divide", self.sum(dim, skipna=skipna), self.sum_of_weights(dim))
        return self._say(mean, "mean", dim, skipna=skipna)

    def sum_of_squares(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Sum the weighted squared distances from the weighted mean. See :meth:`sum`."""
        gap = elemwise("subtract", self._x, self.mean(dim, skipna=skipna))
        squares = Weighted(elemwise("square", gap), self._weights)
        total = squares.sum(self._over(dim), skipna=skipna)
        return self._say(total, "sum_of_squares", dim, skipna=skipna)

    def var(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute the weighted variance. See :meth:`sum` for `skipna`."""
        squares = self.sum_of_squares(dim, skipna=skipna)
        variance = elemwise("divide", squares, self.sum_of_weights(dim))
        return self._say(variance, "var", dim, skipna=skipna)

    def std(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute the weighted standard deviation. See :meth:`sum` for `skipna`."""
        deviation = root_of_variance(self.var(dim, skipna=skipna))
        return self._say(deviation, "std", dim, skipna=skipna)

    def quantile(
        self,
        q: float | Sequence[float] | np.ndarray | DimTensor,
        *,
        dim: DimKey = None,
        skipna: bool = False,
    ) -> DimTensor:
        """Compute weighted quantiles.

        Parameters
        ----------
        q : float, list of float or DimTensor
            Between 0 and 1; see :meth:`DimTensor.quantile`.
        dim : Dim, str or iterable of them, optional
        skipna : bool

        Returns
        -------
        DimTensor

        Raises
        ------
        OptionError
            If a quantile is outside of 0 to 1.

        Notes
        -----
        Each element counts by the overlap of its part of the sum of weights with an interval around
        the quantile, whose width is the inverse of Kish's effective sample size, the squared sum of
        weights over the sum of their squares: Akinshin, "Weighted quantile estimators" (2023). With
        equal weights these are the quantiles of :meth:`DimTensor.quantile`.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, w = dt.data([1.0, 4.0, 9.0], dims=k), dt.data([0.0, 1.0, 1.0], dims=k)
        >>> x.weighted(w).quantile(0.5).item()
        6.5
        """
        level = levels_of(q)
        over = find_dims(self._x.dims, dim, "weighted") if dim is None else self._over(dim)
        along = ProductDim(over)
        x, weights = (wrap(_on(each, over, along)) for each in (self._x, self._weights))
        missing = elemwise("isnan", x)
        weights = elemwise("where", missing, 0.0, weights)
        result = _weighted_quantile(x, weights, along, level)
        if not skipna:
            result = elemwise("where", missing.any(along), np.nan, result)
        shown = {"weights": self._weights, "dim": over, "skipna": skipna}
        return say(result, "quantile", self._x, q=shown_levels(q), **shown)


def _on(x: DimTensor, over: Dims, along: Dim) -> Node:
    """Broadcast a tensor along dims, and merge them into one."""
    node = x.expand(over).node
    return make("merge", (node,), along) if len(over) > 1 else node


def _weighted_quantile(
    x: DimTensor, weights: DimTensor, along: Dim, q: float | DimTensor
) -> DimTensor:
    """Average the elements by the overlap of their weights with the interval of a quantile."""
    ranks, order = SortedDim(along), x.argsort(along)
    ordered, sizes = x.isel({along: order}), weights.isel({along: order})
    total = sizes.sum(ranks)
    n = elemwise("square", total) / elemwise("square", sizes).sum(ranks)
    end = (sizes / total).cumsum(ranks)
    h = elemwise("minimum", elemwise("maximum", (n - 1) * q + 1, 1), n)
    low, high = (h - 1) / n, h / n

    def within(place: DimTensor) -> DimTensor:
        return elemwise("maximum", low, elemwise("minimum", high, place))

    part = (within(end) - within(end.shift({ranks: 1}, fill_value=0.0))) * n
    counted = elemwise("where", elemwise("equal", part, 0), 0.0, ordered)  # infinity times 0 is NaN
    some = elemwise("not_equal", sizes, 0).any(ranks)
    return elemwise("where", some, (counted * part).sum(ranks), np.nan)


class WeightedMixin(TensorHandle):
    """Weighted reductions of :class:`dimtensor.DimTensor`."""

    __slots__ = ()

    def weighted(self, weights: TensorLike) -> Weighted:
        """Weigh the elements of sums, means, variances and quantiles, as in xarray.

        Parameters
        ----------
        weights : DimTensor or array
            Their dims broadcast against those of the tensor.

        Returns
        -------
        Weighted
            With ``sum``, ``mean``, ``var``, ``std``, ``sum_of_squares``, ``sum_of_weights`` and
            ``quantile``, over dims.

        Raises
        ------
        InputError
            If a weight is NaN.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k")
        >>> x, w = dt.data([1.0, 3.0], dims=k), dt.data([3.0, 1.0], dims=k)
        >>> float(x.weighted(w).mean().eval())
        1.5
        """
        return Weighted(self, as_weights(weights, self, "weighted"))
