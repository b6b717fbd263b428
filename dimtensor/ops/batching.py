"""Graphs computed for a batch: variables get more axes, the first ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytensor.tensor as pt
from pytensor.conditional.op import IfElse
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.traversal import toposort
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.shape import Reshape, Shape, Shape_i

from dimtensor.ops.graphs import pass_on
from dimtensor.ops.nodes import reshaped
from dimtensor.upstream.pytensor import vectorize_node


def over_batch(outputs: Sequence[Variable], replace: Mapping[Variable, Variable]) -> list[Variable]:
    """Outputs of a graph some of whose variables have batch axes, before those of their own.

    Parameters
    ----------
    outputs : sequence of variables
    replace : mapping of variable to variable
        What takes the place of variables of the graph, with batch axes or without.
    """
    found = dict(replace)
    for node in toposort(outputs, blockers=list(replace)):
        inputs = [found.get(x, x) for x in node.inputs]
        if all(x is y for x, y in zip(inputs, node.inputs, strict=True)):
            continue
        for out, result in zip(node.outputs, _batched_node(node, inputs), strict=True):
            found.setdefault(out, result)
            if result.owner is not None and isinstance(result.owner.op, (Elemwise, Blockwise)):
                pass_on(out, result)  # the operands are the same, with more axes
    return [found.get(out, out) for out in outputs]


def _batched_node(node: Apply, inputs: Sequence[Variable]) -> Sequence[Variable]:
    if isinstance(node.op, Reshape) and inputs[1] is node.inputs[1]:
        return [_reshaped(node, inputs[0])]
    if isinstance(node.op, (Shape, Shape_i)):
        return [_length(node, inputs[0])]
    if isinstance(node.op, IfElse):
        chosen = _chosen(node, inputs)
        if chosen is not None:
            return chosen
    found = vectorize_node(node.op, node, *inputs)
    return found.outputs if isinstance(found, Apply) else found


def _chosen(node: Apply, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
    """Outputs of PyTensor's `ifelse`; None where branches have other shapes than each other.

    Where each element of the batch has its own condition, or one branch alone has its axes,
    elements are chosen from both branches.
    """
    condition, *given = inputs
    n = node.op.n_outs
    pairs = list(zip(given[:n], given[n:], strict=True))
    cores = [getattr(v.type, "ndim", 0) for v in node.outputs]
    if not condition.type.ndim and all(
        one.type.ndim == other.type.ndim
        and one.type.shape[: one.type.ndim - core] == other.type.shape[: one.type.ndim - core]
        for (one, other), core in zip(pairs, cores, strict=True)
    ):
        return node.op(*inputs, return_list=True)
    before = node.inputs[1:]
    if any(
        None not in lengths and len(set(lengths)) > 1
        for one, other in zip(before[:n], before[n:], strict=True)
        for lengths in zip(one.type.shape, other.type.shape, strict=True)
    ):
        return None
    own = range(condition.type.ndim)
    return [
        pt.switch(condition.dimshuffle(*own, *["x"] * core), one, other)
        for (one, other), core in zip(pairs, cores, strict=True)
    ]


def _length(node: Apply, x: Variable) -> Variable:
    """Lengths, which are the same in all of a batch, and so have none of its axes."""
    batch = x.type.ndim - node.inputs[0].type.ndim
    return x.shape[batch:] if isinstance(node.op, Shape) else x.shape[batch + node.op.i]


def _reshaped(node: Apply, x: Variable) -> Variable:
    """A reshape that knows the lengths of the batch.

    PyTensor works a length that it does not know out from the number of elements; where that is 0
    the length is anything.
    """
    before, shape = node.inputs
    batch = x.type.ndim - before.type.ndim
    lengths = [x.shape[k] if n is None else n for k, n in enumerate(x.type.shape[:batch])]
    core = [shape[k] if n is None else n for k, n in enumerate(node.outputs[0].type.shape)]
    return reshaped(x, [*lengths, *core])
