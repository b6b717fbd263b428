"""Covariances and correlations of pairs of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dims, find_dims
from dimtensor.graph.dtypes import is_complex
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import TensorLike, as_node, elemwise, require_float, wrap
from dimtensor.tensor.reductions.basic import DimKey
from dimtensor.tensor.reductions.weighted import Weighted, as_weights

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def cov(
    x: TensorLike,
    y: TensorLike,
    dim: DimKey = None,
    ddof: int = 1,
    weights: TensorLike | None = None,
    *,
    skipna: bool = False,
) -> DimTensor:
    """Compute the covariance of two tensors over dims.

    Parameters
    ----------
    x, y : DimTensor
    dim : Dim, str or iterable of them, optional
        All dims by default.
    ddof : int
        Subtracted from the number of pairs in the divisor.
    weights : DimTensor or DataArray, optional
        Weights of the pairs, in means and in the covariance. `ddof` is subtracted from the number
        of pairs, as in xarray.
    skipna : bool
        Whether to leave out pairs with a NaN, as xarray does.

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If a dim is not there.
    InputError
        If a weight is NaN.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k")
    >>> x, y = dt.data([1.0, 2.0, 3.0], dims=k), dt.data([2.0, 4.0, 6.0], dims=k)
    >>> dt.cov(x, y).item(), round(dt.corr(x, y).item(), 12)
    (2.0, 1.0)
    >>> dt.cov(x, y, weights=dt.data([1.0, 0.0, 1.0], dims=k), ddof=0).item()
    2.0
    """
    pairs = _Pairs(x, y, dim, weights, "cov")
    n = pairs.count
    rest = elemwise("maximum", n - ddof, 0)
    if weights is None:
        result = elemwise("divide", pairs.sum_of_products(), rest.astype(pairs.real_dtype))
    else:
        result = pairs.mean_of_products() * (n / rest).astype(pairs.real_dtype)
    return pairs.said(result, "cov", x, y, weights, skipna)


def corr(
    x: TensorLike,
    y: TensorLike,
    dim: DimKey = None,
    weights: TensorLike | None = None,
    *,
    skipna: bool = False,
) -> DimTensor:
    """Compute Pearson's correlation of two tensors over dims.

    Parameters
    ----------
    x, y : DimTensor
    dim : Dim, str or iterable of them, optional
        All dims by default.
    weights : DimTensor or DataArray, optional
        Weights of the pairs.
    skipna : bool
        Whether to leave out pairs with a NaN, as xarray does.

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If a dim is not there.
    InputError
        If a weight is NaN.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k")
    >>> x, y = dt.data([1.0, 2.0, 3.0], dims=k), dt.data([3.0, 2.0, 1.0], dims=k)
    >>> round(dt.corr(x, y).item(), 12)
    -1.0
    """
    pairs = _Pairs(x, y, dim, weights, "corr")
    scale = elemwise("multiply", *(elemwise("sqrt", size) for size in pairs.sums_of_squares()))
    result = elemwise("divide", pairs.sum_of_products(), scale)
    return pairs.said(result, "corr", x, y, weights, skipna)


class _Pairs:
    """Pairs of elements of two tensors, less their means; NaN where either is."""

    def __init__(self, x: Any, y: Any, dim: DimKey, weights: Any, what: str):
        one = as_node(x, [], what)
        left, right = (wrap(require_float(node)) for node in (one, as_node(y, [one], what)))
        gone = elemwise("logical_or", elemwise("isnan", left), elemwise("isnan", right))
        self._weights = None if weights is None else as_weights(weights, gone, what)
        joint = gone if self._weights is None else elemwise("multiply", gone, self._weights)
        self.over: Dims = find_dims(joint.dims, dim, what)
        self._gone = gone
        left, right = (elemwise("where", gone, np.nan, each) for each in (left, right))
        there = elemwise("logical_not", gone).astype("int64")
        self.count = there.sum([d for d in self.over if d in there.dims])
        self.first, self.second = (each - self._mean(each) for each in (left, right))
        self.real_dtype = elemwise("abs", self.first * self.second).dtype

    def _mean(self, x: DimTensor) -> DimTensor:
        if self._weights is None:
            return x.mean([d for d in self.over if d in x.dims], skipna=True)
        return Weighted(x, self._weights).mean(self.over, skipna=True)

    def _sum(self, x: DimTensor) -> DimTensor:
        if self._weights is None:
            return x.sum(self.over, skipna=True)
        return Weighted(x, self._weights).sum(self.over, skipna=True)

    def said(
        self, result: DimTensor, name: str, x: Any, y: Any, weights: Any, skipna: bool
    ) -> DimTensor:
        """Note how a result was written; it is NaN where a pair is and NaN are not left out."""
        if not skipna:
            dims = [dim for dim in self.over if dim in self._gone.dims]
            result = elemwise("where", self._gone.any(dims), np.nan, result)
        return say(result, name, x, y, dim=self.over, weights=weights)

    def sum_of_products(self) -> DimTensor:
        """Sum the products of pairs, with the conjugate of the first element."""
        first = self.first
        if is_complex(first.dtype):
            first = elemwise("conj", first)
        return self._sum(elemwise("multiply", first, self.second))

    def mean_of_products(self) -> DimTensor:
        """Compute the weighted mean of the products of pairs."""
        total = elemwise("multiply", self.first, self.second)
        assert self._weights is not None
        return self.sum_of_products() / Weighted(total, self._weights).sum_of_weights(self.over)

    def sums_of_squares(self) -> list[DimTensor]:
        """Sum the squares of each of the two tensors."""
        sizes = [
            elemwise("abs", each) if is_complex(each.dtype) else each
            for each in (self.first, self.second)
        ]
        return [self._sum(elemwise("square", each)) for each in sizes]
