"""A Gaussian process over time as a state-space model: log marginal likelihood, its gradient.

The kernel is a sum of two exponentials, which celerite2 has exactly, too. The gradient is by both
variances and length scales and the standard deviation of the noise.
"""

import numpy as np

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CONTENDERS = ("celerite2", "dimtensor-numba", "dimtensor-jax")
NAMES = ("variance", "scale", "other_variance", "other_scale", "noise")


def problem(n):
    rng = np.random.default_rng(6)
    time = np.sort(rng.uniform(0.0, n / 10, n))
    return {
        "time": time,
        "y": np.sin(time) + 0.3 * rng.normal(size=n),
        "variance": np.asarray(1.2),
        "scale": np.asarray(0.9),
        "other_variance": np.asarray(0.5),
        "other_scale": np.asarray(20.0),
        "noise": np.asarray(0.4),
    }


def celerite2(p):
    import celerite2.jax
    import jax
    import jax.numpy as jnp

    time, y = jnp.asarray(p["time"]), jnp.asarray(p["y"])

    def logp(variance, scale, other_variance, other_scale, noise, time, y):
        term = celerite2.jax.terms.RealTerm
        kernel = term(a=variance, c=1 / scale) + term(a=other_variance, c=1 / other_scale)
        process = celerite2.jax.GaussianProcess(kernel, mean=0.0)
        process.compute(time, yerr=noise, check_sorted=False)
        return process.log_likelihood(y)

    f = jax.jit(jax.value_and_grad(logp, (0, 1, 2, 3, 4)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, time, y))
        return value, *gradients

    return call, tuple(jnp.asarray(p[name]) for name in NAMES)


def _dimtensor(p, backend):
    import dimtensor as dt
    from dimtensor import dist

    time = dt.Dim("time")
    inputs = [dt.scalar(name) for name in NAMES]
    variance, scale, other_variance, other_scale, noise = inputs
    kernel = variance * dt.gp.Matern12(scale) + other_variance * dt.gp.Matern12(other_scale)
    process = dist.GP(
        kernel,
        time,
        at=dt.data(p["time"], dims=time),
        noise=noise,
        approximation=dt.gp.StateSpace(),
    )
    total = process.logp(dt.data(p["y"], dims=time, name="y"))
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return f.positional, tuple(p[name] for name in NAMES)


def dimtensor_numba(p):
    return _dimtensor(p, "native")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")
