"""A mixture of four normal distributions: logsumexp over a small dim, summed over observations.

Value, and gradient by the weights' logits, the means and the standard deviations.
"""

import numpy as np

SIZES = (1_000, 100_000)
CONTENDERS = (
    "hand", "hand-as-written", "dimtensor-numba", "dimtensor-jax", "jax", "pytensor",
)  # fmt: skip
COMPONENTS = 4
HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


def problem(n):
    rng = np.random.default_rng(5)
    mean = np.array([-2.0, 0.0, 1.5, 4.0])
    sd = np.array([0.5, 1.0, 0.7, 1.2])
    of = rng.integers(0, COMPONENTS, n)
    return {
        "y": rng.normal(mean[of], sd[of]),
        "logit": rng.normal(size=COMPONENTS) / 2,
        "mean": mean + 0.1 * rng.normal(size=COMPONENTS),
        "sd": sd * 1.1,
    }


def _arguments(p):
    return p["logit"], p["mean"], p["sd"]


def hand(p, as_written=False):
    """One pass with everything of an observation in registers, four observations in the lanes.

    The sum of the logarithms is the logarithm of a product, one for each block. As it is written,
    what is divided by a standard deviation is not multiplied by its reciprocal.
    """
    import math

    import numba

    from cases.vectors import exp

    y = p["y"]
    block = 256  # 4 ** 256 is below the largest float

    exact = {"reassoc", "contract", "nsz"}

    @numba.njit(inline="always")
    def over(apart, sd, reciprocal):
        return apart / sd if as_written else apart * reciprocal

    @numba.njit(fastmath=exact if as_written else {*exact, "arcp"}, error_model="numpy")
    def f(logit, mean, sd, y):
        n = y.shape[0]
        top = max(max(logit[0], logit[1]), max(logit[2], logit[3]))
        total = 0.0
        for k in range(4):
            total += math.exp(logit[k] - top)
        norm = top + math.log(total)
        base, scale = np.empty(4), np.empty(4)
        for k in range(4):
            base[k] = logit[k] - norm - math.log(sd[k]) - HALF_LOG_2PI
            scale[k] = 1.0 / sd[k]
        c0, c1, c2, c3 = base[0], base[1], base[2], base[3]
        m0, m1, m2, m3 = mean[0], mean[1], mean[2], mean[3]
        s0, s1, s2, s3 = sd[0], sd[1], sd[2], sd[3]
        w0, w1, w2, w3 = scale[0], scale[1], scale[2], scale[3]
        value = 0.0
        r0, r1, r2, r3 = 0.0, 0.0, 0.0, 0.0  # sums of the posterior weights, with 1, z, z * z
        f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
        q0, q1, q2, q3 = 0.0, 0.0, 0.0, 0.0
        for start in range(0, n, block):
            product = 1.0
            for i in range(start, min(start + block, n)):
                z0, z1 = over(y[i] - m0, s0, w0), over(y[i] - m1, s1, w1)
                z2, z3 = over(y[i] - m2, s2, w2), over(y[i] - m3, s3, w3)
                a0, a1 = c0 - 0.5 * z0 * z0, c1 - 0.5 * z1 * z1
                a2, a3 = c2 - 0.5 * z2 * z2, c3 - 0.5 * z3 * z3
                a = max(max(a0, a1), max(a2, a3))
                e0, e1, e2, e3 = exp(a0 - a), exp(a1 - a), exp(a2 - a), exp(a3 - a)
                s = (e0 + e1) + (e2 + e3)
                value += a
                product *= s
                inverse = 1.0 / s
                e0, e1, e2, e3 = e0 * inverse, e1 * inverse, e2 * inverse, e3 * inverse
                r0, r1, r2, r3 = r0 + e0, r1 + e1, r2 + e2, r3 + e3
                e0, e1, e2, e3 = e0 * z0, e1 * z1, e2 * z2, e3 * z3
                f0, f1, f2, f3 = f0 + e0, f1 + e1, f2 + e2, f3 + e3
                q0, q1, q2, q3 = q0 + e0 * z0, q1 + e1 * z1, q2 + e2 * z2, q3 + e3 * z3
            value += math.log(product)
        g_logit = np.array([r0, r1, r2, r3])
        g_mean = np.array([f0 * w0, f1 * w1, f2 * w2, f3 * w3])
        g_sd = np.array([(q0 - r0) * w0, (q1 - r1) * w1, (q2 - r2) * w2, (q3 - r3) * w3])
        for k in range(4):
            g_logit[k] -= n * math.exp(logit[k] - norm)
        return value, g_logit, g_mean, g_sd

    return (lambda *args: f(*args, y)), _arguments(p)


def hand_as_written(p):
    return hand(p, as_written=True)


def _dimtensor(p, backend, **options):
    import dimtensor as dt

    obs, component = dt.Dim("obs"), dt.Dim("component", length=COMPONENTS)
    y = dt.data(p["y"], dims=obs, name="y")
    logit, mean, sd = (dt.tensor(name, dims=component) for name in ("logit", "mean", "sd"))
    z = (y - mean) / sd
    weighted = dt.log_softmax(logit, component) - 0.5 * z**2 - dt.log(sd) - HALF_LOG_2PI
    total = dt.logsumexp(weighted, component).sum()
    inputs = [logit, mean, sd]
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

    def logp(logit, mean, sd, y):
        z = (y - mean[:, None]) / sd[:, None]  # observations last: they are contiguous
        base = jax.nn.log_softmax(logit) - jnp.log(sd) - HALF_LOG_2PI
        return jnp.sum(jax.nn.logsumexp(base[:, None] - 0.5 * z * z, axis=0))

    f = jax.jit(jax.value_and_grad(logp, (0, 1, 2)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, y))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    y = pytensor.shared(p["y"])
    logit, mean, sd = (
        pt.tensor(name, dtype="float64", shape=(COMPONENTS,)) for name in ("logit", "mean", "sd")
    )
    z = (y[None, :] - mean[:, None]) / sd[:, None]
    base = pt.special.log_softmax(logit) - pt.log(sd) - HALF_LOG_2PI
    total = pt.logsumexp(base[:, None] - 0.5 * z**2, axis=0).sum()
    inputs = [logit, mean, sd]
    gradients = pytensor.grad(total, inputs)
    f = pytensor.function(inputs, [total, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
