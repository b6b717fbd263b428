"""Names of composed operations: a mean is a quotient of sums in the graph, and prints as a mean.

Kept beside the nodes, as long as these are. Nothing that is computed, compared or
compiled looks at it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dimtensor.dims import Dim
from dimtensor.graph.beside import Beside
from dimtensor.graph.node import Node

# what else is given, arrays say, is not kept for its sake
_PLAIN = (str, int, float, complex, tuple, list, Dim)
_PRIMITIVE = frozenset({"input", "data", "shaped", "bound", "constant"})


class Words(NamedTuple):
    """A call as it was written.

    Attributes
    ----------
    name : str
    operands : tuple of (str, Node)
        With the part they play, empty for those by position.
    options : tuple of (str, value)
        Dims and plain values.
    """

    name: str
    operands: tuple[tuple[str, Node], ...]
    options: tuple[tuple[str, Any], ...]


_said: Beside[Words] = Beside(clear=False)


def say[T](result: T, name: str, /, *operands: Any, **options: Any) -> T:
    """Remember what a result was written as, and return it.

    Parameters
    ----------
    result : Node, or something with a node
    name : str
    *operands
        Tensors or nodes.
    **options
        Tensors, and lists of them, are operands by name; what is None or False is left out.
        ``dim`` are the dims of a reduction, which are not written where they are all.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("k", length=3))
    >>> words_of(x.mean().node).name
    'mean'
    """
    given_node: Any = result
    node: Node = getattr(given_node, "node", given_node)
    given = [("", getattr(x, "node", x)) for x in operands]
    plain = []
    for key, value in options.items():
        value = getattr(value, "node", value)
        nodes = [getattr(x, "node", x) for x in value] if isinstance(value, list) else [value]
        if nodes and all(isinstance(x, Node) for x in nodes):
            given += [(key, x) for x in nodes]
        elif value is not None and value is not False:
            plain.append((key, value if isinstance(value, _PLAIN) else ...))
    if node.kind not in _PRIMITIVE and all(node is not x for _, x in given):
        _said.set(node, Words(name, tuple(given), tuple(plain)))
    return result


def words_of(node: Node) -> Words | None:
    """The composed operation that a node was written as; None for any other node."""
    return _said.get(node)


def carry(old: Node, new: Node, mapping: Mapping[Node, Node]) -> None:
    """Let a node that was made of another one's rebuilt inputs be written like that one."""
    words = _said.get(old)
    if words is None or new is old or new.kind in _PRIMITIVE or new in _said:
        return
    operands = tuple((role, mapping.get(x)) for role, x in words.operands)
    if all(x is not None and x is not new for _, x in operands):
        _said.set(new, words._replace(operands=operands))  # type: ignore[arg-type]


def listed(nodes: Sequence[Node]) -> list[tuple[int, str, tuple[tuple[str, int], ...], tuple]]:
    """The words of some nodes, with the nodes by their place, for pickles."""
    place = {node: at for at, node in enumerate(nodes)}
    found = []
    for at, node in enumerate(nodes):
        words = _said.get(node)
        if words is not None and all(x in place for _, x in words.operands):
            operands = tuple((role, place[x]) for role, x in words.operands)
            found.append((at, words.name, operands, words.options))
    return found


def restore(nodes: Sequence[Node], entries: Sequence[tuple]) -> None:
    """Take up words that were listed."""
    for at, name, operands, options in entries:
        given = tuple((role, nodes[place]) for role, place in operands)
        _said.add(nodes[at], Words(name, given, options))
