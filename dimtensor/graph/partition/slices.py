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
    mapping = {dim: SelDim._from(dim, chosen) for dim in cut_roots(found.cut)}

    def slice_of(x: Node, dim: Dim) -> Node:
        return make("index", (x,), IndexAttrs((IndexItem(dim, "select", chosen),)))

    leaf = _Leaves(found.cut, mapping, slice_of)
    return restricted(y, found.cut, found.known, mapping, leaf, replaced)


def gathered(
    y: Node, found: Split, length: int, positions: Node, rows: Mapping[Node, Node]
) -> Node:
    """Restrict an expression to any positions of a dim: leaves along it are gathered there.

    Parameters
    ----------
    y : Node
    found : Split
    length : int
        Length of the whole.
    positions : Node
        Positions along the dim, with another dim.
    rows : mapping of Node to Node
        Values of leaves at these positions, where they are not gathered.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor.graph.partition.analysis import split
    >>> obs, row = dt.Dim("obs", length=4), dt.Dim("row")
    >>> y = dt.data([1.0, 2.0, 3.0, 4.0], dims=obs, name="y")
    >>> at = dt.data([3, 0], dims=row, dtype="int64")
    >>> total = y.sum().node
    >>> gathered(total, split(total, obs), 4, at.node, {}) is y[{obs: at}].sum().node
    True
    """
    (row,) = positions.dims
    mapping = {dim: row if dim is found.dim else Dim() for dim in cut_roots(found.cut)}
    replaced: dict[Node, Node] = {}
    for node in nodes_with_masks([y], found.known):
        if node.kind == "length" and _is_whole(node.attrs, found.cut):
            replaced[node] = make("constant", (), constant_attrs(length, "int64"))
        elif node.kind == "positions" and node.attrs in found.cut:
            replaced[node] = relabel_node(positions, (row, map_dim(node.attrs, mapping)))

    def rows_of(x: Node, dim: Dim) -> Node:
        if x in rows:
            return rows[x]
        return make("index", (x, positions), IndexAttrs((IndexItem(dim, "tensor", 0),)))

    leaf = _Leaves(found.cut, mapping, rows_of)
    return restricted(y, found.cut, found.known, mapping, leaf, replaced)


class _Leaves:
    """Function that restricts leaves along dims of a cut, product dims by their factors."""

    def __init__(
        self,
        cut: frozenset[Dim],
        mapping: Mapping[Dim, Dim],
        restrict: Callable[[Node, Dim], Node],
    ):
        self._cut = cut
        self._mapping = mapping
        self._restrict = restrict

    def __call__(self, x: Node) -> Node:
        dim = next((one for one in x.dims if one in self._cut), None)
        if dim is None:  # a constant of the whole
            return x
        new = map_dim(dim, self._mapping)
        if isinstance(dim, ProductDim):
            return make("merge", (self(make("split", (x,), dim)),), new)
        part = self._restrict(x, dim)
        (own,) = (one for one in part.dims if one not in x.dims)
        return relabel_node(part, (own, new))


def cut_roots(cut: Set[Dim]) -> list[Dim]:
    """Return the dims of a cut that are not derived from others of it, in canonical order."""
    return [*sort_dims(dim for dim in cut if sum(one in cut for one in family(dim)) == 1)]


def late_dims(cut: Set[Dim], taken: Collection[Dim] = ()) -> dict[Dim, Dim]:
    """Return dims of any length for dims that are cut, but for those derived from others of them.

    Parameters
    ----------
    cut : set of Dim
        As in `Split`.
    taken : collection of Dim
        Other dims of the expressions.
    """
    return {dim: _late(dim, taken) for dim in cut_roots(cut)}


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
    replaced: Mapping[Node, Node] | None = None,
) -> Node:
    """Restrict an expression to a part of a dim.

    Parameters
    ----------
    y : Node
        A framed expression, or one in which length and positions are replaced.
    cut : set of Dim
    known : collection of Node
        Constants computed from the whole of the data.
    dims : mapping of Dim to Dim
        Dims of the part in place of `cut_roots`; those of `late_dims` have any length.
    leaf : callable
        Returns what stands for an input or data along the dim, or for a constant, which may lack
        the dim.
    replaced : mapping of Node to Node, optional
        Replacements of other nodes.
    """
    done = {
        node: leaf(node)
        for node in nodes_with_masks([y], known)
        if node in known or (node.kind in LEAF_KINDS and not cut.isdisjoint(node.dims))
    }
    return rebuild([y], {**(replaced or {}), **done}, dims=dict(dims))[0]
