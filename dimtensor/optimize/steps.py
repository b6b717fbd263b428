"""Rewrites of loops for XLA.

XLA runs each elementwise loop as a function of its own, which takes a microsecond to start. A
program that is long by XLA's count of operations runs in another thread, which takes ten
microseconds to wake; XLA counts one step of a loop only. Sums over steps and the computation of
sequences are therefore moved into the steps, as one writes them by hand. That is slower where
states are arrays: their steps are faster with matrix products from XLA's library and joined pieces.
"""

from __future__ import annotations

from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.subtensor import Subtensor

from dimtensor.ops.graphs import nodes_of, replace_variables
from dimtensor.ops.loop.node import ScanGraph
from dimtensor.ops.loop.op import Scan
from dimtensor.optimize.lag_gradients import first_of_padded
from dimtensor.optimize.library_products import into_products
from dimtensor.optimize.loops.hoisting import hoist
from dimtensor.optimize.pieces import join_pieces
from dimtensor.optimize.trace_sums import absorb_elements, absorb_sums
from dimtensor.tuning import LIBRARY_PRODUCT, LIBRARY_PRODUCT_IN_STEPS


def into_steps(graph: FunctionGraph) -> bool:
    """Move sums over traces into the steps of loops, and return whether there were any.

    The computation of sequences moves along. Without a sum it stays outside, with its source lines
    and dims.
    """
    changed = absorb_sums(graph, cheap=False)
    if changed:
        absorb_elements(graph)
        first_of_padded(graph)
        _pieces_first(graph)
    return changed


def _pieces_first(graph: FunctionGraph) -> None:
    """Slice the operands of an elementwise operation instead of its result."""
    waiting = nodes_of(graph, Subtensor)
    while waiting:
        node = waiting.pop()
        whole, out = node.inputs[0], node.outputs[0]
        made = whole.owner
        if out not in graph.variables or whole.type.ndim != 1 or out.type.ndim != 1:
            continue
        if made is None or not isinstance(made.op, Elemwise) or len(graph.clients[whole]) > 1:
            continue
        pieces = [v if v.type.shape == (1,) else node.op(v, *node.inputs[1:]) for v in made.inputs]
        new = out.type.filter_variable(made.op(*pieces))
        graph.replace(out, new, reason="pieces_first", import_missing=True)
        waiting += [v.owner for v in pieces if v.owner is not None and v.owner.op is node.op]


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
