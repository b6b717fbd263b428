"""The models as functions of the flat vector: values and gradients, with and without Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from tests.reference_models.reference import (
    PROGRAMS,
    assert_same_gradient,
    assert_same_value,
    build,
    load,
)

# Values without the Jacobian are compiled in test_programs.py; here the interpreter does for them.
CASES = [
    ("python", "nojacobian"),
    ("python", "jacobian"),
    pytest.param(("numba", "jacobian"), marks=pytest.mark.compiled),
    pytest.param(("jax", "jacobian"), marks=[pytest.mark.compiled, pytest.mark.slow]),
]
# Parameters that are not listed are real.
SUPPORTS = {
    "eight_schools": {"tau": dt.positive},
    "radon_mn": {"sigma_alpha": dt.positive, "sigma_y": dt.positive},
    "kidiq": {"sigma": dt.positive},
    "GLMM_Poisson": {
        "alpha": dt.supports.bounded(-20, 20),
        "beta1": dt.supports.bounded(-10, 10),
        "beta2": dt.supports.bounded(-10, 20),
        "beta3": dt.supports.bounded(-10, 10),
        "sigma": dt.supports.bounded(0, 5),
    },
    "low_dim_gauss_mix": {
        "mu": dt.supports.ordered,
        "sigma": dt.positive,
        "theta": dt.supports.unit,
    },
    "arK": {"sigma": dt.positive},
}


def log_density(name: str, backend: str, jacobian: bool = True) -> dt.LogDensity:
    model = build(name)
    supports = {x: SUPPORTS[name].get(x.name, dt.real) for x in model.parameters}
    return dt.LogDensity(model.logp, supports, backend=backend, jacobian=jacobian)


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def setting(request):
    return request.param


@pytest.fixture(scope="module", params=PROGRAMS)
def case(request, setting):
    backend, kind = setting
    return request.param, kind, log_density(request.param, backend, kind == "jacobian")


def test_value_and_gradient_at_every_point(case):
    name, kind, model = case
    points = load(name)["points"]
    assert len(points) == 13
    for point in points:
        value, gradient = model.logp_and_grad(np.array(point["unconstrained"]))
        assert_same_value(value, point["log_prob"][kind], point["label"])
        assert_same_gradient(gradient, point["gradient"][kind], point["label"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_constrained_values_at_every_point(name):
    model = log_density(name, "python")
    for point in load(name)["points"]:
        values = model.constrain(np.array(point["unconstrained"]))
        assert list(values) == list(point["constrained"])
        for parameter, expected in point["constrained"].items():
            np.testing.assert_allclose(
                values[parameter], expected, rtol=1e-12, atol=1e-12, err_msg=point["label"]
            )


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_vector_of_constrained_values_comes_back(name):
    model = log_density(name, "python")
    for label in ("draw1", "draw2"):
        (point,) = [p for p in load(name)["points"] if p["label"] == label]
        values = {key: np.array(value) for key, value in point["constrained"].items()}
        np.testing.assert_allclose(
            model.unconstrain(values), point["unconstrained"], rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)])
def test_rejected_points_have_no_density(backend):
    rejected = load("GLMM_Poisson")["rejected_points"]
    assert rejected
    model = log_density("GLMM_Poisson", backend)
    for point in rejected:
        assert model.logp(np.array(point["unconstrained"])) == -np.inf


def test_elements_are_named_by_their_labels():
    model = log_density("low_dim_gauss_mix", "python")
    assert model.names == ["mu[low]", "mu[high]", "sigma[low]", "sigma[high]", "theta"]
    assert log_density("radon_mn", "python").names[84:88] == [
        "alpha_raw[85]", "beta[log_uppm]", "beta[floor]", "mu_alpha"
    ]  # fmt: skip
