"""Uses of positions along a dim in an expression."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dimtensor.dims import Dim, family
from dimtensor.graph import Node, toposort
from dimtensor.graph.lines import Line
from dimtensor.graph.node import KINDS

_IN_ORDER = frozenset({"argsort", "concat", "cumulate", "loop", "positions", "sort", "stack"})
_BY_POSITION = re.compile(r"\.isel\(|\w\[[-\d:, ]+\]")


def use_of_positions(nodes: Iterable[Node], dim: Dim) -> str | None:
    """Return how a graph uses positions along a dim without labels, if it does."""
    nodes = list(nodes)
    for node in nodes:
        if node.categories is not None and dim in family(node.categories):
            return "positions along it are its labels"
        if node.kind in _IN_ORDER and _works_along(node, dim):
            return f"{node.operation} goes along it in order"
    if is_indexed(nodes, dim):
        return "it is indexed by positions"
    for own in {own for node in nodes for own in node.dims}:
        if own is not dim and not own._is_cut_with({dim}) and dim in family(own):
            return f"elements are selected by position: {own!r}"
    return None


def is_indexed(nodes: Iterable[Node], dim: Dim) -> bool:
    """Return whether a dim is indexed by a tensor of integers that are no labels of it."""
    for node in nodes:
        selected = KINDS[node.kind].selected(node)
        for own, indexer in [] if selected is None else selected.looked_up():
            if dim in family(own) and indexer.categories is None:
                return True
    return False


def line_selecting_by_position(output: Node, dim: Dim) -> Line | None:
    """Return a line of code that selects by position along a dim with labels.

    The graph has positions in place of labels, so that the text of the line decides what was meant.
    """
    for node in toposort([output]):
        selected = KINDS[node.kind].selected(node)
        items = () if selected is None else selected.items
        fixed = [item.dim for item in items if item.kind != "tensor"]
        line = node.line if any(dim in family(own) for own in fixed) else None
        if line is not None and _BY_POSITION.search(line.text):
            return line
    return None


def _works_along(node: Node, dim: Dim) -> bool:
    """Return whether an operation in order goes along a dim."""
    if node.kind == "loop":
        return node.attrs.over is not None and dim in family(node.attrs.over)
    if node.kind == "positions":
        return dim in family(node.attrs)
    return any(dim in family(own) for own, _ in KINDS[node.kind].mentions(node, {}))
