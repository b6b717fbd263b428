"""Dogs learn to avoid a shock: counts of what happened before are made of data, once."""

import numpy as np


def before(data):
    """How often each dog avoided a shock before a trial, and how often it did not."""
    y = np.array(data["y"], float)
    shocks = np.cumsum(y, axis=1) - y
    return np.arange(y.shape[1]) - shocks, shocks


def pymc(data):
    import pymc as pm

    avoided, shocks = before(data)
    with pm.Model(check_bounds=False) as model:
        beta = pm.Normal("beta", 0, 100, shape=3)
        logit = beta[0] + beta[1] * avoided + beta[2] * shocks
        pm.Bernoulli("y", logit_p=logit, observed=data["y"])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    avoided, shocks = map(jnp.array, before(data))
    y = jnp.array(data["y"])

    def model():
        beta = sample("beta", dist.Normal(0, 100).expand([3]))
        logit = beta[0] + beta[1] * avoided + beta[2] * shocks
        sample("y", dist.Bernoulli(logits=logit), obs=y)

    return model
