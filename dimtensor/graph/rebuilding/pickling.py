"""Pickles of nodes: a graph as a list, which nests no deeper for long expressions."""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from typing import Any

from dimtensor.graph.node import Node, make
from dimtensor.graph.printing.words import listed, restore
from dimtensor.graph.walk import toposort


def reduced(node: Node) -> tuple[Any, ...]:
    """Return what a pickle rebuilds the graph of a node from: entries, inputs by their index."""
    order = toposort([node])
    place = {n: i for i, n in enumerate(order)}
    entries = [(n.kind, tuple(place[i] for i in n.inputs), n.attrs) for n in order]
    return rebuilt, (entries, listed(order))


def rebuilt(entries: list[tuple[str, tuple[int, ...], Any]], words: Sequence[tuple] = ()) -> Node:
    """Make the nodes of a pickle, and return the last one."""
    nodes: list[Node] = []
    for kind, inputs, attrs in entries:
        nodes.append(make(kind, tuple(nodes[i] for i in inputs), attrs))
    restore(nodes, words)
    return nodes[-1]


copyreg.pickle(Node, reduced)
