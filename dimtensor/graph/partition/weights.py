"""Weights of positions in an expression that is a sum over a dim."""

from __future__ import annotations

from dimtensor.dims import Dim, ProductDim, SelDim
from dimtensor.dims.selection import Mask
from dimtensor.graph.attrs import IndexAttrs, IndexItem
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.node import KINDS, Node, make
from dimtensor.graph.partition.analysis import Split
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild, relabel_node
from dimtensor.graph.regions import DERIVATIVES


def weighted(y: Node, found: Split, weights: Node) -> Node | None:
    """Multiply the share of each position in an expression by a weight.

    Parameters
    ----------
    y : Node
        Partitioned by addition.
    found : Split
        Its partition.
    weights : Node
        Along the dim that is cut.

    Returns
    -------
    Node or None
        None if positions are combined where no weights can be put: by a derivative, or by the
        number of positions at which a mask is true.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor.graph.partition.analysis import split
    >>> obs = dt.Dim("obs", length=2)
    >>> y, w = dt.data([1.0, 2.0], dims=obs, name="y"), dt.data([3.0, 5.0], dims=obs, name="w")
    >>> total = (y.sum() * 2.0 + 1.0).node
    >>> weighted(total, split(total, obs), w.node) is ((y * w).sum() * 2.0 + 1.0).node
    True
    """
    replaced = {}
    for node in found.combining:
        if node.kind in DERIVATIVES or not node.inputs:
            return None
        replaced[node] = _weighted(node, found, weights)
    return rebuild([y], replaced)[0]


def _weighted(node: Node, found: Split, weights: Node) -> Node:
    """Multiply the operands along the dim in which a node is jointly linear."""
    inputs = enumerate(node.inputs)
    mapped = {at: dim for at, x in inputs for dim in x.dims if dim in found.cut}
    for group in KINDS[node.kind].linear(node):
        if not mapped.keys().isdisjoint(group):
            break
    changed = list(node.inputs)
    for at in group:
        if at in mapped:
            x = changed[at]
            factor = _weights_along(weights, found, mapped[at])
            if is_float(x.dtype) and x.dtype != factor.dtype:
                factor = make("cast", (factor,), x.dtype)
            changed[at] = make("elemwise", (x, factor), "multiply")
    return make(node.kind, tuple(changed), node.attrs)


def _weights_along(weights: Node, found: Split, dim: Dim) -> Node:
    """Return the weights along a dim that is cut with theirs."""
    if dim is found.dim:
        return weights
    if isinstance(dim, ProductDim):
        (factor,) = (one for one in dim.factors if one in found.cut)
        parts = expand_node(_weights_along(weights, found, factor), dim.factors)
        return make("merge", (parts,), dim)
    if isinstance(dim, SelDim) and isinstance(dim.selection, Mask) and dim.parent in found.cut:
        items = IndexAttrs((IndexItem(dim.parent, "mask", 0),))
        return make("index", (_weights_along(weights, found, dim.parent), dim.selection.key), items)
    return relabel_node(weights, (found.dim, dim))
