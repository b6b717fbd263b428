"""A mixture of five normal distributions, written with a class for each observation.

`hand` is the density that dimtensor gets without classes.
"""

import numpy as np

SIZES = (1_000, 100_000)
CONTENDERS = ("hand", "marginal", "numpyro", "pymc-extras")
K = 5


def problem(n):
    rng = np.random.default_rng(1)
    return {
        "y": rng.normal(np.arange(K)[rng.integers(0, K, n)] * 2.0, 1.0),
        "mean": np.arange(K) * 2.0 + 0.1 * rng.normal(size=K),
        "weight": 0.3 * rng.normal(size=K),
    }


def _dimtensor(p, by_hand, backend="numba"):
    import dimtensor as dt
    from dimtensor import dist

    obs, kind = dt.Dim("obs"), dt.Dim("kind", length=K)
    y = dt.data(p["y"], dims=obs)
    mean, weight = dt.tensor("mean", dims=kind), dt.tensor("weight", dims=kind)
    if by_hand:
        total = (weight.log_softmax(kind) + dist.Normal(mean, 1.0).logp(y)).logsumexp(kind).sum()
    else:
        z = dt.tensor("z", dims=obs, categories=kind)
        prior = dist.Categorical(logits=weight, dim=kind).logp(z)
        total = dt.marginalize({"z": prior, "y": dist.Normal(mean.sel(kind=z), 1.0).logp(y)}, z)
    f = dt.function([mean, weight], [total, *dt.grad(total, [mean, weight])], backend=backend)
    return f.positional, (p["mean"], p["weight"])


def hand(p):
    return _dimtensor(p, True)


def marginal(p):
    return _dimtensor(p, False)


def numpyro(p):
    """NumPyro's enumeration."""
    import numpyro.distributions as dist
    from numpyro import plate, sample

    from cases.peers import enumerated

    y = p["y"]

    def model(mean, weight):
        with plate("obs", len(y), dim=-1):
            z = sample("z", dist.Categorical(logits=weight))
            sample("y", dist.Normal(mean[z], 1.0), obs=y)

    return enumerated(model, (p["mean"], p["weight"]))


def pymc_extras(p):
    """PyMC's variables, of which pymc-extras sums one out."""
    import pymc as pm

    from cases.peers import without

    with pm.Model() as model:
        mean, weight = pm.Flat("mean", shape=K), pm.Flat("weight", shape=K)
        z = pm.Categorical("z", logit_p=weight, shape=len(p["y"]))
        pm.Normal("y", mean[z], 1.0, observed=p["y"])
    return without(model, "z", (p["mean"], p["weight"]))
