"""Updates at positions that are given more than once: which of the values stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.tensor.basic import ARange, Nonzero
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor

from dimtensor.ops.derivatives.flow import shuffled


def last_write_cotangent(node: Any, c: Variable) -> Variable:
    """Return the cotangents of the values of an update, 0 for values that later ones overwrite.

    The update is applied to the numbers of the values, which shows the last writes.

    Parameters
    ----------
    node : Apply
        An update that assigns.
    c : Variable
        The cotangent where values are selected.
    """
    x, _, *indices = node.inputs
    entries = node.op.idx_list
    if not isinstance(node.op, AdvancedIncSubtensor) or _are_distinct(indices):
        return c
    # slices take each position once: numbers are needed along the axes of positions only
    leading = len(entries) if not any(isinstance(entry, slice) for entry in entries) else x.ndim
    if any(v.type.dtype == "bool" for v in indices if hasattr(v.type, "dtype")):
        leading = x.ndim
    take, put = AdvancedSubtensor(entries), AdvancedIncSubtensor(entries, set_instead_of_inc=True)
    blank = pt.zeros([x.shape[axis] for axis in range(leading)], dtype="int64")
    shape = take(blank, *indices).shape
    numbers = pt.arange(pt.prod(shape)).reshape(shape, ndim=c.type.ndim - x.ndim + leading)
    stays = pt.eq(take(put(blank, numbers, *indices), *indices), numbers)
    stays = shuffled(stays, [*range(stays.type.ndim), *["x"] * (x.ndim - leading)])
    return pt.switch(stays, c, pt.constant(0, dtype=c.type.dtype))


def _are_distinct(indices: Sequence[Variable]) -> bool:
    """Return whether arrays of positions are known to select no element twice."""
    ndim = max((v.type.ndim for v in indices if hasattr(v.type, "ndim")), default=0)
    covered = {_distinct_along(v, ndim) for v in indices}
    return covered >= set(range(ndim))


def _distinct_along(index: Variable, ndim: int) -> int | None:
    """Return the broadcast axis along which positions are distinct, None if unknown."""
    order: list[Any] = [*range(index.type.ndim)] if hasattr(index.type, "ndim") else []
    node = index.owner
    if node is not None and isinstance(node.op, DimShuffle):
        order, index = list(node.op.new_order), node.inputs[0]
    if getattr(index.type, "ndim", 0) != 1:
        return None
    node = index.owner
    if isinstance(index, Constant):
        positions = np.asarray(index.data)
        distinct = len(np.unique(positions)) == len(positions)
        if not distinct or (len(positions) and positions.min() < 0 <= positions.max()):
            return None
    elif node is None or not isinstance(node.op, (ARange, Nonzero)):
        return None
    elif isinstance(node.op, Nonzero) and len(node.outputs) != 1:
        return None
    return order.index(0) + ndim - len(order)
