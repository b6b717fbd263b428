"""A Gaussian process over two dims: log marginal likelihood with noise, and its gradient.

The covariance is a Kronecker product of a squared exponential kernel and one of Matérn, of order
1/2. The gradient is by the amplitude, both length scales and the standard deviation of the noise.
"""

import numpy as np

SIZES = (30, 300)
CONTENDERS = ("hand", "dimtensor-numba", "dimtensor-jax", "jax")
LOG_2PI = np.log(2 * np.pi)


def problem(n):
    rng = np.random.default_rng(6)
    x, t = np.sort(rng.uniform(0.0, 10.0, n)), np.sort(rng.uniform(0.0, 10.0, n))
    return {
        "x": x,
        "t": t,
        "y": np.sin(x)[:, None] * np.cos(t) + 0.3 * rng.normal(size=(n, n)),
        "amplitude": np.asarray(1.2),
        "scale": np.asarray(0.9),
        "reach": np.asarray(2.0),
        "noise": np.asarray(0.4),
    }


def _arguments(p):
    return p["amplitude"], p["scale"], p["reach"], p["noise"]


def hand(p):
    """Eigenvalues and eigenvectors of both factors by LAPACK, products of matrices by BLAS.

    With S = V diag(s) V', a = S^-1 y and d the diagonal of V' dS V, the derivative is
    (a' dS a - sum(d / s)) / 2.
    """
    from scipy.linalg import eigh

    x, t, y = p["x"], p["t"], p["y"]
    square, apart = np.subtract.outer(x, x) ** 2, np.abs(np.subtract.outer(t, t))

    def f(amplitude, scale, reach, noise):
        first = np.exp(-0.5 * square / scale**2)
        other = np.exp(-apart / reach)
        (u, one), (v, two) = eigh(first), eigh(other)
        own = np.multiply.outer(u, v)
        values = amplitude**2 * own + noise**2
        turned = one.T @ y @ two
        weights = turned / values
        a = one @ weights @ two.T
        value = -0.5 * (np.sum(turned * weights) + np.log(values).sum() + y.size * LOG_2PI)
        inverse = 1.0 / values
        by_first, by_other = inverse @ v, u @ inverse
        d_first, d_other = first * square / scale**3, other * apart / reach**2
        along_first = np.einsum("ij,ij->j", one, d_first @ one)
        along_other = np.einsum("ij,ij->j", two, d_other @ two)
        through = a @ other
        variance = np.sum(weights**2 * own) - np.sum(inverse * own)
        by_scale = np.sum((d_first @ a) * through) - along_first @ by_first
        by_reach = np.sum((first @ a) * (a @ d_other)) - by_other @ along_other
        return (
            value,
            amplitude * variance,
            0.5 * amplitude**2 * by_scale,
            0.5 * amplitude**2 * by_reach,
            noise * (np.sum(weights**2) - inverse.sum()),
        )

    return f, _arguments(p)


def _dimtensor(p, backend):
    import dimtensor as dt
    from dimtensor import dist

    place, time = dt.Dim("place", coords=p["x"]), dt.Dim("time", coords=p["t"])
    y = dt.data(p["y"], dims=[place, time], name="y")
    names = ("amplitude", "scale", "reach", "noise")
    amplitude, scale, reach, noise = inputs = [dt.scalar(name) for name in names]
    kernel = dt.gp.SquaredExponential(scale).on(place) * dt.gp.Matern12(reach).on(time)
    process = dist.GP(amplitude**2 * kernel, [place, time], noise=noise)
    total = process.logp(y)
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return f.positional, _arguments(p)


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    """Derivatives of eigenvectors are JAX's, which are right where eigenvalues differ."""
    import jax
    import jax.numpy as jnp

    x, t, y = (jnp.asarray(p[name]) for name in ("x", "t", "y"))

    def logp(amplitude, scale, reach, noise, x, t, y):
        first = jnp.exp(-0.5 * (x[:, None] - x) ** 2 / scale**2)
        other = jnp.exp(-jnp.abs(t[:, None] - t) / reach)
        (u, one), (v, two) = jnp.linalg.eigh(first), jnp.linalg.eigh(other)
        values = amplitude**2 * jnp.outer(u, v) + noise**2
        turned = one.T @ y @ two
        total = jnp.sum(turned**2 / values) + jnp.sum(jnp.log(values))
        return -0.5 * (total + y.size * LOG_2PI)

    f = jax.jit(jax.value_and_grad(logp, (0, 1, 2, 3)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, x, t, y))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))
