"""Lowering of named expressions; random variables have no values and are errors."""

from __future__ import annotations

from pytensor.graph.basic import Variable

from dimtensor.dims import Dims
from dimtensor.graph import Node
from dimtensor.graph.kinds.variables import no_value
from dimtensor.lower.context import Lowering, lowers


@lowers("rv")
def random_variable(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    raise no_value(node)


@lowers("named")
def named(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    return inputs[0], ctx.axes(node.inputs[0])
