"""Graphs computed for a batch: variables get more axes, the first ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytensor.graph.basic import Apply, Variable
from pytensor.graph.traversal import toposort
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.shape import Reshape, Shape, Shape_i

from dimtensor.ops.graphs import pass_on
from dimtensor.ops.nodes import reshaped
from dimtensor.upstream.pytensor import vectorize_node


def over_batch(outputs: Sequence[Variable], replace: Mapping[Variable, Variable]) -> list[Variable]:
    """Return the outputs of a graph some of whose variables are replaced by batched ones.

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
    found = vectorize_node(node.op, node, *inputs)
    return found.outputs if isinstance(found, Apply) else found


def _length(node: Apply, x: Variable) -> Variable:
    """Lengths, which are the same in all of a batch, and so have none of its axes."""
    batch = x.type.ndim - node.inputs[0].type.ndim
    return x.shape[batch:] if isinstance(node.op, Shape) else x.shape[batch + node.op.i]


def _reshaped(node: Apply, x: Variable) -> Variable:
    """Reshape a batch with its known lengths.

    PyTensor works a length that it does not know out from the number of elements; where that is 0
    the length is anything.
    """
    before, shape = node.inputs
    batch = x.type.ndim - before.type.ndim
    lengths = [x.shape[k] if n is None else n for k, n in enumerate(x.type.shape[:batch])]
    core = [shape[k] if n is None else n for k, n in enumerate(node.outputs[0].type.shape)]
    return reshaped(x, [*lengths, *core])
