"""Identity operations that matter to derivatives only, replaced by their inputs."""

from __future__ import annotations

from pytensor.compile.ops import ViewOp
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.blockwise import Blockwise, BlockwiseWithCoreShape

from dimtensor.ops.graphs import nodes_of
from dimtensor.optimize.plan.signatures import core_op


def drop_views(graph: FunctionGraph) -> None:
    """Replace views, and batches of them, by the variables behind them."""
    for node in nodes_of(graph, ViewOp, Blockwise, BlockwiseWithCoreShape):
        if not isinstance(core_op(node), ViewOp) or len(node.outputs) != 1:
            continue
        (x, *_), (out,) = node.inputs, node.outputs
        if x.type.ndim == out.type.ndim and out.type.is_super(x.type):
            graph.replace(out, x, reason="views_are_dropped", import_missing=True)
