"""A Gaussian process: squared exponential kernel, log marginal likelihood, its gradient.

The gradient is by the amplitude, the length scale and the standard deviation of the noise.
"""

import numpy as np

SIZES = (50, 200)
LOG_2PI = np.log(2 * np.pi)


def problem(n):
    rng = np.random.default_rng(6)
    x = np.sort(rng.uniform(0.0, 10.0, n))
    return {
        "x": x,
        "y": np.sin(x) + 0.3 * rng.normal(size=n),
        "amplitude": np.asarray(1.2),
        "scale": np.asarray(0.9),
        "noise": np.asarray(0.4),
    }


def _arguments(p):
    return p["amplitude"], p["scale"], p["noise"]


def hand(p):
    """Half of the matrix is computed, factored and inverted in place by LAPACK.

    With W = K^-1 and a = W y, the gradient is (a' dK a - tr(W dK)) / 2, and only half of the sums
    is taken. The exponentials are kept for it.
    """
    import ctypes
    import math

    import numba
    from numba.extending import get_cython_function_address

    from cases.vectors import exp

    pointer = ctypes.c_void_p
    signature = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, pointer, pointer)
    potrf, potri = (
        signature(get_cython_function_address("scipy.linalg.cython_lapack", name))
        for name in ("dpotrf", "dpotri")
    )
    x, y = p["x"], p["y"]
    n = len(x)
    uplo = np.array([ord("U")], dtype=np.int8)  # the lower half, because LAPACK's is transposed
    order, info = np.array([n], dtype=np.int32), np.zeros(1, dtype=np.int32)
    square = np.subtract.outer(x, x) ** 2

    @numba.njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
    def f(amplitude_, scale_, noise_, y, square, uplo, order, info):
        amplitude, scale, noise = amplitude_[()], scale_[()], noise_[()]
        n = y.shape[0]
        variance, slope = amplitude * amplitude, -0.5 / (scale * scale)
        kernel, factor, weights = np.empty((n, n)), np.empty((n, n)), np.empty(n)
        for i in range(n):
            for j in range(i + 1):
                e = exp(slope * square[i, j])
                kernel[i, j] = e
                factor[i, j] = variance * e
            factor[i, i] += noise * noise
        where = factor.ctypes
        potrf(uplo.ctypes, order.ctypes, where, order.ctypes, info.ctypes)
        logdet = 0.0
        for i in range(n):
            logdet += math.log(factor[i, i])
        potri(uplo.ctypes, order.ctypes, where, order.ctypes, info.ctypes)
        for i in range(n):
            weights[i] = 0.0
        for i in range(n):
            total, yi = 0.0, y[i]
            for j in range(i):
                total += factor[i, j] * y[j]
                weights[j] += factor[i, j] * yi
            weights[i] += total + factor[i, i] * yi
        fit, g_variance, g_scale, trace, norm = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            wi = weights[i]
            fit += wi * y[i]
            norm += wi * wi
            trace += factor[i, i]
            s, q = 0.0, 0.0
            for j in range(i):
                d = (wi * weights[j] - factor[i, j]) * kernel[i, j]
                s += d
                q += d * square[i, j]
            g_variance += s + 0.5 * (wi * wi - factor[i, i])
            g_scale += q
        value = -0.5 * fit - logdet - 0.5 * n * LOG_2PI
        cubed = scale * scale * scale
        return (
            value,
            2.0 * amplitude * g_variance,
            variance * g_scale / cubed,
            noise * (norm - trace),
        )

    return (lambda *args: f(*args, y, square, uplo, order, info)), _arguments(p)


def _dimtensor(p, backend):
    import dimtensor as dt

    point = dt.Dim("point", length=len(p["x"]))
    x = dt.data(p["x"], dims=point, name="x")
    y = dt.data(p["y"], dims=point, name="y")
    amplitude, scale, noise = dt.scalar("amplitude"), dt.scalar("scale"), dt.scalar("noise")
    apart = (x - x.rename_dim(point)) / scale
    covariance = amplitude**2 * dt.exp(-0.5 * apart**2) + noise**2 * dt.eye(point)
    root = dt.linalg.cholesky(covariance)
    z = dt.linalg.solve_triangular(root, y)
    total = -0.5 * (z**2).sum() - dt.log(dt.diagonal(root)).sum() - 0.5 * len(p["x"]) * LOG_2PI
    inputs = [amplitude, scale, noise]
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return f.positional, _arguments(p)


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    x, y = jnp.asarray(p["x"]), jnp.asarray(p["y"])
    n = len(p["x"])
    square, identity = (x[:, None] - x[None, :]) ** 2, jnp.eye(n)

    def logp(amplitude, scale, noise, square, identity, y):
        covariance = amplitude**2 * jnp.exp(-0.5 * square / scale**2) + noise**2 * identity
        root = jnp.linalg.cholesky(covariance)
        z = solve_triangular(root, y, lower=True)
        return -0.5 * jnp.sum(z**2) - jnp.sum(jnp.log(jnp.diag(root))) - 0.5 * n * LOG_2PI

    f = jax.jit(jax.value_and_grad(logp, (0, 1, 2)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, square, identity, y))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    n = len(p["x"])
    square = pytensor.shared(np.subtract.outer(p["x"], p["x"]) ** 2, shape=(n, n))
    y = pytensor.shared(p["y"], shape=(n,))
    amplitude, scale, noise = pt.dscalars("amplitude", "scale", "noise")
    covariance = amplitude**2 * pt.exp(-0.5 * square / scale**2) + noise**2 * pt.eye(n)
    root = pt.linalg.cholesky(covariance)
    z = pt.linalg.solve_triangular(root, y, lower=True, b_ndim=1)
    total = -0.5 * (z**2).sum() - pt.log(pt.diag(root)).sum() - 0.5 * n * LOG_2PI
    inputs = [amplitude, scale, noise]
    gradients = pytensor.grad(total, inputs)
    f = pytensor.function(inputs, [total, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
