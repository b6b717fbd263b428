"""What dims do in a graph, told without their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dimtensor.dims import Dim
from dimtensor.dims.selection import Slice
from dimtensor.graph import Node
from dimtensor.graph.attrs import IndexItem
from dimtensor.graph.derivatives import jacobian_renames
from dimtensor.graph.uses import commutes, structures


def in_order(outputs: Sequence[Node]) -> list[Node]:
    """Topological order that depends neither on the names of dims nor on what was made before.

    Indexers, which nodes hold by the names of dims, and operands that commute are visited in the
    order of what they compute.
    """
    keys = structures(outputs)
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(output, False) for output in reversed(outputs)]
    while stack:
        node, ready = stack.pop()
        if node in seen:
            continue
        if ready:
            seen.add(node)
            order.append(node)
            continue
        stack.append((node, True))
        stack += [(i, False) for i in reversed(_inputs(node, keys)) if i not in seen]
    return order


def _inputs(node: Node, keys: Mapping[Node, tuple[int, int]]) -> Sequence[Node]:
    def by_structure(nodes: Sequence[Node]) -> list[Node]:
        return sorted(nodes, key=lambda x: (*keys[x], x.serial))

    if commutes(node):
        return by_structure(node.inputs)
    first = {"index": 1, "update": 2}.get(node.kind)
    if first is None or len(node.inputs) < first + 2:
        return node.inputs
    return (*node.inputs[:first], *by_structure(node.inputs[first:]))


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
            for old, new in _renames(node):
                self._sources.setdefault(new, []).append(old)

    def _note(self, dim: Dim, at: int, role: str) -> None:
        self._events.setdefault(dim, []).append((at, role))

    def key(self, dim: Dim) -> tuple:
        """What dims are compared by: the same for all names that dims may have."""
        known = self._keys.get(dim)
        if known is None:
            self._keys[dim] = ()  # dims that are renamed in a circle
            sources = [*dim.parents, *self._sources.get(dim, ())]
            own = tuple(sorted(self._events.get(dim, ())))
            known = self._keys[dim] = (own, tuple(self.key(source) for source in sources))
        return known


def _renames(node: Node) -> Sequence[tuple[Dim, Dim]]:
    if node.kind == "relabel":
        return node.attrs
    if node.kind == "jacobian":
        return jacobian_renames(node)
    return ()


def _mentions(node: Node, numbers: dict[Node, int]) -> Iterator[tuple[Dim, str]]:
    """The dims that a node names in its attributes, each with its place there."""
    kind, attrs = node.kind, node.attrs
    if node.categories is not None:
        yield node.categories, "categories"
    if kind in ("elemwise", "constant", "input", "data", "cast"):
        return
    if kind in ("index", "update"):
        first = 1 if kind == "index" else 2
        for item in attrs if kind == "index" else attrs[1]:
            yield item.dim, _item_role(item, node.inputs[first:], numbers)
    elif kind in ("reduce", "expand", "dot"):
        for dim in attrs[1] if kind == "reduce" else attrs:
            yield dim, "any"
    elif kind == "relabel":
        for old, new in attrs:
            yield old, "old"
            yield new, "taken"
    elif kind in ("merge", "split"):
        for number, factor in enumerate(attrs.factors):
            yield factor, f"factor {number}"
    else:
        yield from _placed(attrs, "")


def _item_role(item: IndexItem, indexers: Sequence[Node], numbers: dict[Node, int]) -> str:
    payload = item.payload
    if item.kind in ("tensor", "mask"):
        return f"{item.kind} {numbers[indexers[payload]]}"
    if item.kind == "int":
        return f"int {payload}"
    if isinstance(payload, Slice):
        return f"slice {payload.start} {payload.stop} {payload.step}"
    return type(payload).__name__


def _placed(value: Any, place: str) -> Iterator[tuple[Dim, str]]:
    if isinstance(value, Dim):
        yield value, place
    elif isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from _placed(part, f"{place}.{number}")
