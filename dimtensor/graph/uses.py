"""Leaves of an expression in an order that follows from the expression alone.

Nodes are made in another order in every session, and have names that say nothing of what is
computed. What is made of a leaf, and with which others, tells it from others nearly always.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Any

from dimtensor.caches import bounded
from dimtensor.graph.kind import commutes
from dimtensor.graph.node import Node
from dimtensor.graph.walk import toposort


def by_use(y: Node, own: Sequence[Node], leaves: Collection[Node]) -> list[Node]:
    """The leaves of an expression, sorted by how it uses them; else in the order of their making.

    Parameters
    ----------
    y : Node
    own : sequence of Node
        Leaves whose order is known.
    leaves : collection of Node
    """
    if len(leaves) < 2:
        return list(leaves)
    below: dict[Node, int] = {x: hash((1, at)) for at, x in enumerate(own)}
    below |= {x: hash((2, _text(x.dtype), len(x.dims))) for x in leaves}
    nodes = toposort([y], stop=below)
    for node in nodes:
        if node not in below:
            inputs = [below[x] for x in node.inputs]
            if commutes(node):
                inputs.sort()
            below[node] = hash((_of(node), _text(node.dtype), len(node.dims), *inputs))
    uses: dict[Node, list[int]] = {node: [] for node in nodes}
    above: dict[Node, int] = {}
    for node in reversed(nodes):
        above[node] = hash((below[node], *sorted(uses[node])))
        if node in leaves:
            continue
        unordered = commutes(node)
        for at, x in enumerate(node.inputs):
            if x in uses:
                uses[x].append(hash((0 if unordered else at + 1, above[node])))
    return sorted(leaves, key=lambda x: (above.get(x, 0), x.serial))


def structures(outputs: Sequence[Node]) -> dict[Node, tuple[int, int]]:
    """Numbers for what nodes compute: without names, and with those of leaves, to break ties.

    They are the same in every session, whatever was made in it before.
    """
    found: dict[Node, tuple[int, int]] = {}
    for node in toposort(outputs):
        own = (_of(node), _text(node.dtype), len(node.dims))
        inputs = [found[x] for x in node.inputs]
        if commutes(node):
            inputs.sort()
        bare = hash((*own, *(x for x, _ in inputs)))
        found[node] = bare, hash((bare, _text(node.name or ""), *(x for _, x in inputs)))
    return found


def _of(node: Node) -> int:
    """A number for what a node does, without dims."""
    attrs: Any = node.attrs
    if node.kind == "constant":
        return hash((_text(attrs.dtype), int.from_bytes(attrs.data)))
    name = attrs if isinstance(attrs, str) else ""
    if isinstance(attrs, tuple) and attrs and isinstance(attrs[0], str):
        name = attrs[0]
    return hash((_text(node.kind), _text(name)))


@bounded(4096)
def _text(text: str) -> int:
    """A number for a text; Python's own hash of it is another one in every process."""
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest()
    )
