"""Epilogue of a partition: what is computed from combined values of the whole, such as quotients.

A mean by group is a quotient of two sums. The sums are combined from slices of a dim, and the
quotient, which is not, is computed from them afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dimtensor.dims import Dim
from dimtensor.graph.attrs import InputAttrs
from dimtensor.graph.node import Node, make
from dimtensor.graph.partition.analysis import (
    Mapped,
    nodes_with_masks,
    possible_roles,
    split,
)
from dimtensor.graph.rebuilding.substitute import named_dims, rebuild
from dimtensor.graph.walk import leaves


class Epilogue(NamedTuple):
    """Outputs as expressions of values that are computed first.

    Attributes
    ----------
    totals : tuple of Node
        Values that are combined from slices, or do not depend on the dims, or are outputs that
        need no epilogue.
    inputs : tuple of Node
        Inputs that stand for them.
    outputs : tuple of Node
        The outputs as expressions of the inputs.
    """

    totals: tuple[Node, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]


def split_epilogue(outputs: Sequence[Node], dims: Iterable[Dim]) -> Epilogue | None:
    """Split outputs into combined values and their epilogue.

    None if no output needs it. An output that mixes positions in another way is unchanged.
    """
    dims = tuple(dims)
    totals: dict[Node, None] = {}
    is_needed = False
    for y in outputs:
        found = None
        if any(split(y, dim).obstacle is not None for dim in dims):
            found = _combined_below(y, dims)
            is_needed |= found is not None
        totals.update(dict.fromkeys([y] if found is None else found))
    if not is_needed:
        return None
    standing = {
        x: make("input", (), InputAttrs(None, f"total {at}", x.dims, x.dtype, x.categories))
        for at, x in enumerate(totals)
    }
    after = tuple(rebuild(outputs, standing))
    return Epilogue(tuple(standing), tuple(standing.values()), after)


def _combined_below(y: Node, dims: Sequence[Dim]) -> list[Node] | None:
    """Return the values that an expression is computed from; None if it needs single positions."""
    nodes = nodes_with_masks([y])
    known = [possible_roles(nodes, dim) for dim in dims]
    found: dict[Node, None] = {}
    seen, todo = set(), [y]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        blocked = [(roles, cut) for roles, cut in known if node not in roles]
        if not blocked:
            if leaves([node]):
                found[node] = None
            continue
        if not node.inputs:
            return None
        for roles, cut in blocked:
            positions = [x for x in node.inputs if isinstance(roles.get(x), Mapped)]
            if positions or not cut.isdisjoint(named_dims(node)):
                return None
        todo += node.inputs
    return [*found]
