"""GARCH(1,1): log likelihood of returns, value and gradient by all four parameters.

The variance of the first return is data, as in Stan's manual.
"""

import numpy as np

SIZES = (200, 1_000, 10_000)
CONTENDERS = ("hand", "hand-adjoint", "dimtensor-numba", "dimtensor-jax", "jax", "pytensor")
LOG_2PI = np.log(2 * np.pi)


def problem(n):
    rng = np.random.default_rng(7)
    z, y, h = rng.normal(size=n), np.empty(n), 1.0
    for t in range(n):
        y[t] = 0.1 + np.sqrt(h) * z[t]
        h = 0.1 + 0.15 * (y[t] - 0.1) ** 2 + 0.8 * h
    return {
        "y": y,
        "first": 1.0,
        "mu": np.asarray(0.12),
        "omega": np.asarray(0.11),
        "alpha": np.asarray(0.14),
        "beta": np.asarray(0.79),
    }


def _arguments(p):
    return p["mu"], p["omega"], p["alpha"], p["beta"]


def hand(p):
    """One pass: the variance and its four derivatives are chains that wait for nothing else.

    The sum of the logarithms is the logarithm of a product, one for each block. Nothing is
    reassociated: LLVM would put a second addition between a variance and the next.
    """
    import math

    import numba

    y, first = p["y"], p["first"]
    block = 64

    @numba.njit(fastmath={"contract", "nsz", "arcp"}, error_model="numpy")
    def f(mu_, omega_, alpha_, beta_, y, first):
        mu, omega, alpha, beta = mu_[()], omega_[()], alpha_[()], beta_[()]
        n = y.shape[0]
        h = first
        m, o, a, b = 0.0, 0.0, 0.0, 0.0  # derivatives of h, that by mu over -2 alpha
        logs, squares, direct = 0.0, 0.0, 0.0
        g_mu, g_omega, g_alpha, g_beta = 0.0, 0.0, 0.0, 0.0
        for start in range(0, n, block):
            product = 1.0
            for t in range(start, min(start + block, n)):
                e = y[t] - mu
                inverse = 1.0 / h
                scaled = e * inverse
                q = e * scaled
                d = inverse * (q - 1.0)
                product *= h
                squares += q
                direct += scaled
                g_mu += d * m
                g_omega += d * o
                g_alpha += d * a
                g_beta += d * b
                m = beta * m + e
                o = beta * o + 1.0
                a = beta * a + e * e
                b = beta * b + h
                h = (omega + alpha * e * e) + beta * h
            logs += math.log(product)
        value = -0.5 * (logs + squares + n * LOG_2PI)
        return value, direct - alpha * g_mu, 0.5 * g_omega, 0.5 * g_alpha, 0.5 * g_beta

    return (lambda *args: f(*args, y, first)), _arguments(p)


def hand_adjoint(p):
    """One pass forward that stores the variances, and one back: the loops one writes first."""
    import math

    import numba

    y, first = p["y"], p["first"]

    @numba.njit(fastmath={"contract", "nsz", "arcp"}, error_model="numpy")
    def f(mu_, omega_, alpha_, beta_, y, first):
        mu, omega, alpha, beta = mu_[()], omega_[()], alpha_[()], beta_[()]
        n = y.shape[0]
        stored = np.empty(n)
        h, value = first, 0.0
        for t in range(n):
            stored[t] = h
            e = y[t] - mu
            value += math.log(h) + e * e / h
            h = (omega + alpha * e * e) + beta * h
        adjoint = 0.0
        g_mu, g_omega, g_alpha, g_beta = 0.0, 0.0, 0.0, 0.0
        for t in range(n - 1, -1, -1):
            h, e = stored[t], y[t] - mu
            inverse = 1.0 / h
            g_omega += adjoint
            g_alpha += adjoint * e * e
            g_beta += adjoint * h
            g_mu += e * inverse - 2.0 * alpha * e * adjoint
            adjoint = 0.5 * inverse * (e * e * inverse - 1.0) + beta * adjoint
        return -0.5 * (value + n * LOG_2PI), g_mu, g_omega, g_alpha, g_beta

    return (lambda *args: f(*args, y, first)), _arguments(p)


def _dimtensor(p, backend):
    import dimtensor as dt

    time = dt.Dim("time")
    y = dt.data(p["y"], dims=time, name="y")
    inputs = [dt.scalar(name) for name in ("mu", "omega", "alpha", "beta")]
    mu, omega, alpha, beta = inputs
    squares = (y - mu) ** 2
    _, h = dt.scan(
        lambda h, square: (omega + alpha * square + beta * h, h), p["first"], squares, dim=time
    )
    total = -0.5 * (dt.log(h) + squares / h + LOG_2PI).sum()
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return f.positional, _arguments(p)


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    """The likelihood is summed in the step: nothing is stacked, which is faster here."""
    import jax
    import jax.numpy as jnp

    y = jnp.asarray(p["y"])

    def logp(mu, omega, alpha, beta, y):
        def step(state, y):
            h, total = state
            e = y - mu
            return (omega + alpha * e * e + beta * h, total + jnp.log(h) + e * e / h), None

        (_, total), _ = jax.lax.scan(step, (jnp.asarray(p["first"]), jnp.zeros(())), y)
        return -0.5 * (total + y.size * LOG_2PI)

    f = jax.jit(jax.value_and_grad(logp, (0, 1, 2, 3)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, y))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    y = pytensor.shared(p["y"])
    inputs = pt.dscalars("mu", "omega", "alpha", "beta")
    mu, omega, alpha, beta = inputs
    squares = (y - mu) ** 2
    first = pt.as_tensor(np.float64(p["first"]))
    h = pytensor.scan(
        lambda square, h, omega, alpha, beta: omega + alpha * square + beta * h,
        sequences=squares[:-1], outputs_info=first, non_sequences=[omega, alpha, beta],
        return_updates=False,
    )  # fmt: skip
    h = pt.concatenate([first[None], h])
    total = -0.5 * (pt.log(h) + squares / h + LOG_2PI).sum()
    gradients = pytensor.grad(total, inputs)
    f = pytensor.function(inputs, [total, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
