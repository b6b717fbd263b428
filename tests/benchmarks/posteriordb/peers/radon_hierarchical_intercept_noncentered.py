"""Radon in houses: a level for each county, and slopes by uranium and floor."""

import numpy as np


def pymc(data):
    import pymc as pm

    county = np.array(data["county_idx"]) - 1
    uranium, floor = np.array(data["log_uppm"]), np.array(data["floor_measure"], float)
    with pm.Model(check_bounds=False) as model:
        raw = pm.Normal("alpha_raw", 0, 1, shape=data["J"])
        mu, spread = pm.Normal("mu_alpha", 0, 10), pm.HalfNormal("sigma_alpha", 1)
        beta, sigma = pm.Normal("beta", 0, 10, shape=2), pm.HalfNormal("sigma_y", 1)
        mean = (mu + spread * raw)[county] + beta[0] * uranium + beta[1] * floor
        pm.Normal("y", mean, sigma, observed=data["log_radon"])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    county = jnp.array(data["county_idx"]) - 1
    uranium, floor = jnp.array(data["log_uppm"]), jnp.array(data["floor_measure"], float)
    radon = jnp.array(data["log_radon"])

    def model():
        raw = sample("alpha_raw", dist.Normal(0, 1).expand([data["J"]]))
        mu = sample("mu_alpha", dist.Normal(0, 10))
        spread = sample("sigma_alpha", dist.HalfNormal(1))
        beta = sample("beta", dist.Normal(0, 10).expand([2]))
        sigma = sample("sigma_y", dist.HalfNormal(1))
        mean = (mu + spread * raw)[county] + beta[0] * uranium + beta[1] * floor
        sample("y", dist.Normal(mean, sigma), obs=radon)

    return model
