"""Rewrites for XLA: matrix products from its library, and pieces joined at once.

They apply to a graph and to the steps of its loops. Loops whose states are arrays gain most.
"""

from __future__ import annotations

from pytensor.graph.fg import FunctionGraph

from dimtensor.ops.graphs import nodes_of, replace_variables
from dimtensor.ops.loop.node import ScanGraph
from dimtensor.ops.loop.op import Scan
from dimtensor.optimize.library_products import into_products
from dimtensor.optimize.loops.hoisting import hoist
from dimtensor.optimize.pieces import join_pieces
from dimtensor.tuning import LIBRARY_PRODUCT, LIBRARY_PRODUCT_IN_STEPS


def for_xla(graph: FunctionGraph, in_steps: bool = False) -> None:
    """Rewrite a graph and the steps of its loops for XLA, after all other rewrites.

    Parameters
    ----------
    graph : FunctionGraph
        It is changed.
    in_steps : bool
        Whether it is the step of a loop.
    """
    join_pieces(graph)
    into_products(graph, LIBRARY_PRODUCT_IN_STEPS if in_steps else LIBRARY_PRODUCT)
    for node in nodes_of(graph, Scan):
        parts = ScanGraph(node)
        step = FunctionGraph(parts.inner, parts.outputs, clone=False)
        for_xla(step, in_steps=True)
        parts.set_outputs(list(step.outputs))
        hoist(parts)  # matrices whose axes are in the order of a product
        replace_variables(graph, parts.build())
