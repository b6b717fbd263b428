"""Segments: loops along all positions that are, for each group, along its positions.

The positions of a ragged dim are those of its parents, one after the other. A sum for each parent
is then no update by data but a total, and the value of a parent is the same for all its positions.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.basic import ARange
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor

from dimtensor.ops.constants import integer_of
from dimtensor.ops.positions import GroupExtreme, OwnerOf
from dimtensor.optimize.plan.axis_lengths import Axis, Extents
from dimtensor.optimize.plan.signatures import core_op


def segments_of(order: Sequence[Apply], extents: Extents) -> dict[Axis, Apply]:
    """Return the node whose segments loops along an axis walk, by the class of the axis.

    Where there are several, such as trials by subject and by day, it is the first of them.
    """
    found: dict[Axis, Apply] = {}
    for node in order:
        if is_segmented(node) and node.outputs[0].type.shape[0] != 1:
            found.setdefault(extents.find((node.outputs[0], 0)), node)
    return found


def is_segmented(node: Apply) -> bool:
    """Return whether a node gives the group of each position, of all in order."""
    if not isinstance(node.op, OwnerOf) or isinstance(node.inputs[0], Constant):
        return False
    places = node.inputs[1].owner
    if places is None or not isinstance(places.op, ARange):
        return False
    return integer_of(places.inputs[0]) == 0 and integer_of(places.inputs[2]) == 1


def is_only_looked_up(graph: FunctionGraph, positions: Variable) -> bool:
    """Return whether positions are the indices of selections only, each in its own loops."""
    return all(
        is_only_looked_up(graph, client.outputs[0])
        if isinstance(getattr(client, "op", None), DimShuffle)
        else client != "output" and _looks_up(client, at)
        for client, at in graph.clients[positions]
    )


def _looks_up(node: Apply, number: int) -> bool:
    if isinstance(node.op, (AdvancedSubtensor, AdvancedIncSubtensor)):
        return number > isinstance(node.op, AdvancedIncSubtensor)
    return isinstance(core_op(node), GroupExtreme)
