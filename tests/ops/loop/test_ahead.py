"""Gradients of loops of few numbers, by tangents beside the states, against JAX's of its loops."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.traversal import ancestors

import dimtensor as dt
from dimtensor.backends import compile_positional
from dimtensor.compile.program import program_for
from dimtensor.ops.derivatives.driver import pull
from dimtensor.ops.loop import scan
from dimtensor.ops.loop.op import Scan
from tests.optional import jax, jnp

time = dt.Dim("time")


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


class Case(NamedTuple):
    """A loss of some numbers and a series, here and in JAX."""

    loss: Any
    oracle: Any
    numbers: tuple[float, ...]


def _garch(w, a, b, m, y):
    square = (y - m) ** 2
    _, h = dt.scan(lambda h, e: (w + a * e + b * h, h), 1.0, square, dim=time)
    return (dt.log(h) + square / h).sum()


def _jax_garch(w, a, b, m, y):
    square = (y - m) ** 2
    _, h = jax.lax.scan(lambda h, e: (w + a * e + b * h, h), 1.0, square)
    return (jnp.log(h) + square / h).sum()


def _damped(a, c, start, y):
    """Two states, the sum of one of them and the last of the other."""

    def step(state, e):
        u, v = state
        after = (u + 0.1 * v, v - a * dt.sin(u) + c * e)
        return after, after[0]

    (_, last), path = dt.scan(step, (start, 0.0), y, dim=time)
    return (path**2).sum() + last


def _jax_damped(a, c, start, y):
    def step(state, e):
        u, v = state
        after = (u + 0.1 * v, v - a * jnp.sin(u) + c * e)
        return after, after[0]

    (_, last), path = jax.lax.scan(step, (start, 0.0), y)
    return (path**2).sum() + last


def _last(a, start, y):
    return dt.reduce(lambda x, e: dt.tanh(a * x + e), start, y, dim=time)


def _jax_last(a, start, y):
    return jax.lax.scan(lambda x, e: (jnp.tanh(a * x + e), None), start, y)[0]


def _backwards(a, b, y):
    _, path = dt.scan(lambda x, e: (a * x + e, x * x + b), b, y, dim=time, reverse=True)
    return dt.exp(-path).sum()


def _jax_backwards(a, b, y):
    return jnp.exp(-jax.lax.scan(lambda x, e: (a * x + e, x * x + b), b, y, reverse=True)[1]).sum()


def _chosen(a, b, y):
    """A branch that is not taken has infinite derivatives; a number is made of another."""
    c = dt.exp(a) * b

    def step(x, e):
        return dt.where(e > 0.0, c * x + e, x * dt.sqrt(dt.maximum(e, 0.0)) + a)

    return (dt.cumulate(step, b, y, dim=time) * c).sum()


def _jax_chosen(a, b, y):
    c = jnp.exp(a) * b

    def step(x, e):
        # the root's derivative is kept finite where it is not taken
        x = jnp.where(e > 0.0, c * x + e, a)
        return x, x

    return (jax.lax.scan(step, b, y)[1] * c).sum()


def _counted(a, y):
    """An integer beside the state."""

    def step(state, e):
        x, k = state
        x = a * x + e / (k + 1)
        return (x, k + 1), x

    return dt.scan(step, (0.0, 0), y, dim=time)[1].sum()


def _jax_counted(a, y):
    def step(state, e):
        x, k = state
        x = a * x + e / (k + 1)
        return (x, k + 1), x

    return jax.lax.scan(step, (0.0, 0), y)[1].sum()


def _started(a, c, y):
    """The start is made of the parameters of the steps, which read others made of them, too."""

    def step(state, e):
        mean, variance = state
        gain = variance / (variance + c**2)
        return (mean + gain * (e - mean), variance * (1.0 - gain) + a**2), (mean - e) ** 2

    return dt.scan(step, (a * c, a + c), y, dim=time)[1].sum()


def _jax_started(a, c, y):
    def step(state, e):
        mean, variance = state
        gain = variance / (variance + c**2)
        return (mean + gain * (e - mean), variance * (1.0 - gain) + a**2), (mean - e) ** 2

    return jax.lax.scan(step, (a * c, a + c), y)[1].sum()


CASES = {
    "started": Case(_started, _jax_started, (0.3, 0.8)),
    "garch": Case(_garch, _jax_garch, (0.2, 0.3, 0.5, 0.1)),
    "two states": Case(_damped, _jax_damped, (0.3, 0.2, 0.7)),
    "last": Case(_last, _jax_last, (0.8, 0.3)),
    "backwards": Case(_backwards, _jax_backwards, (0.7, 0.4)),
    "chosen": Case(_chosen, _jax_chosen, (-0.4, 0.9)),
    "counted": Case(_counted, _jax_counted, (0.9,)),
}


def _slow_but(*quick):
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in CASES]


def _function(case, length, backend, second=False):
    numbers = [dt.scalar(f"p{k}") for k in range(len(case.numbers))]
    y = dt.tensor("y", dims=time)
    loss = case.loss(*numbers, y)
    results = [loss, *dt.grad(loss, numbers)]
    if second:
        mixed = sum((k + 1) * g for k, g in enumerate(results[1:]))
        results = dt.grad(mixed, numbers)
    series = np.random.default_rng(3).normal(size=length)
    return dt.function([*numbers, y], results, backend=backend), [*case.numbers, series]


def _unrolled(length):
    """JAX runs the steps one by one, which saves compiling them; it has none for no step."""
    return jax.disable_jit() if length else contextlib.nullcontext()


def _loops(f):
    return f.source.count("for step")


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("name", _slow_but("two states", "last", "backwards", "counted"))
def test_equals_jax(name, length):
    case = CASES[name]
    f, values = _function(case, length, "python")
    with _unrolled(length):
        wanted = jax.value_and_grad(case.oracle, tuple(range(len(case.numbers))))(*values)
    np.testing.assert_allclose(
        [float(v) for v in f(*values)], [wanted[0], *wanted[1]], rtol=1e-10, atol=1e-13
    )


@pytest.mark.parametrize("name", _slow_but("garch", "chosen"))
def test_one_loop_on_numba(name):
    case = CASES[name]
    f, values = _function(case, 9, "numba")
    with _unrolled(9):
        wanted = jax.value_and_grad(case.oracle, tuple(range(len(case.numbers))))(*values)
    np.testing.assert_allclose(
        [float(v) for v in f(*values)], [wanted[0], *wanted[1]], rtol=1e-10, atol=1e-13
    )
    assert _loops(f) == 1


@pytest.mark.parametrize("name", _slow_but("last"))
def test_second_derivatives(name):
    case = CASES[name]
    f, values = _function(case, 4, "python", second=True)
    argnums = tuple(range(len(case.numbers)))

    def mixed(*values):
        return sum((k + 1) * g for k, g in enumerate(jax.grad(case.oracle, argnums)(*values)))

    with _unrolled(4):
        wanted = jax.grad(mixed, argnums)(*values)
    np.testing.assert_allclose([float(v) for v in f(*values)], wanted, rtol=1e-9, atol=1e-12)


def test_elements_of_a_vector_are_numbers():
    part = dt.Dim("part", coords=["w", "a", "b", "m"])
    p, y = dt.tensor("p", dims=part), dt.tensor("y", dims=time)
    loss = _garch(*(p.sel({part: label}) for label in part.coords), y)
    f = dt.function([p, y], [dt.grad(loss, p)], backend="numba")
    series = np.random.default_rng(3).normal(size=20)
    (found,) = f(np.array([0.2, 0.3, 0.5, 0.1]), series)
    wanted = jax.grad(lambda p: _jax_garch(*p, series))(jnp.array([0.2, 0.3, 0.5, 0.1]))
    np.testing.assert_allclose(found.values, wanted, rtol=1e-10)
    assert _loops(f) == 1


def _polynomial(n):
    numbers = [dt.scalar(f"p{k}") for k in range(n)]
    y = dt.tensor("y", dims=time)

    def step(x, e):
        for p in numbers:
            x = x * p + 0.1 * e
        return x

    loss = dt.cumulate(step, 0.5, y, dim=time).sum()
    return dt.function([*numbers, y], dt.grad(loss, numbers), backend="numba")


@pytest.mark.parametrize(("n", "loops"), [(8, 1), (9, 2)])
def test_more_than_eight_tangents_go_back(n, loops):
    f = _polynomial(n)
    f(*np.full(n, 0.5), np.ones(3))
    assert _loops(f) == loops


def test_tangents_are_by_the_parameters_where_these_are_fewer():
    a, b, y = dt.scalar("a"), dt.scalar("b"), dt.tensor("y", dims=time)
    numbers = [a ** (k + 1) + b for k in range(9)]

    def step(x, e):
        for p in numbers:
            x = x * p + 0.1 * e
        return x

    loss = dt.cumulate(step, 0.5, y, dim=time).sum()
    f = dt.function([a, b, y], dt.grad(loss, [a, b]), backend="numba")

    def oracle(a, b):
        x, total = 0.5, 0.0
        for e in (1.0, -2.0, 0.5):
            for k in range(9):
                x = x * (a ** (k + 1) + b) + 0.1 * e
            total = total + x
        return total

    wanted = jax.grad(oracle, (0, 1))(0.6, 0.2)
    found = f(0.6, 0.2, np.array([1.0, -2.0, 0.5]))
    np.testing.assert_allclose([float(v) for v in found], wanted, rtol=1e-10)
    assert _loops(f) == 1


def test_shocks_of_each_step_go_back():
    """The derivative by a series needs the way back, and that by a number comes along with it."""
    a, y = dt.scalar("a"), dt.tensor("y", dims=time)
    loss = (dt.cumulate(lambda x, e: dt.tanh(a * x + e), 0.0, y, dim=time) ** 2).sum()
    f = dt.function([a, y], dt.grad(loss, [a, y]), backend="numba")
    series = np.random.default_rng(3).normal(size=9)

    def oracle(a, y):
        def step(x, e):
            x = jnp.tanh(a * x + e)
            return x, x

        return (jax.lax.scan(step, 0.0, y)[1] ** 2).sum()

    wanted = jax.grad(oracle, (0, 1))(0.6, series)
    for x, w in zip(f(0.6, series), wanted, strict=True):
        np.testing.assert_allclose(x, w, rtol=1e-10)
    assert _loops(f) == 2


def test_gradients_of_the_last_steps():
    """Tangents would bring along what the first steps did."""
    a, b, y = dt.scalar("a"), dt.scalar("b"), dt.tensor("y", dims=time)
    loss = dt.reduce(lambda x, e: dt.tanh(a * x + e), b, y, dim=time, truncate=2)
    f = dt.function([a, b, y], dt.grad(loss, [a, b]), backend="python")
    series = np.random.default_rng(3).normal(size=5)
    before = 0.3
    for e in series[:3]:
        before = np.tanh(0.6 * before + e)
    wanted = jax.grad(lambda a: jnp.tanh(a * jnp.tanh(a * before + series[3]) + series[4]))(0.6)
    np.testing.assert_allclose(f(0.6, 0.3, series), [wanted, 0.0], rtol=1e-12)


def test_inverses_are_used():
    """The gradient, and its own gradient, keep no state of any step."""
    a = dt.scalar("a")
    loss = dt.fori_loop(0, 5, lambda i, x: a * x + i, 0.3, inverse=lambda i, x: (x - i) / a)
    f = dt.function([a], dt.grad(loss, [a]), backend="python")

    def oracle(a):
        x = 0.3
        for i in range(5):
            x = a * x + i
        return x

    np.testing.assert_allclose(f(0.6), [jax.grad(oracle)(0.6)], rtol=1e-12)
    assert _loops_back("python", [a], dt.grad(loss, [a])) == 1


def test_what_is_computed_of_a_number_has_a_gradient_of_its_own():
    """The series is asked for beside the number that it is made of."""
    a, y = pt.dscalar("a"), pt.dvector("y")
    shocks = pt.exp(a) * y

    def step(states, elements):
        after = pt.tanh(0.5 * states[0] + elements[0])
        return [after], [after]

    path = scan(step, [a], [shocks]).traces[0]
    by_number, by_series = pull([(path**2).sum()], [pt.constant(1.0)], [a, shocks])
    series = np.random.default_rng(3).normal(size=4)

    def oracle(a, shocks):
        def step(x, e):
            x = jnp.tanh(0.5 * x + e)
            return x, x

        return (jax.lax.scan(step, a, shocks)[1] ** 2).sum()

    with _unrolled(4):
        whole = jax.grad(lambda a: oracle(a, jnp.exp(a) * series))(0.3)
        by_shocks = jax.grad(oracle, 1)(0.3, np.exp(0.3) * series)
    found = compile_positional("python", [a, y], [by_number, by_series]).call(np.array(0.3), series)
    np.testing.assert_allclose(found[0], whole, rtol=1e-12)
    np.testing.assert_allclose(found[1], by_shocks, rtol=1e-12)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_steps_that_are_not_used_have_no_influence(backend):
    """States overflow after the elements that are used, and so do their tangents."""
    a, y = dt.scalar("a"), dt.tensor("y", dims=time)
    path = dt.cumulate(lambda x, e: a * x * x * x + 1.0 / (x - e), 2.0, y, dim=time)
    f = dt.function([a, y], [dt.grad(path.isel({time: slice(0, 2)}).sum(), a)], backend=backend)

    def oracle(a):
        first = a * 8.0 + 1.0 / 2.0
        return first + a * first**3 + 1.0 / first

    with np.errstate(all="ignore"):
        (found,) = f(3.0, np.zeros(12))
    np.testing.assert_allclose(found, jax.grad(oracle)(3.0), rtol=1e-12)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_state_that_begins_again_forgets(backend):
    """What was infinite before a step that does not use it has no influence after it."""
    a, y = dt.scalar("a"), dt.tensor("y", dims=time)
    path = dt.cumulate(lambda x, e: dt.where(e > 0.0, a * e, a / x + e), 0.0, y, dim=time)
    f = dt.function([a, y], [dt.grad(path.isel({time: slice(1, None)}).sum(), a)], backend=backend)

    def oracle(a):
        return a * 2.0 + (a / (a * 2.0) - 1.0)

    with np.errstate(all="ignore"):
        (found,) = f(3.0, np.array([0.0, 2.0, -1.0]))
    np.testing.assert_allclose(found, jax.grad(oracle)(3.0), rtol=1e-12)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_what_is_not_finite_comes_out(backend):
    """An infinite number makes the derivatives infinite or NaN that are so in JAX."""
    a, b, y = dt.scalar("a"), dt.scalar("b"), dt.tensor("y", dims=time)
    loss = dt.cumulate(lambda x, e: a * x + b * e, 1.0, y, dim=time).sum()
    f = dt.function([a, b, y], dt.grad(loss, [a, b]), backend=backend)

    def oracle(a, b, y):
        def step(x, e):
            x = a * x + b * e
            return x, x

        return jax.lax.scan(step, 1.0, y)[1].sum()

    series = np.array([1.0, -0.0, np.inf, 2.0])
    for values in [(0.5, -1.0, series), (2.0, 3.0, series), (np.nan, 1.0, np.ones(3))]:
        with np.errstate(all="ignore"):
            found = f(*values)
        np.testing.assert_array_equal(found, jax.grad(oracle, (0, 1))(*values))


def test_tangents_are_summed_where_they_are_computed():
    """A derivative that is a quotient is not computed again after the loop, of arrays as long."""
    a, b, y = dt.scalar("a"), dt.scalar("b"), dt.tensor("y", dims=time)
    path = dt.cumulate(lambda x, e: x / (a + x * x) + b * e, 0.5, y, dim=time)
    f = dt.function([a, b, y], dt.grad(((path - y) ** 2).sum(), [a, b]), backend="numba")
    series = np.random.default_rng(3).normal(size=9)

    def oracle(a, b):
        x, total = 0.5, 0.0
        for e in series:
            x = x / (a + x * x) + b * e
            total = total + (x - e) ** 2
        return total

    step = 1e-30  # of complex numbers: nothing cancels
    wanted = [oracle(0.8 + step * 1j, 0.3).imag / step, oracle(0.8, 0.3 + step * 1j).imag / step]
    np.testing.assert_allclose([float(v) for v in f(0.8, 0.3, series)], wanted, rtol=1e-12)
    assert "np.empty" not in f.source


def test_a_loop_in_a_step():
    """The loop outside goes back, and takes the one inside back, too."""
    a, y = dt.scalar("a"), dt.tensor("y", dims=time)

    def step(x, e):
        return dt.fori_loop(0, 3, lambda _, x: a * x + e, x)

    loss = (dt.cumulate(step, 0.3, y, dim=time) ** 2).sum()
    f = dt.function([a, y], [dt.grad(loss, a)], backend="python")
    series = np.random.default_rng(3).normal(size=5)

    def oracle(a):
        x, total = 0.3, 0.0
        for e in series:
            for _ in range(3):
                x = a * x + e
            total = total + x * x
        return total

    np.testing.assert_allclose(f(0.7, series)[0], jax.grad(oracle)(0.7), rtol=1e-10)


def test_more_dims_go_back():
    """A state that gets a dim is no number any more."""
    chain = dt.Dim("chain", length=2)
    a, y = dt.scalar("a"), dt.tensor("y", dims=time)
    gradient = dt.grad((dt.cumulate(lambda x, e: a * x + e, 0.1, y, dim=time) ** 2).sum(), a)
    f = dt.function([a, y], [gradient], backend="python")
    wide = dt.tensor("wide", dims=chain)
    g = dt.function([wide, y], [dt.substitute(gradient, {a: wide})], backend="python")
    series = np.random.default_rng(3).normal(size=5)
    (found,) = g(np.array([0.5, 0.7]), series)
    np.testing.assert_allclose(found.values, [float(f(v, series)[0]) for v in (0.5, 0.7)])


@pytest.mark.parametrize(("backend", "back"), [("numba", 0), ("python", 0), ("jax", 1)])
def test_a_program_has_the_loops_that_suit_its_backend(backend, back):
    """Four tangents are too many for JAX: there is a loop back."""
    x = dt.tensor("x", dims=dt.Dim("time", length=9))
    a, b, c, d = numbers = [dt.scalar(name) for name in "abcd"]
    path = dt.cumulate(lambda s, e: a + b * s + c * s * s + d * e, 0.1, x, dim="time")
    gradient = dt.grad((path**2).sum(), numbers)
    assert _loops_back(backend, [x, *numbers], gradient) == back


def _loops_back(backend, inputs, outputs):
    program = program_for(backend, [x.node for x in inputs], [y.node for y in outputs])
    applied = {v.owner for v in ancestors(program.outputs) if v.owner is not None}
    return sum(isinstance(node.op, Scan) and node.op.reverse for node in applied)
