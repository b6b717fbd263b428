"""Iterative traversals of the dims graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from dimtensor.graph.node import KINDS, Node

_LEAVES = frozenset({"data", "constant", "length", "positions", "label_position"})
_RANDOM = frozenset({"rv", "draw", "seed", "stream"})


def toposort(outputs: Iterable[Node], stop: Collection[Node] = ()) -> list[Node]:
    """Return all nodes of a graph, every node after its inputs, in a deterministic order.

    The traversal does not descend below nodes of `stop`.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    for output in outputs:
        path: list[Node] = []  # from an output; `todo` has the remaining inputs of each node
        todo = [iter((output,))]
        while todo:
            for node in todo[-1]:
                if node in seen:
                    continue
                seen.add(node)
                if node.inputs and node not in stop:
                    path.append(node)
                    todo.append(iter(node.inputs))
                    break
                order.append(node)
            else:
                todo.pop()
                if path:
                    order.append(path.pop())
    return order


def walk(outputs: Iterable[Node]) -> Iterator[Node]:
    """Iterate over all nodes of a graph, inputs first."""
    yield from toposort(outputs)


LEAF_KINDS = ("input", "data", "shaped")


def leaves(outputs: Iterable[Node]) -> list[Node]:
    """Return the inputs, data and positional leaves that the outputs depend on."""
    return [node for node in toposort(outputs) if node.kind in LEAF_KINDS]


def held_bytes(outputs: Iterable[Node]) -> int:
    """Return the size in bytes of the data that the outputs keep in memory."""
    return sum(x.attrs.values.nbytes for x in toposort(outputs) if x.kind == "data")


def with_regions(nodes: Iterable[Node]) -> list[Node]:
    """Return nodes together with the nodes of their regions, which precede them."""
    found: dict[Node, None] = {}
    _add_with_regions(nodes, found)
    return list(found)


def _add_with_regions(nodes: Iterable[Node], found: dict[Node, None]) -> None:
    for node in nodes:
        if node in found:  # a body may occur in many others
            continue
        for region in KINDS[node.kind].regions(node.attrs):
            ends = [*region.bound, *region.outputs]  # not all that is bound is used
            if not all(each in found for each in ends):
                _add_with_regions(toposort(ends), found)
        found[node] = None


def is_fixed(node: Node, inputs: Iterable[bool]) -> bool:
    """Return whether a node depends on data and numbers alone, given which of its inputs do."""
    if not node.inputs:
        return node.kind in _LEAVES
    return node.kind not in _RANDOM and all(inputs)


def fixed_nodes(nodes: Iterable[Node]) -> set[Node]:
    """Return the data-only nodes among some nodes in topological order."""
    found: set[Node] = set()
    for node in nodes:
        if is_fixed(node, (x in found for x in node.inputs)):
            found.add(node)
    return found
