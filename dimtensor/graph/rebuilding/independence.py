"""Independence analysis: dims along which computations are elementwise."""

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
    """Find for each node the dims along which outputs combine several of its positions.

    Along these dims all positions of the node are needed, even if outputs are used at some only.

    Parameters
    ----------
    outputs : sequence of Node
    dims : tuple of Dim
        The dims to analyze.
    same : callable
        Returns a key for a node; nodes with equal keys, such as the outputs of one loop, share
        their result.
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
    """Return True if a node works elementwise along a dim of an input."""
    return dim in node.dims and KINDS[node.kind].keeps_apart(node, at, dim)


def region_apart(region: Region, dim: Dim) -> bool:
    """Return True if a region works elementwise along a dim."""
    return not any(
        dim in mixed for mixed in mixed_later(region.outputs, (dim,), lambda node: node).values()
    )
