"""Canonical forms of PyTensor's graphs, in terms of operations that have kernel rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.conditional.op import IfElse
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import Composite, Imag, Real
from pytensor.tensor.basic import AllocEmpty, Split
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.shape import specify_shape
from pytensor.tensor.special import LogSoftmax, Softmax

from dimtensor.ops.graphs import nodes_of, on_nodes
from dimtensor.ops.positions import positions_of_masks
from dimtensor.optimize.canonical_forms import (
    accumulated_as_asked,
    solves_by_factors,
    split_as_slices,
    updates_once,
)


def canonical(graph: FunctionGraph) -> None:
    """Rewrite a graph in place to the operations that have kernel rules."""
    promise_lengths_of_splits(graph)
    softmax_written_out(graph)
    composites_written_out(graph)
    parts_of_real_numbers(graph)
    positions_of_masks(graph)
    empty_as_zeros(graph)
    solves_by_factors(graph)
    split_as_slices(graph)
    updates_once(graph)
    accumulated_as_asked(graph)


def promise_lengths_of_splits(graph: FunctionGraph) -> None:
    """Assert the length of split arrays, since slices would silently drop surplus elements."""
    for node in nodes_of(graph, Split):
        x, sizes = node.inputs
        axis = node.op.axis % x.type.ndim
        if isinstance(sizes, Constant):
            total: Any = int(np.sum(sizes.data))
        else:  # no axis has the length -1
            total = pt.switch(pt.all(pt.ge(sizes, 0)), pt.sum(sizes), -1)
        if x.type.shape[axis] is None or not isinstance(sizes, Constant):
            lengths: list[Any] = [None] * x.type.ndim
            lengths[axis] = total
            graph.change_node_input(node, 0, specify_shape(x, lengths), reason="splits")


@on_nodes(LogSoftmax, Softmax)
def softmax_written_out(node: Apply) -> list[Variable]:
    """Replace softmax and its logarithm by exponentials and sums, which loop nests share."""
    return node.op.build_inner_graph(*node.inputs)


@on_nodes(Elemwise)
def composites_written_out(node: Apply) -> list[Variable] | None:
    """Replace what PyTensor has fused already, such as a third power, by its operations."""
    scalar = node.op.scalar_op
    if not isinstance(scalar, Composite):
        return None
    found: dict[Variable, Variable] = dict(zip(scalar.fgraph.inputs, node.inputs, strict=True))
    for inner in scalar.fgraph.toposort():
        operands = [
            pt.constant(v.data) if isinstance(v, Constant) else found[v] for v in inner.inputs
        ]
        results = Elemwise(inner.op)(*operands, return_list=True)
        found.update(zip(inner.outputs, results, strict=True))
    return [found[v] for v in scalar.fgraph.outputs]


@on_nodes(Elemwise)
def parts_of_real_numbers(node: Apply) -> Variable | None:
    """Take real parts of real numbers as they are; numba knows none of bools."""
    x, scalar = node.inputs[0], node.op.scalar_op
    if not isinstance(scalar, (Real, Imag)) or x.type.dtype.startswith("complex"):
        return None
    return x if isinstance(scalar, Real) else pt.zeros_like(x)


@on_nodes(AllocEmpty)
def empty_as_zeros(node: Apply) -> Variable:
    """Replace arrays whose elements are written later by zeros."""
    return pt.zeros(node.inputs, dtype=node.outputs[0].type.dtype)


def conditionals_together(graph: FunctionGraph) -> None:
    """Make one conditional of those with one condition that are needed in any case.

    What several of them share is needed by one branch then, and can move into it.
    """
    needed: dict[Apply, None] = {}
    todo = [v.owner for v in graph.outputs]
    while todo:
        node = todo.pop()
        if node is None or node in needed:
            continue
        needed[node] = None
        inputs = node.inputs[:1] if isinstance(node.op, IfElse) else node.inputs
        todo += [v.owner for v in inputs]
    groups: dict[Variable, list[Apply]] = {}
    for node in graph.toposort():
        if node in needed and isinstance(node.op, IfElse):
            members = groups.setdefault(node.inputs[0], [])
            above = set(ancestors(node.inputs))
            if not any(v in above for each in members for v in each.outputs):
                members.append(node)
    for condition, members in groups.items():
        if len(members) < 2:
            continue
        first = [v for n in members for v in n.inputs[1 : 1 + n.op.n_outs]]
        second = [v for n in members for v in n.inputs[1 + n.op.n_outs :]]
        made = IfElse(len(first))(condition, *first, *second, return_list=True)
        old = [v for n in members for v in n.outputs]
        pairs = [(x, x.type.filter_variable(y)) for x, y in zip(old, made, strict=True)]
        graph.replace_all(pairs, reason="conditionals_together", import_missing=True)
