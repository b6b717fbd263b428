"""Log-sum-exp and softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.dims import Dims
from dimtensor.graph import make
from dimtensor.graph.attrs import ReduceAttrs
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import elemwise, require_float, wrap
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.reductions.basic import DimKey, ReductionMixin, reduced

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@with_named_dims
class ExponentialMixin(ReductionMixin):
    """Reductions of exponentials without overflow."""

    __slots__ = ()

    def logsumexp(self, dim: DimKey = None) -> DimTensor:
        """Compute the logarithm of the sum of exponentials over dims, without overflow.

        The largest element is subtracted before the exponentials. An element of -inf contributes
        nothing, and the result of no elements is -inf.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

        Returns
        -------
        DimTensor
            Floats, without the dims.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> f"{dt.data([1000.0, 1000.0], dims=dt.Dim('k')).logsumexp().item():.4f}"
        '1000.6931'
        """
        dims = self._dims(dim, "logsumexp")
        return reduced(require_float(self.node), "logsumexp", dims)

    def _below_zero(self, dims: Dims) -> DimTensor:
        """Subtract the largest element, or 0 where it is infinite."""
        x = require_float(self.node)
        high = elemwise("stop_gradient", reduced(x, "supremum", dims))
        high = elemwise("where", elemwise("isfinite", high), high, 0)
        return elemwise("subtract", wrap(x), high)

    def _softmax(self, name: str, dims: Dims) -> DimTensor:
        made = wrap(make("softmax", (require_float(self.node),), ReduceAttrs(name, dims)))
        return say(made, name, self, dim=dims)

    def softmax(self, dim: DimKey = None) -> DimTensor:
        """Divide exponentials by their sum over dims, without overflow.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

        Returns
        -------
        DimTensor
            With all dims; over `dim` the elements sum to 1.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([5.0, 5.0], dims=dt.Dim("k")).softmax().values.tolist()
        [0.5, 0.5]
        """
        dims = self._dims(dim, "softmax")
        if dims and not any(each._within is not None for each in dims):
            return self._softmax("softmax", dims)
        weights = elemwise("exp", self._below_zero(dims))
        scale = elemwise("divide", 1.0, weights.sum(dims))  # one division for each parent
        return say(elemwise("multiply", weights, scale), "softmax", self, dim=dims)

    def log_softmax(self, dim: DimKey = None) -> DimTensor:
        """Compute the logarithm of :meth:`softmax`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

        Returns
        -------
        DimTensor
            With all dims.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([5.0, 5.0], dims=dt.Dim("k")).log_softmax().values.round(4).tolist()
        [-0.6931, -0.6931]
        """
        dims = self._dims(dim, "log_softmax")
        if dims and not any(each._within is not None for each in dims):
            return self._softmax("log_softmax", dims)
        shifted = self._below_zero(dims)
        total = elemwise("log", elemwise("exp", shifted).sum(dims))
        return say(elemwise("subtract", shifted, total), "log_softmax", self, dim=dims)
