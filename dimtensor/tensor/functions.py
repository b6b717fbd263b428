"""Function forms of the methods, under NumPy's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dimtensor.tensor.changes.elements import round
from dimtensor.tensor.constructors import full_like, ones_like, zeros_like
from dimtensor.tensor.elementwise import angle, clip, imag, real, where
from dimtensor.tensor.handle import TensorLike, as_node, wrap
from dimtensor.tensor.joining import concat, stack
from dimtensor.tensor.numpy_style import named_dims
from dimtensor.tensor.reductions.basic import DimKey
from dimtensor.tensor.reductions.quantiles import QuantileMethod

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

__all__ = [
    "all", "angle", "any", "clip", "concat", "cumprod",
    "cumsum", "full_like", "imag", "log_softmax", "logsumexp", "max", "mean", "median",
    "min", "ones_like", "prod", "quantile", "real", "round", "softmax", "stack", "std",
    "sum", "var", "where", "zeros_like",
]  # fmt: skip


def _tensor(x: TensorLike) -> DimTensor:
    return wrap(as_node(x))


@named_dims
def sum(
    x: TensorLike, dim: DimKey = None, *, skipna: bool = False, min_count: int | None = None
) -> DimTensor:
    """Sum over dims; see :meth:`DimTensor.sum`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.
    skipna : bool
        Whether NaN are left out.
    min_count : int, optional
        With `skipna`: how many elements must be left for a result that is not NaN.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0], dims=dt.Dim("k"))
    >>> dt.sum(x).item()
    3.0
    """
    return _tensor(x).sum(dim, skipna=skipna, min_count=min_count)


@named_dims
def prod(
    x: TensorLike, dim: DimKey = None, *, skipna: bool = False, min_count: int | None = None
) -> DimTensor:
    """Product over dims; see :meth:`DimTensor.prod`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.
    skipna : bool
        Whether NaN are left out.
    min_count : int, optional
        With `skipna`: how many elements must be left for a result that is not NaN.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([2.0, 3.0], dims=dt.Dim("k"))
    >>> dt.prod(x).item()
    6.0
    """
    return _tensor(x).prod(dim, skipna=skipna, min_count=min_count)


@named_dims
def mean(x: TensorLike, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
    """Arithmetic mean over dims; see :meth:`DimTensor.mean`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.
    skipna : bool
        Whether NaN are left out.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0], dims=dt.Dim("k"))
    >>> dt.mean(x).item()
    1.5
    """
    return _tensor(x).mean(dim, skipna=skipna)


@named_dims
def var(x: TensorLike, dim: DimKey = None, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
    """Variance over dims; see :meth:`DimTensor.var`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.
    ddof : int
        Subtracted from the number of elements in the divisor.
    skipna : bool
        Whether NaN are left out.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 3.0], dims=dt.Dim("k"))
    >>> dt.var(x).item()
    1.0
    """
    return _tensor(x).var(dim, ddof=ddof, skipna=skipna)


@named_dims
def std(x: TensorLike, dim: DimKey = None, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
    """Standard deviation over dims; see :meth:`DimTensor.std`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.
    ddof : int
        Subtracted from the number of elements in the divisor.
    skipna : bool
        Whether NaN are left out.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 3.0], dims=dt.Dim("k"))
    >>> dt.std(x).item()
    1.0
    """
    return _tensor(x).std(dim, ddof=ddof, skipna=skipna)


@named_dims
def max(x: TensorLike, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
    """Largest element over dims; see :meth:`DimTensor.max`. Of two tensors: ``dt.maximum``.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.
    skipna : bool
        Whether NaN are left out.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0], dims=dt.Dim("k"))
    >>> dt.max(x).item()
    2.0
    """
    return _tensor(x).max(dim, skipna=skipna)


@named_dims
def min(x: TensorLike, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
    """Smallest element over dims; see :meth:`DimTensor.min`. Of two tensors: ``dt.minimum``.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.
    skipna : bool
        Whether NaN are left out.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0], dims=dt.Dim("k"))
    >>> dt.min(x).item()
    1.0
    """
    return _tensor(x).min(dim, skipna=skipna)


@named_dims
def all(x: TensorLike, dim: DimKey = None) -> DimTensor:
    """Whether all elements over dims are true.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([True, False], dims=dt.Dim("k"))
    >>> dt.all(x).item()
    False
    """
    return _tensor(x).all(dim)


@named_dims
def any(x: TensorLike, dim: DimKey = None) -> DimTensor:
    """Whether one element over dims is true.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([True, False], dims=dt.Dim("k"))
    >>> dt.any(x).item()
    True
    """
    return _tensor(x).any(dim)


@named_dims
def logsumexp(x: TensorLike, dim: DimKey = None) -> DimTensor:
    """Logarithm of the sum of exponentials over dims; see :meth:`DimTensor.logsumexp`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([0.0, 0.0], dims=dt.Dim("k"))
    >>> f"{dt.logsumexp(x).item():.4f}"
    '0.6931'
    """
    return _tensor(x).logsumexp(dim)


@named_dims
def softmax(x: TensorLike, dim: DimKey = None) -> DimTensor:
    """Exponentials divided by their sum over dims; see :meth:`DimTensor.softmax`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([5.0, 5.0], dims=dt.Dim("k"))
    >>> dt.softmax(x).values.tolist()
    [0.5, 0.5]
    """
    return _tensor(x).softmax(dim)


@named_dims
def log_softmax(x: TensorLike, dim: DimKey = None) -> DimTensor:
    """Logarithm of the softmax over dims; see :meth:`DimTensor.log_softmax`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([5.0, 5.0], dims=dt.Dim("k"))
    >>> dt.log_softmax(x).values.round(4).tolist()
    [-0.6931, -0.6931]
    """
    return _tensor(x).log_softmax(dim)


@named_dims
def cumsum(x: TensorLike, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
    """Running sum along dims; see :meth:`DimTensor.cumsum`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.
    skipna : bool
        Whether NaN are left out.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0], dims=dt.Dim("k"))
    >>> dt.cumsum(x).values.tolist()
    [1.0, 3.0]
    """
    return _tensor(x).cumsum(dim, skipna=skipna)


@named_dims
def cumprod(x: TensorLike, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
    """Running product along dims; see :meth:`DimTensor.cumprod`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.
    skipna : bool
        Whether NaN are left out.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([2.0, 3.0], dims=dt.Dim("k"))
    >>> dt.cumprod(x).values.tolist()
    [2.0, 6.0]
    """
    return _tensor(x).cumprod(dim, skipna=skipna)


@named_dims
def median(x: TensorLike, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
    """Middle element over dims; see :meth:`DimTensor.median`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim, str or iterable of them, optional
        All dims by default.
    skipna : bool
        Whether NaN are left out.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0, 4.0], dims=dt.Dim("k"))
    >>> dt.median(x).item()
    2.0
    """
    return _tensor(x).median(dim, skipna=skipna)


@named_dims
def quantile(
    x: TensorLike,
    q: float | Sequence[float] | np.ndarray | DimTensor,
    dim: DimKey = None,
    *,
    method: QuantileMethod = "linear",
    skipna: bool = False,
) -> DimTensor:
    """Quantiles over dims; see :meth:`DimTensor.quantile`.

    Parameters
    ----------
    x : DimTensor, array or number
    q : float, list of float or DimTensor
    dim : Dim, str or iterable of them, optional
        All dims by default.
    method : str
        One of NumPy's methods.
    skipna : bool
        Whether NaN are left out.

    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k"))
    >>> dt.quantile(x, 0.25).item()
    1.5
    """
    return _tensor(x).quantile(q, dim, method=method, skipna=skipna)
