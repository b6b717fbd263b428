"""Weighted sums and means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dims, find_dims
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import elemwise, require_float, wrap
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.reductions.basic import DimKey, root_of_variance

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@with_named_dims
class Weighted:
    """Reductions of a tensor with weights, made by :meth:`DimTensor.weighted`.

    NaN elements are left out, with their weights, as in xarray.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=3)
    >>> x = dt.data([1.0, 4.0, float("nan")], dims=k).weighted(dt.data([2.0, 1.0, 5.0], dims=k))
    >>> x.sum().item(), x.mean().item(), x.sum_of_weights().item(), x.var().item()
    (6.0, 2.0, 3.0, 2.0)
    """

    def __init__(self, x: Any, weights: DimTensor):
        self._x = wrap(require_float(x.node))
        self._weights = weights

    def _over(self, dim: DimKey) -> Dims:
        joint = elemwise("multiply", self._x, self._weights)
        return find_dims(joint.dims, dim, "weighted")

    def sum_of_weights(self, dim: DimKey = None) -> DimTensor:
        """Sum of the weights of the elements that are not NaN."""
        present = elemwise("logical_not", elemwise("isnan", self._x))
        total = elemwise("where", present, self._weights, 0).sum(self._over(dim))
        return self._say(total, "sum_of_weights", dim)

    def _say(self, result: DimTensor, name: str, dim: DimKey) -> DimTensor:
        return say(result, name, self._x, weights=self._weights, over=self._over(dim))

    def sum(self, dim: DimKey = None) -> DimTensor:
        """Sum of elements times weights."""
        total = elemwise("multiply", self._x, self._weights).sum(self._over(dim), skipna=True)
        return self._say(total, "sum", dim)

    def mean(self, dim: DimKey = None) -> DimTensor:
        """Weighted mean."""
        mean = elemwise("divide", self.sum(dim), self.sum_of_weights(dim))
        return self._say(mean, "mean", dim)

    def sum_of_squares(self, dim: DimKey = None) -> DimTensor:
        """Weighted sum of squared distances from the weighted mean."""
        gap = elemwise("subtract", self._x, self.mean(dim))
        squares = Weighted(elemwise("square", gap), self._weights).sum(self._over(dim))
        return self._say(squares, "sum_of_squares", dim)

    def var(self, dim: DimKey = None) -> DimTensor:
        """Weighted variance."""
        variance = elemwise("divide", self.sum_of_squares(dim), self.sum_of_weights(dim))
        return self._say(variance, "var", dim)

    def std(self, dim: DimKey = None) -> DimTensor:
        """Weighted standard deviation."""
        return self._say(root_of_variance(self.var(dim)), "std", dim)
