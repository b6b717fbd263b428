"""Indexers whose values are those of leaves, so that the host can check them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dimtensor.dims import Dim
from dimtensor.graph.node import KINDS, Node
from dimtensor.graph.regions import DERIVATIVES, Region, regions_of
from dimtensor.graph.walk import toposort
from dimtensor.traversal import reached


def source_leaves(indexer: Node) -> list[Node] | None:
    """Return the leaves, possibly bound, that an indexer copies its values from.

    A check of these leaves on the host is a check of the indexer. None if it is computed.
    """
    leaves = ("input", "data", "bound")

    def values_of(node: Node) -> Sequence[Node] | None:
        return () if node.kind in leaves else KINDS[node.kind].values_of(node)

    found = list(reached([indexer], lambda node: values_of(node) or ()))
    if any(values_of(node) is None for node in found):
        return None
    return [node for node in found if node.kind in leaves]


def known_outside(node: Node) -> Mapping[Node, Node]:
    """Map the bound leaves of a derivative's region to the node's inputs."""
    if node.kind not in DERIVATIVES:
        return {}
    (region,) = regions_of(node)
    return dict(zip(region.bound, node.inputs, strict=False))


def indexed_leaves(outputs: Iterable[Node]) -> list[tuple[Node, Dim]]:
    """Find the integer leaves that are used as positions along a dim, including uses in regions."""
    found: dict[tuple[Node, Dim], None] = {}
    todo: list[tuple[Sequence[Node], Sequence[Node], Mapping[Node, list[Node] | None]]]
    todo = [(tuple(outputs), (), {})]
    while todo:
        roots, stop, sources = todo.pop()
        # the gradients of one function by many variables have its region each
        entered: set[tuple[tuple[Region, ...], tuple[Node, ...]]] = set()
        for node in toposort(roots, stop):
            selected = KINDS[node.kind].selected(node)
            for dim, indexer in selected.looked_up() if selected is not None else ():
                for leaf in _sources(indexer, sources) or ():
                    found[leaf, dim] = None
            regions = regions_of(node)
            if not regions or (key := (regions, node.inputs)) in entered:
                continue
            entered.add(key)
            known = known_outside(node)
            inner = {leaf: _sources(x, sources) for leaf, x in known.items()}
            todo += [(region.outputs, region.bound, inner) for region in regions]
    return list(found)


def _sources(indexer: Node, known: Mapping[Node, list[Node] | None]) -> list[Node] | None:
    found: list[Node] = []
    for leaf in source_leaves(indexer) or ():
        below = known.get(leaf) if leaf.kind == "bound" else [leaf]
        if below is None:
            return None
        found += below
    return found
