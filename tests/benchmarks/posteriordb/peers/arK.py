"""An autoregression of order K: a regression on a matrix of earlier values."""

import numpy as np


def earlier(data):
    """A row for each value after the first K, with the K values before it, the last one first."""
    y, K = np.array(data["y"]), data["K"]
    return np.stack([y[K - k : len(y) - k] for k in range(1, K + 1)], axis=1)


def pymc(data):
    import pymc as pm

    with pm.Model(check_bounds=False) as model:
        alpha, beta = pm.Normal("alpha", 0, 10), pm.Normal("beta", 0, 10, shape=data["K"])
        sigma = pm.HalfCauchy("sigma", 2.5)
        pm.Normal("y", alpha + earlier(data) @ beta, sigma, observed=data["y"][data["K"] :])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    x, y = jnp.array(earlier(data)), jnp.array(data["y"][data["K"] :])

    def model():
        alpha = sample("alpha", dist.Normal(0, 10))
        beta = sample("beta", dist.Normal(0, 10).expand([data["K"]]))
        sigma = sample("sigma", dist.HalfCauchy(2.5))
        sample("y", dist.Normal(alpha + x @ beta, sigma), obs=y)

    return model
