"""Models of posteriordb as random variables with their distributions.

Stan's programs have densities of the whole line on positive parameters, which is half of a
half-distribution's: ``halves`` says how many elements of a model are so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import dimtensor as dt
from dimtensor import dist


class Generative(NamedTuple):
    """A model given its data, and how many half-distributions it has."""

    fit: dt.Model
    halves: int = 0


def eight_schools(data: Mapping[str, Any], backend: str) -> Generative:
    school = dt.Dim("school", coords=list("ABCDEFGH"))
    error = dt.data(data["sigma"], dims=school, name="error")
    theta_trans = dt.rv("theta_trans", dist.Normal(0, 1), dims=school)
    mu = dt.rv("mu", dist.Normal(0, 5))
    tau = dt.rv("tau", dist.HalfCauchy(5))
    y = dt.rv("y", dist.Normal(mu + tau * theta_trans, error))
    return Generative(dt.Model(y, backend=backend).observe({y: data["y"]}), 1)


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
    return Generative(model.observe({y: data["log_radon"]}), 2)


def kidiq(data: Mapping[str, Any], backend: str) -> Generative:
    child = dt.Dim("child")
    term = dt.Dim("term", coords=["intercept", "mom_hs", "mom_iq", "mom_hs:mom_iq"])
    mom_hs = dt.data(data["mom_hs"], dims=child, name="mom_hs")
    mom_iq = dt.data(data["mom_iq"], dims=child, name="mom_iq")
    beta = dt.rv("beta", dist.Flat(), dims=term)
    sigma = dt.rv("sigma", dist.HalfCauchy(2.5))
    design = dt.stack([1.0, mom_hs, mom_iq, mom_hs * mom_iq], term)
    score = dt.rv("score", dist.Normal(dt.dot(beta, design, dims=term), sigma))
    return Generative(dt.Model(score, backend=backend).observe({score: data["kid_score"]}), 1)


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


PROGRAMS = {
    "eight_schools": eight_schools,
    "radon_mn": radon_mn,
    "kidiq": kidiq,
    "GLMM_Poisson": glmm_poisson,
}
