"""Sums of products as products of matrices, which a library computes.

XLA takes up to three times as long for the sum of a matrix times a vector as for their product by
its library on processors, from some thousand elements on; in the steps of loops up to six times as
long, from some hundred on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import Mul
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.math import Sum

from dimtensor.ops.graphs import nodes_of, replace_nodes
from dimtensor.tuning import LIBRARY_PRODUCT


def into_products(graph: FunctionGraph, least: int = LIBRARY_PRODUCT) -> None:
    """Make products of sums of products, where the lengths are known.

    Parameters
    ----------
    graph : FunctionGraph
        It is changed.
    least : int
        Elements of matrices.

    Notes
    -----
    Several axes that are summed over, or kept, are one axis of the matrix.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> from pytensor.graph.fg import FunctionGraph
    >>> x, v = pt.tensor("x", shape=(500, 20)), pt.tensor("v", shape=(20,))
    >>> graph = FunctionGraph([x, v], [(x * v).sum(1)], clone=False)
    >>> into_products(graph)
    >>> sorted({type(node.op).__name__ for node in graph.toposort()})
    ['DimShuffle', 'Dot']
    """
    sums = nodes_of(graph, Sum)
    replace_nodes(graph, sums, lambda node: _product(graph, node, least), "into_products")


def _product(graph: FunctionGraph, node: Apply, least: int) -> Variable | None:
    if not is_sum_of_doubles(node):
        return None
    (terms,) = node.inputs
    made = terms.owner
    if made is None or not isinstance(made.op, Elemwise) or not isinstance(made.op.scalar_op, Mul):
        return None
    if len(made.inputs) != 2 or {v.type.dtype for v in made.inputs} != {"float64"}:
        return None
    if len(graph.clients[terms]) > 1:
        return None
    over = sorted(node.op.axis)
    kept = [axis for axis in range(terms.type.ndim) if axis not in over]
    for matrix, row in (made.inputs, made.inputs[::-1]):
        shape = matrix.type.shape
        if None in shape:
            continue
        n, k = (math.prod(shape[axis] for axis in axes) for axes in (kept, over))
        if min(n, k) < 2 or n * k < least:
            continue
        if row.type.shape == tuple(1 if axis in kept else m for axis, m in enumerate(shape)):
            return _multiplied(matrix, row, kept, over)
    return None


def _multiplied(
    matrix: Variable, row: Variable, kept: Sequence[int], over: Sequence[int]
) -> Variable:
    """Multiply an array of rows and columns by one without rows."""
    vector = row.dimshuffle(*over)
    if matrix.type.ndim == 2:
        return pt.dot(matrix, vector) if over == [1] else pt.dot(vector, matrix)
    shape = matrix.type.shape
    n, k = (math.prod(shape[axis] for axis in axes) for axes in (kept, over))
    # in a loop the matrix is made once, before it
    product = pt.dot(matrix.dimshuffle(*kept, *over).reshape((n, k)), vector.reshape((k,)))
    return product.reshape([shape[axis] for axis in kept])


def is_sum_of_doubles(node: Apply) -> bool:
    """Return whether a node is a sum of doubles over some axes."""
    if not isinstance(node.op, Sum) or node.op.axis is None:
        return False
    return {v.type.dtype for v in (*node.inputs, *node.outputs)} == {"float64"}
