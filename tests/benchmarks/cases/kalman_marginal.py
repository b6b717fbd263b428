"""A level that walks, and is seen with noise: written with the level as a variable.

`hand` is the Kalman filter of one number as one writes it with dimtensor, `jax` the same loop in
JAX, and `pymc-extras` its filter of state space models.
"""

import numpy as np

SIZES = (200, 10_000)
CONTENDERS = ("hand", "marginal", "jax", "pymc-extras")
LARGEST = {"pymc-extras": 200}  # it compiles for minutes
LOG_2PI = np.log(2 * np.pi)


def problem(n):
    rng = np.random.default_rng(4)
    level = np.cumsum(0.3 * rng.normal(size=n))
    return {
        "y": level + 0.8 * rng.normal(size=n),
        "drift": np.asarray(0.35),
        "noise": np.asarray(0.7),
    }


def _dimtensor(p, by_hand, backend="numba"):
    import dimtensor as dt
    from dimtensor import dist

    time = dt.Dim("time")
    y = dt.data(p["y"], dims=time)
    inputs = drift, noise = dt.scalar("drift"), dt.scalar("noise")
    if by_hand:

        def step(state, y):
            mean, variance = state
            error, spread = y - mean, variance + noise**2
            gain = variance / spread
            term = -0.5 * (dt.log(spread) + error**2 / spread + LOG_2PI)
            return (mean + gain * error, variance * (1.0 - gain) + drift**2), term

        _, terms = dt.scan(step, (0.0, 4.0), y, dim=time)
        total = terms.sum()
    else:
        level = dt.tensor("level", dims=time)
        walk = dist.GaussianRandomWalk(0.0, drift, dim=time, start=dist.Normal(0.0, 2.0))
        total = dt.marginalize(
            {"level": walk.logp(level), "y": dist.Normal(level, noise).logp(y)}, level
        )
    f = dt.function(list(inputs), [total, *dt.grad(total, list(inputs))], backend=backend)
    return f.positional, (p["drift"], p["noise"])


def hand(p):
    return _dimtensor(p, True)


def marginal(p):
    return _dimtensor(p, False)


def jax(p):
    """NumPyro integrates no chain of normal variables out: this is what one writes for it."""
    import jax
    import jax.numpy as jnp

    y = jnp.asarray(p["y"])

    def logp(drift, noise):
        def step(state, y):
            mean, variance = state
            error, spread = y - mean, variance + noise**2
            gain = variance / spread
            term = -0.5 * (jnp.log(spread) + error**2 / spread + LOG_2PI)
            return (mean + gain * error, variance * (1.0 - gain) + drift**2), term

        return jax.lax.scan(step, (0.0, 4.0), y)[1].sum()

    f = jax.jit(jax.value_and_grad(logp, (0, 1)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments))
        return value, *gradients

    return call, tuple(map(jnp.asarray, (p["drift"], p["noise"])))


def pymc_extras(p):
    """The filter of its state space models, with matrices of one element."""
    import pytensor
    import pytensor.tensor as pt
    from pymc_extras.statespace.filters.kalman_filter import StandardFilter

    drift, noise = pt.dscalar("drift"), pt.dscalar("noise")
    given = {
        "a0": np.zeros(1), "P0": 4.0 * np.eye(1), "c": np.zeros(1), "d": np.zeros(1),
        "T": np.eye(1), "Z": np.eye(1), "R": np.eye(1),
        "H": noise**2 * np.eye(1), "Q": drift**2 * np.eye(1),
    }  # fmt: skip
    given = {name: pt.as_tensor(x) for name, x in given.items()}
    data = pt.as_tensor(p["y"][:, None])
    total = StandardFilter(cov_jitter=0.0).build_graph(data, **given)[-1].sum()
    outputs = [total, *pytensor.grad(total, [drift, noise])]
    f = pytensor.function([drift, noise], outputs, mode="NUMBA")
    f.trust_input = True
    return f, (p["drift"], p["noise"])
