"""A long short-term memory of sixteen units, four features in and one number out of each step.

The sum of squares of what is left of data, and its gradient by all 1,360 weights.
"""

import numpy as np

SIZES = (200, 1_000, 10_000)
UNITS, FEATURES = 16, 4
GATES = ("input", "forget", "output", "cell")
NAMES = ("recurrent", "inward", "bias", "outward")


def problem(n):
    rng = np.random.default_rng(13)
    x = rng.normal(size=(n, FEATURES))
    return {
        "x": x,
        "y": np.convolve(np.tanh(x.sum(axis=1)), [0.5, 0.3, 0.2])[:n] + 0.1 * rng.normal(size=n),
        "recurrent": rng.normal(size=(len(GATES), UNITS, UNITS)) / 4,
        "inward": rng.normal(size=(len(GATES), UNITS, FEATURES)) / 2,
        "bias": rng.normal(size=(len(GATES), UNITS)) / 4,
        "outward": rng.normal(size=UNITS) / 4,
    }


def _arguments(p):
    return tuple(p[name] for name in NAMES)


def hand(p):
    """Gates in the lanes, weights by columns forward and by rows back; the rest by BLAS.

    Products with the features and the gradients of all weights are products of matrices outside of
    the loops. The exponential is a polynomial.
    """
    import numba

    from cases.vectors import exp

    x, y = p["x"], p["y"]
    k4 = len(GATES) * UNITS

    @numba.njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
    def f(recurrent, inward, bias, outward, x, y):
        n = x.shape[0]
        rows = recurrent.reshape(k4, UNITS)
        columns = rows.T.copy()
        gates = np.dot(x, inward.reshape(k4, FEATURES).T)
        offset = bias.reshape(k4)
        cells, curved = np.zeros((n + 1, UNITS)), np.empty((n, UNITS))
        hidden, left = np.zeros((n + 1, UNITS)), np.empty(n)
        value = 0.0
        for t in range(n):
            g, h, c = gates[t], hidden[t], cells[t]
            for j in range(k4):
                g[j] += offset[j]
            for k in range(0, UNITS, 4):
                h0, h1, h2, h3 = h[k], h[k + 1], h[k + 2], h[k + 3]
                for j in range(k4):
                    g[j] += (h0 * columns[k, j] + h1 * columns[k + 1, j]) + (
                        h2 * columns[k + 2, j] + h3 * columns[k + 3, j]
                    )
            for j in range(3 * UNITS):
                g[j] = 1.0 / (1.0 + exp(-g[j]))
            for j in range(3 * UNITS, k4):
                g[j] = 2.0 / (1.0 + exp(-2.0 * g[j])) - 1.0
            seen = 0.0
            for j in range(UNITS):
                new = g[UNITS + j] * c[j] + g[j] * g[3 * UNITS + j]
                curve = 2.0 / (1.0 + exp(-2.0 * new)) - 1.0
                cells[t + 1, j] = new
                curved[t, j] = curve
                hidden[t + 1, j] = g[2 * UNITS + j] * curve
                seen += outward[j] * g[2 * UNITS + j] * curve
            left[t] = seen - y[t]
            value += left[t] * left[t]
        by_h, by_c = np.zeros(UNITS), np.zeros(UNITS)
        for t in range(n - 1, -1, -1):
            g, c, curve = gates[t], cells[t], curved[t]
            r = 2.0 * left[t]
            for j in range(UNITS):
                i, f, o, z = g[j], g[UNITS + j], g[2 * UNITS + j], g[3 * UNITS + j]
                dh = by_h[j] + r * outward[j]
                dc = by_c[j] + dh * o * (1.0 - curve[j] * curve[j])
                g[j] = dc * z * i * (1.0 - i)
                g[UNITS + j] = dc * c[j] * f * (1.0 - f)
                g[2 * UNITS + j] = dh * curve[j] * o * (1.0 - o)
                g[3 * UNITS + j] = dc * i * (1.0 - z * z)
                by_c[j] = dc * f
                by_h[j] = 0.0
            for k in range(0, k4, 8):
                g0, g1, g2, g3 = g[k], g[k + 1], g[k + 2], g[k + 3]
                g4, g5, g6, g7 = g[k + 4], g[k + 5], g[k + 6], g[k + 7]
                for j in range(UNITS):
                    by_h[j] += (
                        (g0 * rows[k, j] + g1 * rows[k + 1, j])
                        + (g2 * rows[k + 2, j] + g3 * rows[k + 3, j])
                    ) + (
                        (g4 * rows[k + 4, j] + g5 * rows[k + 5, j])
                        + (g6 * rows[k + 6, j] + g7 * rows[k + 7, j])
                    )
        g_recurrent = np.dot(gates.T, hidden[:n]).reshape(recurrent.shape)
        g_inward = np.dot(gates.T, x).reshape(inward.shape)
        g_bias = np.zeros(k4)
        for t in range(n):
            for j in range(k4):
                g_bias[j] += gates[t, j]
        g_outward = 2.0 * np.dot(left, hidden[1:])
        return value, g_recurrent, g_inward, g_bias.reshape(bias.shape), g_outward

    return (lambda *args: f(*args, x, y)), _arguments(p)


