"""Display provenance: the user's call that made a node, such as ``mean`` for a quotient of sums.

It is stored in a side table and does not affect computation, comparison or compilation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dimtensor.dims import Dim
from dimtensor.graph.beside import Beside
from dimtensor.graph.node import Node

# other options, such as arrays, are not recorded
_PLAIN = (str, int, float, complex, tuple, list, Dim)
_PRIMITIVE = frozenset({"input", "data", "shaped", "bound", "constant"})


class Words(NamedTuple):
    """User's call that made a node.

    Attributes
    ----------
    name : str
    operands : tuple of (str, Node)
        With their roles; empty for positional operands.
    options : tuple of (str, value)
        Dims and plain values.
    """

    name: str
    operands: tuple[tuple[str, Node], ...]
    options: tuple[tuple[str, Any], ...]


_said: Beside[Words] = Beside(clear=False)


def say[T](result: T, name: str, /, *operands: Any, **options: Any) -> T:
    """Record the call that made a result, and return the result.

    Parameters
    ----------
    result : Node, or an object with a node
    name : str
    *operands
        Tensors or nodes.
    **options
        Tensors, and lists of them, become operands with roles; None and False are omitted. ``dim``
        are the dims of a reduction, omitted if they are all dims.

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
    """Return the recorded call that made a node, or None."""
    return _said.get(node)


def carry(old: Node, new: Node, mapping: Mapping[Node, Node]) -> None:
    """Copy the recorded call of a node to the node rebuilt from it."""
    words = _said.get(old)
    if words is None or new is old or new.kind in _PRIMITIVE or new in _said:
        return
    operands = tuple((role, mapping.get(x)) for role, x in words.operands)
    if all(x is not None and x is not new for _, x in operands):
        _said.set(new, words._replace(operands=operands))  # type: ignore[arg-type]


def listed(nodes: Sequence[Node]) -> list[tuple[int, str, tuple[tuple[str, int], ...], tuple]]:
    """Serialize the recorded calls of nodes, with operands given by index, for pickles."""
    place = {node: at for at, node in enumerate(nodes)}
    found = []
    for at, node in enumerate(nodes):
        words = _said.get(node)
        if words is not None and all(x in place for _, x in words.operands):
            operands = tuple((role, place[x]) for role, x in words.operands)
            found.append((at, words.name, operands, words.options))
    return found


def restore(nodes: Sequence[Node], entries: Sequence[tuple]) -> None:
    """Restore serialized calls."""
    for at, name, operands, options in entries:
        given = tuple((role, nodes[place]) for role, place in operands)
        _said.add(nodes[at], Words(name, given, options))
