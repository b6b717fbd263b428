"""Gradients of lags: the first element of an array padded with zeros, without the array."""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.subtensor import IncSubtensor, Subtensor

from dimtensor.ops.constants import is_zero
from dimtensor.ops.graphs import nodes_of
from dimtensor.ops.slices import entries_of, is_known, parts_of


def first_of_padded(graph: FunctionGraph) -> None:
    """Read ``zeros[: n].inc(x)[:1]`` from x: it is the sum of ``x[:1]``, also if x is empty."""
    for node in nodes_of(graph, Subtensor):
        if _prefix(node) != 1:
            continue
        made = node.inputs[0].owner
        if made is None or not isinstance(made.op, IncSubtensor) or not is_zero(made.inputs[0]):
            continue
        value = made.inputs[1]
        if value.type.ndim != 1 or value.type.shape == (1,) or _prefix(made) == 0:
            continue
        first = pt.expand_dims(pt.sum(value[:1], dtype=value.type.dtype), 0)
        out = node.outputs[0]
        if first.type.dtype == out.type.dtype:
            graph.replace(out, out.type.filter_variable(first), reason="first_of_padded")


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
