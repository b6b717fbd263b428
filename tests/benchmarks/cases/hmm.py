"""A hidden Markov model of three states with normal observations: forward algorithm.

Log likelihood, and gradient by the logits of the transition probabilities, the means and the
standard deviations. Probabilities are scaled at each step, so that there is no logsumexp in it. The
states are equally likely before the first transition.
"""

import numpy as np

SIZES = (200, 1_000, 10_000)
CONTENDERS = (
    "hand", "hand-as-written", "dimtensor-numba", "dimtensor-jax", "jax", "pytensor",
)  # fmt: skip
K = 3
LOG_2PI = np.log(2 * np.pi)


def problem(n):
    rng = np.random.default_rng(10)
    rows = np.array([[0.9, 0.08, 0.02], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
    mean, sd = np.array([-2.0, 0.5, 3.0]), np.array([0.6, 1.0, 0.8])
    of, at = np.empty(n, dtype=int), 0
    for t in range(n):
        of[t] = at = rng.choice(K, p=rows[at])
    return {
        "y": rng.normal(mean[of], sd[of]),
        "logit": np.log(rows.T) + 0.1 * rng.normal(size=(K, K)),  # a column for each state before
        "mean": mean + 0.1 * rng.normal(size=K),
        "sd": sd * 1.1,
    }


def _arguments(p):
    return p["logit"], p["mean"], p["sd"]


def hand(p, n_steps=8):
    """Likelihoods of all observations in the lanes; then one loop forward and one back.

    The three probabilities are scaled after eight steps only: the division is not waited for. As it
    is written, they are scaled at each step.
    """
    import math

    import numba

    from cases.vectors import exp

    y = p["y"]

    @numba.njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
    def likelihoods(mean, sd, y, b):
        m0, m1, m2 = mean[0], mean[1], mean[2]
        w0, w1, w2 = 1.0 / sd[0], 1.0 / sd[1], 1.0 / sd[2]
        c0, c1, c2 = -math.log(sd[0]), -math.log(sd[1]), -math.log(sd[2])
        b0, b1, b2 = b[0], b[1], b[2]
        total = 0.0
        for t in range(y.shape[0]):
            z0, z1, z2 = (y[t] - m0) * w0, (y[t] - m1) * w1, (y[t] - m2) * w2
            l0, l1, l2 = c0 - 0.5 * z0 * z0, c1 - 0.5 * z1 * z1, c2 - 0.5 * z2 * z2
            top = max(max(l0, l1), l2)
            b0[t], b1[t], b2[t] = exp(l0 - top), exp(l1 - top), exp(l2 - top)
            total += top
        return total

    @numba.njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
    def by_normals(mean, sd, y, weights, g_mean, g_sd):
        for k in range(3):
            m, w, s, q, r = mean[k], 1.0 / sd[k], 0.0, 0.0, 0.0
            for t in range(y.shape[0]):
                z = (y[t] - m) * w
                s += weights[k, t] * z
                q += weights[k, t] * z * z
                r += weights[k, t]
            g_mean[k], g_sd[k] = s * w, (q - r) * w

    @numba.njit(fastmath={"contract", "nsz", "arcp"}, error_model="numpy")
    def f(logit, mean, sd, y):
        n = y.shape[0]
        rows = np.exp(logit.T)
        for i in range(3):
            rows[i] /= rows[i].sum()
        p00, p01, p02 = rows[0, 0], rows[0, 1], rows[0, 2]
        p10, p11, p12 = rows[1, 0], rows[1, 1], rows[1, 2]
        p20, p21, p22 = rows[2, 0], rows[2, 1], rows[2, 2]
        b, a = np.empty((3, n)), np.empty((3, n + 1))
        n_blocks = -(-n // n_steps)
        scales = np.empty(n_blocks)
        value = likelihoods(mean, sd, y, b)
        a0 = a1 = a2 = 1.0 / 3.0
        for block in range(n_blocks):
            start = block * n_steps
            for t in range(start, min(start + n_steps, n)):
                a[0, t], a[1, t], a[2, t] = a0, a1, a2
                a0, a1, a2 = (
                    (a0 * p00 + a1 * p10 + a2 * p20) * b[0, t],
                    (a0 * p01 + a1 * p11 + a2 * p21) * b[1, t],
                    (a0 * p02 + a1 * p12 + a2 * p22) * b[2, t],
                )
            total = a0 + a1 + a2
            value += math.log(total)
            scale = 1.0 / total
            scales[block] = scale
            a0, a1, a2 = a0 * scale, a1 * scale, a2 * scale
        d0 = d1 = d2 = 1.0
        g00, g01, g02, g10, g11, g12, g20, g21, g22 = (0.0,) * 9
        for block in range(n_blocks - 1, -1, -1):
            start = block * n_steps
            scale = scales[block]
            d0, d1, d2 = d0 * scale, d1 * scale, d2 * scale
            for t in range(min(start + n_steps, n) - 1, start - 1, -1):
                a0, a1, a2 = a[0, t], a[1, t], a[2, t]
                d0, d1, d2 = d0 * b[0, t], d1 * b[1, t], d2 * b[2, t]
                g00, g01, g02 = g00 + a0 * d0, g01 + a0 * d1, g02 + a0 * d2
                g10, g11, g12 = g10 + a1 * d0, g11 + a1 * d1, g12 + a1 * d2
                g20, g21, g22 = g20 + a2 * d0, g21 + a2 * d1, g22 + a2 * d2
                b[0, t] = (a0 * p00 + a1 * p10 + a2 * p20) * d0
                b[1, t] = (a0 * p01 + a1 * p11 + a2 * p21) * d1
                b[2, t] = (a0 * p02 + a1 * p12 + a2 * p22) * d2
                d0, d1, d2 = (
                    p00 * d0 + p01 * d1 + p02 * d2,
                    p10 * d0 + p11 * d1 + p12 * d2,
                    p20 * d0 + p21 * d1 + p22 * d2,
                )
        g_mean, g_sd = np.empty(3), np.empty(3)
        by_normals(mean, sd, y, b, g_mean, g_sd)
        g_logit = np.array([[g00, g01, g02], [g10, g11, g12], [g20, g21, g22]])
        for i in range(3):
            inner = (rows[i] * g_logit[i]).sum()
            for j in range(3):
                g_logit[i, j] = rows[i, j] * (g_logit[i, j] - inner)
        return value - 0.5 * n * LOG_2PI, g_logit.T.copy(), g_mean, g_sd

    return (lambda *args: f(*args, y)), _arguments(p)


def hand_as_written(p):
    return hand(p, n_steps=1)


def _dimtensor(p, backend):
    import dimtensor as dt
    from cases.axes import as_written

    time = dt.Dim("time")
    state, into = dt.Dim("state", length=K), dt.Dim("into", length=K)
    y = dt.data(p["y"], dims=time, name="y")
    logit = dt.tensor("logit", dims=[into, state])
    mean, sd = dt.tensor("mean", dims=state), dt.tensor("sd", dims=state)
    columns = dt.softmax(logit, into)
    log_likelihood = -0.5 * ((y - mean) / sd) ** 2 - dt.log(sd)
    top = dt.stop_gradient(log_likelihood.max(state))

    def step(before, likelihood):
        after = dt.dot(columns, before, dim=state).rename({into: state}) * likelihood
        total = after.sum(state)
        return after / total, total

    likelihood = dt.exp(log_likelihood - top)
    _, scale = dt.scan(step, dt.full(state, 1.0 / K), likelihood, dim=time)
    total = (dt.log(scale) + top - 0.5 * LOG_2PI).sum()
    inputs = [logit, mean, sd]
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return as_written(f, [(into, state), (state,), (state,)], _arguments(p))


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    """The product is written as a sum: that of XLA's library is called, which takes longer here."""
    import jax
    import jax.numpy as jnp

    y = jnp.asarray(p["y"])

    def logp(logit, mean, sd, y):
        columns = jax.nn.softmax(logit, axis=0)
        log_likelihood = -0.5 * ((y[:, None] - mean) / sd) ** 2 - jnp.log(sd)
        top = jax.lax.stop_gradient(jnp.max(log_likelihood, axis=1, keepdims=True))

        def step(before, likelihood):
            after = jnp.sum(columns * before, axis=1) * likelihood
            total = jnp.sum(after)
            return after / total, total

        likelihood = jnp.exp(log_likelihood - top)
        _, scale = jax.lax.scan(step, jnp.full(K, 1.0 / K), likelihood)
        return jnp.sum(jnp.log(scale)) + jnp.sum(top) - 0.5 * y.size * LOG_2PI

    f = jax.jit(jax.value_and_grad(logp, (0, 1, 2)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, y))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt
    from pytensor.gradient import disconnected_grad

    y = pytensor.shared(p["y"])
    logit = pt.tensor("logit", dtype="float64", shape=(K, K))
    mean, sd = (pt.tensor(name, dtype="float64", shape=(K,)) for name in ("mean", "sd"))
    log_likelihood = -0.5 * ((y[:, None] - mean) / sd) ** 2 - pt.log(sd)
    top = disconnected_grad(log_likelihood.max(axis=1, keepdims=True))

    def step(likelihood, before, columns):
        after = (columns @ before) * likelihood
        total = after.sum()
        return after / total, total

    _, scale = pytensor.scan(
        step, sequences=pt.exp(log_likelihood - top),
        outputs_info=[pt.as_tensor(np.full(K, 1.0 / K)), None],
        non_sequences=pt.special.softmax(logit, axis=0), return_updates=False,
    )  # fmt: skip
    total = pt.log(scale).sum() + top.sum() - 0.5 * y.shape[0] * LOG_2PI
    inputs = [logit, mean, sd]
    gradients = pytensor.grad(total, inputs)
    f = pytensor.function(inputs, [total, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
