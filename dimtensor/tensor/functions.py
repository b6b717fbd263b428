"""Functions that join tensors, and function forms of the methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dims import ConcatDim, Dim, as_dim_tuple, find_dim, in_order
from dimtensor.errors import DimError, InputError, build_message
from dimtensor.graph import make
from dimtensor.graph.attrs import ConcatAttrs
from dimtensor.graph.infer import describe
from dimtensor.graph.rebuilding.substitute import relabel_node
from dimtensor.tensor.constructors import full_like, ones_like, zeros_like
from dimtensor.tensor.elementwise import angle, clip, imag, real, round, where
from dimtensor.tensor.handle import TensorHandle, as_node, wrap
from dimtensor.tensor.numpy_style import named_dims

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

__all__ = [
    "all", "angle", "any", "clip", "concat", "cumprod", "cumsum", "full_like", "imag",
    "log_softmax", "logsumexp", "max", "mean", "median", "min", "ones_like", "prod", "quantile",
    "real", "round", "softmax", "stack", "std", "sum", "var", "where", "zeros_like",
]  # fmt: skip


@named_dims
def concat(
    tensors: Sequence[Any], dims: Dim | str | Sequence[Dim | str], name: str | None = None
) -> DimTensor:
    """Join tensors one after the other along dims.

    Parameters
    ----------
    tensors : sequence of DimTensor
    dims : Dim, str, or a sequence with one per tensor
        The dim of each tensor along which it is joined; one name for all of them where it is the
        same. Pieces of one dim put together again give that dim.
    name : str, optional
        Name of the joined dim, needed where the names of `dims` differ.

    Returns
    -------
    DimTensor
        On a ConcatDim that has the labels of all; other dims broadcast.

    Raises
    ------
    DimError
        If a tensor lacks its dim, or the other dims clash.

    Examples
    --------
    >>> import dimtensor as dt
    >>> t = dt.Dim("t", coords=["a", "b", "c"])
    >>> x = dt.tensor("x", dims=t)
    >>> dt.concat([x[:1], x[1:]], "t").dims == (t,)
    True
    """
    tensors = in_order(tensors, "the tensors of concat")
    if not len(tensors):
        raise InputError("concat takes at least one tensor")
    beside = [x.node for x in tensors if isinstance(x, TensorHandle)]
    nodes = [as_node(x, beside, f"operand {at + 1} of concat") for at, x in enumerate(tensors)]
    keys = (
        [dims] * len(nodes)
        if isinstance(dims, (Dim, str))
        else in_order(dims, "the dims of concat")
    )
    if len(keys) != len(nodes):
        raise DimError(f"concat: {len(keys)} dims are named for {len(nodes)} tensors")
    parts = tuple(
        find_dim(x.dims, key, f"operand {at + 1} of concat")
        for at, (x, key) in enumerate(zip(nodes, keys, strict=True))
    )
    whole = ConcatDim(parts, name)
    if len(nodes) == 1:
        return wrap(relabel_node(nodes[0], (parts[0], whole)))
    return wrap(make("concat", tuple(nodes), ConcatAttrs(parts, whole)))


@named_dims
def stack(tensors: Sequence[Any], dim: Dim | str) -> DimTensor:
    """Join tensors along a new dim, one position each.

    Parameters
    ----------
    tensors : sequence of DimTensor or number
        Their dims broadcast.
    dim : Dim or str
        The new dim, as long as there are tensors; a name makes one without labels.

    Raises
    ------
    DimError
        If the dim has another length, or a tensor has it already.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x, y = dt.scalar("x"), dt.scalar("y")
    >>> dt.stack([x, y], dt.Dim("which", coords=["x", "y"])).sizes
    {'which': 2}
    """
    tensors = in_order(tensors, "the tensors of stack")
    if not len(tensors):
        raise InputError("stack takes at least one tensor")
    given = Dim(dim, length=len(tensors)) if isinstance(dim, str) else dim
    (dim,) = as_dim_tuple(given, "the dim of stack")
    if dim.length != len(tensors):
        raise DimError(f"stack: {len(tensors)} tensors do not fill {dim!r}, one position each")
    beside = [x.node for x in tensors if isinstance(x, TensorHandle)]
    nodes = [as_node(x, beside, f"operand {at + 1} of stack") for at, x in enumerate(tensors)]
    for at, x in enumerate(nodes):
        if dim in x.dims:
            raise DimError(
                build_message(
                    f"stack: operand {at + 1} has {dim.title} already",
                    [("operand", describe(x))],
                    "stack along a new dim; concat joins along one that is there",
                )
            )
    return wrap(make("stack", tuple(nodes), dim))


def _tensor(x: Any) -> Any:
    return wrap(as_node(x))


@named_dims
def sum(x: Any, dim: Any = None, *, skipna: bool = False) -> DimTensor:
    """Sum over dims; see :meth:`DimTensor.sum`."""
    return _tensor(x).sum(dim, skipna=skipna)


@named_dims
def prod(x: Any, dim: Any = None, *, skipna: bool = False) -> DimTensor:
    """Product over dims; see :meth:`DimTensor.prod`."""
    return _tensor(x).prod(dim, skipna=skipna)


@named_dims
def mean(x: Any, dim: Any = None, *, skipna: bool = False) -> DimTensor:
    """Arithmetic mean over dims; see :meth:`DimTensor.mean`."""
    return _tensor(x).mean(dim, skipna=skipna)


@named_dims
def var(x: Any, dim: Any = None, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
    """Variance over dims; see :meth:`DimTensor.var`."""
    return _tensor(x).var(dim, ddof=ddof, skipna=skipna)


@named_dims
def std(x: Any, dim: Any = None, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
    """Standard deviation over dims; see :meth:`DimTensor.std`."""
    return _tensor(x).std(dim, ddof=ddof, skipna=skipna)


@named_dims
def max(x: Any, dim: Any = None, *, skipna: bool = False) -> DimTensor:
    """Largest element over dims; see :meth:`DimTensor.max`. Of two tensors: ``dt.maximum``."""
    return _tensor(x).max(dim, skipna=skipna)


@named_dims
def min(x: Any, dim: Any = None, *, skipna: bool = False) -> DimTensor:
    """Smallest element over dims; see :meth:`DimTensor.min`. Of two tensors: ``dt.minimum``."""
    return _tensor(x).min(dim, skipna=skipna)


@named_dims
def all(x: Any, dim: Any = None) -> DimTensor:
    """Whether all elements over dims are true."""
    return _tensor(x).all(dim)


@named_dims
def any(x: Any, dim: Any = None) -> DimTensor:
    """Whether one element over dims is true."""
    return _tensor(x).any(dim)


@named_dims
def logsumexp(x: Any, dim: Any = None) -> DimTensor:
    """Logarithm of the sum of exponentials over dims; see :meth:`DimTensor.logsumexp`."""
    return _tensor(x).logsumexp(dim)


@named_dims
def softmax(x: Any, dim: Any = None) -> DimTensor:
    """Exponentials divided by their sum over dims; see :meth:`DimTensor.softmax`."""
    return _tensor(x).softmax(dim)


@named_dims
def log_softmax(x: Any, dim: Any = None) -> DimTensor:
    """Logarithm of the softmax over dims; see :meth:`DimTensor.log_softmax`."""
    return _tensor(x).log_softmax(dim)


@named_dims
def cumsum(x: Any, dim: Any = None, *, skipna: bool = False) -> DimTensor:
    """Running sum along dims; see :meth:`DimTensor.cumsum`."""
    return _tensor(x).cumsum(dim, skipna=skipna)


@named_dims
def cumprod(x: Any, dim: Any = None, *, skipna: bool = False) -> DimTensor:
    """Running product along dims; see :meth:`DimTensor.cumprod`."""
    return _tensor(x).cumprod(dim, skipna=skipna)


@named_dims
def median(x: Any, dim: Any = None, *, skipna: bool = False) -> DimTensor:
    """Middle element over dims; see :meth:`DimTensor.median`."""
    return _tensor(x).median(dim, skipna=skipna)


@named_dims
def quantile(x: Any, q: Any, dim: Any = None, *, skipna: bool = False) -> DimTensor:
    """Quantiles over dims; see :meth:`DimTensor.quantile`."""
    return _tensor(x).quantile(q, dim, skipna=skipna)
