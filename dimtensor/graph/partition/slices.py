"""Expressions for a slice of a dim."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import NamedTuple

from dimtensor.dims import Dim, ProductDim, SelDim, depends_on_mask, family, sort_dims
from dimtensor.dims.selection import Slice
from dimtensor.graph.attrs import IndexAttrs, IndexItem, InputAttrs
from dimtensor.graph.infer import constant_attrs
from dimtensor.graph.node import Node, make
from dimtensor.graph.partition.analysis import Split, nodes_with_masks
from dimtensor.graph.rebuilding.substitute import map_dim, rebuild, relabel_node
from dimtensor.graph.walk import LEAF_KINDS


class WholeInputs(NamedTuple):
    """Inputs that stand for facts of the whole in an expression for a slice; None if not needed."""

    length: Node | None
    start: Node | None


def framed(outputs: Sequence[Node], found: Split) -> tuple[list[Node], WholeInputs]:
    """Replace length and positions of the whole in expressions by those of a slice of it.

    The length becomes an input, or a constant if it is known, and positions count from another
    input, the start of the slice.
    """
    name = found.dim.name or "dim"
    known = found.dim.length
    length = make("input", (), InputAttrs(f"{name}_length", None, (), "int64", None))
    if known is not None:
        length = make("constant", (), constant_attrs(known, "int64"))
    start = make("input", (), InputAttrs(f"{name}_start", None, (), "int64", None))
    replaced: dict[Node, Node] = {}
    for node in nodes_with_masks(outputs, found.known):
        if node.kind == "length" and _is_whole(node.attrs, found.cut):
            replaced[node] = length
        elif node.kind == "positions" and node.attrs in found.cut:
            replaced[node] = make("elemwise", (node, start), "add")
    kept = {node: node for node in found.known}
    results = rebuild(outputs, {**replaced, **kept}) if replaced else list(outputs)
    kinds = {node.kind for node in replaced}
    return results, WholeInputs(
        length if "length" in kinds and known is None else None,
        start if "positions" in kinds else None,
    )


def _is_whole(dim: Dim, cut: frozenset[Dim]) -> bool:
    return dim in cut and not depends_on_mask(dim)


def sliced(y: Node, found: Split, frame: WholeInputs, begin: int | None, end: int | None) -> Node:
    """Restrict a framed expression to a slice of the dim: leaves along it are sliced."""
    replaced: dict[Node, Node] = {}
    if frame.start is not None:
        replaced[frame.start] = make("constant", (), constant_attrs(begin or 0, "int64"))
    chosen = Slice(begin, end)
    if SelDim._from(found.dim, chosen) is found.dim:
        return rebuild([y], replaced)[0]
    # dims of the cut that are not derived from others
    roots = [dim for dim in found.cut if sum(one in found.cut for one in family(dim)) == 1]
    mapping = {dim: SelDim._from(dim, chosen) for dim in roots}
    replaced.update((node, node) for node in found.known)
    for node in nodes_with_masks([y], found.known):
        for dim in node.dims if node.kind in LEAF_KINDS or node in found.known else ():
            if dim in found.cut:
                replaced[node] = _slice_of_leaf(node, dim, found.cut, chosen, mapping)
    return rebuild([y], replaced, dims=dict(mapping))[0]


def _slice_of_leaf(
    x: Node, dim: Dim, cut: frozenset[Dim], chosen: Slice, mapping: Mapping[Dim, Dim]
) -> Node:
    if isinstance(dim, ProductDim):
        factors = make("split", (x,), dim)
        (factor,) = (one for one in dim.factors if one in cut)
        parts = _slice_of_leaf(factors, factor, cut, chosen, mapping)
        return make("merge", (parts,), map_dim(dim, mapping))
    items = IndexAttrs((IndexItem(dim, "select", chosen),))
    return relabel_node(
        make("index", (x,), items), (SelDim._from(dim, chosen), map_dim(dim, mapping))
    )


def late_dims(cut: Set[Dim], taken: Collection[Dim] = ()) -> dict[Dim, Dim]:
    """Return dims of any length for dims that are cut, but for those derived from others of them.

    Parameters
    ----------
    cut : set of Dim
        As in `Split`.
    taken : collection of Dim
        Other dims of the expressions.
    """
    roots = [dim for dim in cut if sum(one in cut for one in family(dim)) == 1]
    return {dim: _late(dim, taken) for dim in sort_dims(roots)}


def _late(dim: Dim, taken: Collection[Dim]) -> Dim:
    named = dim if dim.name is None else Dim(dim.name)
    is_late = named.length is None and not named.parents
    return named if is_late and named not in taken else Dim()


def restricted(
    y: Node,
    cut: Set[Dim],
    known: Collection[Node],
    dims: Mapping[Dim, Dim],
    leaf: Callable[[Node], Node],
) -> Node:
    """Make an expression for slices of any length.

    Parameters
    ----------
    y : Node
        A framed expression.
    cut : set of Dim
    known : collection of Node
        Constants computed from the whole of the data.
    dims : mapping of Dim to Dim
        Dims of a slice, made by `late_dims`.
    leaf : callable
        Returns what stands for an input or data along the dim, or for a constant, which may lack
        the dim.
    """
    replaced = {
        node: leaf(node)
        for node in nodes_with_masks([y], known)
        if node in known or (node.kind in LEAF_KINDS and not cut.isdisjoint(node.dims))
    }
    return rebuild([y], replaced, dims=dict(dims))[0]
