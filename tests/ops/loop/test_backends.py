"""Loops on JAX and where kernels are switched off."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from dimtensor.backends import compile_positional
from dimtensor.errors import GraphError
from dimtensor.ops.loop import fori_loop, scan, while_loop
from tests.ops.loop.runs import assert_close, evaluate
from tests.optional import jax

pytestmark = pytest.mark.compiled

x, v = pt.dvector("x"), pt.dvector("v")
a, s = pt.dscalar("a"), pt.dscalar("s")
n = pt.lscalar("n")
generator = pt.random.type.random_generator_type("generator")


def agree(backend, inputs, outputs, *rows):
    """A backend and the interpreter, on several rows of values."""
    call = compile_positional(backend, inputs, outputs).call
    for values in rows:
        values = [np.asarray(y) for y in values]
        assert_close(list(call(*values)), evaluate(inputs, outputs, *values))


@pytest.mark.parametrize("reverse", [False, True])
def test_values_and_gradients_on_jax(reverse, rng):
    def step(st, e):
        after = [pt.tanh(st[0] * a + e[0]) + st[1].sum(), pt.tanh(st[1]) * e[0]]
        return after, [st[0] * e[0], st[1] * 2]

    result = scan(step, [s, v], [x], reverse=reverse)
    cost = result.states[0] ** 2 + pt.sin(result.traces[1]).sum() + result.traces[0].sum()
    outputs = [*result.states, *result.traces, *pytensor.grad(cost, [s, v, x, a])]
    rows = [(0.5, rng.normal(size=3), rng.normal(size=length), 0.3) for length in (5, 0, 1)]
    agree("jax", [s, v, x, a], outputs, *rows)


@pytest.mark.parametrize("reverse", [False, True])
def test_loops_that_stop_on_jax(reverse, rng):
    def step(st, e):
        return [st[0] * e[0] + a], [st[0] * e[0]], pt.lt(st[0], 1.15)

    result = scan(step, [s], [x], stops=True, reverse=reverse)
    cost = result.states[0] ** 2 + pt.sin(result.traces[0]).sum()
    outputs = [result.n_done, *result.traces, *pytensor.grad(cost, [s, x, a])]
    agree("jax", [s, x, a], outputs, (0.5, rng.uniform(0.5, 1.5, 7), 0.6))


def test_while_loops_on_jax():
    def newton(most):
        return while_loop(
            lambda st: abs(st[0] * st[0] - a) > 1e-10 * a,
            lambda st: [(st[0] + a / st[0]) / 2],
            [a],
            most,
        )

    bound, free = newton(40), newton(None)
    gradient = pytensor.grad(bound.states[0], a)
    outputs = [*bound.states, bound.n_done, bound.finished, gradient, *free.states]
    agree("jax", [a], outputs, (2.0,), (1.0,), (300.0,))


def test_counts_that_follow_from_values_on_jax():
    (state,) = fori_loop(0, n, lambda i, st: [st[0] * a + i], [s])
    agree("jax", [s, a, n], [state], (0.5, 0.9, 7), (0.5, 0.9, 0), (0.5, 0.9, -3))
    with pytest.raises(GraphError, match="JAX cannot trace a loop whose number of steps follows"):
        compile_positional("jax", [s, a, n], [pytensor.grad(state, a)]).call(
            *map(np.asarray, (0.5, 0.9, 7))
        )


def test_jax_differentiates_and_batches_our_loops(rng):
    result = scan(lambda st, e: ([pt.sin(st[0] * a) + e[0]], []), [s], [x])
    pure = compile_positional("jax", [s, a, x], result.states).raw
    values = rng.normal(size=4)
    with jax.enable_x64(True):
        found = jax.grad(lambda *inputs: pure(*inputs)[0], argnums=(0, 1, 2))(0.5, 0.3, values)
        many = jax.vmap(lambda s: pure(s, 0.3, values)[0])(np.array([0.5, 0.7]))
    wanted = evaluate([s, a, x], pytensor.grad(result.states[0], [s, a, x]), 0.5, 0.3, values)
    assert_close(found, wanted)
    singles = [evaluate([s, a, x], result.states, y, 0.3, values)[0] for y in (0.5, 0.7)]
    assert_close([many], [singles])


def test_in_32_bits_on_jax(rng):
    """The number of steps that ran is int64 in the graph."""
    result = while_loop(lambda st: st[0] < 5, lambda st: [st[0] * a + 1], [s], 20)
    pure = compile_positional("jax", [s, a], [*result.states, result.n_done]).raw
    with jax.enable_x64(False):  # whoever imports PyTensor's JAX mode leaves the process with 64
        state, done = pure(np.float32(0.5), np.float32(1.3))
    assert state.dtype == np.float32
    assert_close([state, done], evaluate([s, a], [*result.states, result.n_done], 0.5, 1.3), 1e-6)


@pytest.mark.falls_back  # kernels have no generators
def test_without_kernels(rng):
    """What the kernel compiler refuses runs so: NumPy's recurrence, and generators as states."""

    def step(states, e):
        following, noise = pt.random.normal(a, 2.0, rng=states[1], return_next_rng=True)
        return [pt.tanh(states[0]) * e[0] + noise, following], [noise]

    result = scan(step, [s, generator], [x])
    outputs = [*result.states, *result.traces]
    values = rng.normal(size=4)
    executable = compile_positional("numba", [s, generator, x, a], outputs)
    assert executable.reason == "an input of type RandomGeneratorType"
    given = np.random.default_rng(3)
    state, after, drawn = executable.call(np.asarray(0.5), given, values, np.asarray(0.3))
    oracle = np.random.default_rng(3)
    noise = oracle.normal(0.3, 2.0, size=4)
    wanted = 0.5
    for value, each in zip(values, noise, strict=True):
        wanted = np.tanh(wanted) * value + each
    assert_close([state, drawn], [wanted, noise])
    assert after.normal() == oracle.normal()
    assert given.normal() == np.random.default_rng(3).normal()


@pytest.mark.parametrize("backend", ["numba", "jax"])
@pytest.mark.parametrize("reverse", [False, True])
def test_what_steps_that_did_not_run_leave_is_zero(backend, reverse, rng):
    """A trace that is asked for, of a state whose history the gradient reads, too."""
    result = scan(
        lambda st, e: ([st[0] * a + e[0]], [st[0], e[0]], pt.lt(st[0], 1.0)),
        [s], [x], reverse=reverse, stops=True,
    )  # fmt: skip
    outputs = [*result.traces, result.n_done, pytensor.grad(result.states[0] ** 2, a)]
    call = compile_positional(backend, [s, a, x], outputs).call
    for length in (6, 1, 40):
        spoiled = [np.full(length, np.nan) for _ in range(50)]
        del spoiled  # memory that arrays of the kernel may be made of
        values = [np.asarray(0.5), np.asarray(1.1), rng.uniform(0.1, 0.3, length)]
        found = list(call(*values))
        assert_close(found, evaluate([s, a, x], outputs, *values))
        done = int(found[2])
        unreached = slice(0, length - done) if reverse else slice(done, None)
        assert not np.any(found[0][unreached])
        assert not np.any(found[1][unreached])
