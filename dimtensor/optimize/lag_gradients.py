"""Gradients of lags: the first element of an array padded with zeros, without the array."""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.tensor.subtensor import IncSubtensor, Subtensor

from dimtensor.ops.constants import is_zero
from dimtensor.ops.graphs import on_nodes
from dimtensor.ops.slices import entries_of, is_known, parts_of


@on_nodes(Subtensor)
def first_of_padded(node: Apply) -> Variable | None:
    """Read ``zeros[: n].inc(x)[:1]`` from x: it is the sum of ``x[:1]``, also if x is empty."""
    made = node.inputs[0].owner
    if made is None or not isinstance(made.op, IncSubtensor) or not is_zero(made.inputs[0]):
        return None
    value = made.inputs[1]
    if value.type.ndim != 1 or value.type.shape == (1,):
        return None
    if value.type.dtype != node.outputs[0].type.dtype or _prefix(node) != 1 or _prefix(made) == 0:
        return None
    return pt.expand_dims(pt.sum(value[:1], dtype=value.type.dtype), 0)


def _prefix(node: Apply) -> int:
    """Count the elements that a selection takes from the start, -1 if that depends on the length.

    0 for other selections, and for selections along several axes.
    """
    entries = entries_of(node)
    if len(entries) != 1 or not isinstance(entries[0], slice) or not is_known(entries[0]):
        return 0
    start, stop, step = parts_of(entries[0])
    if start not in (None, 0) or step not in (None, 1):
        return 0
    return stop if stop is not None and stop > 0 else -1
