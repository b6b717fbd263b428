"""JAX: the positional graph as one pure function, 64 bits without touching the process's flag."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from dimtensor.backends import Executable
from dimtensor.backends.jax_cache import persistent_cache

# arrays on the device by the id of the host's, for as long as that is alive
_placed: dict[int, tuple[weakref.ref, Any]] = {}


@cache
def _dispatch() -> Any:
    """PyTensor's translation of ops to JAX.

    Importing it sets JAX's 64-bit mode for the whole process; the flag is put back.
    """
    import jax

    before = jax.config.jax_enable_x64
    try:
        from pytensor.link.jax.dispatch import jax_funcify
    finally:
        jax.config.update("jax_enable_x64", before)
    _register_ops(jax_funcify)
    return jax_funcify


def _register_ops(jax_funcify: Any) -> None:
    from dimtensor.backends import jax_special
    from dimtensor.ops.group import GroupPosition

    jax_special.register(jax_funcify)

    @jax_funcify.register(GroupPosition)
    def group_position(op, **kwargs):
        import jax
        import jax.numpy as jnp

        def find(x, codes, groups):
            n, n_groups = x.shape[0], groups.shape[0]
            positions = jnp.arange(n)
            inside = (codes >= 0) & (codes < n_groups)
            codes = jnp.where(inside, codes, n_groups)
            hit = inside
            if op.which != "first":
                if x.dtype == bool:
                    x = x.astype("int8")
                extreme = jax.ops.segment_max if op.which == "max" else jax.ops.segment_min
                best = extreme(x, codes, n_groups + 1)
                missing = jnp.isnan(x) if x.dtype.kind == "f" else jnp.zeros(n, bool)
                spoilt = jax.ops.segment_max(missing.astype("int8"), codes, n_groups + 1) > 0
                hit = inside & jnp.where(spoilt[codes], missing, x == best[codes])
            first = jax.ops.segment_min(jnp.where(hit, positions, n), codes, n_groups + 1)
            return jnp.where(first[:n_groups] >= n, -1, first[:n_groups])

        return find


def compile_positional(inputs: Sequence[Any], outputs: Sequence[Any], static: bool) -> Executable:
    """Compile through PyTensor's rewrites for JAX and ``jax.jit``.

    Where a length follows from values (`static` is False) nothing is jitted.

    ``raw`` is pure and computes in 64 bits where JAX is in its 64-bit mode, in 32 elsewhere;
    ``call`` computes in 64 bits whatever the mode.

    The statistics are seconds: ``rewrite`` (PyTensor) and ``jit`` (tracing and XLA, measured at
    the first call).
    """
    started = time.perf_counter()
    from pytensor.graph.fg import FunctionGraph

    from dimtensor.backends.jax_graph import graph_function
    from dimtensor.backends.jax_indexing import own_translation

    funcify = _dispatch()
    shared = _shared_variables(outputs, set(inputs))
    graph = FunctionGraph([*inputs, *shared], list(outputs), clone=True)
    _rewrites().rewrite(graph)
    _drop_errors(graph)

    def translate(node: Any) -> Callable[..., Any]:
        return own_translation(node) or funcify(node.op, node=node, storage_map={})

    pure = graph_function(graph, translate, host=not static)
    stats = {"rewrite": time.perf_counter() - started}

    def with_shared(*arrays: Any) -> Any:
        return pure(*arrays, *(v.get_value(borrow=True) for v in shared))

    call = _Call(pure, [v.get_value for v in shared], static, stats)
    return Executable(call, with_shared if shared else pure, stats, place=place)


@cache
def _rewrites() -> Any:
    from pytensor.compile.mode import get_mode

    # XLA finds by itself what can be written over
    return get_mode("JAX").excluding("inplace").optimizer


class _Call:
    """Runs a function of JAX arrays on NumPy's, in 64 bits, jitted where lengths are known."""

    def __init__(
        self,
        pure: Callable[..., Any],
        shared: Sequence[Callable[..., Any]],
        static: bool,
        stats: dict[str, float],
    ):
        import jax

        self._run = jax.jit(pure) if static else pure
        self._shared = shared
        self._stats = stats
        self._in_64_bits = jax.enable_x64
        self._compiling = threading.Lock()
        self._compiled = not static

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        if self._shared:
            arrays = (*arrays, *[value(borrow=True) for value in self._shared])
        if not self._compiled:
            self._compile(arrays)
        # numbers of NumPy are turned into JAX's here, by the mode of the thread
        with self._in_64_bits(True):
            return [np.asarray(result) for result in self._run(*arrays)]

    def _compile(self, arrays: Sequence[Any]) -> None:
        """Compile for these arrays ahead of the call, which finds the result in JAX's caches.

        What runs during a call may compile functions of its own, in a callback, so the place of
        the persistent cache is not to be held then.
        """
        with self._compiling:
            if self._compiled:
                return
            started = time.perf_counter()
            with self._in_64_bits(True):
                lowered = self._run.lower(*arrays)
                with persistent_cache():
                    lowered.compile()
            self._stats["jit"] = time.perf_counter() - started
            self._compiled = True


def place(array: Any) -> Any:
    """The array on JAX's device; for read-only arrays the same one again.

    Data are as they were when they came here first: writing into the memory beneath a read-only
    view changes nothing.
    """
    import jax

    key = id(array)
    known = _placed.get(key)
    if known is not None and known[0]() is array:
        return known[1]
    with jax.enable_x64(True):
        placed = jax.numpy.array(array)
    if not array.flags.writeable:
        _placed[key] = (weakref.ref(array, lambda _: _placed.pop(key, None)), placed)
    return placed


def _drop_errors(graph: Any) -> None:
    """Take errors in the code out, which JAX cannot raise; the checks of a program are outputs."""
    from pytensor.raise_op import CheckAndRaise

    for node in graph.toposort():
        if isinstance(node.op, CheckAndRaise):
            graph.replace(node.outputs[0], node.inputs[0])


def _shared_variables(outputs: Sequence[Any], known: set[Any]) -> list[Any]:
    from pytensor.graph.traversal import graph_inputs

    return [v for v in graph_inputs(outputs) if hasattr(v, "get_value") and v not in known]
