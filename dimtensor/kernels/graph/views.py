"""Identity operations that matter to derivatives only, replaced by their inputs."""

from __future__ import annotations

from pytensor.compile.ops import ViewOp
from pytensor.graph.fg import FunctionGraph

from dimtensor.kernels.plan.signatures import core_op


def drop_views(graph: FunctionGraph) -> None:
    """Replace views, and batches of them, by what they are views of."""
    for node in graph.toposort():
        if not isinstance(core_op(node), ViewOp) or len(node.outputs) != 1:
            continue
        (x, *_), (out,) = node.inputs, node.outputs
        if x.type.ndim == out.type.ndim and out.type.is_super(x.type):
            graph.replace(out, x, reason="views_are_dropped", import_missing=True)
