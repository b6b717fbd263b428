"""Loops that solve equations: differential ones by steps, others by iteration."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import dimtensor as dt
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import LONG_JAX
from tests.optional import jax, jnp

# -- Lotka and Volterra ----------------------------------------------------------------------------

RATES = np.array([0.55, 0.028, 0.8, 0.024])
START = np.array([30.0, 5.0])
TIME = dt.Dim("time", coords=np.linspace(0.0, 10.0, 21))
AT = TIME.coords


def slope(y, rates):
    prey, predators = y
    a, b, c, d = rates
    return (a - b * predators) * prey, (d * prey - c) * predators


def moved(y, h, *slopes):
    return tuple(v + h * sum(k) for v, *k in zip(y, *slopes, strict=True))


def runge_kutta(y, h, rates):
    """A step of the classical method, of any numbers and tensors that can be added."""
    k1 = slope(y, rates)
    k2 = slope(moved(y, h / 2, k1), rates)
    k3 = slope(moved(y, h / 2, k2), rates)
    k4 = slope(moved(y, h, k3), rates)
    two = [tuple(2 * v for v in k) for k in (k2, k3)]
    return moved(y, h / 6, k1, *two, k4)


def path_by_scan(rates, start, steps):
    """Prey and predators at all times but the first; the loop inside makes smaller steps."""
    h = float(AT[1] - AT[0]) / steps
    later = dt.Dim("later", coords=AT[1:])

    def step(y, _):
        y = dt.fori_loop(0, steps, lambda i, y: runge_kutta(y, h, rates), y)
        return y, y

    _, path = dt.scan(step, start, None, dim=later)
    return path


def path_of_scipy():
    solution = solve_ivp(
        lambda t, y: slope(y, RATES), (AT[0], AT[-1]), START, "DOP853", AT, rtol=1e-11, atol=1e-12
    )
    assert solution.success
    return solution.y


def named_rates():
    return [dt.scalar(name) for name in "abcd"], [dt.scalar("prey"), dt.scalar("predators")]


@pytest.mark.parametrize(("steps", "error"), [(2, 1e-2), (8, 5e-5), (32, 2e-7)])
def test_steps_of_fourth_order_reach_the_solution(steps, error):
    """Four times as many steps: the error is 4⁴ = 256 times smaller, here by 200 or more."""
    rates, start = named_rates()
    path = path_by_scan(rates, tuple(start), steps)
    feed = dict(zip([*rates, *start], [*RATES, *START], strict=True))
    found = np.array([part.values for part in dt.evaluate(list(path), feed)])
    expected = path_of_scipy()[:, 1:]
    assert np.abs(found / expected - 1).max() < error


@functools.cache
def expected_of_jax():
    def loss(rates, start):
        def step(y, _):
            y = jax.lax.fori_loop(0, 4, lambda i, y: runge_kutta(y, 0.125, rates), y)
            return y, y

        _, (prey, predators) = jax.lax.scan(step, tuple(start), None, len(AT) - 1)
        return (jnp.log(prey) ** 2 + jnp.log(predators)).sum()

    with jax.enable_x64(True):
        return jax.value_and_grad(loss, (0, 1))(jnp.array(RATES), jnp.array(START))


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradients_of_the_steps_are_those_of_jax(backend):
    rates, start = named_rates()
    prey, predators = path_by_scan(rates, tuple(start), 4)
    loss = (dt.log(prey) ** 2 + dt.log(predators)).sum()
    inputs = [*rates, *start]
    f = dt.function(inputs, [loss, *dt.grad(loss, inputs)], backend=backend)
    found = f(*RATES, *START)
    value, gradients = expected_of_jax()
    np.testing.assert_allclose(found[0], value, rtol=1e-12)
    np.testing.assert_allclose(found[1:], np.concatenate(gradients), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "rtol"),
    [
        pytest.param({"method": "rk4", "steps": 40}, 1e-7, id="rk4"),
        pytest.param({"rtol": 1e-9, "atol": 1e-10}, 1e-6, id="dopri5"),
    ],
)
def test_ode_agrees_with_scipy_and_with_the_loop(options, rtol):
    rates, start = named_rates()
    t = dt.data(AT, dims=TIME)
    y = dt.ode(lambda t, y: slope(y, rates), tuple(start), t, **options)
    feed = dict(zip([*rates, *start], [*RATES, *START], strict=True))
    found = np.array([part.values for part in dt.evaluate(list(y), feed)])
    np.testing.assert_allclose(found, path_of_scipy(), rtol=rtol)
    by_scan = path_by_scan(rates, tuple(start), 40)
    wrt = [*rates, *start]
    last = [y[0].sel(time=AT[-1]), by_scan[0].sel(later=AT[-1])]
    one, other = (dt.evaluate(dt.grad(x, wrt), feed) for x in last)
    np.testing.assert_allclose(one, other, rtol=100 * rtol)


# -- Newton's method -------------------------------------------------------------------------------


def kepler(mean, eccentricity, most, **options):
    """The eccentric anomaly: E with E - e sin(E) = M, by Newton's method."""
    return dt.while_loop(
        lambda x: abs(x - eccentricity * dt.sin(x) - mean) > 1e-13,
        lambda x: x - (x - eccentricity * dt.sin(x) - mean) / (1 - eccentricity * dt.cos(x)),
        mean + eccentricity * dt.sin(mean), most, **options,
    )  # fmt: skip


