"""JAX: the positional graph as one pure function, 64 bits without touching the process's flag."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dimtensor.backends import native, python
from dimtensor.backends.base import DEFAULTS, CompileOptions, Executable
from dimtensor.backends.jax.call import HostCall
from dimtensor.extras import check_installed
from dimtensor.optimize.target import Target
from dimtensor.tuning import JAX_CARRIED_TANGENTS
from dimtensor.upstream.imports import after_import, left_out

if TYPE_CHECKING:
    from pytensor.graph.op import Op

TARGET = Target(
    rewrites=True,
    raises=False,
    differentiated=True,
    costly_loops=True,
    clears_room=True,
    # with more, XLA hands even short loops to another thread
    most_tangents=JAX_CARRIED_TANGENTS,
)
_SPARSE = "pytensor.link.jax.dispatch.sparse"


@cache
def _dispatch() -> Any:
    """PyTensor's translation of ops to JAX.

    Importing it sets JAX's 64-bit mode for the whole process; the flag is put back. It also imports
    sparse arrays, and NumPyro to see whether it is there, which take far longer than all else: what
    translates sparse arrays is imported with them, and NumPyro by the few operations that need it.
    """
    import jax

    found: list[bool] = []  # in a thread of its own, where the mode is not that of a context here
    reader = threading.Thread(target=lambda: found.append(jax.config.jax_enable_x64))
    reader.start()
    reader.join()
    not_yet = [] if find_spec("numpyro") is None else ["numpyro"]
    if "pytensor.sparse" not in sys.modules:
        not_yet.append(_SPARSE)
    try:
        with left_out(*not_yet):
            from pytensor.link.jax.dispatch import jax_funcify
    finally:
        jax.config.update("jax_enable_x64", found[0])
    after_import("pytensor.sparse", partial(import_module, _SPARSE))
    register_ops(jax_funcify)
    return jax_funcify


def register_ops(jax_funcify: Any) -> None:
    """Teach PyTensor's dispatcher, which is the process's, the ops that are ours, and no others."""
    from dimtensor.backends.jax import cores, groups, loops
    from dimtensor.ops.linalg import CholeskyGradient

    cores.register(jax_funcify)
    groups.register(jax_funcify)
    loops.register(jax_funcify, _translate)
    _register_exponentials(jax_funcify)

    @jax_funcify.register(CholeskyGradient)
    def cholesky_gradient(op: Op, **kwargs: Any) -> Callable[..., Any]:
        import jax.numpy as jnp
        from jax.scipy.linalg import solve_triangular

        def find(factor: Any, cotangent: Any) -> Any:
            low = jnp.tril(factor.T @ jnp.tril(cotangent))
            found = low + jnp.tril(low, -1).T
            for _ in range(2):  # with the transpose of a symmetric matrix in between
                found = solve_triangular(factor, found.T, trans="T", lower=True)
            return jnp.tril(found) - jnp.diag(jnp.diag(found)) / 2

        return find


def _register_exponentials(jax_funcify: Any) -> None:
    from dimtensor.ops.along import LogSumExp, ScaledSoftmax, Softmax

    def exponentials(x: Any, axis: Any) -> tuple[Any, Any, Any]:
        """Return exponentials less the largest where it is finite, their sum, and the shift."""
        import jax
        import jax.numpy as jnp

        largest = jnp.max(jax.lax.stop_gradient(x), axis, keepdims=True, initial=-jnp.inf)
        shift = jnp.where(jnp.isfinite(largest), largest, 0)
        parts = jnp.exp(x - shift)
        return parts, parts.sum(axis, keepdims=True), shift

    @jax_funcify.register(LogSumExp)
    def log_sum_exp(op: Op, **kwargs: Any) -> Callable[..., Any]:
        import jax.numpy as jnp

        def find(x: Any) -> Any:
            _, total, shift = exponentials(x, op.axis)
            # an inner value of 1 keeps JAX's gradient zero where the sum is 0
            logarithm = jnp.log(jnp.where(total == 0, 1, total))
            return jnp.squeeze(jnp.where(total == 0, -jnp.inf, logarithm) + shift, op.axis)

        return find

    @jax_funcify.register(ScaledSoftmax)
    def scaled_softmax(op: Op, **kwargs: Any) -> Callable[..., Any]:
        import jax.numpy as jnp

        def find(x: Any, factor: Any) -> Any:
            parts, total, _ = exponentials(x, op.axis)
            quotient = factor / jnp.where(total == 0, 1, total)
            return jnp.where(total == 0, 0, quotient) * parts

        return find

    @jax_funcify.register(Softmax)
    def softmax(op: Op, **kwargs: Any) -> Callable[..., Any]:
        import jax.numpy as jnp

        def find(x: Any) -> Any:
            parts, total, shift = exponentials(x, op.axis)
            return (x - shift) - jnp.log(total) if op.log else parts / total

        return find


def compile_positional(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    options: CompileOptions = DEFAULTS,
) -> Executable:
    """Compile by the optimizer and ``jax.jit``.

    Where a length follows from values (the option `static` is False) nothing is jitted, unless it
    follows from data alone.

    ``raw`` is pure and computes in 64 bits where JAX is in its 64-bit mode, in 32 elsewhere;
    ``call`` computes in 64 bits whatever the mode.

    The statistics are seconds: ``rewrite`` (the optimizer) and ``jit`` (tracing and XLA, measured
    at the first call).
    """
    started = time.perf_counter()
    from pytensor.graph.fg import FunctionGraph

    from dimtensor.backends.jax.graph import graph_function
    from dimtensor.ops.graphs import shared_variables
    from dimtensor.ops.notes import keep_notes
    from dimtensor.optimize.once import lengths_are_known
    from dimtensor.optimize.pipeline import optimize

    _dispatch()
    shared = shared_variables(outputs, set(inputs))
    graph = FunctionGraph([*inputs, *shared], list(outputs), clone=True)
    keep_notes(graph, graph.outputs)
    fixed = [] if shared or options.given is None else graph.inputs[options.given :]
    split = optimize(graph, TARGET.allowing(options.allow), fixed)
    once = None if split is None else _once(split.once)
    static = options.static or (split is not None and lengths_are_known(graph))

    pure = graph_function(graph, _translate, host=not static)
    stats = {"rewrite": time.perf_counter() - started}

    def with_shared(*arrays: Any) -> Any:
        return pure(*arrays, *(v.get_value(borrow=True) for v in shared))

    # the data-only values follow the inputs
    dtypes = [] if shared else [v.type.dtype for v in graph.inputs]
    call = HostCall(pure, [v.get_value for v in shared], static, stats, dtypes)
    raw = with_shared if shared else pure
    return Executable(call, raw, stats, binder=None if shared else call.bind, once=once)


def _once(graph: Any) -> Executable:
    """Compile a graph to run eagerly, outside of any trace; only its loops are compiled."""
    from dimtensor.ops.loop.op import Scan

    if any(isinstance(node.op, Scan) for node in graph.apply_nodes):
        return native.compile_positional(graph.inputs, graph.outputs)
    return python.compile_positional(graph.inputs, graph.outputs)


def _translate(node: Any) -> Callable[..., Any]:
    """Return the JAX function of a node."""
    from dimtensor.backends.jax import cores, indexing, products, random, special, symbolic

    return symbolic.with_symbols(
        node,
        indexing.own_translation(node)
        or symbolic.own_translation(node)
        or products.own_translation(node)
        or random.own_translation(node)
        or cores.own_translation(node)
        or special.own_translation(node, _translate)
        or _dispatch()(node.op, node=node, storage_map={}),
    )


class _Jax:
    """JAX, as a backend."""

    name = "jax"
    compiles = True
    # it keeps code itself, and needs all lengths to compile
    described = native = False
    specializes = on_devices = True
    target = TARGET

    def check_installed(self) -> None:
        check_installed("jax", "jax", "the backend 'jax'")

    def compile(
        self, inputs: Sequence[Any], outputs: Sequence[Any], options: CompileOptions
    ) -> Executable:
        return compile_positional(inputs, outputs, options)

    def path(self, executable: Executable) -> str:
        return "JAX"


BACKEND = _Jax()
