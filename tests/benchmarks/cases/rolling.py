"""Moving windows over 100,000 positions: sum of squares of their means and of their maxima.

The size is the number of positions of a window.
"""

import numpy as np

SIZES = (7, 30)
LENGTH = 100_000


def problem(n):
    return {"x": np.random.default_rng(4).normal(size=LENGTH), "window": n}


def hand(p):
    """Windows are walked block by block: the loop over positions is in vectors."""
    import numba

    w, block = p["window"], 512

    @numba.njit(fastmath={"reassoc", "contract", "nsz"})
    def f(x):
        n = len(x) - w + 1
        gradient, means = np.zeros(len(x)), np.empty(n)
        total, peak = np.empty(block), np.empty(block)
        value = 0.0
        for start in range(0, n, block):
            count = min(block, n - start)
            for i in range(count):
                total[i] = peak[i] = x[start + i]
            for k in range(1, w):
                for i in range(count):
                    each = x[start + i + k]
                    total[i] += each
                    peak[i] = peak[i] if peak[i] > each else each
            for i in range(count):
                mean = total[i] / w
                means[start + i] = mean * 2 / w
                value += mean * mean + peak[i] * peak[i]
            for i in range(count):
                k = 0
                while x[start + i + k] != peak[i]:
                    k += 1
                gradient[start + i + k] += 2 * peak[i]
        for start in range(0, n, block):
            count = min(block, n - start)
            for k in range(w):
                for i in range(count):
                    gradient[start + i + k] += means[start + i]
        return value, gradient

    return f, (p["x"],)


def _dimtensor(p, backend):
    import dimtensor as dt

    t = dt.Dim("t")
    x = dt.tensor("x", dims=t)
    windows = x.rolling(t=p["window"])
    full = slice(p["window"] - 1, None)
    loss = (windows.mean()[full] ** 2).sum() + (windows.max()[full] ** 2).sum()
    f = dt.function([x], [loss, dt.grad(loss, x)], backend=backend)
    return f.positional, (p["x"],)


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    """Slices are added up: of gathers and `reduce_window` the one is slow, the other as fast."""
    import jax
    import jax.numpy as jnp

    w = p["window"]

    def loss(x):
        n = len(x) - w + 1
        total = peak = x[:n]
        for k in range(1, w):
            each = x[k : k + n]
            total, peak = total + each, jnp.maximum(peak, each)
        return jnp.sum((total / w) ** 2) + jnp.sum(peak**2)

    f = jax.jit(jax.value_and_grad(loss))
    return lambda x: jax.block_until_ready(f(x)), (jnp.asarray(p["x"]),)


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    w = p["window"]
    x = pt.dvector("x")
    n = x.shape[0] - w + 1
    total = peak = x[:n]
    for k in range(1, w):
        each = x[k : k + n]
        total, peak = total + each, pt.maximum(peak, each)
    loss = pt.sum((total / w) ** 2) + pt.sum(peak**2)
    f = pytensor.function([x], [loss, pytensor.grad(loss, x)], mode="NUMBA", trust_input=True)
    return f, (p["x"],)
