"""The hierarchical radon model: log density and gradient by all 89 parameters.

Houses are simulated: 85 counties of unequal size in order, as in the survey of Minnesota.
"""

import numpy as np

SIZES = (919, 100_000)
COUNTIES = 85


def problem(n):
    rng = np.random.default_rng(3)
    weights = rng.dirichlet(np.full(COUNTIES, 0.7))
    return {
        "county": np.sort(rng.choice(COUNTIES, size=n, p=weights)),
        "uranium": rng.normal(size=n),
        "floor": rng.integers(0, 2, n).astype(float),
        "y": rng.normal(1.2, 0.8, n),
        "effect": rng.normal(size=COUNTIES),
        "slope": rng.normal(size=2),
        "mu": np.asarray(1.1),
        "spread": np.asarray(0.4),
        "sigma": np.asarray(0.8),
    }


PARAMETERS = ("effect", "slope", "mu", "spread", "sigma")
LOG_2PI = np.log(2 * np.pi)


def _arguments(p):
    return tuple(p[key] for key in PARAMETERS)


def hand(p):
    import math

    import numba

    county, uranium, floor, y = (p[key] for key in ("county", "uranium", "floor", "y"))
    half = 0.5 * LOG_2PI

    @numba.njit(fastmath={"reassoc", "contract", "nsz"})
    def f(effect, slope, mu_, spread_, sigma_, county, uranium, floor, y):
        mu, spread, sigma = mu_[()], spread_[()], sigma_[()]
        n, groups = y.shape[0], effect.shape[0]
        level = np.empty(groups)
        value = 0.0
        for g in range(groups):
            level[g] = mu + spread * effect[g]
            value -= 0.5 * effect[g] * effect[g]
        b0, b1 = slope[0], slope[1]
        # four elements at a time, each with sums of its own: one need not wait for another's
        sums = np.zeros((groups, 4))
        q0 = q1 = q2 = q3 = u0 = u1 = u2 = u3 = f0 = f1 = f2 = f3 = 0.0
        for block in range(n // 4):
            i = np.uint64(block) * np.uint64(4)
            j, k, m = i + np.uint64(1), i + np.uint64(2), i + np.uint64(3)
            di = y[i] - (level[county[i]] + b0 * uranium[i] + b1 * floor[i])
            dj = y[j] - (level[county[j]] + b0 * uranium[j] + b1 * floor[j])
            dk = y[k] - (level[county[k]] + b0 * uranium[k] + b1 * floor[k])
            dm = y[m] - (level[county[m]] + b0 * uranium[m] + b1 * floor[m])
            q0, q1, q2, q3 = q0 + di * di, q1 + dj * dj, q2 + dk * dk, q3 + dm * dm
            u0, u1 = u0 + di * uranium[i], u1 + dj * uranium[j]
            u2, u3 = u2 + dk * uranium[k], u3 + dm * uranium[m]
            f0, f1 = f0 + di * floor[i], f1 + dj * floor[j]
            f2, f3 = f2 + dk * floor[k], f3 + dm * floor[m]
            sums[county[i], 0] += di
            sums[county[j], 1] += dj
            sums[county[k], 2] += dk
            sums[county[m], 3] += dm
        for i in range(n // 4 * 4, n):
            d = y[i] - (level[county[i]] + b0 * uranium[i] + b1 * floor[i])
            q0, u0, f0 = q0 + d * d, u0 + d * uranium[i], f0 + d * floor[i]
            sums[county[i], 0] += d
        q, g0, g1 = (q0 + q1) + (q2 + q3), (u0 + u1) + (u2 + u3), (f0 + f1) + (f2 + f3)
        w = 1.0 / (sigma * sigma)
        g_effect = np.empty(groups)
        g_mu, g_spread = 0.0, 0.0
        for g in range(groups):
            s = (sums[g, 0] + sums[g, 1] + sums[g, 2] + sums[g, 3]) * w
            g_effect[g] = s * spread - effect[g]
            g_mu += s
            g_spread += s * effect[g]
        value += -0.5 * q * w - n * (math.log(sigma) + half) - groups * half
        value += -0.5 * (b0 * b0 + b1 * b1 + mu * mu) / 100.0 - 3 * (math.log(10.0) + half)
        value += -0.5 * (spread * spread + sigma * sigma) - 2 * half
        g_slope = np.array([g0 * w - b0 / 100.0, g1 * w - b1 / 100.0])
        g_sigma = q * w / sigma - n / sigma - sigma
        return value, g_effect, g_slope, g_mu - mu / 100.0, g_spread - spread, g_sigma

    return (lambda *args: f(*args, county, uranium, floor, y)), _arguments(p)


def _dimtensor(p, backend, names=("county", "coefficient", "obs"), **options):
    import dimtensor as dt

    def normal(x, mean, sd):
        return (-0.5 * ((x - mean) / sd) ** 2 - dt.log(sd) - 0.5 * LOG_2PI).sum()

    county = dt.Dim(names[0], length=COUNTIES)
    coefficient = dt.Dim(names[1], coords=["uranium", "floor"])
    obs = dt.Dim(names[2])
    of = dt.data(p["county"], dims=obs, categories=county, name="county")
    uranium = dt.data(p["uranium"], dims=obs, name="uranium")
    floor = dt.data(p["floor"], dims=obs, name="floor")
    y = dt.data(p["y"], dims=obs, name="y")
    effect = dt.tensor("effect", dims=county)
    slope = dt.tensor("slope", dims=coefficient)
    mu, spread, sigma = dt.scalar("mu"), dt.scalar("spread"), dt.scalar("sigma")
    level = mu + spread * effect
    mean = (
        level.sel({county: of})
        + slope.sel({coefficient: "uranium"}) * uranium
        + slope.sel({coefficient: "floor"}) * floor
    )
    logp = (
        normal(y, mean, sigma)
        + normal(effect, 0.0, 1.0)
        + normal(slope, 0.0, 10.0)
        + normal(mu, 0.0, 10.0)
        + normal(spread, 0.0, 1.0)
        + normal(sigma, 0.0, 1.0)
    )
    inputs = [effect, slope, mu, spread, sigma]
    f = dt.function(inputs, [logp, *dt.grad(logp, inputs)], backend=backend, **options)
    return f.positional, _arguments(p)


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    import jax
    import jax.numpy as jnp

    data = [jnp.asarray(p[key]) for key in ("county", "uranium", "floor", "y")]

    def normal(x, mean, sd):
        z = (x - mean) / sd
        return -0.5 * jnp.sum(z * z) - z.size * (jnp.log(sd) + 0.5 * LOG_2PI)

    def logp(effect, slope, mu, spread, sigma, county, uranium, floor, y):
        level = mu + spread * effect
        mean = level[county] + slope[0] * uranium + slope[1] * floor
        return (
            normal(y, mean, sigma)
            + normal(effect, 0.0, 1.0)
            + normal(slope, 0.0, 10.0)
            + normal(mu, 0.0, 10.0)
            + normal(spread, 0.0, 1.0)
            + normal(sigma, 0.0, 1.0)
        )

    f = jax.jit(jax.value_and_grad(logp, (0, 1, 2, 3, 4)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, *data))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    county, uranium, floor, y = (
        pytensor.shared(p[key]) for key in ("county", "uranium", "floor", "y")
    )

    def normal(x, mean, sd):
        return (-0.5 * ((x - mean) / sd) ** 2 - pt.log(sd) - 0.5 * LOG_2PI).sum()

    effect = pt.tensor("effect", dtype="float64", shape=(COUNTIES,))
    slope = pt.tensor("slope", dtype="float64", shape=(2,))
    mu, spread, sigma = pt.dscalars("mu", "spread", "sigma")
    level = mu + spread * effect
    mean = level[county] + slope[0] * uranium + slope[1] * floor
    logp = (
        normal(y, mean, sigma)
        + normal(effect, 0.0, 1.0)
        + normal(slope, 0.0, np.float64(10.0))
        + normal(mu, 0.0, np.float64(10.0))
        + normal(spread, 0.0, np.float64(1.0))
        + normal(sigma, 0.0, np.float64(1.0))
    )
    inputs = [effect, slope, mu, spread, sigma]
    gradients = pytensor.grad(logp, inputs)
    f = pytensor.function(inputs, [logp, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
