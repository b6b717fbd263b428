"""Lotka and Volterra's equations by Runge and Kutta's fourth order with a fixed step.

The sum of squares of what is left of data, and its gradient by the four rates and both initial
populations.
"""

import numpy as np

SIZES = (200, 1_000, 10_000)
CONTENDERS = (
    "hand", "hand-as-written", "dimtensor-numba", "dimtensor-jax", "jax", "pytensor",
)  # fmt: skip
H = 0.02


def problem(n):
    rng = np.random.default_rng(11)
    s, path = np.array([1.0, 1.5]), np.empty((n, 2))

    def slope(s):
        return np.array([1.1 * s[0] - 0.4 * s[0] * s[1], 0.2 * s[0] * s[1] - 0.4 * s[1]])

    for t in range(n):
        k1 = slope(s)
        k2 = slope(s + H / 2 * k1)
        k3 = slope(s + H / 2 * k2)
        k4 = slope(s + H * k3)
        path[t] = s = s + H / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    data = path * np.exp(0.1 * rng.normal(size=(n, 2)))
    return {
        "prey": data[:, 0].copy(),
        "predators": data[:, 1].copy(),
        "rates": np.array([1.08, 0.41, 0.42, 0.21]),
        "first": np.array([1.1, 1.4]),
    }


def _arguments(p):
    return p["rates"], p["first"]


def hand(p, as_written=False):
    """One loop forward that stores all stages, one back.

    Rates are multiplied by the parts of the step before the loops, so that a stage is two fused
    multiply-adds after the one before. Nothing is reassociated: it would make more of them. As it
    is written, rates are multiplied by populations, and slopes by the parts of the step.
    """
    import numba

    prey, predators = p["prey"], p["predators"]

    slope = numba.njit(fastmath={"contract"}, inline="always")(_slope)

    @numba.njit(fastmath={"contract", "nsz", "arcp"}, error_model="numpy")
    def f(rates, first, prey, predators):
        alpha, beta, gamma, delta = rates[0] * H, rates[1] * H, rates[2] * H, rates[3] * H
        a2, b2, g2, d2 = alpha / 2, beta / 2, gamma / 2, delta / 2
        a6, b6, g6, d6 = alpha / 6, beta / 6, gamma / 6, delta / 6
        n = prey.shape[0]
        stages = np.empty((n, 8))
        u, v = first[0], first[1]
        value = 0.0
        for t in range(n):
            stages[t, 0], stages[t, 1] = u, v
            if as_written:
                p1, q1 = slope(rates, u, v)
                u2, v2 = u + H / 2 * p1, v + H / 2 * q1
                p2, q2 = slope(rates, u2, v2)
                u3, v3 = u + H / 2 * p2, v + H / 2 * q2
                p3, q3 = slope(rates, u3, v3)
                u4, v4 = u + H * p3, v + H * q3
                p4, q4 = slope(rates, u4, v4)
                u += H / 6 * (p1 + 2.0 * p2 + 2.0 * p3 + p4)
                v += H / 6 * (q1 + 2.0 * q2 + 2.0 * q3 + q4)
            else:
                p1, q1 = u * (a2 - b2 * v), v * (d2 * u - g2)
                u2, v2 = u + p1, v + q1
                p2, q2 = u2 * (a2 - b2 * v2), v2 * (d2 * u2 - g2)
                u3, v3 = u + p2, v + q2
                p3, q3 = u3 * (alpha - beta * v3), v3 * (delta * u3 - gamma)
                u4, v4 = u + p3, v + q3
                known_u = u + (1 / 3) * (p1 + 2.0 * p2 + p3)
                known_v = v + (1 / 3) * (q1 + 2.0 * q2 + q3)
                u = known_u + u4 * (a6 - b6 * v4)
                v = known_v + v4 * (d6 * u4 - g6)
            stages[t, 2], stages[t, 3], stages[t, 4], stages[t, 5] = u2, v2, u3, v3
            stages[t, 6], stages[t, 7] = u4, v4
            value += (u - prey[t]) * (u - prey[t]) + (v - predators[t]) * (v - predators[t])
        x, y = 0.0, 0.0
        g_alpha, g_beta, g_gamma, g_delta = 0.0, 0.0, 0.0, 0.0
        for t in range(n - 1, -1, -1):
            x, y = x + 2.0 * (u - prey[t]), y + 2.0 * (v - predators[t])
            # adjoints of the slopes, from the last to the first
            u4, v4 = stages[t, 6], stages[t, 7]
            x4, y4 = (1 / 6) * x, (1 / 6) * y
            su = (alpha - beta * v4) * x4 + delta * v4 * y4
            sv = (delta * u4 - gamma) * y4 - beta * u4 * x4
            u3, v3 = stages[t, 4], stages[t, 5]
            x3, y3 = (1 / 3) * x + su, (1 / 3) * y + sv
            ru = (a2 - b2 * v3) * x3 + d2 * v3 * y3
            rv = (d2 * u3 - g2) * y3 - b2 * u3 * x3
            u2, v2 = stages[t, 2], stages[t, 3]
            x2, y2 = (1 / 3) * x + ru, (1 / 3) * y + rv
            qu = (a2 - b2 * v2) * x2 + d2 * v2 * y2
            qv = (d2 * u2 - g2) * y2 - b2 * u2 * x2
            u, v = stages[t, 0], stages[t, 1]
            x1, y1 = (1 / 6) * x + qu, (1 / 6) * y + qv
            g_alpha += (x1 * u + x2 * u2) + (x3 * u3 + x4 * u4)
            g_gamma += (y1 * v + y2 * v2) + (y3 * v3 + y4 * v4)
            g_beta += (x1 * (u * v) + x2 * (u2 * v2)) + (x3 * (u3 * v3) + x4 * (u4 * v4))
            g_delta += (y1 * (u * v) + y2 * (u2 * v2)) + (y3 * (u3 * v3) + y4 * (u4 * v4))
            known_u = (x + su) + 2.0 * (ru + qu)
            known_v = (y + sv) + 2.0 * (rv + qv)
            x = known_u + ((alpha - beta * v) * x1 + delta * v * y1)
            y = known_v + ((delta * u - gamma) * y1 - beta * u * x1)
        return value, np.array([g_alpha, -g_beta, -g_gamma, g_delta]) * H, np.array([x, y])

    return (lambda *args: f(*args, prey, predators)), _arguments(p)


