"""Models written with random variables have Stan's log densities, value and gradient."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference_models.generative import PROGRAMS
from tests.reference_models.reference import load

BACKENDS = ["python", pytest.param("numba", marks=pytest.mark.compiled)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_log_density_is_that_of_stan(name, backend):
    reference = load(name)
    fit, halves = PROGRAMS[name](reference["data"], backend)
    density = fit.log_density()
    assert set(fit.free) == set(reference["parameters"])
    # Stan's vector has the parameters in another order
    sizes = {p.name: p.size(density.functions.binding) for p in density.parameters}
    starts, at = {}, 0
    for parameter in reference["parameters"]:
        starts[parameter], at = at, at + sizes[parameter]
    order = np.concatenate([starts[p.name] + np.arange(sizes[p.name]) for p in density.parameters])
    constant = halves * np.log(2)
    for point in reference["points"]:
        value, gradient = density.logp_and_grad(np.array(point["unconstrained"])[order])
        expected = point["log_prob"]["jacobian"] + constant
        assert abs(value - expected) <= 1e-8 * max(1, abs(expected)), point["label"]
        slopes = np.array(point["gradient"]["jacobian"])[order]
        assert np.linalg.norm(gradient - slopes) <= 1e-8 * np.linalg.norm(slopes), point["label"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_log_densities_by_variable_add_up(name):
    reference = load(name)
    fit, halves = PROGRAMS[name](reference["data"], "python")
    (point,) = [p for p in reference["points"] if p["label"] == "draw1"]
    values = {key: np.array(value) for key, value in point["constrained"].items()}
    terms = fit.logp(values)
    assert set(terms) == set(fit.variables)
    total = sum(float(term.sum()) for term in terms.values())
    expected = point["log_prob"]["nojacobian"] + halves * np.log(2)
    np.testing.assert_allclose(total, expected, rtol=1e-10)
