"""A Gaussian process seen with noise; its values are integrated out."""

import numpy as np


def pymc(data):
    import pymc as pm
    import pytensor.tensor as pt

    x = np.array(data["x"])
    apart, noise = (x[:, None] - x) ** 2, np.eye(len(x))
    with pm.Model(check_bounds=False) as model:
        rho = pm.Gamma("rho", 25, 4)
        alpha, sigma = pm.HalfNormal("alpha", 2), pm.HalfNormal("sigma", 1)
        # the noise has the variance sigma
        cov = alpha**2 * pt.exp(-0.5 * apart / rho**2) + sigma * noise
        pm.MvNormal("y", np.zeros(len(x)), cov, observed=data["y"])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    x, y = jnp.array(data["x"]), jnp.array(data["y"])
    apart, noise = (x[:, None] - x) ** 2, jnp.eye(len(x))

    def model():
        rho = sample("rho", dist.Gamma(25, 4))
        alpha, sigma = sample("alpha", dist.HalfNormal(2)), sample("sigma", dist.HalfNormal(1))
        cov = alpha**2 * jnp.exp(-0.5 * apart / rho**2) + sigma * noise
        sample("y", dist.MultivariateNormal(jnp.zeros(len(x)), cov), obs=y)

    return model
