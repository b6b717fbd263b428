"""Answers to items that differ in difficulty and discrimination: a matrix of log odds."""


def pymc(data):
    import pymc as pm

    with pm.Model(check_bounds=False) as model:
        of_theta, of_a, of_b = (pm.HalfCauchy(f"sigma_{x}", 2) for x in ("theta", "a", "b"))
        theta = pm.Normal("theta", 0, of_theta, shape=data["J"])
        a = pm.LogNormal("a", 0, of_a, shape=data["I"])
        b = pm.Normal("b", pm.Normal("mu_b", 0, 5), of_b, shape=data["I"])
        logit = a[:, None] * (theta - b[:, None])
        pm.Bernoulli("y", logit_p=logit, observed=data["y"])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    y = jnp.array(data["y"])

    def model():
        of_theta, of_a, of_b = (
            sample(f"sigma_{x}", dist.HalfCauchy(2)) for x in ("theta", "a", "b")
        )
        theta = sample("theta", dist.Normal(0, of_theta).expand([data["J"]]))
        a = sample("a", dist.LogNormal(0, of_a).expand([data["I"]]))
        b = sample("b", dist.Normal(sample("mu_b", dist.Normal(0, 5)), of_b).expand([data["I"]]))
        sample("y", dist.Bernoulli(logits=a[:, None] * (theta - b[:, None])), obs=y)

    return model
