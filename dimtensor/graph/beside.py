"""Side tables of nodes: plans, previewed values, display provenance."""

from __future__ import annotations

from typing import Any
from weakref import ref

from dimtensor.caches import clears
from dimtensor.graph.node import Node, alive
from dimtensor.interning import first_alive


class Beside[V]:
    """Side table of nodes, whose values live as long as their nodes.

    Values are stored in the nodes, as a weak table would need callbacks to remove entries. A value
    must not refer to nodes that depend on its own, so that no reference cycle keeps a graph alive.

    Parameters
    ----------
    clear : bool
        Whether :func:`dimtensor.clear_caches` removes the values.

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
        """Return the value of a node, or None."""
        return node._beside.get(self)

    def set(self, node: Node, value: V) -> None:
        """Set the value of a node."""
        node._beside[self] = value

    def add(self, node: Node, value: V) -> V:
        """Return the value of a node, after setting it to the given one if it has none."""
        return node._beside.setdefault(self, value)

    def __contains__(self, node: Node) -> bool:
        return self in node._beside

    def clear(self) -> None:
        """Remove all values."""
        for node in alive():
            node._beside.pop(self, None)


class WeaklyBeside[V]:
    """Side table of nodes for objects that refer to them, which are held weakly."""

    __slots__ = ()

    def get(self, node: Node) -> V | None:
        """Return the object of a node, or None."""
        found: Any = node._beside.get(self)
        return None if found is None else found()

    def add(self, node: Node, made: V) -> V:
        """Return the object of a node, after setting it to the given one if it has none."""
        return first_alive(node._beside, self, ref(made), made)
