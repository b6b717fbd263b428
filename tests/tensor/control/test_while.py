"""While loops and counted loops against Python's."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import BACKENDS

K = dt.Dim("k", coords=["a", "b", "c"])


def collatz(n):
    steps = 0
    while n > 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    return steps


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_position_stops_on_its_own(backend):
    n = dt.tensor("n", dims=K, dtype="int64")
    value, steps = dt.while_loop(
        lambda s: s[0] > 1,
        lambda s: (dt.where(s[0] % 2 == 1, 3 * s[0] + 1, s[0] // 2), s[1] + 1),
        (n, 0),
    )
    assert steps.sizes == {"k": 3}
    f = dt.function([n], [value, steps], backend=backend)
    found = f(np.array([1, 7, 27]))
    assert found[0].values.tolist() == [1, 1, 1]
    assert found[1].values.tolist() == [collatz(1), collatz(7), collatz(27)]


def root(a, most):
    x = a
    for _ in range(most):
        if not abs(x * x - a) > 1e-9:
            break
        x = (x + a / x) / 2
    return x


@pytest.mark.parametrize("most", [0, 1, 3, 50])
def test_newton_stops_at_max_steps_and_tells(most):
    a = dt.tensor("a", dims=K)
    values = np.array([1.0, 2.0, 1e6])
    found, finished = dt.while_loop(
        lambda x: abs(x * x - a) > 1e-9, lambda x: (x + a / x) / 2, a, most, return_finished=True
    )
    found, finished = dt.evaluate([found, finished], {a: values})
    expected = np.array([root(v, most) for v in values])
    np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(finished, ~(np.abs(expected**2 - values) > 1e-9))


def test_gradients_of_a_loop_with_max_steps(rng):
    a = dt.tensor("a", dims=K)
    found = dt.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a, 40)
    values = np.array([0.5, 2.0, 30.0])
    gradient = dt.grad(found.sum(), a).eval({a: values})
    np.testing.assert_allclose(gradient, 0.5 / np.sqrt(values), rtol=1e-6)
    s = dt.scalar("s")
    power = dt.while_loop(lambda x: x < 100, lambda x: x * s, 1.0, 30)
    assert_gradient(power, s, {s: np.array(3.0)})
    endless = dt.while_loop(lambda x: x < 100, lambda x: x * s, 1.0)
    np.testing.assert_allclose(dt.jvp(endless, s, 1.0).eval({s: 3.0}), 5 * 3.0**4)
    with pytest.raises(dt.GraphError, match="without max_steps has no gradient"):
        dt.grad(endless, s)


def test_an_inverse_makes_a_while_loop_differentiable():
    s = dt.scalar("s")
    found = dt.while_loop(lambda x: x < 100, lambda x: x * s, 1.0, inverse=lambda x: x / s)
    np.testing.assert_allclose(dt.grad(found, s).eval({s: 3.0}), 5 * 3.0**4)


def test_no_step_gives_the_initial_state():
    x = dt.scalar("x")
    found, finished = dt.while_loop(lambda x: x < 0, lambda x: x * 0, x, return_finished=True)
    assert float(found.eval({x: 2.0})) == 2.0
    assert bool(finished.eval({x: 2.0}))
    counted = dt.fori_loop(3, 1, lambda i, s: s * 0, x)
    assert float(counted.eval({x: 2.0})) == 2.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_counted_loops(backend):
    n, s = dt.scalar("n", dtype="int64"), dt.scalar("s")
    found = dt.fori_loop(1, n, lambda i, x: x * s + i, 1.0)
    # JAX can store states, as a gradient needs them, only for a number of steps that is known
    derivative = dt.grad(found, s) if backend != "jax" else dt.jvp(found, s, 1.0)
    f = dt.function([n, s], [found, derivative], backend=backend)
    for stop in (0, 1, 2, 6):
        x, slope = 1.0, 0.0
        for i in range(1, stop):
            x, slope = x * 0.5 + i, slope * 0.5 + x
        np.testing.assert_allclose(f(stop, 0.5), [x, slope])


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_ranges_that_end_before_they_start_add_nothing_to_slopes(backend):
    n, s = dt.scalar("n", dtype="int64"), dt.scalar("s")
    vector = dt.full(K, 0.5)
    # another state, so that the slope is the sum over a trace of constants
    found = dt.fori_loop(n, 0, lambda i, x: (vector, x[1] - s), (vector, 0.5))[1]
    f = dt.function([n, s], [found, dt.grad(found, s)], backend=backend)
    for start in (-3, 0, 2):
        steps = max(-start, 0)
        np.testing.assert_allclose(f(start, 0.25), [0.5 - 0.25 * steps, -steps])


@pytest.mark.compiled
@pytest.mark.parametrize("place", ["alone", "in a branch", "in a loop"])
def test_conditions_of_array_states_that_no_step_changes(place):
    v, x = dt.tensor("v", dims=dt.Dim("long", length=40)), dt.scalar("x")

    def steps(start):
        return dt.while_loop(
            lambda s: s[1].isel(long=-1) * s[0] < 9.0, lambda s: (s[0] + 1, s[1]), (start, v), 30
        )[0]

    two = dt.Dim("two", length=2)
    loops = {
        "alone": lambda: steps(0),
        "in a branch": lambda: dt.if_else(x < 0, lambda: 0, lambda: steps(0)),
        "in a loop": lambda: dt.reduce(lambda s, _: steps(s - 3), 3, dt.arange(two), dim=two),
    }
    f = dt.function([v, x], loops[place](), backend="numba")
    values = np.append(np.full(39, 100.0), 2.0)
    assert f(values, 1.0) == 5


def test_counts_with_dims():
    n, s = dt.tensor("n", dims=K, dtype="int64"), dt.scalar("s")
    expected = [1.0, 1 * 2.0 + 0, ((1 * 2.0 + 0) * 2 + 1) * 2 + 2]
    found = dt.fori_loop(0, n, lambda i, x: x * s + i, 1.0)
    np.testing.assert_allclose(found.eval({n: np.array([0, 1, 3]), s: 2.0}), expected)
    one = dt.scalar("one", dtype="int64")
    single = dt.fori_loop(0, one, lambda i, x: x * s + i, 1.0)
    many = dt.vectorize(single, {one: n})
    most = dt.while_loop(lambda x: x < 99, lambda x: x * s, 1.0, n)
    np.testing.assert_allclose(most.eval({n: np.array([0, 1, 30]), s: 2.0}), [1, 2, 128])
    np.testing.assert_allclose(many.eval({n: np.array([0, 1, 3]), s: 2.0}), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("length", [None, 0], ids=["late", "known"])
def test_no_counts(length, backend):
    dim = dt.Dim("d", length=length)
    n, x = dt.tensor("n", dims=(dim, K), dtype="int64"), dt.tensor("x", dims=dim)
    s = dt.scalar("s")
    found = dt.fori_loop(0, n, lambda i, y: y * s + i, x)
    # JAX can store states, as a gradient needs them, only for a number of steps that is known
    if backend == "jax":
        slopes = [dt.jvp(found, x, dt.ones_like(x)).sum(K), dt.jvp(found, s, 1.0).sum()]
    else:
        slopes = dt.grad(found.sum(), [x, s])
    f = dt.function([n, x, s], [found, *slopes], backend=backend)
    got, by_x, by_s = f((("d", "k"), np.zeros((0, 3), int)), np.zeros(0), 0.5)
    assert (got.shape, by_x.shape, float(by_s)) == ((0, 3), (0,), 0.0)
    if length is None:
        counts = np.array([[0, 1, 3], [-1, 2, 0]])
        expected = np.repeat([[1.0], [2.0]], 3, axis=1)
        for at in np.ndindex(2, 3):
            for i in range(counts[at]):
                expected[at] = expected[at] * 0.5 + i
        np.testing.assert_allclose(f((("d", "k"), counts), np.array([1.0, 2.0]), 0.5)[0], expected)


@pytest.mark.parametrize("most", [None, 4])
def test_a_batched_while_loop_is_each_on_its_own(most):
    s = dt.scalar("s")
    x, steps = dt.while_loop(lambda t: t[0] < 100, lambda t: (t[0] * s, t[1] + 1), (1.0, 0), most)
    batched = dt.vectorize([x, steps], {s: K})
    values = xr.DataArray([2.0, 3.0, 50.0], dims="k", coords={"k": ["a", "b", "c"]})
    found = dt.evaluate(batched, {"s": values})
    for at, v in enumerate(values.values):
        t, n = 1.0, 0
        while t < 100 and (most is None or n < most):
            t, n = t * v, n + 1
        assert float(found[0][at]) == t
        assert int(found[1][at]) == n


def test_checks_of_finished_positions_do_not_count():
    n = dt.tensor("n", dims=K)
    found = dt.while_loop(lambda x: x > 1, lambda x: dt.check(x > 1, "it goes on", x) - 1, n)
    np.testing.assert_allclose(found.eval({n: np.array([0.5, 1.5, 3.5])}), [0.5, 0.5, 0.5])


def test_positions_of_finished_positions_do_not_count():
    n, row = dt.scalar("n", dtype="int64"), dt.Dim("row", length=4)
    table = dt.tensor("table", dims=row)
    _, total = dt.while_loop(
        lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + table.isel(row=s[0])), (0, 0.0)
    )
    many = dt.vectorize(total, {n: dt.tensor("n", dims=K, dtype="int64")})
    values = np.array([1.0, 2.0, 4.0, 8.0])
    found = many.eval({"n": np.array([4, 0, 2]), "table": values})
    assert found.values.tolist() == [15.0, 0.0, 3.0]
    with pytest.raises(dt.CheckError, match="positions computed"):
        many.eval({"n": np.array([5, 0, 2]), "table": values})


def test_loops_in_a_loop_stop_where_it_has_stopped():
    """Halving never ends at one for 0, at which the outer loop has stopped."""
    x = dt.tensor("x", dims=K)

    def body(v):
        return dt.while_loop(lambda w: w != 1, lambda w: w / 2, v) - 1

    found = dt.while_loop(lambda v: v > 0, body, x)
    assert found.eval({x: np.array([0.0, 4.0, 1.0])}).values.tolist() == [0.0, 0.0, 0.0]
