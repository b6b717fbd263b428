"""Random draws and what uses them: a sum of products of normal, gamma and Poisson numbers.

All contenders draw NumPy's numbers; JAX, which draws others, is not among them.
"""

import numpy as np

CONTENDERS = ("hand", "dimtensor-numba", "numpy")
SIZES = (100, 10_000, 1_000_000)


def problem(n):
    return {"n": n, "seed": np.asarray(1), "mu": np.asarray(0.7), "shape": np.asarray(2.5)}


def hand(p):
    import numba

    n = p["n"]

    @numba.njit
    def f(rng, mu, shape):
        z, g, k = np.empty(n), np.empty(n), np.empty(n)
        for i in range(n):
            z[i] = rng.normal(mu, 2.0)
        for i in range(n):
            g[i] = rng.gamma(shape, 1.0)
        for i in range(n):
            k[i] = rng.poisson(3.0)
        total = 0.0
        for i in range(n):
            total += z[i] * g[i] * k[i]
        return total

    def call(seed, mu, shape):
        return (f(np.random.default_rng(int(seed)), float(mu), float(shape)),)

    return call, (p["seed"], p["mu"], p["shape"])


def dimtensor_numba(p):
    import dimtensor as dt

    obs = dt.Dim("obs", length=p["n"])
    seed, mu, shape = dt.scalar("seed", dtype="int64"), dt.scalar("mu"), dt.scalar("shape")
    rng = dt.random.generator(seed)
    z, rng = rng.normal(mu, 2.0, dims=obs)
    g, rng = rng.gamma(shape, 1.0, dims=obs)
    k, rng = rng.poisson(3.0, dims=obs)
    f = dt.function([seed, mu, shape], (z * g * k).sum())
    return (lambda *given: (f.positional(*given),)), (p["seed"], p["mu"], p["shape"])


def numpy(p):
    def call(seed, mu, shape):
        rng = np.random.default_rng(int(seed))
        z = rng.normal(mu, 2.0, p["n"])
        g = rng.gamma(shape, 1.0, p["n"])
        return (np.sum(z * g * rng.poisson(3.0, p["n"])),)

    return call, (p["seed"], p["mu"], p["shape"])
