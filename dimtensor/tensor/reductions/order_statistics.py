"""Extremes, sorting and quantiles along dims; names and defaults as in xarray."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, ProductDim, SortedDim, only_dim, without
from dimtensor.errors import DtypeError, InputError
from dimtensor.graph import make
from dimtensor.graph.attrs import AlongAttrs, SortAttrs
from dimtensor.graph.dtypes import is_complex
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import elemwise, require_float, wrap
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.reductions.basic import DimKey, ReductionMixin

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@with_named_dims
class OrderMixin(ReductionMixin):
    """Methods that depend on the order of elements: extremes, sorting, quantiles."""

    __slots__ = ()

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

        Raises
        ------
        DimError
            If there is no such dim, or several and none is named; if a dim has length 0.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1.0, 3.0, 2.0], dims=dt.Dim("k")).argmax().item()
        1
        """
        return self._arg("argmax", dim)

    def argmin(self, dim: DimKey = None) -> Any:
        """Position of the smallest element; see :meth:`argmax`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional

        Returns
        -------
        DimTensor or dict of str to DimTensor

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k")).argmin().item()
        1
        """
        return self._arg("argmin", dim)

    def _arg(self, name: str, dim: DimKey) -> Any:
        if dim is None or isinstance(dim, (Dim, str)):
            return wrap(
                make("arg_reduce", (self.node,), AlongAttrs(name, only_dim(self.dims, dim, name)))
            )
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

        Parameters
        ----------
        dim : Dim or str, optional
            It may be left out where there is only one.

        Returns
        -------
        DimTensor

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
        >>> dt.data([1.0, 2.0], dims=country).idxmax().eval().item()
        'Kenya'
        """
        return self._idx("idxmax", "argmax", dim)

    def idxmin(self, dim: Dim | str | None = None) -> DimTensor:
        """Label of the smallest element along a dim, as a tensor of labels.

        Parameters
        ----------
        dim : Dim or str, optional
            It may be left out where there is only one.

        Returns
        -------
        DimTensor

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
        >>> dt.data([1.0, 2.0], dims=country).idxmin().eval().item()
        'Italy'
        """
        return self._idx("idxmin", "argmin", dim)

    def _idx(self, name: str, position: str, dim: Dim | str | None) -> DimTensor:
        along = only_dim(self.dims, dim, name)
        codes = wrap(make("codes", (self._arg(position, along).node,), along))
        return say(codes, name, self, along=along)

    # -- order ------------------------------------------------------------------------------------

    def sort(self, dim: Dim | str | None = None) -> DimTensor:
        """Elements in ascending order along a dim; NaN come last.

        Parameters
        ----------
        dim : Dim or str, optional
            It may be left out where there is only one.

        Returns
        -------
        DimTensor
            On ``SortedDim(dim)``: the sorted elements no longer belong to the labels of `dim`.

        Raises
        ------
        DimError
            If there is no such dim, or several and none is named.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k")).sort().values.tolist()
        [1.0, 2.0, 3.0]
        """
        along = only_dim(self.dims, dim, "sort")
        return wrap(make("sort", (self.node,), SortAttrs(along, SortedDim(along))))

    def argsort(self, dim: Dim | str | None = None) -> DimTensor:
        """Positions of the elements in ascending order, on ``SortedDim(dim)``.

        Parameters
        ----------
        dim : Dim or str, optional
            It may be left out where there is only one.

        Returns
        -------
        DimTensor
            Integers.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k")).argsort().values.tolist()
        [1, 2, 0]
        """
        along = only_dim(self.dims, dim, "argsort")
        return wrap(make("argsort", (self.node,), SortAttrs(along, SortedDim(along))))

    def median(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Middle element over dims, or the mean of the two middle ones.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether NaN are left out.

        Returns
        -------
        DimTensor
            Without the dims.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([3.0, 1.0, 2.0, 7.0], dims=dt.Dim("k")).median().item()
        2.5
        """
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

        Returns
        -------
        DimTensor
            Without the dims, and with ``quantile`` where `q` is a list.

        Raises
        ------
        InputError
            If a quantile is outside of 0 to 1.

        Notes
        -----
        Definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American
        Statistician 50 (1996), which is NumPy's default.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k")).quantile(0.25).item()
        1.5
        """
        if np.ndim(q):
            from dimtensor.tensor.joining import stack

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


def with_an_element(x: DimTensor, dims: Dims, fill: float) -> tuple[DimTensor, Dims]:
    """A tensor with an element more along dims that may have none, and its dims in their place."""
    grown = []
    for dim in dims:
        if not dim.length:
            before, x = x.dims, x.pad({dim: (0, 1)}, constant_values=fill)
            (dim,) = without(x.dims, before)
        grown.append(dim)
    return x, tuple(grown)


def _quantile_along(x: DimTensor, q: float, along: Dim, skipna: bool) -> DimTensor:
    # NaN are last in order, and the value where there is no other element
    padded, (longer,) = with_an_element(x, (along,), np.nan)
    ordered, ranks = padded.sort(longer), SortedDim(longer)
    present = x.count(along) if skipna else x._n((along,))
    value = in_order(present, q, x.dtype, lambda rank: ordered.isel({ranks: rank}))
    if skipna:
        return elemwise("where", elemwise("greater", present, 0), value, np.nan)
    return elemwise("where", elemwise("isnan", x).any(along), np.nan, value)


def in_order(
    count: DimTensor, q: float, dtype: str, element: Callable[[DimTensor], DimTensor]
) -> DimTensor:
    """A quantile of some elements, on the line between the two that are next to it in order.

    Parameters
    ----------
    count : DimTensor
        How many elements there are.
    q : float
    dtype : str
        That of the elements.
    element : callable
        The element of a rank, counted from 0.
    """
    place = elemwise("multiply", elemwise("subtract", count, 1), q)
    low = elemwise("floor", place)
    share = elemwise("subtract", place, low).astype(dtype)
    last = elemwise("maximum", elemwise("subtract", count, 1), 0)
    below = elemwise("maximum", low.astype("int64"), 0)
    above = elemwise("minimum", elemwise("add", below, 1), last)
    first, second = element(below), element(above)
    # no infinity times 0
    gap = elemwise("where", elemwise("equal", share, 0), 0, elemwise("subtract", second, first))
    return elemwise("add", first, elemwise("multiply", gap, share))