@pytest.mark.parametrize("backend", LONG_JAX)
def test_newton_and_the_implicit_function_theorem(backend):
    """E - e sin(E) = M: dE/dM = 1 / (1 - e cos(E)) and dE/de = sin(E) / (1 - e cos(E))."""
    orbit = dt.Dim("orbit", length=5)
    mean, eccentricity = dt.tensor("mean", dims=orbit), dt.tensor("eccentricity", dims=orbit)
    anomaly, finished = kepler(mean, eccentricity, 30, return_finished=True)
    gradients = dt.grad(anomaly.sum(), [mean, eccentricity])
    f = dt.function([mean, eccentricity], [anomaly, finished, *gradients], backend=backend)
    m, e = np.array([0.1, 1.0, 2.0, 3.0, 5.5]), np.array([0.0, 0.2, 0.5, 0.7, 0.9])
    found = f(m, e)
    expected = np.array(
        [brentq(lambda x, m=m_, e=e_: x - e * np.sin(x) - m, 0, 2 * np.pi, xtol=1e-15)
         for m_, e_ in zip(m, e, strict=True)]
    )  # fmt: skip
    assert found[1].values.all()
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    np.testing.assert_allclose(found[2], 1 / (1 - e * np.cos(expected)), rtol=1e-7)
    np.testing.assert_allclose(
        found[3], np.sin(expected) / (1 - e * np.cos(expected)), rtol=1e-7, atol=1e-12
    )


def test_newton_stops_early_and_its_gradient_is_that_of_the_steps_made():
    mean, eccentricity = dt.scalar("mean"), dt.scalar("eccentricity")
    anomaly, finished = kepler(mean, eccentricity, 1, return_finished=True)
    feed = {mean: np.array(1.0), eccentricity: np.array(0.5)}
    assert not bool(finished.eval(feed))
    for wrt in feed:
        assert_gradient(anomaly, wrt, feed)


def test_a_fixed_point_of_a_vector():
    """x = tanh(A x + b), whose derivative by b solves a linear system."""
    k = dt.Dim("k", length=3)
    row = k.rename("row")
    A = np.random.default_rng(3).normal(size=(3, 3)) / 4
    a, b = dt.data(A, dims=[row, k], name="A"), dt.tensor("b", dims=k)

    def body(state):
        x, _ = state
        y = dt.tanh(dt.dot(a, x, dim=k).rename_dim(row, k) + b)
        return y, abs(y - x).max()

    x, _ = dt.while_loop(lambda state: state[1] > 1e-14, body, (dt.zeros(k), 1.0), 200)
    values = np.array([0.3, -0.2, 0.5])
    point = np.zeros(3)
    for _ in range(200):
        point = np.tanh(A @ point + values)
    np.testing.assert_allclose(x.eval({b: values}), point, rtol=1e-12)
    decay = np.diag(1 - point**2)
    expected = np.linalg.solve(np.eye(3) - decay @ A, decay).sum(axis=0)
    np.testing.assert_allclose(dt.grad(x.sum(), b).eval({b: values}), expected, rtol=1e-9)
