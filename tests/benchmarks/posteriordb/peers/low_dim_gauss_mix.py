"""A mixture of two normal distributions, whose means are in order."""

import numpy as np


def pymc(data):
    import pymc as pm
    import pytensor.tensor as pt
    from pymc.distributions.transforms import ordered

    with pm.Model(check_bounds=False) as model:
        start = np.array([-1.0, 1.0])  # of chains: the default one is not in order
        mu = pm.Normal("mu", 0, 2, shape=2, transform=ordered, initval=start)
        sigma, theta = pm.HalfNormal("sigma", 2, shape=2), pm.Beta("theta", 5, 5)
        weights = pt.stack([theta, 1 - theta])
        pm.NormalMixture("y", weights, mu, sigma, observed=data["y"])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import factor, sample

    y = jnp.array(data["y"])

    def model():
        mu = sample("mu", dist.ImproperUniform(dist.constraints.ordered_vector, (), (2,)))
        factor("prior", dist.Normal(0, 2).log_prob(mu).sum())
        sigma = sample("sigma", dist.HalfNormal(2).expand([2]))
        theta = sample("theta", dist.Beta(5, 5))
        weights = dist.Categorical(probs=jnp.stack([theta, 1 - theta]))
        sample("y", dist.MixtureSameFamily(weights, dist.Normal(mu, sigma)), obs=y)

    return model
