"""Reference models with their discrete unknowns written out, and summed out: Stan's densities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from tests.reference_models.generative import Generative
from tests.reference_models.reference import load

LOG_2 = float(np.log(2))


def low_dim_gauss_mix(data: Mapping[str, Any], backend: str) -> Generative:
    obs, component = dt.Dim("obs"), dt.Dim("component", coords=["low", "high"])
    mu = dt.rv("mu", dist.ordered(dist.Normal(0, 2), dim=component))
    sigma = dt.rv("sigma", dist.HalfNormal(2), dims=component)
    theta = dt.rv("theta", dist.Beta(5, 5))
    weights = dt.stack([theta, 1 - theta], component)
    z = dt.rv("z", dist.Categorical(weights, dim=component), dims=obs)
    y = dt.rv("y", dist.Normal(mu.sel(component=z), sigma.sel(component=z)))
    fit = dt.Model(y, backend=backend).observe({y: data["y"]}).marginalize(z)
    return Generative(fit, 3 * LOG_2)


def hmm_example(data: Mapping[str, Any], backend: str) -> Generative:
    time, state = dt.Dim("time"), dt.Dim("state", coords=["first", "second"])
    following = state.rename("following")
    means = dist.Normal(dt.data([3.0, 10.0], dims=state), 1)
    prior = dist.custom(
        lambda x: means.logp(x).sum(state), dt.supports.positive_ordered, event_dims=state
    )
    mu = dt.rv("mu", prior)
    theta = dt.rv("theta", dist.Dirichlet(dt.ones(following), dim=following), dims=state)
    z = dt.rv("z", dist.MarkovChain(dt.full(state, 0.5), theta, dim=time))
    y = dt.rv("y", dist.Normal(mu.sel(state=z), 1))
    fit = dt.Model(y, backend=backend).observe({y: data["y"]}).marginalize(z)
    return Generative(fit, -LOG_2, {"theta": ["theta1", "theta2"]})


def M0(data: Mapping[str, Any], backend: str) -> Generative:
    individual = dt.Dim("individual")
    omega, p = (dt.rv(name, dist.Uniform(0, 1)) for name in ["omega", "p"])
    z = dt.rv("z", dist.Bernoulli(omega), dims=individual)
    seen = dt.rv("seen", dist.Binomial(data["T"], z * p))
    fit = dt.Model(seen, backend=backend).observe({seen: np.sum(data["y"], axis=1)})
    return Generative(fit.marginalize(z))


PROGRAMS = {"low_dim_gauss_mix": low_dim_gauss_mix, "hmm_example": hmm_example, "M0": M0}
BACKENDS = [
    "python",
    pytest.param("numba", marks=pytest.mark.compiled),
    pytest.param("jax", marks=[pytest.mark.compiled, pytest.mark.slow]),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_log_density_is_that_of_stan(name, backend):
    reference = load(name)
    program = PROGRAMS[name](reference["data"], backend)
    density = program.fit.log_density()
    stan = {v: list(program.parts.get(v, [v])) for v in program.fit.free}
    sizes = {p.name: p.size(density.functions.binding) for p in density.parameters}
    sizes = {part: sizes[name] // len(parts) for name, parts in stan.items() for part in parts}
    starts, at = {}, 0
    for parameter in reference["parameters"]:
        starts[parameter], at = at, at + sizes[parameter]
    order = np.concatenate(
        [starts[part] + np.arange(sizes[part]) for p in density.parameters for part in stan[p.name]]
    )
    for point in reference["points"]:
        value, gradient = density.logp_and_grad(np.array(point["unconstrained"])[order])
        expected = point["log_prob"]["jacobian"] + program.constant
        assert abs(value - expected) <= 1e-9 * max(1, abs(expected)), point["label"]
        slopes = np.array(point["gradient"]["jacobian"])[order]
        assert np.linalg.norm(gradient - slopes) <= 1e-9 * np.linalg.norm(slopes), point["label"]
