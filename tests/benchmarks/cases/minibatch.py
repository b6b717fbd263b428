"""Mini-batches of the hierarchical radon model: estimated log density and gradient.

Batches of 1,000 rows are gathered from 10⁶ by 256 lists of positions in turn, which are the same
for all. ``hand`` and ``jax`` read the rows where they are; ``pymc`` is PyMC's model with
``total_size``, of rows gathered within its graph as by ``pm.Minibatch``, but by these positions.
"""

import itertools

import numpy as np

from cases import radon

SIZES = (1_000_000,)
CONTENDERS = ("hand", "dimtensor-numba", "dimtensor-jax", "jax", "pymc")
BATCH, LISTS = 1_000, 256
COUNTIES, LOG_2PI = radon.COUNTIES, radon.LOG_2PI


def problem(n):
    p = radon.problem(n)
    rng = np.random.default_rng(1)
    p["lists"] = [rng.choice(n, BATCH, replace=False) for _ in range(LISTS)]
    p["x"] = np.concatenate([np.ravel(p[key]) for key in radon.PARAMETERS])
    return p


def hand(p):
    import math

    import numba

    county, uranium, floor, y = (p[key] for key in ("county", "uranium", "floor", "y"))
    half = 0.5 * LOG_2PI

    @numba.njit(fastmath={"reassoc", "contract", "nsz"})
    def f(x, rows, county, uranium, floor, y):
        groups = COUNTIES
        b0, b1, mu, spread, sigma = x[groups], x[groups + 1], x[-3], x[-2], x[-1]
        n, scale = rows.shape[0], y.shape[0] / rows.shape[0]
        gradient = np.empty_like(x)
        sums = np.zeros(groups)
        level = np.empty(groups)
        value = 0.0
        for g in range(groups):
            level[g] = mu + spread * x[g]
            value -= 0.5 * x[g] * x[g]
        q = g0 = g1 = 0.0
        for i in range(n):
            at = np.uint64(rows[i])
            k = np.uint64(county[at])
            d = y[at] - (level[k] + b0 * uranium[at] + b1 * floor[at])
            q, g0, g1 = q + d * d, g0 + d * uranium[at], g1 + d * floor[at]
            sums[k] += d
        w = scale / (sigma * sigma)
        g_mu = g_spread = 0.0
        for g in range(groups):
            s = sums[g] * w
            gradient[g] = s * spread - x[g]
            g_mu += s
            g_spread += s * x[g]
        value += -0.5 * q * w - scale * n * (math.log(sigma) + half) - groups * half
        value += -0.5 * (b0 * b0 + b1 * b1 + mu * mu) / 100.0 - 3 * (math.log(10.0) + half)
        value += -0.5 * (spread * spread + sigma * sigma) - 2 * half
        gradient[groups] = g0 * w - b0 / 100.0
        gradient[groups + 1] = g1 * w - b1 / 100.0
        gradient[groups + 2] = g_mu - mu / 100.0
        gradient[groups + 3] = g_spread - spread
        gradient[groups + 4] = q * w / sigma - scale * n / sigma - sigma
        return value, gradient

    lists = itertools.cycle(p["lists"])
    return (lambda x: f(x, next(lists), county, uranium, floor, y)), (p["x"],)


def _dimtensor(p, backend):
    import dimtensor as dt

    def normal(x, mean, sd):
        return (-0.5 * ((x - mean) / sd) ** 2 - dt.log(sd) - 0.5 * LOG_2PI).sum()

    county = dt.Dim("county", length=COUNTIES)
    coefficient, obs = dt.Dim("coefficient", coords=["uranium", "floor"]), dt.Dim("obs")
    of = dt.data(p["county"], dims=obs, categories=county, name="county")
    uranium, floor, y = (dt.data(p[key], dims=obs, name=key) for key in ("uranium", "floor", "y"))
    effect, slope = dt.tensor("effect", dims=county), dt.tensor("slope", dims=coefficient)
    mu, spread, sigma = dt.scalar("mu"), dt.scalar("spread"), dt.scalar("sigma")
    mean = (
        (mu + spread * effect).sel(county=of)
        + slope.sel(coefficient="uranium") * uranium
        + slope.sel(coefficient="floor") * floor
    )
    logp = normal(y, mean, sigma) + normal(slope, 0.0, 10.0) + normal(mu, 0.0, 10.0)
    logp += normal(effect, 0.0, 1.0) + normal(spread, 0.0, 1.0) + normal(sigma, 0.0, 1.0)
    supports = dict.fromkeys([effect, slope, mu, spread, sigma], dt.real)
    batches = dt.LogDensity(logp, supports, backend).minibatch(obs, size=BATCH)
    lists = itertools.cycle(p["lists"])
    return (lambda x: batches.logp_and_grad(x, batches.take(next(lists)))), (p["x"],)


def dimtensor_numba(p):
    return _dimtensor(p, "native")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    import jax
    import jax.numpy as jnp

    data = [jnp.asarray(p[key]) for key in ("county", "uranium", "floor", "y")]
    scale = len(p["y"]) / BATCH

    def normal(x, mean, sd):
        z = (x - mean) / sd
        return -0.5 * jnp.sum(z * z) - z.size * (jnp.log(sd) + 0.5 * LOG_2PI)

    def logp(x, rows, *data):
        effect, slope = x[:COUNTIES], x[COUNTIES : COUNTIES + 2]
        mu, spread, sigma = x[-3], x[-2], x[-1]
        county, uranium, floor, y = (each[rows] for each in data)
        mean = (mu + spread * effect)[county] + slope[0] * uranium + slope[1] * floor
        return (
            scale * normal(y, mean, sigma)
            + normal(effect, 0.0, 1.0)
            + normal(slope, 0.0, 10.0)
            + normal(mu, 0.0, 10.0)
            + normal(spread, 0.0, 1.0)
            + normal(sigma, 0.0, 1.0)
        )

    f = jax.jit(jax.value_and_grad(logp))
    lists = itertools.cycle(p["lists"])
    return (lambda x: jax.block_until_ready(f(x, next(lists), *data))), (jnp.asarray(p["x"]),)


def pymc(p):
    import pymc as pm
    import pytensor
    import pytensor.tensor as pt

    rows = pt.lvector("rows")
    rows.tag.test_value = p["lists"][0]
    county, uranium, floor, y = (
        pytensor.shared(p[key])[rows] for key in ("county", "uranium", "floor", "y")
    )
    with pm.Model() as model:
        effect = pm.Normal("effect", 0.0, 1.0, shape=COUNTIES)
        slope = pm.Normal("slope", 0.0, 10.0, shape=2)
        mu, spread = pm.Normal("mu", 0.0, 10.0), pm.Normal("spread", 0.0, 1.0)
        sigma = pm.Normal("sigma", 0.0, 1.0)
        mean = (mu + spread * effect)[county] + slope[0] * uranium + slope[1] * floor
        pm.Normal("y", mean, sigma, observed=y, total_size=len(p["y"]))
    inputs = [model.rvs_to_values[each] for each in (effect, slope, mu, spread, sigma)]
    value = model.logp()
    f = pytensor.function(
        [rows, *inputs], [value, *pytensor.grad(value, inputs)], mode="NUMBA", trust_input=True
    )
    lists = itertools.cycle(p["lists"])
    return (lambda *each: f(next(lists), *each)), radon._arguments(p)
