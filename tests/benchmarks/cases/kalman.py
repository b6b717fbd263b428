"""A Kalman filter with four states and one observation: log likelihood, with its gradient.

Parameters are the transition matrix, how states are observed, and the variances of both noises.
"""

import numpy as np

SIZES = (200, 1_000, 10_000)
K = 4
LOG_2PI = np.log(2 * np.pi)


def problem(n):
    rng = np.random.default_rng(9)
    transition = np.array([
        [0.95, 0.30, 0.00, 0.00],
        [-0.2, 0.90, 0.00, 0.10],
        [0.00, 0.00, 0.70, 0.20],
        [0.10, 0.00, -0.3, 0.60],
    ])  # fmt: skip
    observed, variance = np.array([1.0, 0.0, 0.5, 0.2]), np.array([0.3, 0.2, 0.5, 0.1])
    y, x = np.empty(n), np.zeros(K)
    for t in range(n):
        y[t] = observed @ x + 0.5 * rng.normal()
        x = transition @ x + np.sqrt(variance) * rng.normal(size=K)
    return {
        "y": y,
        "mean": np.zeros(K),
        "covariance": np.eye(K),
        "transition": transition + 0.02 * rng.normal(size=(K, K)),
        "observed": observed + 0.05 * rng.normal(size=K),
        "variance": variance * 1.2,
        "noise": np.asarray(0.3),
    }


def _arguments(p):
    return p["transition"], p["observed"], p["variance"], p["noise"]


def _unrolled():
    """Source of the loops with all elements in variables; of symmetric matrices one half."""
    r = range(K)
    half = [(i, j) for i in r for j in range(i, K)]

    def s(name, i, j):  # an element of a symmetric matrix
        return f"{name}{min(i, j)}{max(i, j)}"

    def total(terms):
        return " + ".join(terms)

    gains = [
        *(f"u{i} = {total(f'{s("p", i, j)} * h{j}' for j in r)}" for i in r),
        f"w = 1.0 / (noise + {total(f'h{i} * u{i}' for i in r)})",
        f"v = y[t] - ({total(f'h{i} * m{i}' for i in r)})",
        *(f"k{i} = u{i} * w" for i in r),
        *(f"n{i} = m{i} + k{i} * v" for i in r),
        *(f"c{i}{j} = p{i}{j} - k{i} * u{j}" for i, j in half),
    ]
    forward = [
        *(f"stored[t, {at}] = {x}" for at, x in enumerate(
            [f"m{i}" for i in r] + [f"p{i}{j}" for i, j in half])),
        *gains,
        "product *= w",
        "squares += v * v * w",
        *(f"m{i} = {total(f'f{i}{j} * n{j}' for j in r)}" for i in r),
        *(f"g{i}{j} = {total(f'f{i}{k} * {s("c", k, j)}' for k in r)}" for i in r for j in r),
        *(f"p{i}{j} = {total(f'g{i}{k} * f{j}{k}' for k in r)}" + (f" + q{i}" if i == j else "")
          for i, j in half),
    ]  # fmt: skip
    back = [
        *(f"{x} = stored[t, {at}]" for at, x in enumerate(
            [f"m{i}" for i in r] + [f"p{i}{j}" for i, j in half])),
        *gains,
        # a: adjoint of the next mean; A: of the next covariance; t = A F
        *(f"t{i}{j} = {total(f'{s("A", i, k)} * f{k}{j}' for k in r)}" for i in r for j in r),
        *(f"F{i}{j} += a{i} * n{j} + 2.0 * ({total(f't{i}{k} * {s("c", k, j)}' for k in r)})"
          for i in r for j in r),
        *(f"Q{i} += A{i}{i}" for i in r),
        *(f"b{i} = {total(f'f{j}{i} * a{j}' for j in r)}" for i in r),
        *(f"B{i}{j} = {total(f'f{k}{i} * t{k}{j}' for k in r)}" for i, j in half),
        *(f"d{i} = {total(f'{s("B", i, j)} * k{j}' for j in r)}" for i in r),
        f"e = {total(f'b{i} * k{i}' for i in r)} - v * w",
        f"z = {total(f'k{i} * d{i}' for i in r)} - v * w * e - 0.5 * w * (1.0 + v * v * w)",
        "N += z",
        *(f"x{i} = b{i} * (v * w) - 2.0 * d{i} + z * h{i}" for i in r),
        *(f"H{i} += z * u{i} - e * m{i} + {total(f'{s("p", i, j)} * x{j}' for j in r)}"
          for i in r),
        *(f"a{i} = b{i} - e * h{i}" for i in r),
        *(f"A{i}{j} = B{i}{j} + 0.5 * (x{i} * h{j} + h{i} * x{j})" for i, j in half),
    ]  # fmt: skip
    every = [(i, j) for i in r for j in r]
    zeros = [*(f"F{i}{j}" for i, j in every), *(f"Q{i}" for i in r), *(f"H{i}" for i in r), "N"]
    zeros += [*(f"a{i}" for i in r), *(f"A{i}{j}" for i, j in half)]
    lines = [
        "def f(transition, observed, variance, noise_, mean, covariance, y):",
        " noise = noise_[()]",
        *(f" f{i}{j} = transition[{i}, {j}]" for i, j in every),
        *(f" h{i} = observed[{i}]" for i in r),
        *(f" q{i} = variance[{i}]" for i in r),
        *(f" m{i} = mean[{i}]" for i in r),
        *(f" p{i}{j} = covariance[{i}, {j}]" for i, j in half),
        " n = y.shape[0]",
        f" stored = np.empty((n, {K + len(half)}))",
        " squares = logs = 0.0",
        " for start in range(0, n, 64):",
        "  product = 1.0",
        "  for t in range(start, min(start + 64, n)):",
        *("   " + line for line in forward),
        "  logs += math.log(product)",
        *(f" {x} = 0.0" for x in zeros),
        " for t in range(n - 1, -1, -1):",
        *("  " + line for line in back),
        " return (0.5 * (logs - squares - n * LOG_2PI),",
        f"  np.array([{', '.join(f'F{i}{j}' for i, j in every)}]).reshape({K}, {K}),",
        f"  np.array([{', '.join(f'H{i}' for i in r)}]),",
        f"  np.array([{', '.join(f'Q{i}' for i in r)}]), N)",
    ]
    return "\n".join(lines)


