"""Normal log likelihood of a vector: value, and gradient by mean and standard deviation."""

import numpy as np

SIZES = (10, 1_000, 1_000_000)


def problem(n):
    rng = np.random.default_rng(1)
    return {"y": rng.normal(1.0, 2.0, n), "mu": np.asarray(0.7), "sigma": np.asarray(1.5)}


def hand(p):
    import math

    import numba

    y = p["y"]
    c = 0.5 * math.log(2 * math.pi)

    @numba.njit(fastmath={"reassoc", "contract", "nsz"})
    def f(mu, sigma, y):
        n = y.shape[0]
        s, q = 0.0, 0.0
        m = mu[()]
        for i in range(n):
            d = y[i] - m
            s += d
            q += d * d
        sd = sigma[()]
        value = -0.5 * q / (sd * sd) - n * (math.log(sd) + c)
        return value, s / (sd * sd), q / (sd * sd * sd) - n / sd

    return (lambda mu, sigma: f(mu, sigma, y)), (p["mu"], p["sigma"])


def _dimtensor(p, backend):
    import dimtensor as dt

    obs = dt.Dim("obs")
    y = dt.data(p["y"], dims=obs, name="y")
    mu, sigma = dt.scalar("mu"), dt.scalar("sigma")
    logp = -0.5 * ((y - mu) / sigma) ** 2 - dt.log(sigma) - 0.5 * np.log(2 * np.pi)
    total = logp.sum()
    f = dt.function([mu, sigma], [total, *dt.grad(total, [mu, sigma])], backend=backend)
    return f.positional, (p["mu"], p["sigma"])


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    import jax
    import jax.numpy as jnp

    y = jnp.asarray(p["y"])

    # the logarithm inside of the sum would be computed for each element: thirty times slower
    def logp(mu, sigma, y):
        z = (y - mu) / sigma
        return -0.5 * jnp.sum(z * z) - y.size * (jnp.log(sigma) + 0.5 * np.log(2 * np.pi))

    f = jax.jit(jax.value_and_grad(logp, (0, 1)))

    def call(mu, sigma):
        value, gradients = jax.block_until_ready(f(mu, sigma, y))
        return value, *gradients

    return call, (jnp.asarray(p["mu"]), jnp.asarray(p["sigma"]))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    y = pytensor.shared(p["y"])
    mu, sigma = pt.dscalars("mu", "sigma")
    z = (y - mu) / sigma
    total = (-0.5 * z**2 - pt.log(sigma) - 0.5 * np.log(2 * np.pi)).sum()
    gradients = pytensor.grad(total, [mu, sigma])
    f = pytensor.function([mu, sigma], [total, *gradients], mode="NUMBA", trust_input=True)
    return f, (p["mu"], p["sigma"])
