"""Counts of falcons by year: a cubic trend and an effect of each year."""

import numpy as np


def pymc(data):
    import pymc as pm

    year = np.array(data["year"])
    with pm.Model(check_bounds=False) as model:
        alpha = pm.Uniform("alpha", -20, 20)
        beta1, beta2, beta3 = (
            pm.Uniform(f"beta{k}", -10, upper) for k, upper in enumerate((10, 20, 10), 1)
        )
        # beta2 may be up to 20, where its density is 0
        pm.Potential("prior", pm.math.switch(beta2 < 10, 0.0, -np.inf))
        sigma = pm.Uniform("sigma", 0, 5)
        eps = pm.Normal("eps", 0, sigma, shape=data["n"])
        log_rate = alpha + beta1 * year + beta2 * year**2 + beta3 * year**3 + eps
        pm.Poisson("count", pm.math.exp(log_rate), observed=data["C"])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import factor, sample

    year, count = jnp.array(data["year"]), jnp.array(data["C"])

    def model():
        alpha = sample("alpha", dist.Uniform(-20, 20))
        beta1, beta2, beta3 = (
            sample(f"beta{k}", dist.Uniform(-10, upper)) for k, upper in enumerate((10, 20, 10), 1)
        )
        factor("prior", jnp.where(beta2 < 10, 0.0, -jnp.inf))
        sigma = sample("sigma", dist.Uniform(0, 5))
        eps = sample("eps", dist.Normal(0, sigma).expand([data["n"]]))
        log_rate = alpha + beta1 * year + beta2 * year**2 + beta3 * year**3 + eps
        sample("count", dist.Poisson(jnp.exp(log_rate)), obs=count)

    return model
