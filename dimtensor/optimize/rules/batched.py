"""Batched operations with the shapes of what they give, as their numba functions ask for."""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import applys_between
from pytensor.tensor.blockwise import Blockwise, BlockwiseWithCoreShape
from pytensor.tensor.rewriting.shape import ShapeFeature

from dimtensor.ops.graphs import nodes_of, replace_nodes
from dimtensor.optimize.rules.driver import Rewriting
from dimtensor.optimize.rules.table import RULES


def with_core_shapes(graph: FunctionGraph) -> None:
    """Give batched operations the lengths of the trailing axes of their results."""
    nodes = nodes_of(graph, Blockwise)
    if not nodes:
        return
    rewriting = Rewriting(RULES)

    def with_shapes(node: Apply) -> list[Variable] | None:
        shapes = _core_shapes(node)
        if any(isinstance(n.op, Blockwise) for n in applys_between(node.inputs, shapes)):
            return None  # its shape is not known before it is computed
        shapes = rewriting.rewritten(shapes)
        op = BlockwiseWithCoreShape([*node.inputs, *shapes], node.outputs)
        return op(*node.inputs, *shapes, return_list=True)

    replace_nodes(graph, nodes, with_shapes, "with_core_shapes")


def _core_shapes(node: Apply) -> list[Variable]:
    feature = ShapeFeature()
    batch = node.op.batch_ndim(node)
    return [
        pt.as_tensor(
            [feature.get_non_recursive_shape(out, axis) for axis in range(batch, out.type.ndim)]
        )
        if out.type.ndim > batch
        else pt.constant([], dtype="int64")
        for out in node.outputs
    ]
