"""Lengths that are symbols, while a function is traced for all lengths at once.

JAX computes with symbols for lengths as with integers (``jax.export.symbolic_shape``), but not in
its array functions: those would make arrays of them, which are the shape of nothing. What a graph
computes of lengths alone is therefore computed with the symbols themselves. In a trace for known
lengths, where all are integers, it is computed by NumPy: JAX's array functions would trace it, and
a traced number is no length, either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.graph.op import HasInnerGraph
from pytensor.scalar import basic as scalars
from pytensor.tensor.basic import (
    ARange,
    Join,
    MakeVector,
    ScalarFromTensor,
    TensorFromScalar,
)
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Argmax, Prod
from pytensor.tensor.shape import Reshape
from pytensor.tensor.subtensor import Subtensor, indices_from_subtensor

from dimtensor.ops.interpret import perform_of
from dimtensor.tuning import TRACED_CONSTANT

Function = Callable[..., Any]


class TracedLengths(tuple):
    """The lengths of several axes, symbols among them, where the graph has a vector."""

    __slots__ = ()


def is_symbol(value: Any) -> bool:
    """Return whether a value is a symbolic length."""
    from jax.export import is_symbolic_dim

    return is_symbolic_dim(value)


def with_symbols(node: Any, function: Function) -> Function:
    """Extend a node's function to symbols and lists of lengths."""
    rule, host = _rule(node), _on_host(node)

    def run(*values: Any) -> Any:
        if not any(isinstance(value, tuple) or is_symbol(value) for value in values):
            found = None if host is None else host(*values)
            return function(*values) if found is None else found
        if rule is not None:
            found = rule(*values)
            if found is not None:
                return found
        if isinstance(node.op, (Elemwise, Prod, Join, Subtensor, DimShuffle)):
            values = tuple(map(_as_array, values))
        return function(*values)

    return run


def length_of(value: Any) -> Any:
    """Return a length as an integer or a symbol."""
    return value if is_symbol(value) else int(value)


def own_translation(node: Any) -> Function | None:
    """Functions whose shapes may come with the arrays; None for other nodes."""
    make = _TRANSLATIONS.get(type(node.op))
    return None if make is None else make(node)


def _as_array(value: Any) -> Any:
    import jax.numpy as jnp

    if isinstance(value, tuple):
        return jnp.stack([jnp.asarray(one, "int64") for one in value])
    return jnp.asarray(value) if is_symbol(value) else value


def _number(value: Any) -> Any:
    """Return a number of the host, or a symbol; None for traced values and arrays."""
    if is_symbol(value) or isinstance(value, (int, np.integer, np.bool_)):
        return value if is_symbol(value) else value + 0
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biu":
        return value.item()
    return None


# -- integers that are known while a function is traced --------------------------------------------


def _on_host(node: Any) -> Function | None:
    """Compute integers from integers by NumPy; None for nodes of other values, and of loops."""
    variables = [*node.inputs, *node.outputs]
    if (
        len(node.outputs) != 1
        or not type(node.op).__module__.startswith(("pytensor.tensor", "pytensor.scalar"))
        or isinstance(node.op, HasInnerGraph)
        or any(getattr(v.type, "dtype", "?")[0] not in "biu" for v in variables)
    ):
        return None
    (out,) = node.outputs

    def run(*values: Any) -> Any:
        if not values or not all(isinstance(value, _HOST) for value in values):
            return None
        given = [_typed(v, value) for v, value in zip(node.inputs, values, strict=True)]
        if any(value.size > TRACED_CONSTANT for value in given):
            return None
        perform = perform_of(node)
        storage: list[list[Any]] = [[None]]
        try:
            perform(node, given, storage)
        except (IndexError, ValueError):  # JAX has results of its own where NumPy has an error
            return None
        found = np.asarray(storage[0][0], out.type.dtype)
        return found[()] if found.size <= TRACED_CONSTANT else None

    return run


_HOST = (int, np.bool_, np.integer, np.ndarray)


def _typed(variable: Any, value: Any) -> Any:
    """Convert a value to the type of a variable: an array, or a NumPy scalar."""
    array = np.asarray(value, variable.type.dtype)
    return array if hasattr(variable.type, "ndim") else array[()]


# -- arithmetic of lengths -------------------------------------------------------------------------