def hand(p):
    """Everything in registers or on the stack; means and covariances before updates are stored."""
    import math

    import numba

    numba.config.SLP_VECTORIZE = 1  # numba leaves it off: here it makes vectors of the variables
    names = {"np": np, "math": math, "LOG_2PI": LOG_2PI}
    exec(_unrolled(), names)
    f = numba.njit(names["f"], fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
    return (lambda *args: f(*args, p["mean"], p["covariance"], p["y"])), _arguments(p)


def _dimtensor(p, backend):
    import dimtensor as dt
    from cases.axes import as_written

    time = dt.Dim("time")
    state, other, third = (dt.Dim(name, length=K) for name in ("state", "other", "third"))
    y = dt.data(p["y"], dims=time, name="y")
    mean = dt.data(p["mean"], dims=state, name="mean")
    covariance = dt.data(p["covariance"], dims=[state, other], name="covariance")
    transition = dt.tensor("transition", dims=[state, other])
    observed, variance = dt.tensor("observed", dims=state), dt.tensor("variance", dims=state)
    noise = dt.scalar("noise")
    observed_other = observed.rename({state: other})
    noises = dt.eye(state, other) * variance

    def step(past, y):
        mean, covariance = past
        seen = dt.dot(covariance, observed_other, dim=other)
        scale = dt.dot(observed, seen, dim=state) + noise
        error = y - dt.dot(observed, mean, dim=state)
        gain = seen / scale
        mean = mean + gain * error
        covariance = covariance - gain * seen.rename({state: other})
        moved = dt.dot(transition, covariance.rename({state: other, other: third}), dim=other)
        mean = dt.dot(transition, mean.rename({state: other}), dim=other)
        turned = transition.rename({state: other, other: third})
        covariance = dt.dot(moved, turned, dim=third) + noises
        return (mean, covariance), (error, scale)

    _, (error, scale) = dt.scan(step, (mean, covariance), y, dim=time)
    total = -0.5 * (dt.log(scale) + error**2 / scale + LOG_2PI).sum()
    inputs = [transition, observed, variance, noise]
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return as_written(f, [(state, other), (state,), (state,), ()], _arguments(p))


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    """Products are written as sums: those of XLA's library are called, which takes longer here."""
    import jax
    import jax.numpy as jnp

    data = [jnp.asarray(p[key]) for key in ("mean", "covariance", "y")]

    def logp(transition, observed, variance, noise, mean, covariance, y):
        noises = jnp.diag(variance)

        def step(past, y):
            mean, covariance = past
            seen = jnp.sum(covariance * observed, axis=1)
            scale = jnp.sum(observed * seen) + noise
            error = y - jnp.sum(observed * mean)
            gain = seen / scale
            mean = mean + gain * error
            covariance = covariance - gain[:, None] * seen
            moved = jnp.sum(transition[:, :, None] * covariance, axis=1)
            covariance = jnp.sum(moved[:, None] * transition, axis=2) + noises
            return (jnp.sum(transition * mean, axis=1), covariance), (error, scale)

        _, (error, scale) = jax.lax.scan(step, (mean, covariance), y)
        return -0.5 * jnp.sum(jnp.log(scale) + error**2 / scale + LOG_2PI)

    f = jax.jit(jax.value_and_grad(logp, (0, 1, 2, 3)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, *data))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    y = pytensor.shared(p["y"])
    transition = pt.tensor("transition", dtype="float64", shape=(K, K))
    observed, variance = (
        pt.tensor(name, dtype="float64", shape=(K,)) for name in ("observed", "variance")
    )
    noise = pt.dscalar("noise")
    inputs = [transition, observed, variance, noise]

    def step(y, mean, covariance, transition, observed, variance, noise):
        seen = covariance @ observed
        scale = observed @ seen + noise
        error = y - observed @ mean
        gain = seen / scale
        mean = mean + gain * error
        covariance = covariance - pt.outer(gain, seen)
        covariance = transition @ covariance @ transition.T + pt.diag(variance)
        return transition @ mean, covariance, error, scale

    *_, error, scale = pytensor.scan(
        step, sequences=y,
        outputs_info=[pt.as_tensor(p["mean"]), pt.as_tensor(p["covariance"]), None, None],
        non_sequences=inputs, return_updates=False,
    )  # fmt: skip
    total = -0.5 * (pt.log(scale) + error**2 / scale + LOG_2PI).sum()
    gradients = pytensor.grad(total, inputs)
    f = pytensor.function(inputs, [total, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
