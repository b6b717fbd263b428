"""Reductions, cumulative operations and order statistics; names and defaults as in xarray.

One default differs: ``skipna`` is False, because a log density that skips its NaNs hides them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, ProductDim, SortedDim, find_dim, find_dims, without
from dimtensor.errors import DimError, DtypeError, InputError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import AlongAttrs, ReduceAttrs, SortAttrs
from dimtensor.graph.dtypes import is_complex, is_inexact
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import TensorHandle, constant, elemwise, require_float, wrap
from dimtensor.tensor.numpy_style import with_named_dims

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.tensor.weighted import Weighted

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
        """Product over dims; see :meth:`sum`."""
        return self._reduced("prod", 1, self._dims(dim, "prod"), skipna)

    def _reduced(self, name: str, fill: Any, dims: Dims, skipna: bool) -> DimTensor:
        result = _reduce(self._present(fill, skipna), name, dims)
        return say(result, name, self, over=dims, skipna=True) if skipna else result

    def max(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Largest element over dims; NaN if one of them is, unless skipped. See :meth:`sum`.

        Raises
        ------
        DimError
            If a dim has length 0.
        """
        return self._extreme("max", -np.inf, dim, skipna)

    def min(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Smallest element over dims; NaN if one of them is, unless skipped. See :meth:`sum`.

        Raises
        ------
        DimError
            If a dim has length 0.
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
        """Whether all elements over dims are true."""
        dims = self._dims(dim, "all")
        return _reduce(self.node, "all", dims) if dims else wrap(make("cast", (self.node,), "bool"))

    def any(self, dim: DimKey = None) -> DimTensor:
        """Whether one element over dims is true."""
        dims = self._dims(dim, "any")
        return _reduce(self.node, "any", dims) if dims else wrap(make("cast", (self.node,), "bool"))

    def count(self, dim: DimKey = None) -> DimTensor:
        """Number of elements over dims that are not NaN."""
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
        """
        dims = self._dims(dim, "std")
        result = root_of_variance(self.var(dims, ddof=ddof, skipna=skipna))
        return say(result, "std", self, over=dims, ddof=ddof or None, skipna=skipna)

    def logsumexp(self, dim: DimKey = None) -> DimTensor:
        """Logarithm of the sum of exponentials over dims, without overflow.

        The largest element is taken out before the exponentials are; -inf contributes nothing, and
        nothing gives -inf.
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
        """Exponentials divided by their sum over dims, without overflow."""
        dims = self._dims(dim, "softmax")
        weights = elemwise("exp", self._below_zero(dims)[0])
        return say(elemwise("divide", weights, weights.sum(dims)), "softmax", self, over=dims)

    def log_softmax(self, dim: DimKey = None) -> DimTensor:
        """Logarithm of :meth:`softmax`."""
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

        Examples
        --------
        >>> import dimtensor as dt
        >>> a, b = dt.Dim("a", length=2), dt.Dim("b", length=2)
        >>> dt.data([[1, 2], [3, 4]], dims=[a, b]).cumsum().eval().values.tolist()
        [[1, 3], [4, 10]]
        """
        return self._cumulate("cumsum", 0, dim, skipna)

    def cumprod(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Running product along dims; see :meth:`cumsum`."""
        return self._cumulate("cumprod", 1, dim, skipna)

    def _cumulate(self, name: str, fill: Any, dim: DimKey, skipna: bool) -> DimTensor:
        x = self._present(fill, skipna)
        dims = self._dims(dim, name)
        for along in dims:
            x = make("cumulate", (x,), AlongAttrs(name, along))
        return say(wrap(x), name, self, along=dims, skipna=skipna)

    def _one(self, dim: Dim | str | None, what: str) -> Dim:
        if dim is None:
            if len(self.dims) != 1:
                raise DimError(f"{what}: name one of the dims {[d.short for d in self.dims]}")
            return self.dims[0]
        return find_dim(self.dims, dim, what)

    # -- positions and labels of extremes ----------------------------------------------------------

    def argmax(self, dim: DimKey = None) -> Any:
        """Position of the largest element.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            One dim: positions along it. Several, or ``...``: a dict of positions by name of dim.
            It may be left out where there is only one.

        Returns
        -------
        DimTensor or dict of str to DimTensor
            Ties go to the first element.
        """
        return self._arg("argmax", dim)

    def argmin(self, dim: DimKey = None) -> Any:
        """Position of the smallest element; see :meth:`argmax`."""
        return self._arg("argmin", dim)

    def _arg(self, name: str, dim: DimKey) -> Any:
        if dim is None or isinstance(dim, (Dim, str)):
            return wrap(make("arg_reduce", (self.node,), AlongAttrs(name, self._one(dim, name))))
        dims = self._dims(dim, name)
        if len(dims) == 1:
            return {dims[0].short: self._arg(name, dims[0])}
        product = ProductDim(dims)
        merged = make("merge", (self.node,), product)
        flat = wrap(make("arg_reduce", (merged,), AlongAttrs(name, product)))
        positions: dict[str, DimTensor] = {}
        for factor in reversed(product.factors):
            n = wrap(make("length", (), factor))
            positions[factor.short] = elemwise("mod", flat, n)
            flat = elemwise("floor_divide", flat, n)
        return dict(reversed(positions.items()))

    def idxmax(self, dim: Dim | str | None = None) -> DimTensor:
        """Label of the largest element along a dim, as a tensor of labels.

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
        >>> dt.data([1.0, 2.0], dims=country).idxmax().eval().item()
        'Kenya'
        """
        return self._idx("idxmax", "argmax", dim)

    def idxmin(self, dim: Dim | str | None = None) -> DimTensor:
        """Label of the smallest element along a dim, as a tensor of labels."""
        return self._idx("idxmin", "argmin", dim)

    def _idx(self, name: str, position: str, dim: Dim | str | None) -> DimTensor:
        along = self._one(dim, name)
        codes = wrap(make("codes", (self._arg(position, along).node,), along))
        return say(codes, name, self, along=along)

    # -- order ------------------------------------------------------------------------------------

    def sort(self, dim: Dim | str | None = None) -> DimTensor:
        """Elements in ascending order along a dim; NaN come last.

        Returns
        -------
        DimTensor
            On ``SortedDim(dim)``: the sorted elements no longer belong to the labels of `dim`.
        """
        along = self._one(dim, "sort")
        return wrap(make("sort", (self.node,), SortAttrs(along, SortedDim(along))))

    def argsort(self, dim: Dim | str | None = None) -> DimTensor:
        """Positions of the elements in ascending order, on ``SortedDim(dim)``."""
        along = self._one(dim, "argsort")
        return wrap(make("argsort", (self.node,), SortAttrs(along, SortedDim(along))))

    def median(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Middle element over dims, or the mean of the two middle ones."""
        dims = self._dims(dim, "median")
        return say(
            self.quantile(0.5, dims, skipna=skipna), "median", self, over=dims, skipna=skipna
        )

    def quantile(self, q: Any, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Quantiles over dims, interpolated linearly between order statistics.

        Parameters
        ----------
        q : float or list of float
            Between 0 and 1. Several give a dim ``quantile`` that has them as labels.
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether NaN are left out; else a NaN makes the result NaN.

        Raises
        ------
        InputError
            If a quantile is outside of 0 to 1.

        Notes
        -----
        Definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American
        Statistician 50 (1996), which is NumPy's default.
        """
        if np.ndim(q):
            from dimtensor.tensor.functions import stack

            levels = np.asarray(q, dtype=float)
            new = Dim("quantile", coords=levels)
            each = [self.quantile(float(level), dim, skipna=skipna) for level in levels]
            dims = self._dims(dim, "quantile")
            return say(stack(each, new), "quantile", self, q=levels.tolist(), over=dims)
        if not 0 <= q <= 1:
            raise InputError(f"a quantile is between 0 and 1, not {q}")
        dims = self._dims(dim, "quantile")
        x = require_float(self.node)
        if is_complex(x.dtype):
            raise DtypeError("quantiles of complex numbers are not defined")
        if not dims:
            return wrap(x)
        along = ProductDim(dims)
        flat = wrap(make("merge", (x,), along) if len(dims) > 1 else x)
        result = _quantile_along(flat, float(q), along, skipna)
        return say(result, "quantile", self, q=float(q), over=dims, skipna=skipna)

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
        from dimtensor.tensor.weighted import Weighted

        return Weighted(self, wrap(as_node(weights, [self.node], "weights")))


def root_of_variance(variance: DimTensor) -> DimTensor:
    """Standard deviation, whose gradient stays finite where there is no variance."""
    none = elemwise("equal", variance, 0)
    return elemwise("where", none, 0, elemwise("sqrt", elemwise("where", none, 1, variance)))


def with_an_element(x: DimTensor, dims: Dims, fill: float) -> tuple[DimTensor, Dims]:
    """A tensor with an element more along dims that may have none, and its dims in their place."""
    grown = []
    for dim in dims:
        if not dim.length:
            before, x = x.dims, x.pad({dim: (0, 1)}, constant_values=fill)
            (dim,) = without(x.dims, before)
        grown.append(dim)
    return x, tuple(grown)


def _real(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def _quantile_along(x: DimTensor, q: float, along: Dim, skipna: bool) -> DimTensor:
    # NaN are last in order, and the value where there is no other element
    padded, (longer,) = with_an_element(x, (along,), np.nan)
    ordered, ranks = padded.sort(longer), SortedDim(longer)
    present = x.count(along) if skipna else x._n((along,))
    place = elemwise("multiply", elemwise("subtract", present, 1), q)
    low = elemwise("floor", place)
    share = elemwise("subtract", place, low).astype(x.dtype)
    last = elemwise("maximum", elemwise("subtract", present, 1), 0)
    below = elemwise("maximum", low.astype("int64"), 0)
    above = elemwise("minimum", elemwise("add", below, 1), last)
    first, second = (ordered.isel({ranks: at}) for at in (below, above))
    gap = elemwise("where", elemwise("equal", share, 0), 0, elemwise("subtract", second, first))
    value = elemwise("add", first, elemwise("multiply", gap, share))
    if skipna:
        return elemwise("where", elemwise("greater", present, 0), value, np.nan)
    return elemwise("where", elemwise("isnan", x).any(along), np.nan, value)
