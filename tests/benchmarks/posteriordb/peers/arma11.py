"""A series that remembers its last value and its last error: a scan of errors."""

import numpy as np


def pymc(data):
    import pymc as pm
    import pytensor
    import pytensor.tensor as pt

    y = np.array(data["y"])
    with pm.Model(check_bounds=False) as model:
        mu, phi, theta = pm.Normal("mu", 0, 10), pm.Normal("phi", 0, 2), pm.Normal("theta", 0, 2)
        sigma = pm.HalfCauchy("sigma", 2.5)
        before = pt.concatenate([mu[None], y[:-1]])
        errors = pytensor.scan(
            lambda new, last, theta: new - theta * last,
            sequences=[y - mu - phi * before],
            outputs_info=[pt.constant(0.0, dtype="float64")],
            non_sequences=[theta],
            strict=True,
            return_updates=False,
        )
        pm.Potential("y", pm.logp(pm.Normal.dist(0, sigma), errors).sum())
    return model


def numpyro(data):
    import jax
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import factor, sample

    y = jnp.array(data["y"])

    def model():
        mu, phi, theta = (
            sample(name, dist.Normal(0, width))
            for name, width in (("mu", 10), ("phi", 2), ("theta", 2))
        )
        sigma = sample("sigma", dist.HalfCauchy(2.5))

        def step(last, new):
            error = new - theta * last
            return error, error

        before = jnp.concatenate([mu[None], y[:-1]])
        _, errors = jax.lax.scan(step, jnp.zeros(()), y - mu - phi * before, unroll=4)
        factor("y", dist.Normal(0, sigma).log_prob(errors).sum())

    return model
