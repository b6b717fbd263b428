"""Capture and recapture: individuals that may not exist, all equally likely to be seen."""

import numpy as np


def pymc(data):
    import pymc as pm

    seen = np.sum(data["y"], axis=1)
    with pm.Model(check_bounds=False) as model:
        omega, p = pm.Uniform("omega", 0, 1), pm.Uniform("p", 0, 1)
        pm.ZeroInflatedBinomial("seen", psi=omega, n=data["T"], p=p, observed=seen)
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    seen = jnp.sum(jnp.array(data["y"]), axis=1)

    def model():
        omega, p = sample("omega", dist.Uniform(0, 1)), sample("p", dist.Uniform(0, 1))
        present = dist.Binomial(data["T"], probs=p)
        sample("seen", dist.ZeroInflatedDistribution(present, gate=1 - omega), obs=seen)

    return model
