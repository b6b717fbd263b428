"""Canonical order of nodes and dims: by their roles in the graph, without names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dimtensor.dims import Dim
from dimtensor.graph import Node
from dimtensor.graph.kind import commutes, kind_of
from dimtensor.graph.uses import structures
from dimtensor.traversal import postorder


def in_order(outputs: Sequence[Node]) -> list[Node]:
    """Sort nodes topologically, independent of the names of dims and of the session's history.

    Indexers, which are sorted by the names of dims, and operands of commutative operations are
    visited in an order of their structure.
    """
    keys = structures(outputs)
    return postorder(outputs, lambda node: _inputs(node, keys))


def _inputs(node: Node, keys: Mapping[Node, tuple[int, int]]) -> Sequence[Node]:
    def by_structure(nodes: Sequence[Node]) -> list[Node]:
        return sorted(nodes, key=lambda x: (*keys[x], x._serial))

    if commutes(node):
        return by_structure(node.inputs)
    selected = kind_of(node).selected(node)
    if selected is None or len(selected.indexers) < 2:
        return node.inputs
    first = len(node.inputs) - len(selected.indexers)
    return (*node.inputs[:first], *by_structure(selected.indexers))


class Roles:
    """Roles of the dims of a graph: where they first occur, and which operations refer to them.

    Exchanging dims with equal roles does not change the graph.

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
        """Return a sort key of a dim that does not depend on names."""
        known = self._keys.get(dim)
        if known is None:
            self._keys[dim] = ()  # for cyclic renames
            sources = [*dim.parents, *self._sources.get(dim, ())]
            own = tuple(sorted(self._events.get(dim, ())))
            known = self._keys[dim] = (own, tuple(self.key(source) for source in sources))
        return known


def _mentions(node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
    """Iterate over the dims that a node refers to, each with its role."""
    if node.categories is not None:
        yield node.categories, "categories"
    yield from kind_of(node).mentions(node, numbers)
