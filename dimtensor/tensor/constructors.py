"""Constructors of tensors: constants along dims, positions, labels, the identity matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.dims import Dim, canonical_dims
from dimtensor.errors import ArgumentError, DimError
from dimtensor.graph import make
from dimtensor.graph.dtypes import valid_dtype
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import as_node, cast, constant, elemwise, wrap
from dimtensor.tensor.ragged.layout import numbers, sizes
from dimtensor.typing import DimsLike

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import DtypeLike, TensorLike


def full(dims: DimsLike, value: TensorLike, dtype: DtypeLike | None = None) -> DimTensor:
    """Make a tensor of one value along dims.

    Parameters
    ----------
    dims : Dim or iterable of Dim
        The length of a dim without one is that of the other tensors of a function.
    value : number or DimTensor
        A tensor is broadcast along the dims it lacks.
    dtype : dtype-like, optional

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If something is not a Dim, is given twice, or two dims have one name.
    ArgumentError
        If the value is given before the dims.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.full(dt.Dim("k", length=2), 3.0).eval().values.tolist()
    [3.0, 3.0]
    """
    first = next(iter(value), None) if isinstance(value, (list, tuple)) else value
    if isinstance(first, Dim):
        shown = [dim._short for dim in canonical_dims(value, "the dims of full")]  # type: ignore[arg-type]
        number = dims if isinstance(dims, (int, float)) else "value"
        hint = f"dt.full([{', '.join(shown)}], {number})"
        raise ArgumentError("full takes dims first, and the value after them", hint=hint)
    node = as_node(value) if dtype is None else None
    if node is None:
        target = valid_dtype(dtype)
        node = (
            make("cast", (value.node,), target)
            if hasattr(value, "node")
            else constant(value, target)
        )
    added = tuple(d for d in canonical_dims(dims, "the dims of full") if d not in node.dims)
    return wrap(make("expand", (node,), added) if added else node)


def zeros(dims: DimsLike = None, dtype: DtypeLike = "float64") -> DimTensor:
    """Make a tensor of zeros along dims.

    Parameters
    ----------
    dims : Dim or iterable of Dim, optional
    dtype : dtype-like

    Returns
    -------
    DimTensor

    Raises
    ------
    RaggedDimError
        If a ragged dim is with its parent.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.zeros(dt.Dim("k", length=2)).eval().values.tolist()
    [0.0, 0.0]
    """
    return full(dims, 0, dtype)


def ones(dims: DimsLike = None, dtype: DtypeLike = "float64") -> DimTensor:
    """Make a tensor of ones along dims.

    Parameters
    ----------
    dims : Dim or iterable of Dim, optional
    dtype : dtype-like

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If something is not a Dim, is given twice, or two dims have one name.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.ones(dt.Dim("k", length=2)).eval().values.tolist()
    [1.0, 1.0]
    """
    return full(dims, 1, dtype)


def full_like(x: DimTensor, value: TensorLike, dtype: DtypeLike | None = None) -> DimTensor:
    """Make a tensor of one value with the dims of another, by default in its dtype.

    Parameters
    ----------
    x : DimTensor
    value : number or DimTensor
    dtype : dtype-like, optional

    Returns
    -------
    DimTensor

    Raises
    ------
    InputError
        If `x` is an array: nothing says which dims its axes are.
    DtypeError
        If `x` is neither a tensor nor a number.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.full_like(dt.ones(dt.Dim("k", length=2)), 5).eval().values.tolist()
    [5.0, 5.0]
    """
    node = as_node(x, what="the operand of full_like, zeros_like or ones_like")
    return full(node.dims, value, node.dtype if dtype is None else dtype)


def zeros_like(x: DimTensor, dtype: DtypeLike | None = None) -> DimTensor:
    """Make a tensor of zeros with the dims of another, by default in its dtype.

    Parameters
    ----------
    x : DimTensor
    dtype : dtype-like, optional

    Returns
    -------
    DimTensor

    Raises
    ------
    InputError
        If `x` is an array: nothing says which dims its axes are.
    DtypeError
        If `x` is neither a tensor nor a number.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.zeros_like(dt.ones(dt.Dim("k", length=2))).eval().values.tolist()
    [0.0, 0.0]
    """
    return full_like(x, 0, dtype)


def ones_like(x: DimTensor, dtype: DtypeLike | None = None) -> DimTensor:
    """Make a tensor of ones with the dims of another, by default in its dtype.

    Parameters
    ----------
    x : DimTensor
    dtype : dtype-like, optional

    Returns
    -------
    DimTensor

    Raises
    ------
    InputError
        If `x` is an array: nothing says which dims its axes are.
    DtypeError
        If `x` is neither a tensor nor a number.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.ones_like(dt.zeros(dt.Dim("k", length=2))).eval().values.tolist()
    [1.0, 1.0]
    """
    return full_like(x, 1, dtype)


def arange(dim: Dim, dtype: DtypeLike = "int64") -> DimTensor:
    """Return the positions along a dim: 0, 1, 2, …; along a ragged dim within each parent.

    Parameters
    ----------
    dim : Dim
    dtype : dtype-like

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If the dim is no Dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.arange(dt.Dim("k", length=3)).eval().values.tolist()
    [0, 1, 2]
    """
    (dim,) = canonical_dims(dim, "the dim of arange")
    node = make("positions", (), dim) if dim._within is None else numbers(dim).node
    return wrap(cast(node, valid_dtype(dtype)))


def labels(dim: Dim) -> DimTensor:
    """Return the labels of a dim along itself, for comparisons and selections.

    Parameters
    ----------
    dim : Dim

    Returns
    -------
    DimTensor
        Of labels, or of positions if the dim has no labels.

    Raises
    ------
    DimError
        If the dim is no Dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
    >>> (dt.labels(country) == "Kenya").eval().values.tolist()
    [False, True]
    """
    (dim,) = canonical_dims(dim, "the dim of labels")
    return say(wrap(make("codes", (make("positions", (), dim),), dim)), "index", **{"": dim})


def length(dim: Dim) -> DimTensor:
    """Return the length of a dim as a scalar tensor, or the lengths of a ragged dim by parent.

    Parameters
    ----------
    dim : Dim

    Returns
    -------
    DimTensor
        An integer. For a dim without a length it is known when a function is called.

    Raises
    ------
    DimError
        If the dim is no Dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> int(dt.length(dt.Dim("k", length=3)).eval())
    3
    """
    (dim,) = canonical_dims(dim, "the dim of length")
    if dim._within is not None:
        return sizes(dim)
    return wrap(make("length", (), dim))


def linspace(start: TensorLike, stop: TensorLike, dim: Dim) -> DimTensor:
    """Make evenly spaced numbers along a dim.

    Parameters
    ----------
    start, stop : DimTensor or number
        The first number and the last one.
    dim : Dim

    Returns
    -------
    DimTensor of float64
        With the dim and those of `start` and `stop`.

    Raises
    ------
    DimError
        If the dim is no Dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.linspace(0.0, 1.0, dt.Dim("k", length=5)).eval().values.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    (dim,) = canonical_dims(dim, "the dim of linspace")
    at, steps = arange(dim), length(dim) - 1
    first, last = (
        wrap(as_node(x, what=f"{name} of linspace")).astype("float64")
        for name, x in (("start", start), ("stop", stop))
    )
    between = first + at * ((last - first) / steps)
    ends = elemwise("where", elemwise("equal", at, 0), first, last)
    return elemwise("where", (at > 0) & (at < steps), between, ends)


def eye(dim: Dim, other: Dim | None = None, dtype: DtypeLike = "float64") -> DimTensor:
    """Make the identity matrix over a dim and another one of the same length.

    Parameters
    ----------
    dim : Dim
    other : Dim, optional
        By default the renamed dim, ``dim.rename()``.
    dtype : dtype-like

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If the lengths are known and differ.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.eye(dt.Dim("k", length=2)).eval().values.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if not isinstance(dim, Dim):
        hint = "dt.eye(dt.Dim('k', length=3)), over the dim and its renamed twin"
        raise DimError(f"dt.eye takes a Dim, not {dim!r}", hint=hint)
    other = dim.rename() if other is None else other
    if None not in (dim.length, other.length) and dim.length != other.length:
        raise DimError(
            f"the identity needs dims of one length, {dim._title} has {dim.length} and "
            f"{other._title} has {other.length}"
        )
    same = arange(dim).node, arange(other).node
    hit = make("elemwise", tuple(sorted(same, key=lambda n: n._serial)), "equal")
    return say(wrap(make("cast", (hit,), valid_dtype(dtype))), "eye", **{"": (dim, other)})
