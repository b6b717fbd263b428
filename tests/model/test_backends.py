"""Compiled log densities: the same numbers on all backends, new data without compiling, JAX."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.optimize.plan import UnsupportedGraph
from tests.backend_names import COMPILED

pytestmark = pytest.mark.compiled

GROUP = dt.Dim("group", coords=["A", "B", "C"])
OBS = dt.Dim("obs")


def build(backend):
    """A varying intercept with a look-up, and a dim whose length comes with the data."""
    effect, sigma = dt.tensor("effect", dims=GROUP), dt.scalar("sigma")
    shift = dt.tensor("shift", dims=OBS)
    y = dt.data(np.array([1.0, 2.0, 4.0, 3.0]), dims=OBS, name="y")
    group = dt.data(["A", "C", "C", "B"], dims=OBS, categories=GROUP, name="group")
    rest = (y - effect.sel(group=group) - shift) / sigma
    logp = (
        -0.5 * (rest**2).sum()
        - dt.length(OBS) * dt.log(sigma)
        - (effect**2).sum()
        - 2 * (shift**2).sum()
        - sigma
    )
    supports = {sigma: dt.positive, shift: dt.real, effect: dt.real}
    return dt.LogDensity(logp, supports, backend, deterministics={"rest": rest})


def expected(x, y, group):
    n = len(y)
    sigma, shift, effect = np.exp(x[0]), x[1 : 1 + n], x[1 + n :]
    rest = (y - effect[group] - shift) / sigma
    value = -0.5 * (rest**2).sum() - n * x[0] - (effect**2).sum() - 2 * (shift**2).sum()
    on_effect = -2 * effect + np.bincount(group, rest / sigma, 3)
    gradient = [(rest**2).sum() - n - sigma + 1, *(rest / sigma - 4 * shift), *on_effect]
    return value - sigma + x[0], np.array(gradient)


FIRST = (np.array([1.0, 2.0, 4.0, 3.0]), np.array([0, 2, 2, 1]))
SECOND = (np.array([5.0, -1.0, 0.5, 2.0, 2.5, 1.0]), np.array([1, 1, 0, 2, 0, 1]))


def on_second(model):
    labels = np.array(["A", "B", "C"])[SECOND[1]]
    return model.with_data(y=SECOND[0], group=labels)


@pytest.fixture(scope="module", params=COMPILED)
def model(request):
    return build(request.param)


def test_value_and_gradient(model, rng):
    for _ in range(3):
        x = rng.normal(size=8)
        value, gradient = model.logp_and_grad(x)
        assert type(value) is float
        assert gradient.dtype == np.float64
        np.testing.assert_allclose(value, expected(x, *FIRST)[0], rtol=1e-12)
        np.testing.assert_allclose(gradient, expected(x, *FIRST)[1], rtol=1e-11, atol=1e-12)


def test_other_data_of_another_length(model, rng):
    other = on_second(model)
    x = rng.normal(size=10)
    value, gradient = other.logp_and_grad(x)
    np.testing.assert_allclose(value, expected(x, *SECOND)[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected(x, *SECOND)[1], rtol=1e-11, atol=1e-12)
    assert other.constrain(x)["rest"].sizes == {"obs": 6}


def test_numba_compiles_once_for_all_data(rng):
    model = build("numba")
    frozen = np.zeros(8)
    frozen.flags.writeable = False
    model.logp_and_grad(np.zeros(8))
    model.logp_and_grad(frozen)
    model.logp_and_grad(np.zeros(16)[::2])
    on_second(model).logp_and_grad(np.zeros(10))
    code = model.functions.get("logp_and_grad")._code
    assert on_second(model).functions.get("logp_and_grad")._code is code
    assert len(code._compiled) == 1


def test_results_are_not_overwritten_by_the_next_call(model, rng):
    x = rng.normal(size=8)
    _, first = model.logp_and_grad(x)
    kept = first.copy()
    model.logp_and_grad(x + 1)
    assert first.tolist() == kept.tolist()


@pytest.mark.slow
def test_a_pure_jax_function(rng):
    jax = pytest.importorskip("jax")
    model = build("numba")
    log_density = model.to_blackjax()
    before = jax.config.jax_enable_x64
    points = rng.normal(size=(3, 8))
    values = [expected(x, *FIRST)[0] for x in points]
    gradients = [expected(x, *FIRST)[1] for x in points]
    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(jax.value_and_grad(log_density)))(points)
        assert found[0].dtype == found[1].dtype == np.float64
        np.testing.assert_allclose(found[0], values, rtol=1e-12)
        np.testing.assert_allclose(found[1], gradients, rtol=1e-11, atol=1e-12)
        curvature = jax.hessian(log_density)(points[0])
        step = 1e-6
        differences = [
            (expected(points[0] + step * unit, *FIRST)[1]
             - expected(points[0] - step * unit, *FIRST)[1]) / (2 * step)
            for unit in np.eye(8)
        ]  # fmt: skip
        np.testing.assert_allclose(curvature, differences, rtol=1e-5, atol=1e-5)
        other = on_second(model).to_blackjax()
        x = rng.normal(size=10)
        np.testing.assert_allclose(jax.jit(other)(x), expected(x, *SECOND)[0], rtol=1e-12)
    assert jax.config.jax_enable_x64 == before


def test_the_jax_function_fits_into_loops_in_32_bits(rng):
    jax = pytest.importorskip("jax")
    log_density = build("jax").to_blackjax()
    x = rng.normal(size=8).astype("float32")
    exact = expected(x.astype("float64"), *FIRST)

    def climb(state, _):
        value, gradient = jax.value_and_grad(log_density)(state)
        return state + 1e-3 * gradient, value

    end, values = jax.lax.scan(climb, jax.numpy.asarray(x), None, length=5)
    assert end.dtype == values.dtype == np.float32
    assert (np.diff(values) > 0).all()
    value, gradient = jax.jit(jax.value_and_grad(log_density))(x)
    np.testing.assert_allclose(value, exact[0], rtol=1e-6)
    np.testing.assert_allclose(gradient, exact[1], rtol=1e-5, atol=1e-5)
    with pytest.raises(dt.InputError, match=r"has 8 unconstrained elements, the vector has \(2, 8"):
        log_density(np.zeros((2, 8)))


def test_recorded_values_agree_with_the_interpreter(model, rng):
    x = rng.normal(size=(2, 3, 8))
    found = model.constrain(x)
    y, group = FIRST
    rest = (y - x[..., 5:][..., group] - x[..., 1:5]) / np.exp(x[..., :1])
    np.testing.assert_allclose(found["rest"], rest, rtol=1e-12)
    assert isinstance(found, xr.Dataset)


@pytest.mark.falls_back
@pytest.mark.compiled
def test_a_density_that_is_interpreted_says_so(monkeypatch):
    def refuse(*_):
        raise UnsupportedGraph("no rule for an operation")

    monkeypatch.setattr("dimtensor.kernels.compiler.compile_kernel", refuse)
    x = dt.scalar("x")
    density = dt.LogDensity(-(x**2), {x: dt.real})
    with pytest.warns(dt.NotNativeWarning, match="has no machine code: no rule for an operation"):
        value, gradient = density.logp_and_grad(np.array([2.0]))
    assert (value, gradient.tolist()) == (-4.0, [-4.0])
    assert density.logp(np.array([2.0])) == -4.0  # says nothing, nor do further calls
    assert density.logp_and_grad(np.array([1.0]))[0] == -1.0
    on_python = dt.LogDensity(-(x**2), {x: dt.real}, backend="python")
    assert on_python.logp_and_grad(np.array([1.0]))[0] == -1.0  # as it was asked for
