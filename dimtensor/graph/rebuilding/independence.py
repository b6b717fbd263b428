"""Independence: along which dims the positions of a value do not depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from dimtensor.dims import Dim, Dims
from dimtensor.graph.node import KINDS, Node
from dimtensor.graph.regions import Region
from dimtensor.graph.walk import toposort

Mixed = frozenset[Dim]


def mixed_later(
    outputs: Sequence[Node], dims: Dims, same: Callable[[Node], Hashable] = id
) -> dict[Node, Mixed]:
    """For each node the dims along which outputs put several of its positions together.

    Where they do, a position counts although the outputs are used at other positions only.

    Parameters
    ----------
    outputs : sequence of Node
    dims : tuple of Dim
        The dims that are asked about.
    same : callable
        Nodes with the same key are parts of one thing, and what holds for one holds for all.
    """
    found: dict[Hashable, Mixed] = {}
    nodes = toposort(outputs)
    for node in reversed(nodes):
        own = found.get(same(node), frozenset())
        for at, x in enumerate(node.inputs):
            put = {d for d in dims if d in x.dims and not is_apart(node, at, d)}
            found[same(x)] = found.get(same(x), frozenset()) | own | put
    return {node: found.get(same(node), frozenset()) for node in nodes}


def is_apart(node: Node, at: int, dim: Dim) -> bool:
    """Whether each position of an input along a dim is one of the node's own positions."""
    return dim in node.dims and KINDS[node.kind].keeps_apart(node, at, dim)


def region_apart(region: Region, dim: Dim) -> bool:
    """Whether no value in a region puts positions along a dim together."""
    return not any(
        dim in mixed for mixed in mixed_later(region.outputs, (dim,), lambda node: node).values()
    )
