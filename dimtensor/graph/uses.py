"""Order of an expression's leaves that depends on the expression alone.

The order of creation differs between sessions, and names are arbitrary. The way in which an
expression uses a leaf nearly always distinguishes it from others.
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
    """Sort leaves of an expression by their uses in it; ties are sorted by creation.

    Parameters
    ----------
    y : Node
    own : sequence of Node
        Other leaves, in a known order.
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
    return sorted(leaves, key=lambda x: (above.get(x, 0), x._serial))


def structures(outputs: Sequence[Node]) -> dict[Node, tuple[int, int]]:
    """Hash the computations of nodes: without names, and with names of leaves to break ties.

    The hashes are the same in every session.
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
    """Hash a node's operation without its dims."""
    attrs: Any = node.attrs
    if node.kind == "constant":
        return hash((_text(attrs.dtype), int.from_bytes(attrs.data)))
    name = attrs if isinstance(attrs, str) else ""
    if isinstance(attrs, tuple) and attrs and isinstance(attrs[0], str):
        name = attrs[0]
    return hash((_text(node.kind), _text(name)))


@bounded(4096)
def _text(text: str) -> int:
    """Hash a string to a number that is the same in every process, unlike Python's hash."""
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest()
    )
