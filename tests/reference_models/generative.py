"""Models of posteriordb as random variables with their distributions.

Stan's programs have densities of the whole line on positive parameters, which is half of a
half-distribution's, and leave out the constant K! of numbers in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import dimtensor as dt
from dimtensor import dist

LOG_2 = float(np.log(2))


class Generative(NamedTuple):
    """A model given its data.

    ``constant`` is what its log density is above Stan's; ``parts`` names the parameters of Stan
    that one variable is made of, along the last of its dims.
    """

    fit: dt.Model
    constant: float = 0.0
    parts: Mapping[str, Sequence[str]] = {}


def eight_schools(data: Mapping[str, Any], backend: str) -> Generative:
    school = dt.Dim("school", coords=list("ABCDEFGH"))
    error = dt.data(data["sigma"], dims=school, name="error")
    theta_trans = dt.rv("theta_trans", dist.Normal(0, 1), dims=school)
    mu = dt.rv("mu", dist.Normal(0, 5))
    tau = dt.rv("tau", dist.HalfCauchy(5))
    y = dt.rv("y", dist.Normal(mu + tau * theta_trans, error))
    return Generative(dt.Model(y, backend=backend).observe({y: data["y"]}), LOG_2)


def radon_mn(data: Mapping[str, Any], backend: str) -> Generative:
    house = dt.Dim("house")
    county = dt.Dim("county", coords=range(1, data["J"] + 1))
    predictor = dt.Dim("predictor", coords=["log_uppm", "floor"])
    county_of = dt.tensor("county_of", dims=house, categories=county)
    log_uppm = dt.tensor("uranium", dims=house)
    floor = dt.tensor("floor", dims=house)

    mu = dt.rv("mu_alpha", dist.Normal(0, 10))
    spread = dt.rv("sigma_alpha", dist.HalfNormal(1))
    raw = dt.rv("alpha_raw", dist.Normal(0, 1), dims=county)
    beta = dt.rv("beta", dist.Normal(0, 10), dims=predictor)
    sigma = dt.rv("sigma_y", dist.HalfNormal(1))
    alpha = dt.named("alpha", mu + spread * raw)
    slopes = beta.sel(predictor="log_uppm") * log_uppm + beta.sel(predictor="floor") * floor
    y = dt.rv("log_radon", dist.Normal(alpha.sel(county=county_of) + slopes, sigma))
    known = {
        county_of: data["county_idx"], log_uppm: data["log_uppm"], floor: data["floor_measure"]
    }  # fmt: skip
    model = dt.Model(y, data=known, backend=backend)
    return Generative(model.observe({y: data["log_radon"]}), 2 * LOG_2)


def kidiq(data: Mapping[str, Any], backend: str) -> Generative:
    child = dt.Dim("child")
    term = dt.Dim("term", coords=["intercept", "mom_hs", "mom_iq", "mom_hs:mom_iq"])
    mom_hs = dt.data(data["mom_hs"], dims=child, name="mom_hs")
    mom_iq = dt.data(data["mom_iq"], dims=child, name="mom_iq")
    beta = dt.rv("beta", dist.Flat(), dims=term)
    sigma = dt.rv("sigma", dist.HalfCauchy(2.5))
    design = dt.stack([1.0, mom_hs, mom_iq, mom_hs * mom_iq], term)
    score = dt.rv("score", dist.Normal(dt.dot(beta, design, dims=term), sigma))
    return Generative(dt.Model(score, backend=backend).observe({score: data["kid_score"]}), LOG_2)


def glmm_poisson(data: Mapping[str, Any], backend: str) -> Generative:
    year = dt.Dim("year", coords=range(1, data["n"] + 1))
    time = dt.data(data["year"], dims=year, name="standardised_year")
    alpha = dt.rv("alpha", dist.Uniform(-20, 20))
    # beta2 may be up to 20, where its density is 0
    wide = dist.custom(lambda x: dist.Uniform(-10, 10).logp(x), dt.bounded(-10, 20))
    priors = [dist.Uniform(-10, 10), wide, dist.Uniform(-10, 10)]
    betas = [dt.rv(f"beta{k}", d) for k, d in enumerate(priors, 1)]
    sigma = dt.rv("sigma", dist.Uniform(0, 5))
    eps = dt.rv("eps", dist.Normal(0, sigma), dims=year)
    log_rate = alpha + sum(b * time**k for k, b in enumerate(betas, 1)) + eps
    count = dt.rv("count", dist.Poisson(dt.exp(log_rate)))
    return Generative(dt.Model(count, backend=backend).observe({count: data["C"]}))


def low_dim_gauss_mix(data: Mapping[str, Any], backend: str) -> Generative:
    obs, component = dt.Dim("obs"), dt.Dim("component", coords=["low", "high"])
    mu = dt.rv("mu", dist.ordered(dist.Normal(0, 2), over=component))
    sigma = dt.rv("sigma", dist.HalfNormal(2), dims=component)
    theta = dt.rv("theta", dist.Beta(5, 5))
    weights = dt.stack([theta, 1 - theta], component)
    y = dt.rv("y", dist.mixture(weights, dist.Normal(mu, sigma), over=component), dims=obs)
    return Generative(dt.Model(y, backend=backend).observe({y: data["y"]}), 3 * LOG_2)


def arK(data: Mapping[str, Any], backend: str) -> Generative:
    time, lag = dt.Dim("time"), dt.Dim("lag", coords=range(1, data["K"] + 1))
    alpha = dt.rv("alpha", dist.Normal(0, 10))
    beta = dt.rv("beta", dist.Normal(0, 10), dims=lag)
    sigma = dt.rv("sigma", dist.HalfCauchy(2.5))
    y = dt.rv("y", dist.AR(beta, sigma, over=time, start=dist.Flat(), constant=alpha))
    return Generative(dt.Model(y, backend=backend).observe({y: data["y"]}), LOG_2)


def hmm_example(data: Mapping[str, Any], backend: str) -> Generative:
    """The distribution of each observation given those before it is a mixture over the state."""
    time, state = dt.Dim("time"), dt.Dim("state", coords=["first", "second"])
    following = state.rename("following")
    means = dist.Normal(dt.data([3.0, 10.0], dims=state), 1)
    prior = dist.custom(lambda x: means.logp(x).sum(state), dt.positive_ordered, event_dims=state)
    mu = dt.rv("mu", prior)
    theta = dt.rv("theta", dist.Dirichlet(dt.ones(following), over=following), dims=state)

    def step(belief, mu, theta):
        def after(y):
            seen = (dt.log(belief) + dist.Normal(mu, 1).logp(y)).softmax(state)
            return (seen * theta).sum(state).relabel(following, state)

        return dist.mixture(belief, dist.Normal(mu, 1), over=state), after

    y = dt.rv("y", dist.Series(step, dt.full(state, 0.5), over=time, mu=mu, theta=theta))
    fit = dt.Model(y, backend=backend).observe({y: data["y"]})
    return Generative(fit, -LOG_2, {"theta": ["theta1", "theta2"]})


def dogs(data: Mapping[str, Any], backend: str) -> Generative:
    dog, trial = dt.Dim("dog"), dt.Dim("trial")
    a, b = (dt.rv(name, dist.Uniform(0, 1)) for name in "ab")

    def step(before, a, b):
        shocks, avoided = before
        return dist.Bernoulli(a**shocks * b**avoided), lambda y: (shocks + y, avoided + 1 - y)

    y = dt.rv("y", dist.Series(step, (0.0, 0.0), over=trial, a=a, b=b), dims=dog)
    return Generative(dt.Model(y, backend=backend).observe({y: (("dog", "trial"), data["y"])}))


def M0(data: Mapping[str, Any], backend: str) -> Generative:
    individual = dt.Dim("individual")
    omega, p = (dt.rv(name, dist.Uniform(0, 1)) for name in ["omega", "p"])
    seen = dt.rv("seen", dist.zero_inflated(dist.Binomial(data["T"], p), omega), dims=individual)
    fit = dt.Model(seen, backend=backend).observe({seen: np.sum(data["y"], axis=1)})
    return Generative(fit)


PROGRAMS = {
    "eight_schools": eight_schools,
    "radon_mn": radon_mn,
    "kidiq": kidiq,
    "GLMM_Poisson": glmm_poisson,
    "low_dim_gauss_mix": low_dim_gauss_mix,
    "arK": arK,
    "hmm_example": hmm_example,
    "dogs": dogs,
    "M0": M0,
}
