"""Households that switch to another well: a logistic regression on one column."""

import numpy as np


def pymc(data):
    import pymc as pm

    distance = np.array(data["dist"]) / 100
    with pm.Model(check_bounds=False) as model:
        alpha, beta = pm.Flat("alpha"), pm.Flat("beta", shape=1)
        pm.Bernoulli("y", logit_p=alpha + beta[0] * distance, observed=data["switched"])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    distance, switched = jnp.array(data["dist"]) / 100, jnp.array(data["switched"])

    def model():
        alpha = sample("alpha", dist.ImproperUniform(dist.constraints.real, (), ()))
        beta = sample("beta", dist.ImproperUniform(dist.constraints.real, (), (1,)))
        sample("y", dist.Bernoulli(logits=alpha + beta[0] * distance), obs=switched)

    return model
