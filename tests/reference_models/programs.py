"""Six models of posteriordb with named dims, as a modeler writes them.

Each function takes the data of its JSON file and gives a :class:`Model`. Half-distributions are
densities of the whole line on a positive parameter, as Stan has them: no log 2 is added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import dimtensor as dt
from tests.reference_models.densities import beta, cauchy, normal, poisson_log, uniform


class Model(NamedTuple):
    """A log density, and its parameters in the order of the flat vector."""

    logp: dt.DimTensor
    parameters: list[dt.DimTensor]


def eight_schools(data: Mapping[str, Any]) -> Model:
    school = dt.Dim("school", coords=list("ABCDEFGH"))
    y = dt.data(data["y"], dims=school)
    sigma = dt.data(data["sigma"], dims=school)

    theta_trans = dt.tensor("theta_trans", dims=school)
    mu, tau = dt.scalar("mu"), dt.scalar("tau")
    theta = mu + tau * theta_trans
    logp = (
        normal(theta_trans, 0.0, 1.0).sum()
        + normal(mu, 0.0, 5.0)
        + cauchy(tau, 0.0, 5.0)
        + normal(y, theta, sigma).sum()
    )
    return Model(logp, [theta_trans, mu, tau])


def radon_mn(data: Mapping[str, Any]) -> Model:
    house = dt.Dim("house")
    county = dt.Dim("county", coords=range(1, data["J"] + 1))
    predictor = dt.Dim("predictor", coords=["log_uppm", "floor"])
    county_of = dt.data(data["county_idx"], dims=house, categories=county, name="county_of")
    log_radon = dt.data(data["log_radon"], dims=house)
    log_uppm = dt.data(data["log_uppm"], dims=house)
    floor = dt.data(data["floor_measure"], dims=house)

    alpha_raw = dt.tensor("alpha_raw", dims=county)
    coefficient = dt.tensor("beta", dims=predictor)
    mu_alpha, sigma_alpha = dt.scalar("mu_alpha"), dt.scalar("sigma_alpha")
    sigma_y = dt.scalar("sigma_y")
    alpha = mu_alpha + sigma_alpha * alpha_raw
    mu = (
        alpha.sel(county=county_of)
        + coefficient.sel(predictor="log_uppm") * log_uppm
        + coefficient.sel(predictor="floor") * floor
    )
    logp = (
        normal(alpha_raw, 0.0, 1.0).sum()
        + normal(coefficient, 0.0, 10.0).sum()
        + normal(mu_alpha, 0.0, 10.0)
        + normal(sigma_alpha, 0.0, 1.0)
        + normal(sigma_y, 0.0, 1.0)
        + normal(log_radon, mu, sigma_y).sum()
    )
    return Model(logp, [alpha_raw, coefficient, mu_alpha, sigma_alpha, sigma_y])


def kidiq(data: Mapping[str, Any]) -> Model:
    child = dt.Dim("child")
    term = dt.Dim("term", coords=["intercept", "mom_hs", "mom_iq", "mom_hs:mom_iq"])
    score = dt.data(data["kid_score"], dims=child)
    mom_hs = dt.data(data["mom_hs"], dims=child)
    mom_iq = dt.data(data["mom_iq"], dims=child)
    design = dt.stack([1.0, mom_hs, mom_iq, mom_hs * mom_iq], term)

    coefficient = dt.tensor("beta", dims=term)
    sigma = dt.scalar("sigma")
    mu = dt.dot(coefficient, design, dim=term)
    logp = cauchy(sigma, 0.0, 2.5) + normal(score, mu, sigma).sum()
    return Model(logp, [coefficient, sigma])


def glmm_poisson(data: Mapping[str, Any]) -> Model:
    year = dt.Dim("year", coords=range(1, data["n"] + 1))
    count = dt.data(data["C"], dims=year)
    time = dt.data(data["year"], dims=year, name="standardized_year")

    alpha = dt.scalar("alpha")
    beta1, beta2, beta3 = (dt.scalar(f"beta{power}") for power in (1, 2, 3))
    eps = dt.tensor("eps", dims=year)
    sigma = dt.scalar("sigma")
    log_rate = alpha + beta1 * time + beta2 * time**2 + beta3 * time**3 + eps
    logp = (
        uniform(alpha, -20.0, 20.0)
        + uniform(beta1, -10.0, 10.0)
        + uniform(beta2, -10.0, 10.0)
        + uniform(beta3, -10.0, 10.0)
        + uniform(sigma, 0.0, 5.0)
        + normal(eps, 0.0, sigma).sum()
        + poisson_log(count, log_rate).sum()
    )
    return Model(logp, [alpha, beta1, beta2, beta3, eps, sigma])


def low_dim_gauss_mix(data: Mapping[str, Any]) -> Model:
    obs = dt.Dim("obs")
    component = dt.Dim("component", coords=["low", "high"])
    y = dt.data(data["y"], dims=obs)

    mu = dt.tensor("mu", dims=component)
    sigma = dt.tensor("sigma", dims=component)
    theta = dt.scalar("theta")
    log_weight = dt.stack([dt.log(theta), dt.log1p(-theta)], component)
    logp = (
        normal(mu, 0.0, 2.0).sum()
        + normal(sigma, 0.0, 2.0).sum()
        + beta(theta, 5.0, 5.0)
        + dt.logsumexp(log_weight + normal(y, mu, sigma), component).sum()
    )
    return Model(logp, [mu, sigma, theta])


def lagged_by_shift(y: dt.DimTensor, lag: dt.Dim) -> tuple[dt.DimTensor, dt.DimTensor]:
    """The series without its start, and its past along `lag`: labels of time stay in place."""
    past = dt.stack([y.shift(time=k) for k in lag], lag)
    start = slice(len(lag), None)
    return y.isel(time=start), past.isel(time=start)


def lagged_by_slices(y: dt.DimTensor, lag: dt.Dim) -> tuple[dt.DimTensor, dt.DimTensor]:
    """The same by slices, which are other dims: each is put in the place of the present."""
    present = y.isel(time=slice(len(lag), None))
    (now,) = present.dims
    past = [y.isel(time=slice(len(lag) - k, -k)).relabel("time", now) for k in lag]
    return present, dt.stack(past, lag)


def arK(data: Mapping[str, Any], lagged: Callable = lagged_by_shift) -> Model:
    time = dt.Dim("time", coords=np.arange(1, data["T"] + 1))
    lag = dt.Dim("lag", coords=range(1, data["K"] + 1))
    present, past = lagged(dt.data(data["y"], dims=time), lag)

    alpha = dt.scalar("alpha")
    coefficient = dt.tensor("beta", dims=lag)
    sigma = dt.scalar("sigma")
    mu = alpha + dt.dot(coefficient, past, dim=lag)
    logp = (
        normal(alpha, 0.0, 10.0)
        + normal(coefficient, 0.0, 10.0).sum()
        + cauchy(sigma, 0.0, 2.5)
        + normal(present, mu, sigma).sum()
    )
    return Model(logp, [alpha, coefficient, sigma])
