"""Models with loops at the points where Stan evaluated them."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from tests.reference_models.loops import programs
from tests.reference_models.reference import assert_same_gradient, assert_same_value, load

PROGRAMS = {"arK": programs.arK, "hmm_example": programs.hmm_example}
SUPPORTS = {
    "arK": {"sigma": dt.positive},
    "hmm_example": {
        "theta1": dt.supports.simplex,
        "theta2": dt.supports.simplex,
        "mu": dt.supports.positive_ordered,
    },
}
CASES = [
    ("python", "nojacobian"),
    ("python", "jacobian"),
    pytest.param(("numba", "jacobian"), marks=pytest.mark.compiled),
    pytest.param(("jax", "jacobian"), marks=pytest.mark.compiled),
]


def log_density(name, backend, jacobian):
    model = PROGRAMS[name](load(name)["data"])
    assert [tensor.name for tensor in model.parameters] == list(load(name)["parameters"])
    supports = {x: SUPPORTS[name].get(x.name, dt.real) for x in model.parameters}
    return dt.LogDensity(model.logp, supports, backend=backend, jacobian=jacobian)


@pytest.mark.parametrize("case", CASES, ids="-".join)
@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_gradient_at_every_point(name, case):
    backend, kind = case
    model = log_density(name, backend, kind == "jacobian")
    points = load(name)["points"]
    assert len(points) == 13
    for point in points:
        value, gradient = model.logp_and_grad(np.array(point["unconstrained"]))
        assert_same_value(value, point["log_prob"][kind], point["label"])
        assert_same_gradient(gradient, point["gradient"][kind], point["label"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_many_points_at_once(name):
    """A dim of points in the parameters goes through the loop."""
    model = PROGRAMS[name](load(name)["data"])
    points = load(name)["points"]
    at = dt.Dim("point", coords=[point["label"] for point in points])
    batched = {
        x: dt.data(
            [point["constrained"][x.name] for point in points], dims=[at, *x.dims], name=x.name
        )
        for x in model.parameters
    }
    (values,) = dt.evaluate([dt.substitute(model.logp, batched)])
    for value, point in zip(values.values, points, strict=True):
        assert_same_value(value, point["log_prob"]["nojacobian"], point["label"])
