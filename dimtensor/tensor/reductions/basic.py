"""Reductions and cumulative operations; names and defaults as in xarray.

One default differs: ``skipna`` is False, because a log density that skips its NaNs hides them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, find_dims, without
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import AlongAttrs, ReduceAttrs
from dimtensor.graph.dtypes import is_complex, is_inexact
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import TensorHandle, constant, elemwise, require_float, wrap
from dimtensor.tensor.numpy_style import with_named_dims

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.tensor.reductions.weighted import Weighted

DimKey = Dim | str | Iterable[Dim | str] | None


def _reduce(x: Node, name: str, dims: Dims) -> DimTensor:
    node = make("reduce", (x,), ReduceAttrs(name, dims))
    return wrap(node if dims or node.dtype != x.dtype else x)


def _is_float(x: Node) -> bool:
    return is_inexact(x.dtype)


@with_named_dims
class ReductionMixin(TensorHandle):
    """Reductions of dims-tensors; without dims they reduce over all."""

    __slots__ = ()

    def _present(self, fill: Any, skipna: bool) -> Node:
        """The node with NaN replaced where they are skipped."""
        if not skipna or not _is_float(self.node):
            return self.node
        return elemwise("where", elemwise("isnan", self), fill, self).node

    def _dims(self, dim: DimKey, what: str) -> Dims:
        return tuple(sorted(find_dims(self.dims, dim, what), key=lambda d: d.sort_key))

    def sum(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Sum over dims.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether NaN count as 0.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> float(dt.data([1.0, 2.0], dims=dt.Dim("k")).sum().eval())
        3.0
        """
        dims = self._dims(dim, "sum")
        return self._reduced("sum", 0, dims, skipna)

    def prod(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Product over dims; see :meth:`sum`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether NaN are left out.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([2.0, 3.0], dims=dt.Dim("k")).prod().item()
        6.0
        """
        return self._reduced("prod", 1, self._dims(dim, "prod"), skipna)

    def _reduced(self, name: str, fill: Any, dims: Dims, skipna: bool) -> DimTensor:
        result = _reduce(self._present(fill, skipna), name, dims)
        return say(result, name, self, over=dims, skipna=True) if skipna else result

    def max(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Largest element over dims; NaN if one of them is, unless skipped. See :meth:`sum`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether NaN are left out.

        Raises
        ------
        DimError
            If a dim has length 0.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([2.0, 3.0], dims=dt.Dim("k")).max().item()
        3.0
        """
        return self._extreme("max", -np.inf, dim, skipna)

    def min(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Smallest element over dims; NaN if one of them is, unless skipped. See :meth:`sum`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether NaN are left out.

        Raises
        ------
        DimError
            If a dim has length 0.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([2.0, 3.0], dims=dt.Dim("k")).min().item()
        2.0
        """
        return self._extreme("min", np.inf, dim, skipna)

    def _extreme(self, name: str, fill: float, dim: DimKey, skipna: bool) -> DimTensor:
        dims = self._dims(dim, name)
        result = _reduce(self._present(fill, skipna), name, dims)
        if skipna and _is_float(self.node) and dims:
            some = elemwise("logical_not", elemwise("isnan", self)).any(dims)
            result = elemwise("where", some, result, np.nan)
            return say(result, name, self, over=dims, skipna=True)
        return result

    def all(self, dim: DimKey = None) -> DimTensor:
        """Whether all elements over dims are true.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([True, False], dims=dt.Dim("k")).all().item()
        False
        """
        dims = self._dims(dim, "all")
        return _reduce(self.node, "all", dims) if dims else wrap(make("cast", (self.node,), "bool"))

    def any(self, dim: DimKey = None) -> DimTensor:
        """Whether one element over dims is true.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([True, False], dims=dt.Dim("k")).any().item()
        True
        """
        dims = self._dims(dim, "any")
        return _reduce(self.node, "any", dims) if dims else wrap(make("cast", (self.node,), "bool"))

    def count(self, dim: DimKey = None) -> DimTensor:
        """Number of elements over dims that are not NaN.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> import numpy as np
        >>> dt.data([1.0, np.nan, 3.0], dims=dt.Dim("k")).count().item()
        2
        """
        dims = self._dims(dim, "count")
        if _is_float(self.node):
            present = elemwise("logical_not", elemwise("isnan", self)).astype("int64")
            return say(present.sum(dims), "count", self, over=dims)
        return self._n(dims).expand(without(self.dims, dims))

    def _n(self, dims: Dims) -> DimTensor:
        """Number of elements over dims, along the other dims where these are counted."""
        total = wrap(constant(1, "int64"))
        for dim in dims:
            # no number where the length is known: the dim may be exchanged for another
            total = elemwise("multiply", total, wrap(make("length", (), dim)))
        return total

    def _mean_count(self, dims: Dims, skipna: bool) -> DimTensor:
        if skipna and _is_float(self.node):
            return self.count(dims)
        return self._n(dims)

    def mean(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Arithmetic mean over dims.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether NaN are left out.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> float(dt.data([1.0, 2.0], dims=dt.Dim("k")).mean().eval())
        1.5
        """
        dims = self._dims(dim, "mean")
        x = wrap(require_float(self.node))
        total = x.sum(dims, skipna=skipna)
        count = self._mean_count(dims, skipna).astype(_real(x.dtype))
        result = elemwise("divide", total, count)
        return say(result, "mean", self, over=dims, skipna=skipna)

    def var(self, dim: DimKey = None, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
        """Variance over dims: the mean squared distance from the mean.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        ddof : int
            Subtracted from the number of elements in the divisor.
        skipna : bool
            Whether NaN are left out.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1.0, 3.0], dims=dt.Dim("k")).var(ddof=1).item()
        2.0
        """
        dims = self._dims(dim, "var")
        x = wrap(require_float(self.node))
        gap = elemwise("subtract", x, x.mean(dims, skipna=skipna))
        if is_complex(x.dtype):  # of real numbers it would have no second derivative at 0
            gap = elemwise("abs", gap)
        squares = elemwise("square", gap).sum(dims, skipna=skipna)
        n = elemwise("subtract", self._mean_count(dims, skipna), ddof)
        n = elemwise("maximum", n, 0).astype(_real(x.dtype))
        result = elemwise("divide", squares, n)
        return say(result, "var", self, over=dims, ddof=ddof or None, skipna=skipna)

    def std(self, dim: DimKey = None, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
        """Standard deviation over dims: the root of :meth:`var`.

        Where all elements are equal its gradient is 0, which is a subgradient there.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        ddof : int
            Subtracted from the number of elements in the divisor.
        skipna : bool
            Whether NaN are left out.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1.0, 3.0], dims=dt.Dim("k")).std().item()
        1.0
        """
        dims = self._dims(dim, "std")
        result = root_of_variance(self.var(dims, ddof=ddof, skipna=skipna))
        return say(result, "std", self, over=dims, ddof=ddof or None, skipna=skipna)

    def logsumexp(self, dim: DimKey = None) -> DimTensor:
        """Logarithm of the sum of exponentials over dims, without overflow.

        The largest element is taken out before the exponentials are; -inf contributes nothing, and
        nothing gives -inf.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> round(dt.data([1000.0, 1000.0], dims=dt.Dim("k")).logsumexp().item(), 4)
        1000.6931
        """
        dims = self._dims(dim, "logsumexp")
        if not dims:
            return wrap(require_float(self.node))
        shifted, high = self._below_zero(dims)
        total = elemwise("exp", shifted).sum(dims)
        # an inner value of 1 keeps the gradient zero where there is nothing to add up
        nothing = elemwise("equal", total, 0)
        logarithm = elemwise("log", elemwise("where", nothing, 1, total))
        result = elemwise("add", elemwise("where", nothing, -np.inf, logarithm), high)
        return say(result, "logsumexp", self, over=dims)

    def _below_zero(self, dims: Dims) -> tuple[DimTensor, DimTensor]:
        """The elements less the largest one, and that one, or 0 where it is infinite."""
        x = require_float(self.node)
        high = elemwise("stop_gradient", _reduce(x, "supremum", dims))
        high = elemwise("where", elemwise("isfinite", high), high, 0)
        return elemwise("subtract", wrap(x), high), high

    def softmax(self, dim: DimKey = None) -> DimTensor:
        """Exponentials divided by their sum over dims, without overflow.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

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
        weights = elemwise("exp", self._below_zero(dims)[0])
        return say(elemwise("divide", weights, weights.sum(dims)), "softmax", self, over=dims)

    def log_softmax(self, dim: DimKey = None) -> DimTensor:
        """Logarithm of :meth:`softmax`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

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
        shifted, _ = self._below_zero(dims)
        total = elemwise("log", elemwise("exp", shifted).sum(dims))
        return say(elemwise("subtract", shifted, total), "log_softmax", self, over=dims)

    # -- cumulative -----------------------------------------------------------------------------

    def cumsum(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Running sum along dims.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default. Along several, an element is the sum of all that are not after it
            along any of them.
        skipna : bool
            Whether NaN count as 0.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> a, b = dt.Dim("a", length=2), dt.Dim("b", length=2)
        >>> dt.data([[1, 2], [3, 4]], dims=[a, b]).cumsum().eval().values.tolist()
        [[1, 3], [4, 10]]
        """
        return self._cumulate("cumsum", 0, dim, skipna)

    def cumprod(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Running product along dims; see :meth:`cumsum`.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1, 2, 3], dims=dt.Dim("k")).cumprod().values.tolist()
        [1, 2, 6]
        """
        return self._cumulate("cumprod", 1, dim, skipna)

    def _cumulate(self, name: str, fill: Any, dim: DimKey, skipna: bool) -> DimTensor:
        x = self._present(fill, skipna)
        dims = self._dims(dim, name)
        for along in dims:
            x = make("cumulate", (x,), AlongAttrs(name, along))
        return say(wrap(x), name, self, along=dims, skipna=skipna)

    def weighted(self, weights: Any) -> Weighted:
        """Weighted sums and means, as in xarray.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k")
        >>> x, w = dt.data([1.0, 3.0], dims=k), dt.data([3.0, 1.0], dims=k)
        >>> float(x.weighted(w).mean().eval())
        1.5
        """
        from dimtensor.tensor.handle import as_node
        from dimtensor.tensor.reductions.weighted import Weighted

        return Weighted(self, wrap(as_node(weights, [self.node], "weights")))


def root_of_variance(variance: DimTensor) -> DimTensor:
    """Standard deviation, whose gradient stays finite where there is no variance."""
    none = elemwise("equal", variance, 0)
    return elemwise("where", none, 0, elemwise("sqrt", elemwise("where", none, 1, variance)))


def _real(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
