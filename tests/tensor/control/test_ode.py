"""Differential equations against SciPy's and closed solutions."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dimtensor as dt
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import LONG_JAX

TIME = dt.Dim("time", length=5)
TIMES = np.array([0.0, 0.5, 2.0, 2.5, 6.0])
A, B, C, D = (dt.scalar(name) for name in "abcd")
RATES = {A: 0.6, B: 0.3, C: 0.8, D: 0.2}


def prey_and_predators(t, y):
    return {"u": A * y["u"] - B * y["u"] * y["v"], "v": -C * y["v"] + D * y["u"] * y["v"]}


def by_scipy(times):
    a, b, c, d = RATES.values()

    def slope(t, y):
        return [a * y[0] - b * y[0] * y[1], -c * y[1] + d * y[0] * y[1]]

    span = (times[0], times[-1])
    return solve_ivp(slope, span, [3.0, 1.0], t_eval=times, rtol=1e-12, atol=1e-12).y


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("method", "options", "rtol"),
    [("rk4", {"steps": 40}, 1e-5), ("dopri5", {}, 1e-4), ("dopri5", {"rtol": 1e-10}, 1e-8)],
)
def test_lotka_volterra(method, options, rtol, turned):
    times = -TIMES if turned else TIMES
    t = dt.data(times, dims=TIME)
    found = dt.ode(prey_and_predators, {"u": 3, "v": 1.0}, t, method, **options)
    assert found["u"].sizes == {"time": 5}
    result = dt.evaluate(found, RATES)
    expected = by_scipy(times)
    np.testing.assert_allclose(result["u"], expected[0], rtol=rtol)
    np.testing.assert_allclose(result["v"], expected[1], rtol=rtol)


def test_the_error_of_rk4_falls_with_the_fourth_power():
    t = dt.data(TIMES, dims=TIME)
    exact = np.exp(-TIMES)
    errors = [
        np.abs(dt.ode(lambda t, y: -y, 1.0, t, "rk4", steps=n).eval() - exact).max().item()
        for n in (20, 40)
    ]
    assert 14 < errors[0] / errors[1] < 18


@pytest.mark.parametrize(("method", "options"), [("rk4", {"steps": 20}), ("dopri5", {})])
def test_gradients(method, options):
    """Of exp(-rate t) in the rate, the start and the times, which also enter the slope."""
    rate, start, t = dt.scalar("rate"), dt.scalar("start"), dt.tensor("t", dims=TIME)
    y = dt.ode(lambda t, y: -rate * y, start, t, method, **options)
    values = {rate: 0.7, start: 2.0, t: TIMES}
    found = dt.evaluate(dt.grad(y.sum(), [rate, start, t]), values)
    decay = np.exp(-0.7 * TIMES)
    np.testing.assert_allclose(found[0], -2.0 * (TIMES * decay).sum(), rtol=1e-4)
    np.testing.assert_allclose(found[1], decay.sum(), rtol=1e-4)
    np.testing.assert_allclose(found[2][1:], -0.7 * 2.0 * decay[1:], rtol=1e-4)


def test_gradients_of_the_steps_agree_with_finite_differences():
    t = dt.data(TIMES, dims=TIME)
    y = dt.ode(prey_and_predators, {"u": 3.0, "v": 1.0}, t, "rk4", steps=3)
    values = {key: np.array(v) for key, v in RATES.items()}
    for rate in (A, D):
        assert_gradient((y["u"] * y["v"]).sum(), rate, values)


def test_a_system_along_a_dim_and_a_batch_of_it(rng):
    k = dt.Dim("k", length=3)
    t, rate = dt.data(TIMES, dims=TIME), dt.tensor("rate", dims=k)
    y = dt.ode(lambda t, y: -rate * y + dt.sin(t), dt.ones(k), t)
    rates = np.array([0.1, 1.0, 30.0])
    solution = solve_ivp(
        lambda t, y: -rates * y + np.sin(t), (0, 6), np.ones(3), t_eval=TIMES, rtol=1e-10,
        atol=1e-12, method="Radau",
    )  # fmt: skip
    np.testing.assert_allclose(
        y.eval({rate: rates}).transpose("k", "time"), solution.y, rtol=1e-4, atol=1e-6
    )
    one = dt.scalar("one")
    single = dt.ode(lambda t, y: -one * y + dt.sin(t), 1.0, t)
    batched = dt.vectorize(single, {one: k}).eval({"one": rates}).transpose("k", "time")
    for at, value in enumerate(rates):
        np.testing.assert_allclose(batched[at], single.eval({one: value}), rtol=1e-12)


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_states_along_a_late_dim(backend, n):
    """Steps within steps, whose states lie in a trace that is made as long as the data."""
    site = dt.Dim("site")
    start, level = dt.tensor("start", dims=site), dt.scalar("level")
    t = dt.data(TIMES, dims=TIME)
    y, z = dt.ode(lambda t, y: (y[0] + y[1], t), (start, level), t, "rk4", steps=60)
    f = dt.function([start, level], [y, z, *dt.grad(y.sum() + z.sum(), [start, level])], backend)
    y0, z0 = np.arange(1.0, n + 1), 0.5
    found = [x.values for x in f(y0, z0)]
    # z = z0 + t²/2, and y' = y + z: y + z + t + 1 grows as exp(t)
    growth = np.exp(TIMES)
    np.testing.assert_allclose(found[1], z0 + TIMES**2 / 2, rtol=1e-12)
    exact = np.add.outer(y0 + z0 + 1, 0 * TIMES) * growth - (z0 + TIMES**2 / 2 + TIMES + 1)
    order = f(y0, z0)[0].dims.index("site")
    np.testing.assert_allclose(found[0] if order == 0 else found[0].T, exact, rtol=1e-6)
    np.testing.assert_allclose(found[2], np.full(n, growth.sum()), rtol=1e-6)
    assert float(found[3]) == pytest.approx(n * (growth - 1).sum() + 5, rel=1e-6)


@pytest.mark.parametrize("turned", [False, True])
def test_steps_do_not_depend_on_the_times_between(turned):
    """The path between two steps is interpolated, so that many times cost no more steps."""
    few, many = dt.Dim("few", length=2), dt.Dim("many", length=97)
    end = -6.0 if turned else 6.0
    times = np.linspace(0.0, end, 97)
    start = {"u": 3.0, "v": 1.0}
    last = dt.ode(prey_and_predators, start, dt.data([0.0, end], dims=few), rtol=1e-6)["u"]
    path = dt.ode(prey_and_predators, start, dt.data(times, dims=many), rtol=1e-6)["u"]
    found = dt.evaluate([last, path], RATES)
    assert float(found[0][-1]) == float(found[1][-1])
    np.testing.assert_allclose(found[1], by_scipy(times)[0], rtol=2e-5)


@pytest.mark.parametrize(
    ("backend", "lengths"),
    [
        ("python", (1, 9)),
        *(
            pytest.param(name, (1, 2, 8, 9, 40), marks=[pytest.mark.slow, pytest.mark.compiled])
            for name in ("numba", "jax")
        ),
    ],
)
def test_times_of_any_number_and_their_gradients(backend, lengths):
    over = dt.Dim("over")
    rate, t = dt.scalar("rate"), dt.tensor("t", dims=over)
    y = dt.ode(lambda t, y: -rate * y, 2.0, t, rtol=1e-5, max_steps=30)
    f = dt.function([rate, t], [y, *dt.grad(y.sum(), [rate, t])], backend)
    for n in lengths:
        times = np.sort(np.random.default_rng(n).uniform(0.5, 3.0, n))
        path, by_rate, by_time = (np.asarray(x) for x in f(0.7, times))
        exact = 2.0 * np.exp(-0.7 * (times - times[0]))
        np.testing.assert_allclose(path, exact, rtol=1e-4)
        expected = -((times - times[0]) * exact).sum()
        np.testing.assert_allclose(by_rate, expected, rtol=1e-3, atol=1e-12)
        np.testing.assert_allclose(by_time[1:], -0.7 * exact[1:], rtol=1e-3)
    # times that are given twice, and what is not finite
    path = np.asarray(f(0.7, np.array([0.0, 1.0, 1.0, 1.0, 2.0]))[0])
    np.testing.assert_allclose(path, 2.0 * np.exp(-0.7 * np.array([0, 1, 1, 1, 2])), rtol=1e-4)
    for value in (np.nan, np.inf):
        with pytest.raises(dt.CheckError, match="30 steps are not enough"):
            f(value, np.array([0.0, 1.0]))


@pytest.mark.parametrize("times", [[0.0, 1.0, 0.5, 2.0], [0.0, 2.0, 3.0, 1.0], [0.0, np.nan, 2.0]])
def test_times_out_of_order_are_an_error(times):
    t = dt.data(times, dims=dt.Dim("at", length=len(times)))
    with pytest.raises(dt.CheckError, match="times increase or decrease from the first one"):
        dt.ode(lambda t, y: -y, 1.0, t, max_steps=10).eval()


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("length", [None, 0], ids=["late", "known"])
@pytest.mark.parametrize(("method", "options"), [("rk4", {"steps": 3}), ("dopri5", {})])
def test_no_times_have_no_solutions(method, options, length, backend):
    time, k = dt.Dim("time", length=length), dt.Dim("k", length=2)
    rate, start, t = dt.scalar("rate"), dt.tensor("start", dims=k), dt.tensor("t", dims=time)
    y = dt.ode(lambda t, y: -rate * y / t, start, t, method, **options)
    gradients = dt.grad(y.sum(), [rate, start, t])
    f = dt.function([rate, start, t], [y, *gradients], backend=backend)
    found, by_rate, by_start, by_t = f(0.7, np.array([2.0, 1.0]), np.zeros(0))
    assert found.sizes == {"time": 0, "k": 2}
    assert (float(by_rate), by_start.values.tolist(), by_t.shape) == (0.0, [0.0, 0.0], (0,))
    if length is None:  # of y = start * (t0 / t) ** rate
        found, by_rate, *_ = f(0.7, np.array([2.0, 1.0]), np.array([1.0, 1.5]))
        np.testing.assert_allclose(found.isel(time=1).sum(), 3 * 1.5**-0.7, rtol=1e-3)
        np.testing.assert_allclose(by_rate, -3 * 1.5**-0.7 * np.log(1.5), rtol=1e-2)


def test_a_system_of_no_states():
    sizes = dt.Dim("sizes")
    y = dt.tensor("y", dims=sizes)
    path = dt.ode(lambda t, y: -y, y, 1.0 * dt.arange(dt.Dim("time", length=3)))
    assert dt.evaluate(path, {y: np.ones(0)}, backend="python").shape in {(0, 3), (3, 0)}
    found = dt.evaluate(path, {y: np.ones(2)}, backend="python").transpose("sizes", "time")
    np.testing.assert_allclose(found.values, [np.exp(-np.arange(3.0))] * 2, rtol=1e-5)


def test_too_few_steps_are_an_error():
    t = dt.data(TIMES, dims=TIME)
    with pytest.raises(dt.CheckError, match="3 steps are not enough"):
        dt.ode(lambda t, y: -50.0 * y, 1.0, t, max_steps=3).eval()


def test_mistakes():
    t = dt.data(TIMES, dims=TIME)
    with pytest.raises(dt.DimError, match="times have one dim"):
        dt.ode(lambda t, y: y, 1.0, dt.scalar("t"))
    with pytest.raises(dt.OptionError, match="the method is"):
        dt.ode(lambda t, y: y, 1.0, t, "euler")
    with pytest.raises(dt.ArgumentError, match="another structure"):
        dt.ode(lambda t, y: (y, y), 1.0, t)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["numba", "jax"])
def test_gradients_do_not_wait_for_steps_that_are_not_made(backend):
    """Nothing is as long as `max_steps`: a gradient reads the steps that ran, the last first."""
    t, rates = dt.data(TIMES, dims=TIME), list(RATES)
    found, sources = [], []
    for most in (70, 900):
        y = dt.ode(prey_and_predators, {"u": 3.0, "v": 1.0}, t, max_steps=most)
        total = (y["u"] * y["v"]).sum()
        f = dt.function(rates, [total, *dt.grad(total, rates)], backend=backend)
        found.append([float(x) for x in f(*RATES.values())])
        if backend == "jax":
            import jax

            with jax.enable_x64(True):
                code = str(jax.make_jaxpr(f.jax)(*RATES.values()))
            assert not re.search(rf"\[{most}[,\]]", code) or most < 100
        else:
            sources.append(re.sub(rf"\b{most}\b", "most", f.source).splitlines())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12 if backend == "jax" else 0)
    if sources:
        assert len(sources[0]) == len(sources[1])
        over = [line.strip() for line in sources[0] if line.strip().startswith("for ")]
        # forward once, and back over the steps that ran, by what that kept
        assert sum("in range(most):" in line for line in over) == 1
        assert sum(bool(re.search(r"in range\(most - t\d+, most\b", line)) for line in over) == 1
        assert not any("range(most)" in line for line in over if not line.startswith("for step"))
        assert not any("[...] = 0.0" in line for line in sources[0])

    def total_at(rates):
        a, b, c, d = rates
        y = solve_ivp(
            lambda t, y: [a * y[0] - b * y[0] * y[1], -c * y[1] + d * y[0] * y[1]],
            (0.0, 6.0), [3.0, 1.0], t_eval=TIMES, rtol=1e-12, atol=1e-12,
        ).y  # fmt: skip
        return (y[0] * y[1]).sum()

    values = np.array(list(RATES.values()))
    for at, slope in enumerate(found[0][1:]):
        step = 1e-5 * np.eye(4)[at]
        expected = (total_at(values + step) - total_at(values - step)) / 2e-5
        assert slope == pytest.approx(expected, rel=3e-3)


def test_gradients_of_a_batch_that_stops_at_different_steps():
    k = dt.Dim("k", length=3)
    t, rate = dt.data(TIMES, dims=TIME), dt.scalar("rate")
    slope = dt.grad(dt.ode(lambda t, y: -rate * y, 1.0, t).sum(), rate)
    rates = np.array([0.1, 1.0, 30.0])
    batched = dt.vectorize(slope, {rate: k}).eval({"rate": rates})
    single = [slope.eval({rate: value}).item() for value in rates]
    np.testing.assert_allclose(batched.values, single, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.compiled
def test_wide_systems_do_not_wait_for_steps_that_are_not_made():
    """A value keeps no steps; a gradient keeps those that ran, and clears no room for others."""
    wide, over, most = dt.Dim("wide"), dt.Dim("over", length=5), 977
    y0, rate = dt.tensor("y0", dims=wide), dt.scalar("rate")
    times = dt.data(np.linspace(0.0, 2.0, 5), dims=over)
    y = dt.ode(lambda t, y: rate * y * (1 - y), y0, times, method="dopri5", max_steps=most)
    start = np.linspace(0.1, 0.4, 40)
    value = dt.function([y0, rate], y.sum(), backend="numba")
    both = dt.function([y0, rate], [y.sum(), dt.grad(y.sum(), rate)], backend="numba")
    found, slope = both(start, 1.3)

    def total(rate):  # the logistic function
        grown = start[:, None] * np.exp(rate * np.linspace(0.0, 2.0, 5))
        return (grown / (1 - start[:, None] + grown)).sum()

    np.testing.assert_allclose([value(start, 1.3), found], total(1.3), rtol=1e-5)
    expected = (total(1.3 + 1e-5) - total(1.3 - 1e-5)) / 2e-5
    np.testing.assert_allclose(slope, expected, rtol=1e-4)
    assert f"({most}," not in value.source
    lines = [line.strip() for line in both.source.splitlines()]
    assert any(f"np.empty(({most}," in line for line in lines)
    assert not any(f"np.zeros(({most}," in line or "[...] = 0.0" in line for line in lines)
    assert not any(f"range({most})" in line and not line.startswith("for step") for line in lines)
