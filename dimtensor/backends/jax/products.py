"""Sums and products that XLA is slow at on processors.

A sum over a short axis, which is taken number by number, is one of so many terms, which XLA
computes together with what reads them. So is a product of small matrices, for which XLA calls a
library, or starts a thread: products of four by four in the steps of a loop took ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from pytensor.graph.basic import Apply, Variable
from pytensor.scalar.basic import Mul
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Dot

from dimtensor.graph.dtypes import accumulator
from dimtensor.ops.facts import facts_of
from dimtensor.ops.graphs import inputs_of
from dimtensor.optimize.library_products import is_sum_of_doubles
from dimtensor.traversal import reached
from dimtensor.tuning import SHORT_PRODUCT, SHORT_PRODUCT_ELEMENTS, UNROLLED_LENGTH


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
    if not is_sum_of_doubles(node) or len(node.op.axis) != 1:
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
