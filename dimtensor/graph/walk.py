"""Walks over the dims graph that do not recurse."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from dimtensor.graph.node import KINDS, Node


def toposort(outputs: Iterable[Node], stop: Collection[Node] = ()) -> list[Node]:
    """All nodes below the outputs, every node after its inputs, in a deterministic order.

    What is below a node of `stop`, and of no other, is left out.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    for output in outputs:
        path: list[Node] = []  # from an output, and beside it what is left of the inputs of each
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
    """Every node below the outputs once, inputs first."""
    yield from toposort(outputs)


LEAF_KINDS = ("input", "data", "shaped")


def leaves(outputs: Iterable[Node]) -> list[Node]:
    """Inputs, data and positional leaves that the outputs depend on."""
    return [node for node in toposort(outputs) if node.kind in LEAF_KINDS]


def held_bytes(outputs: Iterable[Node]) -> int:
    """Bytes of the data that the outputs keep in memory."""
    return sum(x.attrs.values.nbytes for x in toposort(outputs) if x.kind == "data")


def with_regions(nodes: Iterable[Node]) -> list[Node]:
    """Nodes, and before each those of the bodies that it has."""
    found: dict[Node, None] = {}
    _add_with_regions(nodes, found)
    return list(found)


def _add_with_regions(nodes: Iterable[Node], found: dict[Node, None]) -> None:
    for node in nodes:
        if node in found:  # a body may be met in many others
            continue
        for region in KINDS[node.kind].regions(node.attrs):
            ends = [*region.bound, *region.outputs]  # not all that is bound is used
            if not all(each in found for each in ends):
                _add_with_regions(toposort(ends), found)
        found[node] = None
