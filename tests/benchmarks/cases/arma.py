"""ARMA(1,1): log likelihood of a series, value and gradient by all four parameters.

The value before the first is the mean, and the noise before the first is zero, as in Stan's manual.
"""

import numpy as np

SIZES = (200, 1_000, 10_000)
LOG_2PI = np.log(2 * np.pi)


def problem(n):
    rng = np.random.default_rng(8)
    noise, y, before = 0.5 * rng.normal(size=n), np.empty(n), 0.3
    for t in range(n):
        y[t] = before = 0.3 + 0.6 * before + noise[t] + 0.4 * (noise[t - 1] if t else 0.0)
    return {
        "y": y,
        "mu": np.asarray(0.28),
        "phi": np.asarray(0.57),
        "theta": np.asarray(0.43),
        "sigma": np.asarray(0.55),
    }


def _arguments(p):
    return p["mu"], p["phi"], p["theta"], p["sigma"]


def hand(p):
    """One pass: the noise and its derivatives are chains that run beside each other.

    Nothing is reassociated: LLVM would put a second addition between a step and the next.
    """
    import math

    import numba

    y = p["y"]

    @numba.njit(fastmath={"contract", "nsz", "arcp"}, error_model="numpy")
    def f(mu_, phi_, theta_, sigma_, y):
        mu, phi, theta, sigma = mu_[()], phi_[()], theta_[()], sigma_[()]
        n = y.shape[0]
        e, before = 0.0, mu
        m, f, h = 0.0, 0.0, 0.0  # minus the derivatives of e by mu, phi and theta
        squares, g_mu, g_phi, g_theta = 0.0, 0.0, 0.0, 0.0
        for t in range(n):
            m = (1.0 if t else 1.0 + phi) - theta * m
            f = before - theta * f
            h = e - theta * h
            e = (y[t] - mu - phi * before) - theta * e
            before = y[t]
            squares += e * e
            g_mu += e * m
            g_phi += e * f
            g_theta += e * h
        w = 1.0 / (sigma * sigma)
        value = -0.5 * squares * w - n * (math.log(sigma) + 0.5 * LOG_2PI)
        return value, g_mu * w, g_phi * w, g_theta * w, squares * w / sigma - n / sigma

    return (lambda *args: f(*args, y)), _arguments(p)


def _dimtensor(p, backend):
    import dimtensor as dt

    time = dt.Dim("time")
    y = dt.data(p["y"], dims=time, name="y")
    inputs = [dt.scalar(name) for name in ("mu", "phi", "theta", "sigma")]
    mu, phi, theta, sigma = inputs
    known = mu + phi * y.shift({time: 1}, fill_value=mu)
    noise = dt.cumulate(lambda noise, apart: apart - theta * noise, 0.0, y - known, dim=time)
    total = (-0.5 * (noise / sigma) ** 2 - dt.log(sigma) - 0.5 * LOG_2PI).sum()
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return f.positional, _arguments(p)


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    """The squares are summed in the step: nothing is stacked, which is faster here."""
    import jax
    import jax.numpy as jnp

    y = jnp.asarray(p["y"])

    def logp(mu, phi, theta, sigma, y):
        def step(state, y):
            noise, before, total = state
            noise = y - (mu + phi * before + theta * noise)
            return (noise, y, total + noise * noise), None

        (_, _, squares), _ = jax.lax.scan(step, (jnp.zeros(()), mu, jnp.zeros(())), y)
        return -0.5 * squares / sigma**2 - y.size * (jnp.log(sigma) + 0.5 * LOG_2PI)

    f = jax.jit(jax.value_and_grad(logp, (0, 1, 2, 3)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, y))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    y = pytensor.shared(p["y"])
    inputs = pt.dscalars("mu", "phi", "theta", "sigma")
    mu, phi, theta, sigma = inputs
    apart = y - mu - phi * pt.concatenate([mu[None], y[:-1]])
    noise = pytensor.scan(
        lambda apart, noise, theta: apart - theta * noise,
        sequences=apart, outputs_info=pt.as_tensor(np.float64(0.0)), non_sequences=theta,
        return_updates=False,
    )  # fmt: skip
    total = -0.5 * ((noise / sigma) ** 2).sum() - y.shape[0] * (pt.log(sigma) + 0.5 * LOG_2PI)
    gradients = pytensor.grad(total, inputs)
    f = pytensor.function(inputs, [total, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
