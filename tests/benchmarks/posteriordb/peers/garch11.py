"""Returns whose variance follows from the last return and the last variance: a scan."""

import numpy as np


def pymc(data):
    import pymc as pm
    import pytensor
    import pytensor.tensor as pt

    y = np.array(data["y"])
    with pm.Model(check_bounds=False) as model:
        mu, alpha0 = pm.Flat("mu"), pm.HalfFlat("alpha0")
        alpha1 = pm.Uniform("alpha1", 0, 1)
        beta1 = pm.Uniform("beta1", 0, 1 - alpha1)
        # flat where the two together are below 1
        pm.Potential("prior", pm.math.log1p(-alpha1))
        first = pt.constant(data["sigma1"] ** 2, dtype="float64")
        later = pytensor.scan(
            lambda new, last, beta1: new + beta1 * last,
            sequences=[alpha0 + alpha1 * (y[:-1] - mu) ** 2],
            outputs_info=[first],
            non_sequences=[beta1],
            strict=True,
            return_updates=False,
        )
        variance = pt.concatenate([first[None], later])
        pm.Normal("y", mu, pm.math.sqrt(variance), observed=y)
    return model


def numpyro(data):
    import jax
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    y, first = jnp.array(data["y"]), jnp.array(data["sigma1"] ** 2, float)

    def model():
        mu = sample("mu", dist.ImproperUniform(dist.constraints.real, (), ()))
        alpha0 = sample("alpha0", dist.ImproperUniform(dist.constraints.positive, (), ()))
        alpha1 = sample("alpha1", dist.Uniform(0, 1))
        below = dist.constraints.interval(0, 1 - alpha1)
        beta1 = sample("beta1", dist.ImproperUniform(below, (), ()))

        def step(last, new):
            variance = new + beta1 * last
            return variance, variance

        changes = alpha0 + alpha1 * (y[:-1] - mu) ** 2
        _, later = jax.lax.scan(step, first, changes, unroll=4)
        variance = jnp.concatenate([first[None], later])
        sample("y", dist.Normal(mu, jnp.sqrt(variance)), obs=y)

    return model
