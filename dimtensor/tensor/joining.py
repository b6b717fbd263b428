"""Tensors joined along dims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dims import ConcatDim, Dim, as_dim_tuple, dim_set, find_dim, in_order
from dimtensor.errors import ArgumentError, DimError, OptionError, UnknownDimError, did_you_mean
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import ConcatAttrs
from dimtensor.graph.infer import describe
from dimtensor.tensor.handle import TensorHandle, as_node, renamed, wrap
from dimtensor.tensor.numpy_style import named_dims

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@named_dims
def concat(
    tensors: Sequence[Any], dim: Dim | str | Sequence[Dim | str], name: str | None = None
) -> DimTensor:
    """Concatenate tensors along dims.

    Parameters
    ----------
    tensors : sequence of DimTensor
    dim : Dim, str, or a sequence with one per tensor
        The dim of each tensor; one name where all have dims of that name. All slices of a dim, in
        order, give the dim itself.
    name : str, optional
        Name of the joined dim, required where the names of the dims differ.

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
    tensors = _several(tensors, dim, "concat")
    if not len(tensors):
        raise OptionError("concat takes at least one tensor")
    beside = [x.node for x in tensors if isinstance(x, TensorHandle)]
    nodes = [as_node(x, beside, f"operand {at + 1} of concat") for at, x in enumerate(tensors)]
    keys = (
        [dim] * len(nodes) if isinstance(dim, (Dim, str)) else in_order(dim, "the dims of concat")
    )
    if isinstance(dim, (Dim, str)):
        _check_has_it(nodes, dim if isinstance(dim, str) else dim._short)
    if len(keys) != len(nodes):
        raise DimError(f"concat: {len(keys)} dims are named for {len(nodes)} tensors")
    parts = tuple(
        find_dim(x.dims, key, f"operand {at + 1} of concat")
        for at, (x, key) in enumerate(zip(nodes, keys, strict=True))
    )
    whole = ConcatDim(parts, name)
    if len(nodes) == 1:
        return renamed(wrap(nodes[0]), {parts[0]: whole})
    return wrap(make("concat", tuple(nodes), ConcatAttrs(parts, whole)))


def _several(tensors: Any, then: Any, name: str) -> Sequence[Any]:
    """List tensors in the order given.

    Raises
    ------
    ArgumentError
        If they are not in a list.
    """
    if isinstance(tensors, TensorHandle):
        other = then if isinstance(then, TensorHandle) else None
        shown = [x.name or word for x, word in ((tensors, "x"), (other, "y")) if x is not None]
        new = f"dt.Dim('k', length={len(shown)})"
        dim = new if name == "stack" else repr(tensors.dims[0]._short if tensors.dims else "k")
        hint = f"dt.{name}([{', '.join(shown)}], {dim})"
        raise ArgumentError(f"{name} takes tensors in a list, and then the dim", hint=hint)
    return in_order(tensors, f"the tensors of {name}")


def _check_has_it(nodes: Sequence[Node], name: str) -> None:
    if all(dim._short != name for x in nodes for dim in x.dims):
        known = list(dict.fromkeys(dim._short for x in nodes for dim in x.dims))
        raise UnknownDimError(
            f"concat: none of the tensors has a dim {name!r}{did_you_mean(name, known)}",
            [("dims", dim_set(list(dict.fromkeys(dim for x in nodes for dim in x.dims))))],
            "dt.stack(tensors, dim) puts tensors beside each other along a new dim",
        )


@named_dims
def stack(tensors: Sequence[Any], dim: Dim | str) -> DimTensor:
    """Stack tensors along a new dim.

    Parameters
    ----------
    tensors : sequence of DimTensor or number
        Their dims broadcast.
    dim : Dim or str
        The new dim, whose length is the number of tensors; a name makes one without labels.

    Returns
    -------
    DimTensor

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
    tensors = _several(tensors, dim, "stack")
    if not len(tensors):
        raise OptionError("stack takes at least one tensor")
    given = Dim(dim, length=len(tensors)) if isinstance(dim, str) else dim
    (dim,) = as_dim_tuple(given, "the dim of stack")
    if dim.length != len(tensors):
        raise DimError(f"stack: {len(tensors)} tensors do not fill {dim!r}, one position each")
    beside = [x.node for x in tensors if isinstance(x, TensorHandle)]
    nodes = [as_node(x, beside, f"operand {at + 1} of stack") for at, x in enumerate(tensors)]
    for at, x in enumerate(nodes):
        if dim in x.dims:
            raise DimError(
                f"stack: operand {at + 1} has {dim._title} already",
                [("operand", describe(x))],
                "stack along a new dim; concat joins along one that is there",
            )
    return wrap(make("stack", tuple(nodes), dim))
