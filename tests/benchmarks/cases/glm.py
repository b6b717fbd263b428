"""Logistic regression: matrix product plus likelihood; value and gradient by all coefficients."""

import numpy as np

SIZES = {1_000: 10, 100_000: 20}  # observations: predictors


def problem(n):
    rng = np.random.default_rng(4)
    p = SIZES[n]
    x = rng.normal(size=(n, p))
    slope = rng.normal(size=p) / np.sqrt(p)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-(0.3 + x @ slope)))
    return {
        "x": x,
        "y": y.astype(float),
        "intercept": np.asarray(0.2),
        "slope": slope + 0.1 * rng.normal(size=p),
    }


def _arguments(p):
    return p["intercept"], p["slope"]


def hand(p):
    """Blocks of rows stay in the first cache from the product to the gradient.

    The matrix is stored in tiles: block by block, in each block column by column. The sum of the
    logarithms is the logarithm of a product, one for each block.
    """
    import math

    import numba

    from cases.vectors import exp

    x, y = p["x"], p["y"]
    block = 128  # (1 + e) ** 128 is below the largest float
    n_blocks = -(-len(y) // block)
    padded = np.zeros((n_blocks * block, x.shape[1]))
    padded[: len(y)] = x
    tiles = np.ascontiguousarray(padded.reshape(n_blocks, block, -1).transpose(0, 2, 1))

    @numba.njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
    def f(intercept_, slope, tiles, y):
        intercept = intercept_[()]
        n, k = y.shape[0], tiles.shape[1]
        eta, residual = np.empty(block), np.empty(block)
        g_slope = np.empty(k)
        value, g_intercept = 0.0, 0.0
        for j in range(k):
            value -= 0.5 * slope[j] * slope[j]
            g_slope[j] = -slope[j]
        for at in range(tiles.shape[0]):
            tile, start = tiles[at], at * block
            m = min(block, n - start)
            for i in range(block):
                eta[i] = intercept
            whole = k - k % 4  # four columns at a time: eta is loaded and stored less often
            for j in range(0, whole, 4):
                b0, b1, b2, b3 = slope[j], slope[j + 1], slope[j + 2], slope[j + 3]
                for i in range(block):
                    eta[i] += (b0 * tile[j, i] + b1 * tile[j + 1, i]) + (
                        b2 * tile[j + 2, i] + b3 * tile[j + 3, i]
                    )
            for j in range(whole, k):
                for i in range(block):
                    eta[i] += slope[j] * tile[j, i]
            product, linear, total = 1.0, 0.0, 0.0
            for i in range(m):
                x = eta[i]
                e = exp(-abs(x))
                inverse = 1.0 / (1.0 + e)
                r = y[start + i] - (inverse if x >= 0.0 else e * inverse)
                residual[i] = r
                total += r
                product *= 1.0 + e
                linear += y[start + i] * x - max(x, 0.0)
            for i in range(m, block):
                residual[i] = 0.0
            value += linear - math.log(product)
            g_intercept += total
            for j in range(0, whole, 4):
                s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
                for i in range(block):
                    r = residual[i]
                    s0 += r * tile[j, i]
                    s1 += r * tile[j + 1, i]
                    s2 += r * tile[j + 2, i]
                    s3 += r * tile[j + 3, i]
                g_slope[j] += s0
                g_slope[j + 1] += s1
                g_slope[j + 2] += s2
                g_slope[j + 3] += s3
            for j in range(whole, k):
                s = 0.0
                for i in range(block):
                    s += residual[i] * tile[j, i]
                g_slope[j] += s
        return value, g_intercept, g_slope

    return (lambda *args: f(*args, tiles, y)), _arguments(p)


def _dimtensor(p, backend, **options):
    import dimtensor as dt

    obs, predictor = dt.Dim("obs"), dt.Dim("predictor", length=len(p["slope"]))
    x = dt.data(p["x"], dims=[obs, predictor], name="x")
    y = dt.data(p["y"], dims=obs, name="y")
    intercept, slope = dt.scalar("intercept"), dt.tensor("slope", dims=predictor)
    eta = intercept + dt.dot(x, slope, dim=predictor)
    total = (y * eta - dt.softplus(eta)).sum() - 0.5 * (slope**2).sum()
    inputs = [intercept, slope]
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend, **options)
    return f.positional, _arguments(p)


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    import jax
    import jax.numpy as jnp

    x, y = jnp.asarray(p["x"]), jnp.asarray(p["y"])

    def logp(intercept, slope, x, y):
        eta = intercept + x @ slope
        return jnp.sum(y * eta - jax.nn.softplus(eta)) - 0.5 * jnp.sum(slope**2)

    f = jax.jit(jax.value_and_grad(logp, (0, 1)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, x, y))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    x, y = pytensor.shared(p["x"], shape=(None, len(p["slope"]))), pytensor.shared(p["y"])
    intercept = pt.dscalar("intercept")
    slope = pt.tensor("slope", dtype="float64", shape=(len(p["slope"]),))
    eta = intercept + x @ slope
    total = (y * eta - pt.softplus(eta)).sum() - 0.5 * (slope**2).sum()
    inputs = [intercept, slope]
    gradients = pytensor.grad(total, inputs)
    f = pytensor.function(inputs, [total, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
