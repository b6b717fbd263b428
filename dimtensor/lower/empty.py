"""Checks of reductions without an identity, along dims whose lengths are known at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.dims import Dims, has_run_time_length
from dimtensor.graph import Node
from dimtensor.graph.dtypes import neutral_extreme
from dimtensor.lower.context import Lowering


def with_an_element(
    ctx: Lowering, node: Node, x: Variable, axes: Dims, over: Dims, largest: bool
) -> Variable:
    """Add a neutral element to the operand of a min or max along axes that may be empty.

    Backends treat the extreme of an empty array differently. With the element the code runs, and
    the run-time check reports the empty dim by name. Other lengths are checked before the run.
    """
    for dim in over:
        if not (ctx.is_late(dim) or has_run_time_length(dim)):
            continue
        length = ctx.length(dim)
        ctx.check(node, pt.gt(length, 0), dim)
        shape: list[Any] = [1 if d is dim else ctx.length(d) for d in axes]
        last = pt.alloc(np.asarray(neutral_extreme(largest, x.type.dtype)), *shape)
        x = pt.concatenate([x, last], axis=axes.index(dim))
    return x
