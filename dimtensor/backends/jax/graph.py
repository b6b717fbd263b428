"""A positional graph as a function of JAX arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.tensor.type import TensorType

from dimtensor.backends.jax.multiples import guards
from dimtensor.backends.jax.symbolic import TracedLengths, is_symbol
from dimtensor.ops.interpret import perform_of

# gives a context for each node while it runs: who traces a function learns where an operation is of
watched: ContextVar[Callable[[Any], AbstractContextManager[Any]] | None] = ContextVar(
    "watched", default=None
)


def graph_function(
    graph: Any, translate: Callable[[Any], Callable[..., Any]], host: bool = False
) -> Callable[..., tuple[Any, ...]]:
    """Return a function that runs a graph node by node, also under a trace.

    Parameters
    ----------
    graph : FunctionGraph
    translate : callable
        From a node to what runs it on JAX.
    host : bool
        Whether what has no translation runs on the host: its results have lengths that follow from
        values (the positions where a mask is true, say), which no jit can have.

    Returns
    -------
    callable
        Takes the inputs of the graph and gives its outputs. It computes with the dtypes of the
        graph, those of 32 bits in their place where JAX is not in its 64-bit mode.
    """
    import jax.numpy as jnp

    nodes = graph.toposort()
    guard = guards(nodes)
    steps = [
        (node, _runner(node, translate, host, guard.get(node)), list(map(_dtype, node.outputs)))
        for node in nodes
    ]
    # in the order of their use: the code must not differ between processes, which cache it
    used = (v for vs in [*(node.inputs for node in nodes), graph.outputs] for v in vs)
    constants = {v: _constant(v) for v in used if isinstance(v, Constant)}
    dtypes = list(map(_dtype, graph.inputs))

    def run(*arrays: Any) -> tuple[Any, ...]:
        with _quiet_about_dtypes():
            values: dict[Any, Any] = {v: make() for v, make in constants.items()}
            for variable, array, dtype in zip(graph.inputs, arrays, dtypes, strict=True):
                # updates are methods that arrays of JAX have and NumPy's have not
                known = array if is_symbol(array) else jnp.asarray(array)
                values[variable] = _as_dtype(known, dtype)
            around = watched.get()
            for node, function, wanted in steps:
                operands = [values[v] for v in node.inputs]
                with nullcontext() if around is None else around(node):
                    results = function(*operands)
                for variable, result, dtype in zip(node.outputs, results, wanted, strict=True):
                    values[variable] = _as_dtype(result, dtype)
            return tuple(jnp.asarray(values[v]) for v in graph.outputs)

    return run


@contextmanager
def _quiet_about_dtypes() -> Iterator[None]:
    """Silence JAX's warnings about 64-bit dtypes where they are switched off."""
    import jax

    if jax.dtypes.canonicalize_dtype(np.float64) == np.float64:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*[Ee]xplicitly requested dtype")
        yield


def _dtype(variable: Any) -> np.dtype | None:
    return variable.type.numpy_dtype if isinstance(variable.type, TensorType) else None


def _as_dtype(value: Any, dtype: np.dtype | None) -> Any:
    """Cast a value to the graph's dtype, as JAX has promotion rules of its own.

    Lengths of arrays, numbers or tuples of numbers, are returned unchanged.
    """
    import jax

    if dtype is None or not isinstance(value, jax.Array):
        return value
    dtype = jax.dtypes.canonicalize_dtype(dtype)
    return value if value.dtype == dtype and not value.weak_type else value.astype(dtype)


def _constant(constant: Constant) -> Callable[[], Any]:
    """Return a function that returns a constant; a scalar is inlined and broadcast.

    Arrays of one element would be buffers of their own otherwise, unknown to XLA's algebra.
    """
    import jax.numpy as jnp

    data = constant.data
    if not isinstance(constant.type, TensorType):
        return lambda: data
    if data.ndim == 0:
        scalar = data[()]
        return lambda: scalar
    if data.dtype.kind == "f" and data.size and (data == data.flat[0]).all():
        first, shape = data.flat[0], data.shape
        return lambda: jnp.full(shape, first)
    return lambda: data


def _runner(
    node: Any,
    translate: Callable[[Any], Callable[..., Any]],
    host: bool,
    guard: Callable[[Callable[..., Any]], Callable[..., Any]] | None,
) -> Callable[..., Sequence[Any]]:
    from pytensor.link.jax.dispatch.shape import JAXShapeTuple
    from pytensor.tensor.shape import Shape

    try:
        function = translate(node)
    except NotImplementedError:
        if not host:
            raise
        return _on_host(node)
    if guard is not None:
        function = guard(function)
    if isinstance(node.op, (JAXShapeTuple, Shape)):  # the one result is a tuple
        return lambda *lengths: (function(*lengths),)
    if len(node.outputs) == 1:
        return lambda *arrays: _alone(function(*arrays))
    return function


def _alone(result: Any) -> tuple[Any]:
    """Wrap the result of an operation with one output in a tuple."""
    several = isinstance(result, (tuple, list)) and not isinstance(result, TracedLengths)
    return (result[0] if several else result,)


def _on_host(node: Any) -> Callable[..., list[Any]]:
    import jax.numpy as jnp

    perform = perform_of(node)

    def run(*arrays: Any) -> list[Any]:
        storage: list[list[Any]] = [[None] for _ in node.outputs]
        perform(node, [np.asarray(array) for array in arrays], storage)
        return [jnp.asarray(cell[0]) for cell in storage]

    return run
