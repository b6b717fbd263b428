"""Canonical order of nodes and dims: by their roles in the graph, without names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dimtensor.dims import Dim
from dimtensor.graph import Node
from dimtensor.graph.kind import commutes, kind_of
from dimtensor.graph.uses import structures
from dimtensor.traversal import postorder


def in_order(outputs: Sequence[Node]) -> list[Node]:
    """Topological order that depends neither on the names of dims nor on what was made before.

    Indexers, which nodes hold by the names of dims, and operands that commute are visited in the
    order of what they compute.
    """
    keys = structures(outputs)
    return postorder(outputs, lambda node: _inputs(node, keys))


def _inputs(node: Node, keys: Mapping[Node, tuple[int, int]]) -> Sequence[Node]:
    def by_structure(nodes: Sequence[Node]) -> list[Node]:
        return sorted(nodes, key=lambda x: (*keys[x], x.serial))

    if commutes(node):
        return by_structure(node.inputs)
    selected = kind_of(node).selected(node)
    if selected is None or len(selected.indexers) < 2:
        return node.inputs
    first = len(node.inputs) - len(selected.indexers)
    return (*node.inputs[:first], *by_structure(selected.indexers))


class Roles:
    """The roles of the dims of a graph: where they come in, and which operations name them.

    Dims of equal roles can be exchanged for each other, and the graph stays the same.

    Parameters
    ----------
    nodes : sequence of Node
        In topological order.
    """

    def __init__(self, nodes: Sequence[Node]):
        self._events: dict[Dim, list[tuple[int, str]]] = {}
        self._sources: dict[Dim, list[Dim]] = {}
        self._keys: dict[Dim, tuple] = {}
        numbers = {node: at for at, node in enumerate(nodes)}
        for at, node in enumerate(nodes):
            known = set().union(*(i.dims for i in node.inputs)) if node.inputs else ()
            for dim in node.dims:
                if dim not in known:
                    self._note(dim, at, "new")
            for dim, role in _mentions(node, numbers):
                self._note(dim, at, role)
            for old, new in kind_of(node).renames(node):
                self._sources.setdefault(new, []).append(old)

    def _note(self, dim: Dim, at: int, role: str) -> None:
        self._events.setdefault(dim, []).append((at, role))

    def key(self, dim: Dim) -> tuple:
        """Sort keys of dims that do not depend on their names."""
        known = self._keys.get(dim)
        if known is None:
            self._keys[dim] = ()  # dims that are renamed in a circle
            sources = [*dim.parents, *self._sources.get(dim, ())]
            own = tuple(sorted(self._events.get(dim, ())))
            known = self._keys[dim] = (own, tuple(self.key(source) for source in sources))
        return known


def _mentions(node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
    """The dims that a node names, each with its place there."""
    if node.categories is not None:
        yield node.categories, "categories"
    yield from kind_of(node).mentions(node, numbers)
