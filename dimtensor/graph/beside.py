"""Values kept beside nodes: plans, values to look at, words."""

from __future__ import annotations

from typing import Any
from weakref import ref

from dimtensor.caches import clears
from dimtensor.graph.node import Node, alive
from dimtensor.interning import first_alive


class Beside[V]:
    """Values kept beside nodes, for as long as these live.

    They are in the nodes themselves: an entry of a table would be removed by a callback. A value
    refers to no node that refers to its own, so that no cycle keeps a graph alive.

    Parameters
    ----------
    clear : bool
        Whether :func:`dimtensor.clear_caches` removes them.

    Examples
    --------
    >>> import dimtensor as dt
    >>> seen = Beside[str](clear=False)
    >>> x = dt.scalar("x")
    >>> seen.add(x.node, "first"), seen.add(x.node, "second")
    ('first', 'first')
    """

    __slots__ = ()

    def __init__(self, clear: bool = True) -> None:
        if clear:
            clears(self.clear)

    def get(self, node: Node) -> V | None:
        """Return the value of a node, None where there is none."""
        return node.beside.get(self)

    def set(self, node: Node, value: V) -> None:
        """Set the value of a node."""
        node.beside[self] = value

    def add(self, node: Node, value: V) -> V:
        """Return the value of a node: the given one where it has none."""
        return node.beside.setdefault(self, value)

    def __contains__(self, node: Node) -> bool:
        return self in node.beside

    def clear(self) -> None:
        """Remove all values."""
        for node in alive():
            node.beside.pop(self, None)


class WeaklyBeside[V]:
    """Objects that refer to a node, found from the node as long as something else holds them."""

    __slots__ = ()

    def get(self, node: Node) -> V | None:
        """Return the object of a node, None where there is none."""
        found: Any = node.beside.get(self)
        return None if found is None else found()

    def add(self, node: Node, made: V) -> V:
        """Return the object of a node: the given one where it has none."""
        return first_alive(node.beside, self, ref(made), made)
