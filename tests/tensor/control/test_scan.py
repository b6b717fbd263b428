"""Loops along a dim against Python loops over NumPy arrays, and unrolled."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import dimtensor as dt
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import BACKENDS
from tests.effort import a_tenth
from tests.optional import jax, jnp

K = dt.Dim("k", coords=["a", "b"])
LAG = dt.Dim("lag", coords=[1, 2, 3])


class Pair(NamedTuple):
    level: Any
    slope: Any


@dataclasses.dataclass
class Box:
    content: Any


def time_of(length):
    return dt.Dim("time", coords=np.arange(length) + 2000)


def decay(s, x):
    return s / 2 + x, s


def decay_by_hand(values, start=0.0):
    path, s = [], start
    for x in values:
        path.append(s)
        s = s / 2 + x
    return s, np.array(path).reshape(len(values))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 50])
def test_states_and_traces_are_those_of_a_python_loop(length, reverse, rng):
    time = time_of(length)
    x = dt.tensor("x", dims=time)
    values = rng.normal(size=length)
    last, path = dt.scan(decay, 0.0, x, dim=time, reverse=reverse)
    one, two = dt.evaluate((last, path), {x: values})
    order = slice(None, None, -1 if reverse else 1)
    expected, trace = decay_by_hand(values[order])
    np.testing.assert_allclose(one, expected)
    np.testing.assert_allclose(two.values, trace[order])
    assert list(two.time.values) == list(2000 + np.arange(length))


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_autoregression_and_its_gradient_agree_with_jax(backend, rng):
    time = dt.Dim("time")
    y, mu, phi = dt.tensor("y", dims=time), dt.scalar("mu"), dt.tensor("phi", dims=LAG)

    def step(past, y):
        error = y - mu - (phi * past).sum(LAG)
        return dt.push(past, y, LAG), -0.5 * error**2

    _, terms = dt.scan(step, dt.zeros(LAG), y, dim="time")
    logp = terms.sum()
    f = dt.function([y, mu, phi], [logp, *dt.grad(logp, [y, mu, phi])], backend=backend)
    values, m, p = rng.normal(size=20), 0.3, np.array([0.5, -0.2, 0.1])

    def reference(values, m, p):
        def jax_step(past, y):
            error = y - m - jnp.sum(p * past)
            return jnp.concatenate([y[None], past[:-1]]), -0.5 * error**2

        return jax.lax.scan(jax_step, jnp.zeros(3), values)[1].sum()

    with jax.enable_x64(True):
        expected = jax.value_and_grad(reference, argnums=(0, 1, 2))(values, m, p)
    found = f(values, m, p)
    np.testing.assert_allclose(found[0], expected[0])
    for one, other in zip(found[1:], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_states_sequences_and_traces_are_trees():
    time = time_of(3)
    x = dt.data([1.0, 2.0, 3.0], dims=time)
    n = dt.data([1, 2, 3], dims=time)

    def step(state, xs):
        pair, box, nothing = state
        assert nothing is None
        level = pair.level + pair.slope + xs["x"]
        new = (Pair(level, pair.slope * 2), Box([box.content[0] + xs["n"]]), None)
        return new, {"level": level, "pair": (pair.slope, None)}

    init = (Pair(0.0, 1.0), Box([0]), None)
    (pair, box, nothing), ys = dt.scan(step, init, {"x": x, "n": n}, dim=time)
    assert nothing is None
    assert isinstance(pair, Pair)
    assert isinstance(box, Box)
    assert float(pair.level.eval()) == 13.0
    assert float(pair.slope.eval()) == 8.0
    assert int(box.content[0].eval()) == 6
    assert box.content[0].dtype == "int64"
    assert ys["level"].eval().values.tolist() == [2.0, 6.0, 13.0]
    assert ys["pair"][0].eval().values.tolist() == [1.0, 2.0, 4.0]
    assert ys["pair"][1] is None


def test_states_keep_their_own_dims(rng):
    time = time_of(4)
    x = dt.tensor("x", dims=[time, K])
    other = dt.Dim("other", length=3)
    w = dt.tensor("w", dims=other)
    (total, spread), ys = dt.scan(
        lambda s, x: ((s[0] + x, s[1] * 0.5 + w * x.sum()), s[1].sum(other) + x),
        (dt.zeros(K), dt.zeros(other)), x, dim=time,
    )  # fmt: skip
    values, weights = rng.normal(size=(2, 4)), rng.normal(size=3)
    feed = {x: xr.DataArray(values, dims=["k", "time"]), w: weights}
    total, spread, ys = dt.evaluate([total, spread, ys], feed)
    a, b, trace = np.zeros(2), np.zeros(3), []
    for t in range(4):
        trace.append(b.sum() + values[:, t])
        a, b = a + values[:, t], b * 0.5 + weights * values[:, t].sum()
    np.testing.assert_allclose(total.values, a)
    np.testing.assert_allclose(spread.values, b)
    np.testing.assert_allclose(ys.transpose("time", "k").values, trace)


def test_dtypes_widen():
    time = time_of(3)
    last, path = dt.scan(lambda s, x: (s / 2 + x, s), 0, dt.data([1, 2, 3], dims=time), dim=time)
    assert last.dtype == path.dtype == "float64"
    assert path.eval().values.tolist() == [0.0, 1.0, 2.5]
    flag = dt.reduce(lambda s, x: s | (x > 2), False, dt.data([1, 2, 3], dims=time), time)
    assert flag.dtype == "bool"
    assert bool(flag.eval())


def test_labels_can_be_states():
    time = time_of(3)
    where = dt.data(["b", "a", "a"], dims=time, categories=K)
    start = dt.data("a", dims=(), categories=K)
    last, path = dt.scan(lambda s, x: (x, s), start, where, dim=time)
    assert last.categories is K
    assert path.categories is K
    assert path.eval().values.tolist() == ["a", "b", "a"]


def test_equal_loops_are_one_object():
    time = dt.Dim("time")
    x, a = dt.tensor("x", dims=time), dt.scalar("a")

    def build():
        return dt.scan(lambda s, x: (s * (a + 1) + x, s), 0.0, x, dim=time)

    assert build()[0] is build()[0]
    assert build()[1] is build()[1]
    other = dt.scan(lambda s, x: (s * (a + 2) + x, s), 0.0, x, dim=time)[0]
    assert other is not build()[0]


def test_what_does_not_depend_on_the_state_is_computed_outside():
    time = dt.Dim("time")
    x, a = dt.tensor("x", dims=time), dt.scalar("a")
    last = dt.reduce(lambda s, x: s * dt.exp(a) + x, 0.0, x, time)
    region = last.node.attrs.region
    assert [n.attrs for n in dt.graph.toposort(region.outputs) if n.kind == "elemwise"] == [
        "multiply", "add",
    ]  # fmt: skip


def random_step(data, c):
    """A random body of two states, a captured tensor over k, and a sequence."""
    operations = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(["add", "multiply", "sin", "where", "tanh"]),
                st.integers(0, 9), st.integers(0, 9),
            ),
            min_size=1, max_size=6,
        )
    )  # fmt: skip
    picks = data.draw(st.tuples(*[st.integers(0, 9)] * 3))

    def step(state, x):
        pool = [state[0], state[1], x, c]
        for name, i, j in operations:
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            if name == "add":
                pool.append(a + b)
            elif name == "multiply":
                pool.append(dt.tanh(a) * b)
            elif name == "where":
                pool.append(dt.where(a > b, a, b * 0.5))
            else:
                pool.append(getattr(dt, name)(a))
        flat = [p.sum(p.dims) * 0.5 for p in pool]
        one, two, three = (at % len(pool) for at in picks)
        return (flat[one], dt.zeros(K) + pool[two]), pool[three]

    return step


@a_tenth
@given(data=st.data())
def test_a_loop_is_its_steps_written_out(data):
    length = data.draw(st.sampled_from([0, 1, 2, 5]))
    time = time_of(length)
    x, c = dt.tensor("x", dims=time), dt.tensor("c", dims=K)
    step = random_step(data, c)
    last, path = dt.scan(step, (0.5, dt.zeros(K)), x, dim=time)
    state, trace = (0.5 * dt.ones(), dt.zeros(K)), []
    for t in range(length):
        state, y = step(state, x.isel(time=t))
        trace.append(y)
    rng = np.random.default_rng(0)
    feed = {"x": rng.normal(size=length), "c": rng.normal(size=2)}

    def values(outputs):
        inputs = {tensor.name for tensor in dt.inputs_of(outputs)}
        return dt.evaluate(outputs, {key: feed[key] for key in inputs})

    for one, other in zip(values(list(last)), values(list(state)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    if length:
        found = values([path])[0].transpose("time", ...)
        np.testing.assert_allclose(found, np.array(values(trace)), atol=1e-12)
    if length > 1:
        total = last[0] + last[1].sum() + path.sum()
        by_hand = state[0] + state[1].sum() + sum(y.sum() for y in trace)
        used = {t.name for t in dt.inputs_of([total])}
        wrt = [t for t in (x, c) if t.name in used]
        if wrt:
            one, other = values(dt.grad(total, wrt)), values(dt.grad(by_hand, wrt))
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-10)


def test_forward_mode_is_reverse_mode(rng):
    time = time_of(6)
    x, a = dt.tensor("x", dims=time), dt.scalar("a")
    last = dt.reduce(lambda s, x: dt.tanh(s * a + x), 0.1, x, time)
    feed = {x: rng.normal(size=6), a: 0.7}
    forward, slope = dt.jvp(last, a, 1.0).eval(feed), dt.grad(last, a)
    np.testing.assert_allclose(forward, dt.grad(last, a).eval(feed))
    np.testing.assert_allclose(
        dt.hessian(last, a).eval(feed),
        (slope.eval({**feed, a: 0.7 + 1e-5}) - slope.eval({**feed, a: 0.7 - 1e-5})) / 2e-5,
        rtol=1e-6,
    )  # fmt: skip


def test_gradients_agree_with_finite_differences(rng):
    time = dt.Dim("time", length=4)
    x, w, s0 = dt.tensor("x", dims=[time, K]), dt.tensor("w", dims=K), dt.tensor("s0", dims=K)
    last, path = dt.scan(lambda s, x: (dt.sin(s * w) + x, s * x), s0, x, dim=time, reverse=True)
    values = {
        x: xr.DataArray(rng.normal(size=(2, 4)), dims=["k", "time"]),
        w: rng.normal(size=2),
        s0: rng.normal(size=2),
    }
    for wrt in values:
        assert_gradient(last.sum() + (path**2).sum(), wrt, values)


@pytest.mark.parametrize(
    "options", [{"checkpoint": dt.checkpoint_levels(2)}, {"checkpoint": (3,)}, {"inverse": True}]
)
def test_gradients_of_less_memory_are_the_same(options, rng):
    time = time_of(9)
    x, a = dt.tensor("x", dims=time), dt.scalar("a")

    def step(s, x):
        return s + dt.sin(a * x), s

    def inverse(s, x):
        return s - dt.sin(a * x)

    feed = {x: rng.normal(size=9), a: 0.4}
    if options.get("inverse"):
        options = {"inverse": inverse}
    totals = [
        (last**2 + (path**2).sum())
        for last, path in (
            dt.scan(step, 0.3, x, dim=time), dt.scan(step, 0.3, x, dim=time, **options)
        )
    ]  # fmt: skip
    plain, saving = (dt.evaluate(dt.grad(y, [a, x]), feed) for y in totals)
    for one, other in zip(plain, saving, strict=True):
        np.testing.assert_allclose(one, other)


def test_truncated_gradients_go_back_some_steps_only():
    time = time_of(5)
    x = dt.tensor("x", dims=time)
    last = dt.scan(lambda s, x: (s * 0.5 + x, None), 0.0, x, dim=time, truncate=2)[0]
    gradient = dt.grad(last, x).eval({x: np.ones(5)})
    np.testing.assert_allclose(gradient, [0, 0, 0, 0.5, 1.0])


def test_derivatives_inside_of_a_step(rng):
    """Of a state, and of a tensor outside whose other uses are invariant of the loop."""
    time = time_of(3)
    x, w = dt.tensor("x", dims=time), dt.scalar("w")

    def step(s, x):
        energy = dt.sin(s * w**2)
        return s - 0.1 * dt.grad(energy, s) + x, dt.grad(energy, w)

    last, path = dt.scan(step, 0.5, x, dim=time)
    values = rng.normal(size=3)
    found = dt.evaluate([last, path], {x: values, w: 1.3})
    s, trace = 0.5, []
    for v in values:
        trace.append(np.cos(s * 1.3**2) * s * 2 * 1.3)
        s = s - 0.1 * np.cos(s * 1.3**2) * 1.3**2 + v
    np.testing.assert_allclose(found[0], s)
    np.testing.assert_allclose(found[1], trace)


def test_a_loop_in_a_loop(rng):
    rows, columns = dt.Dim("row", length=3), dt.Dim("column", length=4)
    x, a = dt.tensor("x", dims=[rows, columns]), dt.scalar("a")

    def outer(s, row):
        inner = dt.reduce(lambda t, v: t * a + v * s, 1.0, row, columns)
        return s * 0.5 + inner, inner

    last, path = dt.scan(outer, 1.0, x, dim=rows)
    values = rng.normal(size=(3, 4))
    s, trace = 1.0, []
    for row in values:
        t = 1.0
        for v in row:
            t = t * 0.3 + v * s
        s, trace = s * 0.5 + t, [*trace, t]
    feed = {x: xr.DataArray(values, dims=["row", "column"]), a: 0.3}
    np.testing.assert_allclose(last.eval(feed), s)
    np.testing.assert_allclose(path.eval(feed), trace)
    for wrt in (a, x):
        assert_gradient(last, wrt, feed)


# -- batches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("grown", ["a", "x", "s0", "all"])
def test_a_batch_is_each_of_it_on_its_own(grown, rng):
    time, draw = time_of(4), dt.Dim("draw", length=3)
    x, a, s0 = dt.tensor("x", dims=time), dt.scalar("a"), dt.scalar("s0")
    (last, count), path = dt.scan(
        lambda s, x: ((s[0] * a + x, s[1] + 1), s[0]), (s0, 0), x, dim=time
    )
    gradient = dt.grad(last * 1.5 + path.sum(), a)
    outputs = [last, count, path, gradient]
    names = [t.name for t in (x, a, s0) if grown in ("all", t.name)]
    batched = dt.vectorize(outputs, {t: draw for t in (x, a, s0) if t.name in names})
    values = {t: rng.normal(size=(3, *([4] if t is x else []))) for t in (x, a, s0)}
    one = {t: values[t] if t.name in names else values[t][0] for t in values}
    found = dt.evaluate(
        batched,
        {t.name: xr.DataArray(one[t], dims=["draw", "time"][: np.ndim(one[t])])
         if t.name in names else one[t] for t in values},
    )  # fmt: skip
    for at in range(3):
        each = {t: values[t][at] if t.name in names else values[t][0] for t in values}
        expected = dt.evaluate(outputs, each)
        for a_, b in zip(found, expected, strict=True):
            a_ = a_.isel(draw=at) if "draw" in a_.dims else a_
            np.testing.assert_allclose(a_, b)


@a_tenth
@given(data=st.data())
def test_a_batch_of_a_random_loop_is_each_of_it_on_its_own(data):
    time, draw = time_of(data.draw(st.integers(0, 3))), dt.Dim("draw", length=2)
    x, c = dt.tensor("x", dims=time), dt.tensor("c", dims=K)
    last, path = dt.scan(random_step(data, c), (0.5, dt.zeros(K)), x, dim=time)
    total = last[0] + (last[1] * dt.arange(K)).sum() + path.sum()
    outputs = [*last, path, dt.grad(total, c)]
    grown = data.draw(st.sampled_from([[x], [c], [x, c]]))
    batched = dt.vectorize(outputs, dict.fromkeys(grown, draw))
    rng = np.random.default_rng(0)
    shapes = {x: ["draw", "time"], c: ["draw", "k"]}
    values = {
        t.name: xr.DataArray(rng.normal(size=(2, t.dims[0].length)), dims=dims)
        for t, dims in shapes.items()
    }
    names = [t.name for t in grown]
    given_ = {key: v if key in names else v[0] for key, v in values.items()}

    def evaluated(outputs, values):
        used = {t.name for t in dt.inputs_of(outputs)}
        return dt.evaluate(outputs, {key: v for key, v in values.items() if key in used})

    found = evaluated(batched, given_)
    for at in range(2):
        each = {key: v[at] if key in names else v for key, v in given_.items()}
        for many, one in zip(found, evaluated(outputs, each), strict=True):
            many = many.isel(draw=at) if "draw" in many.dims else many
            np.testing.assert_allclose(many.transpose(*one.dims), one, atol=1e-10)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_compiled_loop_takes_draws_of_a_posterior(backend, rng):
    time = dt.Dim("time")
    x, a = dt.tensor("x", dims=time), dt.scalar("a")
    path = dt.cumulate(lambda s, x: s * a + x, 0, x, time)
    f = dt.function([x, a], path, backend=backend)
    draws = xr.DataArray(rng.normal(size=(2, 3)), dims=["chain", "draw"])
    values = rng.normal(size=5)
    found = f(values, draws)
    for chain in range(2):
        for draw in range(3):
            s = 0.0
            for t in range(5):
                s = s * draws.values[chain, draw] + values[t]
                np.testing.assert_allclose(found.isel(chain=chain, draw=draw, time=t), s)


def test_masks_outside_and_inside(rng):
    time, obs = time_of(3), dt.Dim("obs", length=4)
    x, m = dt.tensor("x", dims=time), dt.tensor("m", dims=obs)
    chosen = m[m > 0]

    def step(s, x):
        return s + (chosen * x).sum() + m[m > x].sum(), (chosen * s).sum()

    last, path = dt.scan(step, 0.0, x, dim=time)
    values, mask = rng.normal(size=3), rng.normal(size=4)
    s, trace = 0.0, []
    for v in values:
        trace.append(mask[mask > 0].sum() * s)
        s = s + mask[mask > 0].sum() * v + mask[mask > v].sum()
    np.testing.assert_allclose(last.eval({x: values, m: mask}), s)
    np.testing.assert_allclose(path.eval({x: values, m: mask}), trace)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_dim_whose_length_a_run_tells(backend):
    time = time_of(4)
    x = dt.tensor("x", dims=time)
    chosen = x[x > 2]
    last, path = dt.scan(lambda s, v: (s * 2 + v, s), 0.0, chosen, dim=chosen.dims[0])
    f = dt.function([x], [last, path], backend=backend)
    for values in ([1.0, 3.0, 0.0, 4.0], [0.0] * 4):
        expected, s = [], 0.0
        for v in values:
            if v > 2:
                expected.append(s)
                s = s * 2 + v
        one, two = f(np.array(values))
        assert float(one) == s
        np.testing.assert_allclose(two, expected)


def test_other_masks_take_the_place_of_masks(rng):
    time, obs = time_of(3), dt.Dim("obs", length=4)
    x, m, n = dt.tensor("x", dims=time), dt.tensor("m", dims=obs), dt.tensor("n", dims=obs)
    chosen = m[m > 0]
    last, path = dt.scan(lambda s, v: (s + (chosen * v).sum(), chosen * s), 1.0, x, dim=time)
    total = last + path.sum()
    values = {x: rng.normal(size=3), n: np.array([1.0, -1.0, 2.0, -3.0])}
    found = dt.substitute(total, {m: n * 2}).eval(values)
    np.testing.assert_allclose(found, total.eval({x: values[x], m: values[n] * 2}))


# -- what a step may do ----------------------------------------------------------------------------


def test_positions_that_steps_compute(rng):
    time, k = time_of(3), dt.Dim("k", length=3)
    x, table = dt.tensor("x", dims=time), dt.tensor("table", dims=k)
    path = dt.scan(lambda s, x: (dt.minimum(s + 1, 2), table.isel(k=s) * x), 0, x, dim=time)[1]
    values, rows = rng.normal(size=3), rng.normal(size=3)
    found = dt.evaluate([path, dt.grad(path.sum(), table)], {x: values, table: rows})
    np.testing.assert_allclose(found[0], rows * values)
    np.testing.assert_allclose(found[1], values)
    outside = dt.scan(lambda s, x: (s + 2, table.isel(k=s) * x), 0, x, dim=time)[1]
    with pytest.raises(dt.CheckError, match="positions computed for dim 'k' are outside"):
        outside.eval({x: values, table: rows})


def test_states_that_are_written_to():
    time, k = time_of(3), dt.Dim("k", length=3)
    at = dt.data([0, 2, 2], dims=time)
    counts = dt.reduce(lambda s, at: s.isel(k=at).inc(1), dt.zeros(k, dtype="int64"), at, time)
    assert counts.eval().values.tolist() == [1, 0, 2]


def test_linear_algebra_in_a_step(rng):
    time, row = time_of(3), dt.Dim("row", length=2)
    x, a = dt.tensor("x", dims=time), dt.tensor("a", dims=[row, row.rename()])
    matrix, values = np.array([[2.0, 1.0], [0.0, 3.0]]), rng.normal(size=3)
    back = {row.rename(): row}
    last = dt.reduce(lambda s, x: dt.linalg.solve(a, s).rename(back) * x, dt.ones(row), x, time)
    s = np.ones(2)
    for v in values:
        s = np.linalg.solve(matrix, s) * v
    feed = {x: values, a: xr.DataArray(matrix, dims=["row", "row'"])}
    np.testing.assert_allclose(last.eval(feed), s)
    assert_gradient(last.sum(), a, feed)


# -- checks, copies --------------------------------------------------------------------------------


def test_checks_in_steps_are_made_in_steps():
    time = dt.Dim("time")
    x = dt.tensor("x", dims=time)
    bound = dt.scalar("bound")
    last = dt.reduce(lambda s, x: s + dt.sqrt(dt.check(x < bound, "x is small", x)), 0.0, x, time)
    never = dt.reduce(lambda s, x: s + dt.check(bound > 0, "bound", x), 0.0, x, time)
    assert float(last.eval({x: np.array([1.0, 4.0]), bound: 9.0})) == 3.0
    assert float(never.eval({x: np.zeros(0), bound: -1.0})) == 0.0
    with pytest.raises(dt.CheckError, match="x is small"):
        last.eval({x: np.array([1.0, 16.0]), bound: 9.0})
    with pytest.raises(dt.CheckError, match="bound"):
        never.eval({x: np.zeros(1), bound: -1.0})
    f = dt.function([x, bound], last, backend="python", checks=False)
    assert float(f(np.array([1.0, 16.0]), 9.0)) == 5.0


def test_loops_are_pickled():
    time = dt.Dim("time", length=2)
    x = dt.tensor("x", dims=time)
    _last, path = dt.scan(decay, 0.0, x, dim=time)
    assert pickle.loads(pickle.dumps(path)) is path


def test_a_state_that_escapes_its_step_is_found():
    time = dt.Dim("time", length=2)
    kept = []

    def step(s, x):
        kept.append(s)
        return s + x, None

    dt.scan(step, 0.0, dt.tensor("x", dims=time), dim=time)
    with pytest.raises(dt.GraphError, match="from inside a loop step is used outside"):
        (kept[-1] + 1).eval()


def test_shifted_sequences():
    time = dt.Dim("time", coords=[1, 2, 3])
    x = dt.data([1.0, 2.0, 3.0], dims=time)
    np.testing.assert_array_equal(x.shift({time: 2}, fill_value=9.0).eval(), [9, 9, 1])
    np.testing.assert_array_equal(x.shift({"time": -1}, fill_value=0.0).eval(), [2, 3, 0])
    before = x.shift({time: 1}, fill_value=0.0)
    last, ys = dt.scan(
        lambda s, x: (None, x["now"] - x["before"]), None, {"now": x, "before": before}, dim=time
    )
    assert last is None
    np.testing.assert_array_equal(ys.eval(), [1, 1, 1])


@pytest.mark.parametrize("n", [1, 2, 0, -1])
@pytest.mark.parametrize("dtype", ["float64", "int64", "bool"])
def test_shifts_fill_as_in_xarray(n, dtype):
    time = dt.Dim("time", coords=[1, 2, 3])
    array = xr.DataArray(np.array([1, 0, 3], dtype), dims="time", coords={"time": [1, 2, 3]})
    x = dt.data(array, dims=time)
    expected = array.shift(time=n)
    assert x.shift({time: n}) is x.shift(time=n)
    np.testing.assert_array_equal(x.shift({time: n}).eval().values, expected.values.astype(float))


def test_maps_and_filters(rng):
    time = dt.Dim("time", coords=[1, 2, 3])
    x = dt.tensor("x", dims=[time, K])
    values = xr.DataArray(rng.normal(size=(3, 2)), dims=["time", "k"])
    squares = dt.map(lambda x: {"sum": (x**2).sum(K), "x": x}, x, dim=time)
    np.testing.assert_allclose(squares["sum"].eval({x: values}), (values**2).sum("k"))
    np.testing.assert_allclose(squares["x"].eval({x: values}).transpose("time", "k"), values)
    kept = dt.filter(lambda x: x.sum(K) > 0, x, dim=time).eval({x: values})
    expected = values[(values.sum("k") > 0).values]
    np.testing.assert_allclose(kept.transpose("time", "k"), expected)


def test_a_loop_needs_no_sequence():
    time = dt.Dim("time")
    powers = dt.cumulate(lambda s, x: s * 2, 1, None, time)
    f = dt.function([time], powers, backend="python")
    assert f(time=4).values.tolist() == [2, 4, 8, 16]


@pytest.mark.compiled
@pytest.mark.parametrize("levels", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_levels_over_a_late_dim_are_machine_code(levels, monkeypatch):
    """Lengths of segments in segments are known before the loops; numba takes minutes for it."""
    monkeypatch.setenv("DIMTENSOR_NATIVE", "strict")
    monkeypatch.setenv("DIMTENSOR_STRICT_KERNELS", "1")
    time = dt.Dim("time")
    x, v = dt.scalar("x"), dt.tensor("v", dims=time)
    last = dt.reduce(
        lambda s, e: dt.tanh(s * x) + e, 0.1, v, dim=time, checkpoint=dt.checkpoint_levels(levels)
    )
    f = dt.function([v, x], [last, dt.grad(last, x), dt.grad(last, v)])
    for n in (1, 5, 64):
        values, at = np.linspace(0, 1, n), 0.5
        states = [0.1]
        for value in values:
            states.append(np.tanh(states[-1] * at) + value)
        slope, by_x, by_v = 1.0, 0.0, np.zeros(n)
        for step in reversed(range(n)):
            by_v[step] = slope
            inner = slope * (1 - np.tanh(states[step] * at) ** 2)
            by_x, slope = by_x + inner * states[step], inner * at
        found = f(values, at)
        for one, expected in zip(found, (states[-1], by_x, by_v), strict=True):
            np.testing.assert_allclose(one.values, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_zeros_of_both_signs_stay_apart_in_steps(backend):
    time = time_of(3)
    x = dt.tensor("x", dims=time)

    def step(s, x):
        large = x > 0.5
        return s, (dt.where(large, 0.0, -0.0), dt.where(large, -0.0, 0.0), dt.copysign(s, -0.0))

    _, traces = dt.scan(step, 1.0, x, dim=time)
    f = dt.function([x], list(traces), backend=backend)
    large, small, minus = f(np.array([1.0, 0.0, 1.0]))
    assert np.signbit(large.values).tolist() == [False, True, False]
    assert np.signbit(small.values).tolist() == [True, False, True]
    np.testing.assert_array_equal(minus.values, -1.0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("first", [0.0, -0.0], ids=["plus", "minus"])
def test_steps_that_differ_in_the_sign_of_a_zero_are_two(backend, first):
    """Steps that are equal are one in a process, whoever wrote them."""
    time = time_of(2)
    x = dt.tensor("x", dims=time)
    found = {}
    for zero in (first, -first):
        _, trace = dt.scan(lambda s, x, z=zero: (s, dt.copysign(x, z)), 1.0, x, dim=time)
        found[zero, np.signbit(zero)] = dt.function([x], trace, backend=backend), trace
    for (_, minus), (f, _) in found.items():
        assert np.signbit(f(np.array([1.0, -1.0])).values).tolist() == [minus, minus]
