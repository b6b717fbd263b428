"""Three effects on a full table, summed: y[i, j, k] ~ N(a[i] + b[j] + c[k], sigma).

The layouts are mixed: the table is stored as [k, i, j] while its author writes a + b + c.
"""

import numpy as np

SIZES = (100,)


def problem(n):
    rng = np.random.default_rng(2)
    table = rng.normal(size=(n, n, n))
    return {
        "y": table,  # axes k, i, j
        "a": rng.normal(size=n),
        "b": rng.normal(size=n),
        "c": rng.normal(size=n),
        "sigma": np.asarray(1.3),
    }


def _arguments(p):
    return tuple(p[key] for key in ("a", "b", "c", "sigma"))


def hand(p):
    import math

    import numba

    y = p["y"]
    nk, ni, nj = y.shape  # constants of the code
    constant = 0.5 * math.log(2 * math.pi)

    @numba.njit(fastmath={"reassoc", "contract", "nsz"})
    def f(a, b, c, sigma, y):
        ga, gb, gc = np.zeros(ni), np.zeros(nj), np.zeros(nk)
        sd = sigma[()]
        w = 1.0 / (sd * sd)
        total = 0.0
        for k in range(nk):
            row_k = 0.0
            for i in range(ni):
                base = a[i] + c[k]
                s, q = 0.0, 0.0
                for j in range(nj):
                    d = y[k, i, j] - (base + b[j])
                    s += d
                    q += d * d
                    gb[j] += d
                ga[i] += s
                row_k += s
                total += q
            gc[k] = row_k
        n = nk * ni * nj
        value = -0.5 * total * w - n * (math.log(sd) + constant)
        return value, ga * w, gb * w, gc * w, total * w / sd - n / sd

    return (lambda *args: f(*args, y)), _arguments(p)


def _dimtensor(p, backend, **options):
    import dimtensor as dt

    n = len(p["a"])
    i, j, k = dt.Dim("i", length=n), dt.Dim("j", length=n), dt.Dim("k", length=n)
    y = dt.data(p["y"], dims=[k, i, j], name="y")
    a, b, c = dt.tensor("a", dims=i), dt.tensor("b", dims=j), dt.tensor("c", dims=k)
    sigma = dt.scalar("sigma")
    z = (y - (a + b + c)) / sigma
    total = (-0.5 * z**2 - dt.log(sigma) - 0.5 * np.log(2 * np.pi)).sum()
    inputs = [a, b, c, sigma]
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend, **options)
    return f.positional, _arguments(p)


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    import jax
    import jax.numpy as jnp

    y = jnp.asarray(p["y"])

    # the logarithm inside of the sum would be computed for each element
    def logp(a, b, c, sigma, y):
        mu = a[None, :, None] + b[None, None, :] + c[:, None, None]
        z = (y - mu) / sigma
        return -0.5 * jnp.sum(z * z) - y.size * (jnp.log(sigma) + 0.5 * np.log(2 * np.pi))

    f = jax.jit(jax.value_and_grad(logp, (0, 1, 2, 3)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, y))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    n = len(p["a"])
    y = pytensor.shared(p["y"], shape=(n, n, n))
    a, b, c = (pt.tensor(name, dtype="float64", shape=(n,)) for name in "abc")
    sigma = pt.dscalar("sigma")
    z = (y - (a[None, :, None] + b[None, None, :] + c[:, None, None])) / sigma
    total = (-0.5 * z**2 - pt.log(sigma) - 0.5 * np.log(2 * np.pi)).sum()
    inputs = [a, b, c, sigma]
    gradients = pytensor.grad(total, inputs)
    f = pytensor.function(inputs, [total, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
