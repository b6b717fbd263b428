"""A conditional autoregression of areas that touch, with its gradient by all parameters.

The areas are points of a plane; neighbors are those that a Delaunay triangulation joins, six each
on average.
"""

import numpy as np

SIZES = (56, 400, 1000)
LOG_2PI = np.log(2 * np.pi)


def problem(n):
    from scipy.spatial import Delaunay

    rng = np.random.default_rng(8)
    weights = np.zeros((n, n))
    for corners in Delaunay(rng.uniform(size=(n, 2))).simplices:
        weights[np.ix_(corners, corners)] = 1.0
    np.fill_diagonal(weights, 0.0)
    return {
        "weights": weights,
        "x": 0.3 * rng.normal(size=n),
        "mu": np.asarray(0.1),
        "alpha": np.asarray(0.8),
        "tau": np.asarray(2.5),
    }


def _arguments(p):
    return p["x"], p["mu"], p["alpha"], p["tau"]


def _eigenvalues(weights):
    scale = 1.0 / np.sqrt(weights.sum(axis=0))
    return np.linalg.eigvalsh(scale[:, None] * weights * scale)


def hand(p):
    """A loop over pairs of neighbors; one logarithm of eight eigenvalues."""
    import math

    import numba

    first, second = np.nonzero(np.triu(p["weights"]))
    total = p["weights"].sum(axis=0)
    constant = 0.5 * np.log(total).sum() - 0.5 * len(total) * LOG_2PI

    @numba.njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
    def f(x, mu_, alpha_, tau_, first, second, total, found, constant):
        mu, alpha, tau = mu_[()], alpha_[()], tau_[()]
        n = x.shape[0]
        gradient = np.empty(n)
        own, g_mu = 0.0, 0.0
        for i in range(n):
            apart = x[i] - mu
            pull = total[i] * apart
            own += pull * apart
            g_mu += pull
            gradient[i] = -tau * (1.0 - alpha) * pull
        rough, slope = 0.0, tau * alpha
        for e in range(first.shape[0]):
            i, j = first[e], second[e]
            apart = x[i] - x[j]
            rough += apart * apart
            gradient[i] -= slope * apart
            gradient[j] += slope * apart
        logs, g_alpha = 0.0, 0.0
        for start in range(0, n, 8):
            product = 1.0
            for i in range(start, min(start + 8, n)):
                rest = 1.0 - alpha * found[i]
                product *= rest
                g_alpha -= found[i] / rest
            logs += math.log(product)
        distance = (1.0 - alpha) * own + alpha * rough
        return (
            0.5 * (logs + n * math.log(tau) - tau * distance) + constant,
            gradient,
            tau * (1.0 - alpha) * g_mu,
            0.5 * (g_alpha + tau * (own - rough)),
            0.5 * (n / tau - distance),
        )

    found = _eigenvalues(p["weights"])
    return (lambda *args: f(*args, first, second, total, found, constant)), _arguments(p)


def _dimtensor(p, backend):
    import dimtensor as dt
    from dimtensor import dist

    area = dt.Dim("area", length=len(p["x"]))
    weights = dt.data(p["weights"], dims=[area, area.rename()], name="weights")
    mu, alpha, tau = dt.scalar("mu"), dt.scalar("alpha"), dt.scalar("tau")
    inputs = [dt.tensor("x", dims=area), mu, alpha, tau]
    total = dist.CAR(mu, weights, alpha, tau).logp(inputs[0])
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return f.positional, _arguments(p)


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    """As PyMC's density is written, with eigenvalues and edges computed before."""
    import jax
    import jax.numpy as jnp

    first, second = map(jnp.asarray, np.nonzero(np.triu(p["weights"])))
    total, found = jnp.asarray(p["weights"].sum(axis=0)), jnp.asarray(_eigenvalues(p["weights"]))
    constant = 0.5 * np.log(p["weights"].sum(axis=0)).sum() - 0.5 * len(p["x"]) * LOG_2PI

    def logp(x, mu, alpha, tau, first, second, total, found):
        apart = x - mu
        cross = 2.0 * jnp.sum(apart[first] * apart[second])
        distance = jnp.sum(total * apart**2) - alpha * cross
        logs = jnp.sum(jnp.log1p(-alpha * found)) + len(x) * jnp.log(tau)
        return 0.5 * (logs - tau * distance) + constant

    f = jax.jit(jax.value_and_grad(logp, (0, 1, 2, 3)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, first, second, total, found))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    """PyMC's density, with its product of a matrix and a vector."""
    import pytensor
    import pytensor.tensor as pt

    n = len(p["x"])
    weights = pytensor.shared(p["weights"], shape=(n, n))
    total = pytensor.shared(p["weights"].sum(axis=0), shape=(n,))
    found = pytensor.shared(_eigenvalues(p["weights"]), shape=(n,))
    constant = 0.5 * np.log(p["weights"].sum(axis=0)).sum() - 0.5 * n * LOG_2PI
    x = pt.dvector("x", shape=(n,))
    mu, alpha, tau = pt.dscalars("mu", "alpha", "tau")
    apart = x - mu
    distance = (apart * (total * apart - alpha * pt.dot(apart, weights))).sum()
    logs = pt.log(1 - alpha * found).sum() + n * pt.log(tau)
    value = 0.5 * (logs - tau * distance) + constant
    inputs = [x, mu, alpha, tau]
    gradients = pytensor.grad(value, inputs)
    f = pytensor.function(inputs, [value, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
