"""Sums and products that XLA is slow at on processors.

That of a matrix times a vector takes up to three times as long as their product by XLA's library,
from some thousand elements on; in the steps of loops up to six times as long, from some hundred on.
A sum over a short axis, which is taken number by number, is one of so many terms, which XLA
computes together with what reads them. So is a product of small matrices, for which XLA calls a
library, or starts a thread: products of four by four in the steps of a loop took ten times as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import Mul
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Dot, Sum

from dimtensor.graph.dtypes import accumulator
from dimtensor.ops.facts import facts_of
from dimtensor.ops.graphs import inputs_of, nodes_of
from dimtensor.traversal import reached
from dimtensor.tuning import LIBRARY_PRODUCT, SHORT_PRODUCT, SHORT_PRODUCT_ELEMENTS, UNROLLED_LENGTH


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
    for node in nodes_of(graph, Sum):
        product = _product(graph, node, least)
        if product is not None:
            graph.replace(node.outputs[0], product, reason="into_products", import_missing=True)


def _product(graph: FunctionGraph, node: Apply, least: int) -> Variable | None:
    if not _is_of_doubles(node):
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


def own_translation(node: Apply) -> Callable[..., Any] | None:
    """Return the JAX function of a product, or of a sum over a short axis.

    Products of many single-precision numbers are computed in double precision. Sums whose elements
    are not cheap have none.
    """
    if isinstance(node.op, Dot):
        return _matrix_product
    dtype = getattr(node.outputs[0].type, "dtype", "")
    if accumulator(dtype) != dtype:
        if isinstance(node.op, CumOp) and node.op.mode == "mul":
            return partial(_in_double, "cumprod", node.op.axis)
        if isinstance(node.op, CAReduce) and isinstance(node.op.scalar_op, Mul):
            return partial(_in_double, "prod", node.op.axis)
    if not _is_of_doubles(node) or len(node.op.axis) != 1:
        return None
    (x,), (out,) = node.inputs, node.outputs
    (axis,) = node.op.axis
    n = x.type.shape[axis]
    if n is None or not 1 < n <= UNROLLED_LENGTH:
        return None
    if all(m is not None and m <= UNROLLED_LENGTH for m in out.type.shape) or not _is_cheap(x):
        return None
    return partial(_sum_of_terms, axis)


def _in_double(name: str, axis: Any, x: Any) -> Any:
    """Compute a product in double precision."""
    import jax.numpy as jnp

    return getattr(jnp, name)(x, axis=axis, dtype=accumulator(x.dtype.name))


def _sum_of_terms(axis: int, x: Any) -> Any:
    from jax.lax import index_in_dim

    return _total(
        x.dtype, (index_in_dim(x, at, axis, keepdims=False) for at in range(x.shape[axis]))
    )


def _matrix_product(a: Any, b: Any) -> Any:
    """Multiply matrices as ``jnp.dot``, or as columns times rows if they are few."""
    import jax.numpy as jnp
    from jax.lax import broadcast_in_dim, index_in_dim

    if not _is_small(a, b):
        return jnp.dot(a, b)
    shape = a.shape[0], b.shape[1]

    def term(at: int) -> Any:
        column, row = index_in_dim(a, at, 1, False), index_in_dim(b, at, 0, False)
        return broadcast_in_dim(column, shape, (0,)) * broadcast_in_dim(row, shape, (1,))

    return _total(a.dtype, map(term, range(a.shape[1])))


def _is_small(a: Any, b: Any) -> bool:
    if a.ndim != 2 or b.ndim != 2 or a.dtype != b.dtype:
        return False
    (rows, short), columns = a.shape, b.shape[1]
    # lengths that are symbols, as those of an export, are not compared
    if not all(isinstance(n, int) for n in (rows, short, columns)):
        return False
    return 0 < short <= SHORT_PRODUCT and rows * columns <= SHORT_PRODUCT_ELEMENTS


def _total(dtype: Any, terms: Iterable[Any]) -> Any:
    import jax
    import jax.numpy as jnp

    # a sum of negative zeros is zero; a zero that XLA knows would be left out
    total = jax.lax.optimization_barrier(jnp.zeros((), dtype))
    for term in terms:
        total = total + term
    return total


def _is_cheap(x: Variable) -> bool:
    """Return whether elements are computed from arrays by cheap operations alone.

    Operations on arrays of fewer axes do not count.
    """

    def below(v: Variable) -> list[Variable]:
        return inputs_of(v) if v.owner and isinstance(v.owner.op, (Elemwise, DimShuffle)) else []

    as_many = (v for v in reached([x], below) if _axes(v) >= _axes(x))
    made = [v.owner.op for v in as_many if v.owner is not None]
    return all(facts_of(op.scalar_op).is_cheap for op in made if isinstance(op, Elemwise))


def _axes(x: Variable) -> int:
    return sum(n != 1 for n in x.type.shape)


def _is_of_doubles(node: Apply) -> bool:
    """Return whether a node is a sum of doubles over some axes."""
    if not isinstance(node.op, Sum) or node.op.axis is None:
        return False
    return {v.type.dtype for v in (*node.inputs, *node.outputs)} == {"float64"}
