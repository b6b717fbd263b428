"""Functions of the order and the number of elements, under NumPy's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.tensor.handle import TensorLike, as_node, wrap
from dimtensor.tensor.numpy_style import named_dims
from dimtensor.tensor.reductions.basic import DimKey

if TYPE_CHECKING:
    from dimtensor.dims import Dim
    from dimtensor.tensor.core import DimTensor

__all__ = ["argmax", "argmin", "argsort", "count", "diff", "sort"]


def _tensor(x: TensorLike) -> DimTensor:
    return wrap(as_node(x))


@named_dims
def argmax(x: TensorLike, dim: Dim | str | None = None, *, skipna: bool = False) -> DimTensor:
    """Position of the largest element along a dim; see :meth:`DimTensor.argmax`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim or str, optional
        May be left out where there is only one.
    skipna : bool
        Whether NaN are left out.


    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k"))
    >>> dt.argmax(x).item()
    0
    """
    return _tensor(x).argmax(dim, skipna=skipna)


@named_dims
def argmin(x: TensorLike, dim: Dim | str | None = None, *, skipna: bool = False) -> DimTensor:
    """Position of the smallest element along a dim; see :meth:`DimTensor.argmin`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim or str, optional
        May be left out where there is only one.
    skipna : bool
        Whether NaN are left out.


    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k"))
    >>> dt.argmin(x).item()
    1
    """
    return _tensor(x).argmin(dim, skipna=skipna)


@named_dims
def sort(x: TensorLike, dim: Dim | str | None = None) -> DimTensor:
    """Elements in ascending order along a dim; see :meth:`DimTensor.sort`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim or str, optional
        May be left out where there is only one.


    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k"))
    >>> dt.sort(x).values.tolist()
    [1.0, 2.0, 3.0]
    """
    return _tensor(x).sort(dim)


@named_dims
def argsort(x: TensorLike, dim: Dim | str | None = None) -> DimTensor:
    """Positions of the elements in ascending order along a dim; see :meth:`DimTensor.argsort`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim or str, optional
        May be left out where there is only one.


    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k"))
    >>> dt.argsort(x).values.tolist()
    [1, 2, 0]
    """
    return _tensor(x).argsort(dim)


@named_dims
def count(x: TensorLike, dim: DimKey = None) -> DimTensor:
    """Number of elements over dims that are not NaN; see :meth:`DimTensor.count`.

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
    >>> x = dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k"))
    >>> dt.count(x).item()
    3
    """
    return _tensor(x).count(dim)


@named_dims
def diff(x: TensorLike, dim: Dim | str, n: int = 1, label: str = "upper") -> DimTensor:
    """Differences of neighbours along a dim; see :meth:`DimTensor.diff`.

    Parameters
    ----------
    x : DimTensor, array or number
    dim : Dim or str
    n : int
        How often differences are taken.
    label : {"upper", "lower"}
        Which of the two labels a difference has.


    Returns
    -------
    DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k"))
    >>> dt.diff(x, "k").values.tolist()
    [-2.0, 1.0]
    """
    return _tensor(x).diff(dim, n, label)
