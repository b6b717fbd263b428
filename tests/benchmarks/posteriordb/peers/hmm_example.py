"""A hidden Markov model of two states, summed out by a scan of logarithms."""

import numpy as np


def parameters(mu, theta):
    """The lower mean, how far the other is above it, and the chances of going to the first state.

    With two states these are what means in order and rows that add up to 1 are made of.
    """
    return {"low": mu[0], "gap": mu[1] - mu[0], "to_first": theta[:, 0]}


def pymc(data):
    import pymc as pm
    import pytensor
    import pytensor.tensor as pt

    y = np.array(data["y"])
    with pm.Model(check_bounds=False) as model:
        low, gap = pm.HalfFlat("low"), pm.HalfFlat("gap")
        to_first = pm.Uniform("to_first", 0, 1, shape=2)
        means = (low, low + gap)
        for name, mean, center in zip(("low_prior", "high_prior"), means, (3, 10), strict=True):
            pm.Potential(name, pm.logp(pm.Normal.dist(center, 1), mean))
        log_first, log_second = pt.log(to_first), pt.log1p(-to_first)
        # a number for each state: vectors of two take PyTensor's scans longer
        seen = [pm.logp(pm.Normal.dist(mean, 1), y) for mean in means]

        def step(seen_first, seen_second, first, second, *logs):
            of_first, second_first, first_second, of_second = logs
            return (
                seen_first + pt.logaddexp(first + of_first, second + second_first),
                seen_second + pt.logaddexp(first + first_second, second + of_second),
            )

        later = pytensor.scan(
            step,
            sequences=[x[1:] for x in seen],
            outputs_info=[x[0] for x in seen],
            non_sequences=[log_first[0], log_first[1], log_second[0], log_second[1]],
            strict=True,
            return_updates=False,
        )
        pm.Potential("y", pt.logaddexp(later[0][-1], later[1][-1]))
    return model


def numpyro(data):
    import jax
    import jax.numpy as jnp
    from numpyro import distributions as dist
    from numpyro import factor, sample

    y = jnp.array(data["y"])[:, None]

    def model():
        low = sample("low", dist.ImproperUniform(dist.constraints.positive, (), ()))
        gap = sample("gap", dist.ImproperUniform(dist.constraints.positive, (), ()))
        to_first = sample("to_first", dist.Uniform(0, 1).expand([2]))
        mu = jnp.stack([low, low + gap])
        factor("prior", dist.Normal(jnp.array([3.0, 10.0]), 1).log_prob(mu).sum())
        log_theta = jnp.stack([jnp.log(to_first), jnp.log1p(-to_first)], axis=1)
        seen = dist.Normal(mu, 1).log_prob(y)

        def step(last, seen):
            return seen + jax.nn.logsumexp(last[:, None] + log_theta, axis=0), None

        last, _ = jax.lax.scan(step, seen[0], seen[1:])
        factor("y", jax.nn.logsumexp(last))

    return model
