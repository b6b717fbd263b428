"""Test scores of children by their mothers' schooling and IQ: a matrix of four columns."""

import numpy as np


def columns(data):
    mom_hs, mom_iq = np.array(data["mom_hs"], float), np.array(data["mom_iq"], float)
    return np.stack([np.ones_like(mom_hs), mom_hs, mom_iq, mom_hs * mom_iq], axis=1)


def pymc(data):
    import pymc as pm

    with pm.Model(check_bounds=False) as model:
        beta, sigma = pm.Flat("beta", shape=4), pm.HalfCauchy("sigma", 2.5)
        pm.Normal("score", columns(data) @ beta, sigma, observed=data["kid_score"])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    x, score = jnp.array(columns(data)), jnp.array(data["kid_score"], float)

    def model():
        beta = sample("beta", dist.ImproperUniform(dist.constraints.real, (), (4,)))
        sigma = sample("sigma", dist.HalfCauchy(2.5))
        sample("score", dist.Normal(x @ beta, sigma), obs=score)

    return model
