"""JAX without jit: for graphs in which a length follows from values, as that of a mask does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pytensor.graph.basic import Constant


def eager_function(graph: Any, funcify: Any) -> Callable[..., tuple[Any, ...]]:
    """A function that runs a graph node by node.

    Operations run on JAX where it has them for arrays of any length; the others, which its jit
    cannot have either (the positions where a mask is true, say), run on the host.
    """
    import jax.numpy as jnp

    constants = {
        v: jnp.asarray(v.data)
        for v in graph.variables
        if isinstance(v, Constant) and isinstance(v.data, (np.ndarray, np.generic))
    }
    other = {v: v.data for v in graph.variables if isinstance(v, Constant) and v not in constants}
    steps = [(_runner(node, funcify), node.inputs, node.outputs) for node in graph.toposort()]

    def run(*arrays: Any) -> tuple[Any, ...]:
        values: dict[Any, Any] = {**constants, **other}
        # updates are methods that arrays of JAX have and NumPy's have not
        values.update(zip(graph.inputs, map(jnp.asarray, arrays), strict=True))
        for function, inputs, outputs in steps:
            results = function(*[values[v] for v in inputs])
            values.update(zip(outputs, results, strict=True))
        return tuple(values[v] for v in graph.outputs)

    return run


def _runner(node: Any, funcify: Any) -> Callable[..., Any]:
    from pytensor.link.jax.dispatch.shape import JAXShapeTuple

    try:
        function = funcify(node.op, node=node, storage_map={})
    except NotImplementedError:
        return _on_host(node)
    if isinstance(node.op, JAXShapeTuple):  # its one result is a tuple
        return lambda *lengths: (function(*lengths),)
    if len(node.outputs) == 1:
        return lambda *arrays: _alone(function(*arrays))
    return function


def _alone(result: Any) -> tuple[Any]:
    """The result of an operation of one output, which some return in a tuple."""
    return (result[0] if isinstance(result, (tuple, list)) else result,)


def _on_host(node: Any) -> Callable[..., list[Any]]:
    import jax.numpy as jnp

    def run(*arrays: Any) -> list[Any]:
        storage: list[list[Any]] = [[None] for _ in node.outputs]
        node.op.perform(node, [np.asarray(array) for array in arrays], storage)
        return [jnp.asarray(cell[0]) for cell in storage]

    return run
