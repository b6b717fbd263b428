"""Mortality of infants after surgery in twelve hospitals."""


def pymc(data):
    import pymc as pm

    with pm.Model(check_bounds=False) as model:
        mu, variance = pm.Normal("mu", 0, 1000), pm.InverseGamma("sigmasq", 0.001, 0.001)
        b = pm.Normal("b", mu, pm.math.sqrt(variance), shape=data["N"])
        pm.Binomial("deaths", data["n"], logit_p=b, observed=data["r"])
    return model


def numpyro(data):
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import sample

    operations, deaths = jnp.array(data["n"]), jnp.array(data["r"])

    def model():
        mu = sample("mu", dist.Normal(0, 1000))
        variance = sample("sigmasq", dist.InverseGamma(0.001, 0.001))
        b = sample("b", dist.Normal(mu, jnp.sqrt(variance)).expand([data["N"]]))
        sample("deaths", dist.Binomial(operations, logits=b), obs=deaths)

    return model