def _dimtensor(p, backend):
    import dimtensor as dt
    from cases.axes import as_written

    time, gate = dt.Dim("time"), dt.Dim("gate", coords=list(GATES))
    unit, before = dt.Dim("unit", length=UNITS), dt.Dim("before", length=UNITS)
    feature = dt.Dim("feature", length=FEATURES)
    x = dt.data(p["x"], dims=[time, feature], name="x")
    y = dt.data(p["y"], dims=time, name="y")
    dims = [(gate, unit, before), (gate, unit, feature), (gate, unit), (unit,)]
    inputs = [dt.tensor(name, dims=d) for name, d in zip(NAMES, dims, strict=True)]
    recurrent, inward, bias, outward = inputs

    def step(state, known):
        hidden, cell = state
        total = known + dt.dot(recurrent, hidden.rename({unit: before}), dim=before)
        i, f, o = (dt.sigmoid(total.sel({gate: label})) for label in GATES[:3])
        cell = f * cell + i * dt.tanh(total.sel({gate: "cell"}))
        hidden = o * dt.tanh(cell)
        return (hidden, cell), hidden

    known = dt.dot(x, inward, dim=feature) + bias
    _, hidden = dt.scan(step, (dt.zeros(unit), dt.zeros(unit)), known, dim=time)
    total = ((dt.dot(hidden, outward, dim=unit) - y) ** 2).sum()
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return as_written(f, dims, _arguments(p))


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    import jax
    import jax.numpy as jnp

    x, y = jnp.asarray(p["x"]), jnp.asarray(p["y"])

    def loss(recurrent, inward, bias, outward, x, y):
        matrix = recurrent.reshape(-1, UNITS)
        known = x @ inward.reshape(-1, FEATURES).T + bias.ravel()

        def step(state, known):
            hidden, cell = state
            i, f, o, z = jnp.split(known + matrix @ hidden, len(GATES))
            i, f, o = jax.nn.sigmoid(i), jax.nn.sigmoid(f), jax.nn.sigmoid(o)
            cell = f * cell + i * jnp.tanh(z)
            hidden = o * jnp.tanh(cell)
            return (hidden, cell), hidden

        _, hidden = jax.lax.scan(step, (jnp.zeros(UNITS), jnp.zeros(UNITS)), known)
        return jnp.sum((hidden @ outward - y) ** 2)

    f = jax.jit(jax.value_and_grad(loss, (0, 1, 2, 3)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, x, y))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    x, y = pytensor.shared(p["x"], shape=(None, FEATURES)), pytensor.shared(p["y"])
    inputs = [pt.tensor(name, dtype="float64", shape=p[name].shape) for name in NAMES]
    recurrent, inward, bias, outward = inputs
    k4 = len(GATES) * UNITS
    known = x @ inward.reshape((k4, FEATURES)).T + bias.reshape((k4,))

    def step(known, hidden, cell, matrix):
        total = known + matrix @ hidden
        i, f, o = (pt.sigmoid(total[k * UNITS : (k + 1) * UNITS]) for k in range(3))
        cell = f * cell + i * pt.tanh(total[3 * UNITS :])
        return o * pt.tanh(cell), cell

    hidden, _ = pytensor.scan(
        step, sequences=known, outputs_info=[pt.zeros(UNITS), pt.zeros(UNITS)],
        non_sequences=recurrent.reshape((k4, UNITS)), return_updates=False,
    )  # fmt: skip
    total = ((hidden @ outward - y) ** 2).sum()
    gradients = pytensor.grad(total, inputs)
    f = pytensor.function(inputs, [total, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
