"""Effects of coaching in eight schools, centered on zero."""


def pymc(data):
    import pymc as pm

    with pm.Model(check_bounds=False) as model:
        theta = pm.Normal("theta_trans", 0, 1, shape=data["J"])
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        pm.Normal("y", mu + tau * theta, data["sigma"], observed=data["y"])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    error, y = jnp.array(data["sigma"], float), jnp.array(data["y"], float)

    def model():
        theta = sample("theta_trans", dist.Normal(0, 1).expand([data["J"]]))
        mu, tau = sample("mu", dist.Normal(0, 5)), sample("tau", dist.HalfCauchy(5))
        sample("y", dist.Normal(mu + tau * theta, error), obs=y)

    return model
