"""Elements that selections of selections would compute again and again.

What is elementwise is computed where it is read. An array that is read at ``i`` and at ``i + 1`` is
computed twice, what it is made of in the same way four times: such chains (differences of higher
order, stencils, recursions written as slices) grow exponentially unless some arrays are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytensor.graph.basic import Apply, Variable
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

from dimtensor.tuning import RECOMPUTED_PLACES

_Way = tuple[Any, ...]  # selections, one after the other


def read_at_many_places(
    order: Sequence[Apply], inline: set[Apply], is_stored: Callable[[Variable], bool]
) -> set[Variable]:
    """Arrays to be stored because their elements would be computed at many places each.

    Parameters
    ----------
    order : sequence of Apply
        Nodes in topological order.
    inline : set of Apply
        Those that are computed where they are read.
    is_stored : callable
        Whether a variable is stored anyway.
    """
    # every path from stored variables to a variable, as the selections on it
    ways: dict[Variable, set[_Way]] = {}
    found: set[Variable] = set()
    for node in reversed(order):
        own: set[_Way] = {()}
        if node in inline and not is_stored(node.outputs[0]):
            out = node.outputs[0]
            own = ways.pop(out, own)
            if len(own) > RECOMPUTED_PLACES and isinstance(node.op, Elemwise):
                found.add(out)
                own = {()}
        step = _selection(node)
        for variable in node.inputs[:1] if step is not None else node.inputs:
            if getattr(variable.type, "ndim", 0) and not is_stored(variable):
                reached = own if step is None else {(step, *way) for way in own}
                ways.setdefault(variable, set()).update(reached)
    return found


def _selection(node: Apply) -> _Way | None:
    """Return the selection of a node, None if it reads all operands at its own positions."""
    op = node.op
    if isinstance(op, (Subtensor, AdvancedSubtensor)):
        return (op.idx_list, *map(id, node.inputs[1:]))
    if isinstance(op, DimShuffle) and list(op.shuffle) != sorted(op.shuffle):
        return tuple(op.new_order)
    return None
