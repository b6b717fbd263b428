"""Capture and recapture: chances that differ between occasions, whether present summed out."""

import numpy as np


def pymc(data):
    import pymc as pm
    import pytensor.tensor as pt

    y = np.array(data["y"], float)
    seen = y.any(axis=1)
    with pm.Model(check_bounds=False) as model:
        omega, p = pm.Uniform("omega", 0, 1), pm.Uniform("p", 0, 1, shape=data["T"])
        present = pt.log(omega) + y @ pt.log(p) + (1 - y) @ pt.log1p(-p)
        either = pt.switch(seen, present, pt.logaddexp(present, pt.log1p(-omega)))
        pm.Potential("y", either.sum())
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import factor, sample

    y = jnp.array(data["y"], float)
    seen = y.any(axis=1)

    def model():
        omega = sample("omega", dist.Uniform(0, 1))
        p = sample("p", dist.Uniform(0, 1).expand([data["T"]]))
        present = jnp.log(omega) + y @ jnp.log(p) + (1 - y) @ jnp.log1p(-p)
        either = jnp.where(seen, present, jnp.logaddexp(present, jnp.log1p(-omega)))
        factor("y", either.sum())

    return model