def hand_as_written(p):
    return hand(p, as_written=True)


def _slope(rates, u, v):
    alpha, beta, gamma, delta = rates[0], rates[1], rates[2], rates[3]
    return alpha * u - beta * u * v, delta * u * v - gamma * v


def _rk4(rates, u, v):
    p1, q1 = _slope(rates, u, v)
    p2, q2 = _slope(rates, u + H / 2 * p1, v + H / 2 * q1)
    p3, q3 = _slope(rates, u + H / 2 * p2, v + H / 2 * q2)
    p4, q4 = _slope(rates, u + H * p3, v + H * q3)
    return u + H / 6 * (p1 + 2 * p2 + 2 * p3 + p4), v + H / 6 * (q1 + 2 * q2 + 2 * q3 + q4)


def _dimtensor(p, backend):
    import dimtensor as dt

    time = dt.Dim("time")
    rate = dt.Dim("rate", coords=["alpha", "beta", "gamma", "delta"])
    species = dt.Dim("species", coords=["prey", "predators"])
    prey = dt.data(p["prey"], dims=time, name="prey")
    predators = dt.data(p["predators"], dims=time, name="predators")
    rates, first = dt.tensor("rates", dims=rate), dt.tensor("first", dims=species)
    each = [rates.sel({rate: label}) for label in rate.coords]

    def step(state, _):
        state = _rk4(each, *state)
        return state, state

    start = (first.sel({species: "prey"}), first.sel({species: "predators"}))
    _, (u, v) = dt.scan(step, start, dim=time)
    total = ((u - prey) ** 2 + (v - predators) ** 2).sum()
    inputs = [rates, first]
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return f.positional, _arguments(p)


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    """Populations and rates are numbers, not elements of vectors; the step sums the squares."""
    import jax
    import jax.numpy as jnp

    data = jnp.asarray(p["prey"]), jnp.asarray(p["predators"])

    def loss(rates, first, data):
        each = tuple(rates)

        def step(state, seen):
            u, v, total = state
            u, v = _rk4(each, u, v)
            return (u, v, total + (u - seen[0]) ** 2 + (v - seen[1]) ** 2), None

        (_, _, total), _ = jax.lax.scan(step, (first[0], first[1], jnp.zeros(())), data)
        return total

    f = jax.jit(jax.value_and_grad(loss, (0, 1)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, data))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    prey, predators = pytensor.shared(p["prey"]), pytensor.shared(p["predators"])
    rates = pt.tensor("rates", dtype="float64", shape=(4,))
    first = pt.tensor("first", dtype="float64", shape=(2,))
    u, v = pytensor.scan(
        lambda u, v, *rates: _rk4(rates, u, v),
        outputs_info=[first[0], first[1]], non_sequences=[rates[k] for k in range(4)],
        n_steps=prey.shape[0], return_updates=False,
    )  # fmt: skip
    total = ((u - prey) ** 2 + (v - predators) ** 2).sum()
    gradients = pytensor.grad(total, [rates, first])
    f = pytensor.function([rates, first], [total, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
