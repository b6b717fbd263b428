"""Hidden Markov models, written with a state for each position.

Two thousand steps are one chain of three states; a hundred thousand are two hundred chains of ten
states. `hand` is the forward algorithm as one writes it with dimtensor.
"""

import numpy as np

SIZES = (2_000, 100_000)
CONTENDERS = ("hand", "marginal", "numpyro", "pymc-extras")
LARGEST = {"pymc-extras": 2_000}  # it takes minutes to compile many chains


def problem(n):
    rng = np.random.default_rng(2)
    chains, k = (1, 3) if n <= 2_000 else (200, 10)
    return {
        "y": rng.normal(size=(chains, n // chains)),
        "mean": rng.normal(size=k),
        "logit": rng.normal(size=(k, k)),  # a row for each state before
    }


def _dimtensor(p, by_hand, backend="numba"):
    import dimtensor as dt
    from cases.axes import as_written
    from dimtensor import dist

    chains, n = p["y"].shape
    k = len(p["mean"])
    one, time = dt.Dim("one", length=chains), dt.Dim("time", length=n)
    state = dt.Dim("state", length=k)
    after = state.rename("after")
    y = dt.data(p["y"], dims=[one, time])
    y, dims = (y, [one, time]) if chains > 1 else (y.isel(one=0), [time])
    mean, logit = dt.tensor("mean", dims=state), dt.tensor("logit", dims=[state, after])
    move, start = logit.softmax(after), dt.full(state, 1.0 / k)
    if by_hand:
        logs, seen = dt.log(move), dist.Normal(mean, 1.0).logp(y)

        def step(weights, seen):
            return (weights + logs).logsumexp(state).rename({after: state}) + seen

        later = dt.SelDim(time, positions=slice(1, None))
        first = dt.log(start) + seen.isel(time=0)
        last = dt.reduce(step, first, seen.isel(time=slice(1, None)), dim=later)
        total = last.logsumexp(state).sum()
    else:
        z = dt.tensor("z", dims=dims, categories=state)
        prior = dist.MarkovChain(start, move, dim=time).logp(z)
        total = dt.marginalize({"z": prior, "y": dist.Normal(mean.sel(state=z), 1.0).logp(y)}, z)
    inputs = [mean, logit]
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return as_written(f, [(state,), (state, after)], (p["mean"], p["logit"]))


def hand(p):
    return _dimtensor(p, True)


def marginal(p):
    return _dimtensor(p, False)


def numpyro(p):
    """NumPyro's enumeration, with the chains beside each other in a plate within the loop."""
    import jax
    import jax.numpy as jnp
    import numpyro.distributions as dist
    from numpyro import plate, sample
    from numpyro.contrib.control_flow import scan

    from cases.peers import enumerated

    chains, k = len(p["y"]), len(p["mean"])
    columns = jnp.asarray(p["y"].T)

    def model(mean, logit):
        move = jax.nn.softmax(logit, axis=-1)

        def step(carry, y):
            before, t = carry
            with plate("one", chains, dim=-1):
                chance = jnp.where(t == 0, 1.0 / k, move[before])
                state = sample("z", dist.Categorical(chance))
                sample("y", dist.Normal(mean[state], 1.0), obs=y)
            return (state, t + 1), None

        scan(step, (jnp.zeros(chains, dtype=int), 0), columns)

    return enumerated(model, (p["mean"], p["logit"]))


def pymc_extras(p):
    """A Markov chain of pymc-extras, which it sums out."""
    import pymc as pm
    from pymc_extras.distributions import DiscreteMarkovChain

    from cases.peers import without

    k = len(p["mean"])
    with pm.Model() as model:
        mean, logit = pm.Flat("mean", shape=k), pm.Flat("logit", shape=(k, k))
        start = pm.Categorical.dist(p=np.full(k, 1.0 / k))
        shape = p["y"].shape if len(p["y"]) > 1 else p["y"].shape[1:]
        z = DiscreteMarkovChain(
            "z", P=pm.math.softmax(logit, axis=-1), init_dist=start, shape=shape
        )
        pm.Normal("y", mean[z], 1.0, observed=p["y"].reshape(shape))
    return without(model, "z", (p["mean"], p["logit"]))
