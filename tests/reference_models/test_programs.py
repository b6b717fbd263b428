"""Log densities of labeled values, and gradients, at the points where Stan evaluated them."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import LONG_JAX
from tests.reference_models import programs
from tests.reference_models.reference import (
    PROGRAMS,
    assert_same_gradient,
    assert_same_value,
    build,
    load,
)

# Derivatives of y with respect to the unconstrained x, written in y (Stan Reference Manual 2.39,
# "Constraint transforms"); parameters that are not listed are real.
DERIVATIVES = {
    "positive": lambda y, g: y * g,
    "unit": lambda y, g: y * (1 - y) * g,
    "alpha": lambda y, g: (y + 20) * (20 - y) / 40 * g,
    "ten": lambda y, g: (y + 10) * (10 - y) / 20 * g,
    "beta2": lambda y, g: (y + 10) * (20 - y) / 30 * g,
    "five": lambda y, g: y * (5 - y) / 5 * g,
    # y = (x1, x1 + exp(x2)): both elements move with x1
    "ordered": lambda y, g: np.array([g.sum(), (y[1] - y[0]) * g[1]]),
}
SUPPORTS = {
    "eight_schools": {"tau": "positive"},
    "radon_mn": {"sigma_alpha": "positive", "sigma_y": "positive"},
    "kidiq": {"sigma": "positive"},
    "GLMM_Poisson": {
        "alpha": "alpha",
        "beta1": "ten",
        "beta2": "beta2",
        "beta3": "ten",
        "sigma": "five",
    },
    "low_dim_gauss_mix": {"mu": "ordered", "sigma": "positive", "theta": "unit"},
    "arK": {"sigma": "positive"},
}


def _pulled_back(name, values, gradients):
    """Gradient with respect to the unconstrained vector, by the chain rule."""
    parts = []
    for parameter, gradient in gradients.items():
        support = SUPPORTS[name].get(parameter)
        g = np.asarray(gradient)
        if support is not None:
            g = DERIVATIVES[support](np.asarray(values[parameter]), g)
        parts.append(np.atleast_1d(g))
    return np.concatenate(parts)


@pytest.fixture(scope="module", params=LONG_JAX)
def backend(request):
    return request.param


@pytest.fixture(scope="module", params=PROGRAMS)
def case(request, backend):
    """A model's name, and the function of its parameters to log density and gradients."""
    model = build(request.param)
    gradients = dt.grad(model.logp, model.parameters)
    named = {tensor.name: g for tensor, g in zip(model.parameters, gradients, strict=True)}
    compiled = dt.function(model.parameters, {"logp": model.logp, **named}, backend=backend)
    return request.param, model, compiled


def test_log_density_and_gradient_at_every_point(case):
    name, _, compiled = case
    points = load(name)["points"]
    assert len(points) == 13
    for point in points:
        values = {key: np.array(value) for key, value in point["constrained"].items()}
        results = compiled(**values)
        assert_same_value(results.pop("logp"), point["log_prob"]["nojacobian"], point["label"])
        gradient = _pulled_back(name, values, results)
        assert_same_gradient(gradient, point["gradient"]["nojacobian"], point["label"])


def test_gradients_carry_the_labels_of_their_parameters(case):
    name, model, compiled = case
    values = load(name)["points"][0]["constrained"]
    results = compiled(**{key: np.array(value) for key, value in values.items()})
    for tensor in model.parameters:
        result = results[tensor.name]
        assert result.dims == tuple(dim.name for dim in tensor.dims)
        for dim in tensor.dims:
            assert result.coords[dim.name].values.tolist() == list(dim)


def test_building_does_not_depend_on_the_number_of_observations():
    data = load("radon_mn")["data"]
    few = {
        key: value[:5] if isinstance(value, list) else value
        for key, value in data.items()  # county 85 has no house now, and keeps its place
    }
    model = programs.radon_mn(few)
    assert model.parameters[0].sizes == {"county": 85}
    whole = programs.radon_mn(data)
    assert len(dt.walk(model.logp)) == len(dt.walk(whole.logp))


@pytest.mark.parametrize("label", ["draw1", "normal5"])
def test_lags_by_slices_are_lags_by_shift(label):
    model = programs.arK(load("arK")["data"], programs.lagged_by_slices)
    (point,) = [p for p in load("arK")["points"] if p["label"] == label]
    values = {key: np.array(value) for key, value in point["constrained"].items()}
    assert_same_value(model.logp.eval(values), point["log_prob"]["nojacobian"], label)


def test_lags_keep_the_labels_of_time():
    time, lag = dt.Dim("time", coords=range(1, 7)), dt.Dim("lag", coords=[1, 2])
    y = dt.data(np.arange(1.0, 7.0) ** 2, dims=time)
    for lagged in (programs.lagged_by_shift, programs.lagged_by_slices):
        present, past = lagged(y, lag)
        assert present.eval().time.values.tolist() == [3, 4, 5, 6]
        assert past.sel(lag=2).eval().sel(time=5).item() == 9.0
        assert (present - past).eval().sel(time=6, lag=1).item() == 11.0


def test_slices_of_different_times_do_not_meet():
    time = dt.Dim("time", coords=range(1, 7))
    y = dt.data(np.arange(1.0, 7.0), dims=time)
    with pytest.raises(dt.DimError, match="'time'"):
        y.isel(time=slice(1, None)) - y.isel(time=slice(None, -1))


def test_a_prior_narrower_than_the_support_gives_minus_infinity():
    model = build("GLMM_Poisson")
    point = load("GLMM_Poisson")["points"][0]["constrained"]
    inside = {key: np.array(value) for key, value in point.items()}
    assert np.isfinite(model.logp.eval(inside))
    assert model.logp.eval({**inside, "beta2": 10.5}) == -np.inf
