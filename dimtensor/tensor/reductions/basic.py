"""Reductions, with the names and defaults of xarray.

One default differs: ``skipna`` is False, because a log density that skips NaN hides its failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dims, find_dims, with_ancestors, without
from dimtensor.errors import OptionError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import ReduceAttrs
from dimtensor.graph.dtypes import is_complex, is_inexact
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import TensorHandle, constant, elemwise, require_float, wrap
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.ragged.layout import ragged_count, ragged_reduced
from dimtensor.typing import DimKey as DimKey

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def reduced(x: Node, name: str, dims: Dims) -> DimTensor:
    """Reduce a node over dims; over none it is unchanged, if the dtype is the same.

    Over a ragged dim it has the dim of the parents, unless that is among the dims, too.
    """
    if any(dim._within is not None for dim in dims):
        return ragged_reduced(x, name, dims)
    node = make("reduce", (x,), ReduceAttrs(name, dims))
    return wrap(node if dims or node.dtype != x.dtype else x)


def _is_float(x: Node) -> bool:
    return is_inexact(x.dtype)


def nan_filled(x: TensorHandle, fill: Any, skipna: bool) -> DimTensor:
    """Replace NaN by a number where they are skipped."""
    if not skipna or not _is_float(x.node):
        return wrap(x.node)
    return elemwise("where", elemwise("isnan", x), fill, x)


def positions_over(dims: Dims) -> DimTensor:
    """Return the number of positions along dims, as a tensor: lengths may come with data."""
    if any(dim._within is not None for dim in dims):
        return ragged_count(dims)
    total = wrap(constant(1, "int64"))
    for dim in dims:
        # a node even where the length is known: the dim may be replaced by another
        total = elemwise("multiply", total, wrap(make("length", (), dim)))
    return total


@with_named_dims
class ReductionMixin(TensorHandle):
    """Reductions of tensors, by default over all dims."""

    __slots__ = ()

    def _dims(self, dim: DimKey, what: str) -> Dims:
        own: Dims = self.dims
        if any(each._within is not None for each in own):  # a dim of parents goes after its own
            own = with_ancestors(own)
        return tuple(sorted(find_dims(own, dim, what), key=lambda d: d._sort_key))

    def sum(
        self, dim: DimKey = None, *, skipna: bool = False, min_count: int | None = None
    ) -> DimTensor:
        """Sum over dims.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether to leave out NaN.
        min_count : int, optional
            With `skipna`: the number of elements that must be left; otherwise the result is NaN.

        Returns
        -------
        DimTensor
            Without the dims.

        Raises
        ------
        DimError
            If a dim is not there.
        OptionError
            If `min_count` is given without `skipna`.

        Examples
        --------
        >>> import dimtensor as dt
        >>> float(dt.data([1.0, 2.0], dims=dt.Dim("k")).sum().eval())
        3.0
        """
        return self._reduced("sum", 0, self._dims(dim, "sum"), skipna, min_count)

    def prod(
        self, dim: DimKey = None, *, skipna: bool = False, min_count: int | None = None
    ) -> DimTensor:
        """Multiply the elements over dims; see :meth:`sum`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether to leave out NaN.
        min_count : int, optional
            With `skipna`: the number of elements that must be left; otherwise the result is NaN.

        Returns
        -------
        DimTensor
            Without the dims.

        Raises
        ------
        DimError
            If a dim is not there.
        OptionError
            If `min_count` is given without `skipna`.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([2.0, 3.0], dims=dt.Dim("k")).prod().item()
        6.0
        """
        return self._reduced("prod", 1, self._dims(dim, "prod"), skipna, min_count)

    def _reduced(
        self, name: str, fill: Any, dims: Dims, skipna: bool, min_count: int | None
    ) -> DimTensor:
        least = checked_min_count(name, min_count, skipna)
        result = reduced(nan_filled(self, fill, skipna).node, name, dims)
        if least:
            result = where_enough(result, self.count(dims), least)
        if not skipna:
            return result
        return say(result, name, self, dim=dims, skipna=True, min_count=min_count)

    def max(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Return the largest element over dims. See :meth:`sum`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether to leave out NaN.

        Returns
        -------
        DimTensor
            Without the dims.

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
        """Return the smallest element over dims. See :meth:`sum`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether to leave out NaN.

        Returns
        -------
        DimTensor
            Without the dims.

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
        result = reduced(nan_filled(self, fill, skipna).node, name, dims)
        if skipna and _is_float(self.node) and dims:
            some = elemwise("logical_not", elemwise("isnan", self)).any(dims)
            result = elemwise("where", some, result, np.nan)
            return say(result, name, self, dim=dims, skipna=True)
        return result

    def all(self, dim: DimKey = None) -> DimTensor:
        """Test whether all elements over dims are true.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

        Returns
        -------
        DimTensor
            Of dtype bool, without the dims.

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
        return reduced(self.node, "all", dims) if dims else wrap(make("cast", (self.node,), "bool"))

    def any(self, dim: DimKey = None) -> DimTensor:
        """Test whether any element over dims is true.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

        Returns
        -------
        DimTensor
            Of dtype bool, without the dims.

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
        return reduced(self.node, "any", dims) if dims else wrap(make("cast", (self.node,), "bool"))

    def count(self, dim: DimKey = None) -> DimTensor:
        """Count the elements over dims that are not NaN.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.

        Returns
        -------
        DimTensor
            Integers, without the dims.

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
            return say(present.sum(dims), "count", self, dim=dims)
        return positions_over(dims).expand(without(self.dims, dims))

    def _mean_count(self, dims: Dims, skipna: bool) -> DimTensor:
        if skipna and _is_float(self.node):
            return self.count(dims)
        return positions_over(dims)

    def mean(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute the arithmetic mean over dims.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether to leave out NaN.

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
        >>> float(dt.data([1.0, 2.0], dims=dt.Dim("k")).mean().eval())
        1.5
        """
        dims = self._dims(dim, "mean")
        x = wrap(require_float(self.node))
        total = x.sum(dims, skipna=skipna)
        count = self._mean_count(dims, skipna).astype(_real(x.dtype))
        result = elemwise("divide", total, count)
        return say(result, "mean", self, dim=dims, skipna=skipna)

    def var(self, dim: DimKey = None, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
        """Compute the variance over dims: the mean squared distance from the mean.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        ddof : int
            Subtracted from the number of elements in the divisor.
        skipna : bool
            Whether to leave out NaN.

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
        >>> dt.data([1.0, 3.0], dims=dt.Dim("k")).var(ddof=1).item()
        2.0
        """
        dims = self._dims(dim, "var")
        x = wrap(require_float(self.node))
        gap = elemwise("subtract", x, x.mean(dims, skipna=skipna))
        if is_complex(x.dtype):  # abs of real numbers would have no second derivative at 0
            gap = elemwise("abs", gap)
        squares = elemwise("square", gap).sum(dims, skipna=skipna)
        n = elemwise("subtract", self._mean_count(dims, skipna), ddof)
        some = elemwise("greater", n, 0)
        n = elemwise("maximum", n, 0).astype(_real(x.dtype))
        result = elemwise("divide", squares, n)
        if skipna and _is_float(x.node):
            result = elemwise("where", some, result, np.nan)  # as NumPy does for too few elements
        return say(result, "var", self, dim=dims, ddof=ddof or None, skipna=skipna)

    def std(self, dim: DimKey = None, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
        """Compute the standard deviation over dims: the square root of :meth:`var`.

        Its gradient where all elements are equal is 0, a subgradient.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        ddof : int
            Subtracted from the number of elements in the divisor.
        skipna : bool
            Whether to leave out NaN.

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
        >>> dt.data([1.0, 3.0], dims=dt.Dim("k")).std().item()
        1.0
        """
        dims = self._dims(dim, "std")
        result = root_of_variance(self.var(dims, ddof=ddof, skipna=skipna))
        return say(result, "std", self, dim=dims, ddof=ddof or None, skipna=skipna)


def checked_min_count(name: str, min_count: int | None, skipna: bool) -> int:
    """Return the number of elements that must be left, 0 for None.

    Raises
    ------
    OptionError
        If it is no integer, or NaN are not left out.
    """
    if min_count is None:
        return 0
    if isinstance(min_count, bool) or not isinstance(min_count, (int, np.integer)):
        raise OptionError(f"{name}: min_count is an integer, not {min_count!r}")
    if not skipna:
        raise OptionError(
            f"{name}: min_count counts the elements that are left where NaN are left out; it goes "
            "with skipna=True"
        )
    return int(min_count)


def where_enough(value: DimTensor, present: DimTensor, least: int | DimTensor) -> DimTensor:
    """Replace a value by NaN where there are too few elements for one."""
    value = wrap(require_float(value.node))
    return elemwise("where", elemwise("greater_equal", present, least), value, np.nan)


def root_of_variance(variance: DimTensor) -> DimTensor:
    """Take the square root of a variance; the gradient at 0 is 0."""
    none = elemwise("equal", variance, 0)
    return elemwise("where", none, 0, elemwise("sqrt", elemwise("where", none, 1, variance)))


def _real(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