def _rule(node: Any) -> Function | None:
    op = node.op
    if isinstance(op, (ScalarFromTensor, TensorFromScalar)):
        return lambda x: x
    if isinstance(op, DimShuffle):
        if op.new_order == ("x",):
            return lambda x: TracedLengths([x])
        return None if op.augment or op.drop else lambda x: x
    if isinstance(op, MakeVector):
        return lambda *lengths: TracedLengths(lengths)
    if isinstance(op, Join):
        return _joined
    if isinstance(op, Prod):
        return lambda x: math.prod(x) if isinstance(x, tuple) else None
    if isinstance(op, Subtensor):
        return lambda x, *given: _taken(op, x, given)
    scalar_op = op.scalar_op if isinstance(op, Elemwise) else op
    compute = _ARITHMETIC.get(type(scalar_op))
    if compute is None or node.outputs[0].type.dtype[0] not in "biu":
        return None
    return lambda *values: _computed(compute, values)


def _joined(axis: Any, *parts: Any) -> Any:
    lists = [x.tolist() if isinstance(x, np.ndarray) else x for x in parts]
    if not all(isinstance(x, (tuple, list)) for x in lists):
        return None
    return TracedLengths(length for part in lists for length in part)


def _taken(op: Any, x: Any, given: Sequence[Any]) -> Any:
    if not isinstance(x, tuple):
        return None
    (index,) = indices_from_subtensor(given, op.idx_list)
    try:
        return TracedLengths(x[index]) if isinstance(index, slice) else x[int(index)]
    except TypeError:  # a traced position
        return None


def _computed(compute: Function, values: Sequence[Any]) -> Any:
    from jax.errors import JAXTypeError

    numbers = [_number(value) for value in values]
    if any(number is None for number in numbers):
        return None
    try:
        return compute(*numbers)
    except (JAXTypeError, TypeError, ValueError):  # it is not the same for all lengths
        return None


def _compared(compare: Function) -> Function:
    return lambda a, b: bool(compare(a, b))


def _largest(*numbers: Any) -> Any:
    from functools import reduce

    from jax.core import max_dim

    return reduce(max_dim, numbers)


def _least(*numbers: Any) -> Any:
    from functools import reduce

    from jax.core import min_dim

    return reduce(min_dim, numbers)


_ARITHMETIC: dict[type, Function] = {
    scalars.Add: lambda *xs: sum(xs),
    scalars.Sub: lambda a, b: a - b,
    scalars.Mul: lambda *xs: math.prod(xs),
    scalars.IntDiv: lambda a, b: a // b,
    scalars.Mod: lambda a, b: a % b,
    scalars.Neg: lambda a: -a,
    scalars.Sqr: lambda a: a * a,
    scalars.Cast: lambda a: a,
    scalars.Identity: lambda a: a,
    scalars.Maximum: _largest,
    scalars.Minimum: _least,
    scalars.LT: _compared(lambda a, b: a < b),
    scalars.LE: _compared(lambda a, b: a <= b),
    scalars.GT: _compared(lambda a, b: a > b),
    scalars.GE: _compared(lambda a, b: a >= b),
    scalars.EQ: _compared(lambda a, b: a == b),
    scalars.NEQ: _compared(lambda a, b: a != b),
    scalars.Switch: lambda condition, a, b: a if condition else b,
}


# -- operations whose shapes are among their operands ----------------------------------------------


def _arange(node: Any) -> Function | None:
    dtype = node.op.dtype
    if all(isinstance(end, Constant) for end in node.inputs):
        return None

    def arange(start: Any, stop: Any, step: Any) -> Any:
        import jax.numpy as jnp

        ends = length_of(start), length_of(stop)
        return jnp.arange(*ends, length_of(step), dtype=dtype)

    return arange


def _reshape(node: Any) -> Function | None:
    if isinstance(node.inputs[1], Constant):
        return None

    def reshape(x: Any, shape: Any) -> Any:
        import jax.numpy as jnp

        return jnp.reshape(x, tuple(map(length_of, shape)))

    return reshape


def _argmax(node: Any) -> Function:
    """Return the position of the largest element, in the order of its axes."""
    axes = node.op.axis

    def argmax(x: Any) -> Any:
        import jax.numpy as jnp

        reduced = tuple(range(x.ndim)) if axes is None else tuple(int(axis) for axis in axes)
        kept = [axis for axis in range(x.ndim) if axis not in reduced]
        moved = jnp.transpose(x, (*kept, *reduced))
        rows = moved.reshape((*moved.shape[: len(kept)], math.prod(moved.shape[len(kept) :])))
        return jnp.argmax(rows, axis=-1).astype("int64")

    return argmax


_TRANSLATIONS: dict[type, Callable[[Any], Function | None]] = {
    ARange: _arange,
    Argmax: _argmax,
    Reshape: _reshape,
}
