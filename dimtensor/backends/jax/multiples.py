"""Numbers that XLA must not see through: factors of logarithms, and divisors of rounded numbers.

XLA multiplies by the reciprocal of a divisor that is one number, which may differ from the quotient
in the last bit: numbers rounded to two places would not be those that are written with two places.
Logarithms of multiples of one variable it takes for one another in sums on processors: from 4096
elements on, it hands sums with what is computed inside of them to the library YNNPACK. There two
`log` (`log1p`, `expm1`) of one variable times different constants become one. A factor that XLA
cannot see through keeps them apart, and the sum in the library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dimtensor.backends.jax.symbolic import is_symbol


def guards(nodes: Sequence[Any]) -> dict[Any, Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """Return wrappers for the functions of nodes whose results XLA would change."""
    return {
        **dict.fromkeys(confused(nodes), apart),
        **dict.fromkeys(quotients_of_rounding(nodes), divided),
    }


def confused(nodes: Sequence[Any]) -> set[Any]:
    """Return the nodes that apply a logarithm or `expm1` to a multiple of another's operand."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    functions = _functions()
    for node in nodes:
        for name in functions.get(type(_scalar_op(node)), ()):
            factors = sorted(_factors(node.inputs[0]), key=id)
            groups[name, tuple(factors)].append(node)
    return {node for group in groups.values() if len(group) > 1 for node in group}


def apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """Multiply the operand of a function by an opaque one, which keeps its bits."""
    import jax
    import jax.numpy as jnp

    def of_opaque(operand: Any) -> Any:
        if is_symbol(operand):
            return function(operand)
        operand = jnp.asarray(operand)
        one = jnp.ones((), jnp.result_type(operand, float))
        return function(operand * jax.lax.optimization_barrier(one))

    return of_opaque


def quotients_of_rounding(nodes: Sequence[Any]) -> set[Any]:
    """Return divisions by a constant whose operand or result is rounded."""
    from pytensor.graph.basic import Constant
    from pytensor.scalar import basic

    rounding = [node for node in nodes if isinstance(_scalar_op(node), basic.RoundHalfToEven)]
    rounded = {node.outputs[0] for node in rounding}
    operands = {node.inputs[0] for node in rounding}
    return {
        node
        for node in (nodes if rounding else ())
        if isinstance(_scalar_op(node), basic.TrueDiv)
        and isinstance(node.inputs[1], Constant)
        and (node.inputs[0] in rounded or node.outputs[0] in operands)
    }


def divided(function: Callable[..., Any]) -> Callable[..., Any]:
    """Divide by a divisor that XLA cannot invert, since it depends on the operand.

    A barrier around the constant would not do: XLA takes the reciprocal of every divisor that is
    one number.
    """
    import jax.numpy as jnp

    def by_opaque(operand: Any, divisor: Any) -> Any:
        if is_symbol(operand) or is_symbol(divisor):
            return function(operand, divisor)
        operand = jnp.asarray(operand, jnp.result_type(operand, divisor, float))
        return function(operand, jnp.where(operand == operand, divisor, operand))

    return by_opaque


def _scalar_op(node: Any) -> Any:
    from pytensor.tensor.elemwise import Elemwise

    return node.op.scalar_op if isinstance(node.op, Elemwise) else node.op


def _functions() -> dict[type, tuple[str, ...]]:
    """Map scalar ops to the functions that XLA computes; `log2` and `log10` use `log`."""
    from pytensor.scalar import basic

    return {
        basic.Log: ("log",),
        basic.Log2: ("log",),
        basic.Log10: ("log",),
        basic.Log1p: ("log1p",),
        basic.Expm1: ("expm1",),
    }


def _factors(variable: Any) -> Iterator[Any]:
    """Yield the factors of a product that are not constants, seen through transpositions."""
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
