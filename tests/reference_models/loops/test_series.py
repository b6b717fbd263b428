"""Time series models against NumPy loops, and their gradients against JAX."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dimtensor as dt
from tests.backend_names import LONG_JAX
from tests.optional import jax
from tests.reference_models.loops import series

BUILDERS = [series.kalman, series.arma, series.garch, series.lstm, series.hidden_markov]


@functools.cache
def problem_of(build):
    return build(np.random.default_rng(11))


@functools.cache
def expected_of(build):
    """Value by hand, and gradients of a program for JAX, which computes the same value."""
    problem = problem_of(build)
    value = problem.by_hand(*problem.arguments)
    with jax.enable_x64(True):
        function = jax.value_and_grad(problem.for_jax, tuple(range(len(problem.arguments))))
        other, gradients = function(*(jax.numpy.asarray(x) for x in problem.arguments))
    np.testing.assert_allclose(other, value, rtol=1e-11)
    return value, [np.asarray(g) for g in gradients]


def feed_of(problem, arguments=None):
    return {
        x: xr.DataArray(value, dims=axes)
        for (x, axes), value in zip(
            problem.inputs.items(), arguments or problem.arguments, strict=True
        )
    }


def assert_same_gradients(problem, found, expected):
    for (x, axes), one, other in zip(problem.inputs.items(), found, expected, strict=True):
        one = one.transpose(*axes)
        scale = np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11 * scale, err_msg=x.name)


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_values_and_gradients(build, backend):
    problem = problem_of(build)
    value, gradients = expected_of(build)
    outputs = [problem.value, *dt.grad(problem.value, list(problem.inputs))]
    f = dt.function(list(problem.inputs), outputs, backend=backend)
    feed = feed_of(problem)
    found = f(*(feed[x] for x in problem.inputs))
    np.testing.assert_allclose(found[0], value, rtol=1e-11)
    assert_same_gradients(problem, found[1:], gradients)


@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_forward_mode_is_reverse_mode(build, rng):
    problem = problem_of(build)
    _, gradients = expected_of(build)
    tangents = [rng.normal(size=g.shape) for g in gradients]
    directions = [dt.tensor(f"d_{x.name}", dims=x.dims) for x in problem.inputs]
    change = dt.jvp(problem.value, list(problem.inputs), directions)
    feed = feed_of(problem)
    for d, axes, tangent in zip(directions, problem.inputs.values(), tangents, strict=True):
        feed[d] = xr.DataArray(tangent, dims=axes)
    expected = sum((g * t).sum() for g, t in zip(gradients, tangents, strict=True))
    np.testing.assert_allclose(change.eval(feed), expected, rtol=1e-9)


@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_draws_of_all_inputs_are_a_loop_over_draws(build, rng):
    """Dims that arrays have in addition go through the loop and its gradient."""
    problem = problem_of(build)
    *_, wrt = problem.inputs
    f = dt.function(
        list(problem.inputs), [problem.value, dt.grad(problem.value, wrt)], backend="python"
    )
    scales = np.array([1.0, 0.9, 1.1])
    feed = feed_of(problem)
    draws = xr.DataArray(scales, dims=["draw"])
    found = f(*(feed[x] * draws for x in problem.inputs))
    for at, scale in enumerate(scales):
        value, gradient = f(*(feed[x] * scale for x in problem.inputs))
        np.testing.assert_allclose(found[0].isel(draw=at), value, rtol=1e-12)
        one = found[1].isel(draw=at).transpose(*gradient.dims)
        np.testing.assert_allclose(one, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("build", BUILDERS[:3], ids=lambda build: build.__name__)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_short_series(build, n):
    problem = problem_of(build)
    arguments = [problem.arguments[0][:n], *problem.arguments[1:]]
    feed = feed_of(problem, arguments)
    np.testing.assert_allclose(
        problem.value.eval(feed), problem.by_hand(*arguments), rtol=1e-11
    )  # of no observations: the sum of no terms
    gradients = dt.evaluate(dt.grad(problem.value, list(problem.inputs)), feed)
    if n == 0:
        assert all(not np.any(gradient) for gradient in gradients)
    else:
        assert any(np.any(gradient) for gradient in gradients)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_prediction_errors_give_the_joint_density(n):
    problem = problem_of(series.kalman)
    arguments = [problem.arguments[0][:n], *problem.arguments[1:]]
    location, covariance = series.kalman_joint(*arguments)
    expected = stats.multivariate_normal.logpdf(arguments[0], location, covariance)
    np.testing.assert_allclose(
        problem.value.eval(feed_of(problem, arguments)), expected, rtol=1e-10
    )


def test_a_new_length_needs_no_new_function():
    problem = problem_of(series.garch)
    f = dt.function(list(problem.inputs), problem.value, backend="python")
    for n in (3, 50, 11):
        arguments = [problem.arguments[0][:n], *problem.arguments[1:]]
        np.testing.assert_allclose(f(*arguments), problem.by_hand(*arguments), rtol=1e-12)


def test_tangents_of_an_input_and_of_what_depends_on_it(rng):
    """Both directions add up, as gradients of both do; and constants move nothing."""
    time = dt.Dim("time", length=4)
    x, moved = dt.tensor("x", dims=time), dt.tensor("moved", dims=time)
    square = x**2
    _, path = dt.scan(lambda s, e: (s / 2 + e[0], e[1] ** 3 * s), 1.0, (x, square), dim=time)
    loss = path.sum()
    values, tangent = -rng.uniform(0.5, 2.0, size=4), rng.normal(size=4)
    change = dt.jvp(loss, [x, square], [moved, 2.0 * moved]).eval({x: values, moved: tangent})
    one, other = dt.evaluate(dt.grad(loss, [x, square]), {x: values})
    np.testing.assert_allclose(change, (one * tangent + 2 * other * tangent).sum(), rtol=1e-11)
