"""Loops on JAX: ``lax.scan`` where the number of steps is known, ``lax.while_loop`` elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pytensor.graph.basic import Apply

from dimtensor.backends.jax.graph import graph_function
from dimtensor.backends.jax.symbolic import is_symbol, length_of
from dimtensor.errors import GraphError
from dimtensor.ops.loop.conditional import Conditional
from dimtensor.ops.loop.op import Loop, Scan


def register(jax_funcify: Any, translate: Callable[[Apply], Callable[..., Any]]) -> None:
    """Teach PyTensor's dispatcher the loops; `translate` gives what runs a node of a body."""

    def function_of(graph: Any) -> Callable[..., tuple[Any, ...]]:
        return graph_function(graph.unfreeze(), translate)

    def conditional(op: Conditional) -> Callable[..., Any]:
        return _conditional(function_of(op.then_branch), function_of(op.else_branch))

    makers: list[tuple[type, Callable[[Any], Callable[..., Any]]]] = [
        (Scan, lambda op: _scan(op, function_of(op.body))),
        (Loop, lambda op: _loop(op, function_of(op.body))),
        (Conditional, conditional),
    ]
    for op_type, make in makers:
        jax_funcify.register(op_type)(partial(_made, make))


def _made(make: Callable[[Any], Callable[..., Any]], op: Any, node: Apply, **kwargs: Any) -> Any:
    """Return a node's function in the form that PyTensor's linker takes, a single result without a
    tuple.
    """
    run = make(op)
    return run if len(node.outputs) > 1 else lambda *inputs: run(*inputs)[0]


def _conditional(
    then_branch: Callable[..., Any], else_branch: Callable[..., Any]
) -> Callable[..., Any]:
    def run(condition: Any, *inputs: Any) -> tuple[Any, ...]:
        import jax

        # a tuple, which jax.numpy.vectorize tells from one array
        return tuple(jax.lax.cond(condition, then_branch, else_branch, *inputs))

    return run


def _scan(op: Scan, body: Callable[..., tuple[Any, ...]]) -> Callable[..., Any]:
    def run(*inputs: Any) -> tuple[Any, ...]:
        given = op.split_inputs(inputs)
        length = _known_length(given.n_steps, given.sequences)
        if not op.runs_all:
            return _partly(op, body, given, length)
        if length is None:
            return _counted(op, body, given)
        return _scanned(op, body, given, length)

    return run


def _known_length(n_steps: Any, sequences: Sequence[Any]) -> Any:
    """Return the number of steps unless it depends on values; sequences have as many elements."""
    import jax

    if sequences:
        return sequences[0].shape[0]
    if isinstance(n_steps, jax.core.Tracer):
        return None
    return jax.core.max_dim(length_of(n_steps), 0)


def _scanned(op: Scan, body: Callable[..., Any], given: Any, length: Any) -> tuple[Any, ...]:
    import jax

    sequences = tuple(given.sequences)
    counted = is_symbol(length) and not sequences  # JAX takes a symbol only from a sequence
    if counted:
        sequences = (jax.numpy.arange(length),)

    def step(states: tuple[Any, ...], elements: tuple[Any, ...]) -> Any:
        results = body(*states, *(() if counted else elements), *given.captured)
        return results[: op.n_states], results[op.n_states :]

    final, traces = jax.lax.scan(
        step,
        _arrays(given.states),
        sequences,
        None if is_symbol(length) else length,
        reverse=op.reverse,
    )
    return (*final, *traces)


def _counted(op: Scan, body: Callable[..., Any], given: Any) -> tuple[Any, ...]:
    """Run a loop whose number of steps depends on values."""
    import jax

    if op.n_traces:
        raise _no_length(op)

    def step(_: Any, states: tuple[Any, ...]) -> tuple[Any, ...]:
        return body(*states, *given.captured)

    return tuple(jax.lax.fori_loop(0, given.n_steps, step, _arrays(given.states)))


def _partly(op: Scan, body: Callable[..., Any], given: Any, length: Any) -> tuple[Any, ...]:
    """Run a loop some of whose steps may not run; its traces are zero there."""
    import jax
    import jax.numpy as jnp

    n, m = op.n_states, op.n_states + op.n_traces
    if length is None and op.n_traces:
        raise _no_length(op)
    n_steps = jnp.asarray(given.n_steps if length is None else length, jnp.int32)
    first, last = (jnp.asarray(x, jnp.int32) for x in given.window or (0, n_steps))
    states = _arrays(given.states)
    elements = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in given.sequences]
    shapes = jax.eval_shape(body, *states, *elements, *given.captured)[n:m]
    traces = tuple(jnp.zeros((length, *x.shape), x.dtype) for x in shapes)
    n_done = [jnp.zeros((), jnp.int32)] if op.stops else []
    if length == 0:  # there is no element that a step could be traced with
        return (*states, *traces, *n_done)

    def goes_on(carry: Any) -> Any:
        done, go, *_ = carry
        return go & (first + done < last)

    def step(carry: Any) -> Any:
        done, go, states, traces = carry
        at = last - 1 - done if op.reverse else first + done
        elements = [jax.lax.dynamic_index_in_dim(x, at, 0, False) for x in given.sequences]
        results = body(*states, *elements, *given.captured)
        traces = tuple(
            jax.lax.dynamic_update_index_in_dim(trace, x, at, 0)
            for trace, x in zip(traces, results[n:m], strict=True)
        )
        return done + 1, results[m] if op.stops else go, results[:n], traces

    go = jnp.asarray(given.go if op.stops else True)
    start = (jnp.zeros((), jnp.int32), go, states, traces)
    done, _, states, traces = jax.lax.while_loop(goes_on, step, start)
    return (*states, *traces, *([done] if op.stops else []))


def _loop(op: Loop, body: Callable[..., tuple[Any, ...]]) -> Callable[..., Any]:
    def run(*inputs: Any) -> tuple[Any, ...]:
        import jax
        import jax.numpy as jnp

        given = op.split_inputs(inputs)

        def step(carry: Any) -> Any:
            *states, go = body(*carry[1], *given.captured)
            return go, tuple(states)

        start = (jnp.asarray(given.go), _arrays(given.states))
        return tuple(jax.lax.while_loop(lambda carry: carry[0], step, start)[1])

    return run


def _arrays(states: Sequence[Any]) -> tuple[Any, ...]:
    import jax.numpy as jnp

    return tuple(jnp.asarray(x) for x in states)


def _no_length(op: Scan) -> GraphError:
    return GraphError(
        "JAX cannot trace a loop whose number of steps follows from values",
        [("traces", op.n_traces)],
        "give a number of steps that is known, and stop earlier; a gradient traces states",
    )
