"""Tensors joined along dims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import ConcatDim, Dim, RaggedDim, as_dim_tuple, dim_set, find_dim, in_order
from dimtensor.dims.selection import Positions
from dimtensor.errors import (
    ArgumentError,
    DimError,
    OptionError,
    RaggedDimError,
    UnknownDimError,
    did_you_mean,
)
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import ConcatAttrs
from dimtensor.graph.infer import describe
from dimtensor.graph.rebuilding.substitute import relabel_node
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
        On a ConcatDim that has the labels of all; other dims broadcast. Ragged dims of the same
        parents give a ragged dim: the positions of each parent are those in the first tensor, then
        those in the others, and are numbered anew. Other parents are joined, too.

    Raises
    ------
    DimError
        If a tensor lacks its dim, or the other dims clash.
    RaggedDimError
        If ragged dims are joined with plain ones, or their parents are not known before a call.

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
    if any(part._within is not None for part in parts):
        return _ragged(nodes, parts, name)
    whole = ConcatDim(parts, name)
    if len(nodes) == 1:
        return renamed(wrap(nodes[0]), {parts[0]: whole})
    return wrap(make("concat", tuple(nodes), ConcatAttrs(parts, whole)))


def _ragged(nodes: Sequence[Node], parts: Sequence[Dim], name: str | None) -> DimTensor:
    """Concatenate along ragged dims: parents of the whole are those of all, or their union."""
    names = {part._short for part in parts}
    if name is None and len(names) > 1:
        raise DimError(
            "dims of different names are joined, and the whole has no name",
            [("parts", ", ".join(map(repr, parts)))],
            "pass name= for it",
        )
    name = name or parts[0]._short
    ragged = [part for part in parts if isinstance(part, RaggedDim) and part.layout is not None]
    if len(ragged) < len(parts):
        other = next(part for part in parts if part not in ragged)
        own = next(part for part in parts if part._within is not None)
        raise RaggedDimError(
            f"concat joins ragged dims whose parents are known, and {other._title} is none of them",
            [("parts", ", ".join(map(repr, parts)))],
            f"to ignore the parents: x.relabel({own._short}, {own._short}.flat)",
        )
    above = list(dict.fromkeys(part.within for part in ragged))
    within = above[0] if len(above) == 1 else ConcatDim(above, above[0]._short)
    start = dict(zip(above, np.cumsum([0, *map(len, above[:-1])]), strict=True))
    owners = [start[part.within] + part.layout.owners for part in ragged]  # type: ignore[union-attr]
    whole = RaggedDim._of(name, within, Positions(np.concatenate(owners)))
    plain = tuple(
        Dim(f"{name} of operand {at + 1}", length=len(part)) for at, part in enumerate(ragged)
    )
    joined = ConcatDim(plain, name)
    pairs = zip(nodes, zip(ragged, plain, strict=True), strict=True)
    flat = tuple(relabel_node(x, pair) for x, pair in pairs)
    if len(flat) == 1:
        return renamed(wrap(flat[0]), {plain[0]: whole})
    node = make("concat", flat, ConcatAttrs(plain, joined))
    return wrap(relabel_node(node, (joined, whole)))


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
