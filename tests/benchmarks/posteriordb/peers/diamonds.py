"""Prices of diamonds: a regression on many centered predictors."""

import numpy as np


def centered(data):
    x = np.array(data["X"])[:, 1:]
    return x - x.mean(axis=0)


def pymc(data):
    import pymc as pm

    x = centered(data)
    with pm.Model(check_bounds=False) as model:
        b = pm.Normal("b", 0, 1, shape=x.shape[1])
        intercept = pm.StudentT("Intercept", nu=3, mu=8, sigma=10)
        sigma = pm.HalfStudentT("sigma", nu=3, sigma=10)
        pm.Normal("price", intercept + x @ b, sigma, observed=data["Y"])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    x, price = jnp.array(centered(data)), jnp.array(data["Y"])

    def model():
        b = sample("b", dist.Normal(0, 1).expand([x.shape[1]]))
        intercept = sample("Intercept", dist.StudentT(3, 8, 10))
        sigma = sample("sigma", dist.TruncatedDistribution(dist.StudentT(3, 0, 10), low=0.0))
        sample("price", dist.Normal(intercept + x @ b, sigma), obs=price)

    return model
