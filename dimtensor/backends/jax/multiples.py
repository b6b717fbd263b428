"""Logarithms of multiples of one variable, which XLA takes for one another in sums on processors.

From 4096 elements on, XLA hands sums with what is computed inside of them to the library YNNPACK.
There two `log` (`log1p`, `expm1`) of one variable times different constants become one. A factor
that XLA cannot see through keeps them apart, and the sum in the library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dimtensor.backends.jax.symbolic import is_symbol


def confused(nodes: Sequence[Any]) -> set[Any]:
    """The nodes that apply a logarithm or `expm1` to a multiple of another one's operand."""
    from pytensor.tensor.elemwise import Elemwise

    groups: dict[Any, list[Any]] = defaultdict(list)
    functions = _functions()
    for node in nodes:
        scalar_op = node.op.scalar_op if isinstance(node.op, Elemwise) else node.op
        for name in functions.get(type(scalar_op), ()):
            factors = sorted(_factors(node.inputs[0]), key=id)
            groups[name, tuple(factors)].append(node)
    return {node for group in groups.values() if len(group) > 1 for node in group}


def apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of its operand times one, as a number that XLA does not know: the same bits."""
    import jax
    import jax.numpy as jnp

    def of_opaque(operand: Any) -> Any:
        if is_symbol(operand):
            return function(operand)
        operand = jnp.asarray(operand)
        one = jnp.ones((), jnp.result_type(operand, float))
        return function(operand * jax.lax.optimization_barrier(one))

    return of_opaque


def _functions() -> dict[type, tuple[str, ...]]:
    """What XLA computes for scalar ops: `log2` and `log10` are multiples of `log`."""
    from pytensor.scalar import basic

    return {
        basic.Log: ("log",),
        basic.Log2: ("log",),
        basic.Log10: ("log",),
        basic.Log1p: ("log1p",),
        basic.Expm1: ("expm1",),
    }


def _factors(variable: Any) -> Iterator[Any]:
    """The factors of a product that are not constants; axes added or reordered do not count."""
    from pytensor.graph.basic import Constant
    from pytensor.scalar import basic
    from pytensor.tensor.elemwise import DimShuffle, Elemwise

    node = variable.owner
    if isinstance(variable, Constant):
        return
    op = None if node is None else node.op
    scalar_op = op.scalar_op if isinstance(op, Elemwise) else op
    if isinstance(scalar_op, (basic.Mul, basic.Neg, basic.Cast, DimShuffle)):
        for operand in node.inputs:
            yield from _factors(operand)
    elif isinstance(scalar_op, basic.TrueDiv) and not list(_factors(node.inputs[1])):
        yield from _factors(node.inputs[0])
    else:
        yield variable
