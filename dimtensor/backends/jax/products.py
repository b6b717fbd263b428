"""Sums of products of a matrix and a vector, as products of XLA's library.

On processors XLA takes up to three times as long for the sum as for the product, from some thousand
elements on; below it takes as long for either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytensor.graph.basic import Apply, Variable
    from pytensor.graph.fg import FunctionGraph

# elements of a matrix
_MANY = 4096


def into_products(graph: FunctionGraph) -> None:
    """Make products of sums of them, where the lengths are known.

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
    for node in graph.toposort():
        product = _product(graph, node)
        if product is not None:
            graph.replace(node.outputs[0], product, reason="into_products", import_missing=True)


def _product(graph: FunctionGraph, node: Apply) -> Variable | None:
    from pytensor.scalar.basic import Mul
    from pytensor.tensor.elemwise import DimShuffle, Elemwise
    from pytensor.tensor.math import Sum, dot

    if not isinstance(node.op, Sum):
        return None
    (terms,) = node.inputs
    made = terms.owner
    axes = node.op.axis
    if terms.type.ndim != 2 or axes is None or len(axes) != 1 or len(graph.clients[terms]) > 1:
        return None
    if made is None or not isinstance(made.op, Elemwise) or not isinstance(made.op.scalar_op, Mul):
        return None
    (axis,) = axes
    if len(made.inputs) != 2 or {v.type.dtype for v in (*made.inputs, *node.outputs)} != {
        "float64"
    }:
        return None
    for matrix, row in (made.inputs, made.inputs[::-1]):
        n, k = matrix.type.shape
        if n is None or k is None or min(n, k) < 2 or n * k < _MANY:
            continue
        if row.type.shape[1 - axis] != 1 or row.type.shape[axis] != matrix.type.shape[axis]:
            continue
        whole = row.owner
        if whole is not None and isinstance(whole.op, DimShuffle) and whole.inputs[0].ndim == 1:
            vector = whole.inputs[0]
        else:
            vector = row.dimshuffle(axis)
        return dot(matrix, vector) if axis == 1 else dot(vector, matrix)
    return None
