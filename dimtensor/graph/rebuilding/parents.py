"""Look-ups of values of parents at the positions of ragged dims, as part of broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dimtensor.dims import Dim, Dims, RaggedDim, ancestors
from dimtensor.dims.ragged import owner_tensor
from dimtensor.dims.selection import Positions
from dimtensor.graph.attrs import ApplyAttrs, DataAttrs, IndexAttrs, IndexItem, InputAttrs
from dimtensor.graph.functions import BatchedFunction
from dimtensor.graph.node import Node, make, tensor_of
from dimtensor.graph.rebuilding.substitute import relabel_node


def owner_node(dim: Dim) -> Node:
    """Return the parent of each position of a ragged dim, as labels along it."""
    base = dim._unrenamed
    assert isinstance(base, RaggedDim)
    if isinstance(base._source, Positions):
        known = layout_node(base, "ends" if base.is_sorted else "owners")
        node = owners_between(base, known) if base.is_sorted else known
    elif base._source is None:
        name = base.within._short
        node = make("input", (), InputAttrs(name, None, (base,), "int64", base.within))
    else:
        node = owner_tensor(base, "owner").node
    return relabel_node(node, (base, dim))


def owners_between(dim: RaggedDim, ends: Node) -> Node:
    """Return the parents of sorted positions as labels along a ragged dim, from the ends of each.

    Compiled loops along the positions become loops over the parents around loops over the
    positions of each.
    """
    flat, above = dim.flat, plain(dim.within)
    inputs = relabel_node(ends, (dim.within, above)), make("positions", (), flat)
    function = BatchedFunction("dimtensor.ops.positions:owner_of")
    attrs = ApplyAttrs(function, ((above,), ()), (), "int64", 0, "owner")
    found = make("apply", inputs, attrs)
    return make("codes", (relabel_node(found, (flat, dim)),), dim.within)


def layout_node(dim: RaggedDim, field: str) -> Node:
    """Return an array of the known layout of a ragged dim as data.

    Another dim in its place, as in a prediction for other parents, has its own data.
    """
    assert dim.layout is not None
    values = getattr(dim.layout, field)
    if values is None:  # the order of positions that are sorted
        values = np.arange(len(dim))
    values = values.astype("int64")
    values.flags.writeable = False
    along = dim.within if field in ("sizes", "starts", "ends") else dim
    labels = dim.within if field == "owners" else None
    recipe = (_layout_tensor, (dim, field))
    return make("data", (), DataAttrs(None, (along,), values, labels, recipe=recipe))


def _layout_tensor(dim: RaggedDim, field: str):  # type: ignore[no-untyped-def]
    return tensor_of(layout_node(dim, field))


def ancestor_node(dim: Dim, above: Dim) -> Node:
    """Return the ancestor of each position of a ragged dim, such as the document of each word."""
    node = owner_node(dim)
    within = dim._within
    while within is not above:
        assert within is not None
        node = _looked_up(owner_node(within), within, node)
        within = within._within
    return node


def plain(dim: Dim) -> Dim:
    """Return the plain dim of all positions of a ragged dim; another dim unchanged."""
    if dim._within is None:
        return dim
    base = dim._unrenamed
    assert isinstance(base, RaggedDim)
    return base.flat


def _looked_up(x: Node, dim: Dim, positions: Node) -> Node:
    """Return elements at positions along a dim, which may be ragged itself."""
    attrs = IndexAttrs((IndexItem(plain(dim), "tensor", 0),))
    return make("index", (relabel_node(x, (dim, plain(dim))), positions), attrs)


def at_positions(x: Node, dim: Dim) -> Node:
    """Repeat values of the ancestors of a ragged dim at its positions."""
    for above in ancestors(dim):
        if above in x.dims:
            x = _looked_up(x, above, ancestor_node(dim, above))
    return x


def aligned(inputs: Sequence[Node], dims: Dims) -> tuple[Node, ...]:
    """Look values of parents up at the positions of the ragged dims among some dims."""
    for dim in dims:
        if dim._within is not None:
            inputs = [at_positions(x, dim) for x in inputs]
    return tuple(inputs)
