"""Lowering of users' checks: the value passes through, the condition becomes a run-time check."""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.dims import Dims
from dimtensor.graph import Node
from dimtensor.lower.context import Lowering, lowers


@lowers("check")
def check(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    # a condition is checked once, by the first node that has it
    if ctx.shared.setdefault(("check", node.inputs[1]), node) is node:
        condition = inputs[1]
        ctx.check(node, pt.all(condition) if condition.type.ndim else condition)
    return inputs[0], ctx.axes(node.inputs[0])
