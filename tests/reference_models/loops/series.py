"""Time series models three times: with named dims, as a NumPy loop, and as a program for JAX.

The NumPy loop is the formula of a textbook, the one for JAX what its users write. Sources: Durbin
and Koopman, "Time Series Analysis by State Space Methods" (2012), section 4.3 (Kalman filter);
Hamilton, "Time Series Analysis" (1994), chapter 5 (ARMA) and section 22.4 (hidden Markov chains);
Bollerslev, "Generalized autoregressive conditional heteroskedasticity" (1986); Hochreiter and
Schmidhuber, "Long short-term memory" (1997), with the forget gate of Gers et al. (2000).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import dimtensor as dt
from tests.optional import jax, jnp

LOG_2PI = np.log(2 * np.pi)


class Problem(NamedTuple):
    """A scalar function of named arrays, and the names of their axes."""

    inputs: dict[dt.DimTensor, tuple[str, ...]]
    value: dt.DimTensor
    by_hand: Callable[..., Any]
    for_jax: Callable[..., Any]
    arguments: list[np.ndarray]


# -- linear Gaussian state-space model -------------------------------------------------------------


def kalman(rng: np.random.Generator, n: int = 30) -> Problem:
    """Four states, one observation. The log likelihood by prediction errors."""
    time = dt.Dim("time")
    state = dt.Dim("state", coords=["level", "slope", "cycle", "season"])
    other, third = state.rename("other"), state.rename("third")

    y = dt.tensor("y", dims=time)
    transition = dt.tensor("transition", dims=[state, other])
    observed = dt.tensor("observed", dims=state)
    variance = dt.tensor("variance", dims=state)
    noise = dt.scalar("noise")
    mean, covariance = dt.tensor("mean", dims=state), dt.tensor("covariance", dims=[state, other])

    def turned(matrix):
        return matrix.rename({state: other, other: third})

    def step(past, y):
        mean, covariance = past
        seen = dt.dot(covariance, observed.rename_dim(state, other), dim=other)
        scale = dt.dot(observed, seen, dim=state) + noise
        error = y - dt.dot(observed, mean, dim=state)
        gain = seen / scale
        mean = mean + gain * error
        covariance = covariance - gain * seen.rename_dim(state, other)
        mean = dt.dot(transition, mean.rename_dim(state, other), dim=other)
        moved = dt.dot(transition, turned(covariance), dim=other)
        covariance = dt.dot(moved, turned(transition), dim=third)
        covariance = covariance + dt.eye(state, other) * variance
        return (mean, covariance), -0.5 * (dt.log(scale) + error**2 / scale + LOG_2PI)

    _, terms = dt.scan(step, (mean, covariance), y, dim=time)
    start = np.array([[0.9, 0.3, 0, 0], [-0.2, 0.8, 0, 0.1], [0, 0, 0.7, 0.2], [0.1, 0, -0.3, 0.6]])
    arguments = [
        rng.normal(size=n), start + 0.02 * rng.normal(size=(4, 4)), rng.normal(size=4),
        rng.uniform(0.2, 1, size=4), np.array(0.3), rng.normal(size=4), np.eye(4) + 0.5,
    ]  # fmt: skip
    matrix = ("state", "other")
    inputs = {
        y: ("time",), transition: matrix, observed: ("state",), variance: ("state",), noise: (),
        mean: ("state",), covariance: matrix,
    }  # fmt: skip
    return Problem(inputs, terms.sum(), kalman_by_hand, kalman_for_jax, arguments)


def kalman_by_hand(y, transition, observed, variance, noise, mean, covariance):
    total = 0.0
    for value in y:
        scale = observed @ covariance @ observed + noise
        error = value - observed @ mean
        gain = covariance @ observed / scale
        mean = transition @ (mean + gain * error)
        left = covariance - np.outer(gain, observed @ covariance)
        covariance = transition @ left @ transition.T + np.diag(variance)
        total -= 0.5 * (np.log(scale) + error**2 / scale + LOG_2PI)
    return total


def kalman_joint(y, transition, observed, variance, noise, mean, covariance):
    """Mean and covariance of all observations, which are jointly normal."""
    n = len(y)
    location, across = np.zeros(n), np.zeros((n, n))
    for t in range(n):
        location[t] = observed @ mean
        across[t, t] = observed @ covariance @ observed + noise
        ahead = covariance  # of the state at t with that at s
        for s in range(t + 1, n):
            ahead = ahead @ transition.T
            across[t, s] = across[s, t] = observed @ ahead @ observed
        mean = transition @ mean
        covariance = transition @ covariance @ transition.T + np.diag(variance)
    return location, across


def kalman_for_jax(y, transition, observed, variance, noise, mean, covariance):
    def step(past, y):
        mean, covariance = past
        scale = observed @ covariance @ observed + noise
        error = y - observed @ mean
        gain = covariance @ observed / scale
        left = covariance - jnp.outer(gain, covariance @ observed)
        covariance = transition @ left @ transition.T + jnp.diag(variance)
        term = -0.5 * (jnp.log(scale) + error**2 / scale + LOG_2PI)
        return (transition @ (mean + gain * error), covariance), term

    return jax.lax.scan(step, (mean, covariance), y)[1].sum()


# -- ARMA and GARCH --------------------------------------------------------------------------------


def arma(rng: np.random.Generator, n: int = 50) -> Problem:
    """ARMA(1, 1), conditional on the first value and on an error of zero before it."""
    time = dt.Dim("time")
    y = dt.tensor("y", dims=time)
    mu, phi, theta, sigma = (dt.scalar(name) for name in ("mu", "phi", "theta", "sigma"))

    def step(error, y):
        now, before = y
        error = now - mu - phi * (before - mu) - theta * error
        return error, -0.5 * (error / sigma) ** 2 - dt.log(sigma) - 0.5 * LOG_2PI

    _, terms = dt.scan(step, 0.0, (y, y.shift({time: 1}, fill_value=mu)), dim=time)
    arguments = [rng.normal(size=n), *(np.array(v) for v in (0.2, 0.6, -0.3, 0.8))]
    inputs = {y: ("time",), mu: (), phi: (), theta: (), sigma: ()}
    return Problem(inputs, terms.sum(), arma_by_hand, arma_for_jax, arguments)


def arma_by_hand(y, mu, phi, theta, sigma):
    total, error, before = 0.0, 0.0, mu
    for value in y:
        error = value - mu - phi * (before - mu) - theta * error
        total += -0.5 * (error / sigma) ** 2 - np.log(sigma) - 0.5 * LOG_2PI
        before = value
    return total


def arma_for_jax(y, mu, phi, theta, sigma):
    def step(error, y):
        error = y[0] - mu - phi * (y[1] - mu) - theta * error
        return error, -0.5 * (error / sigma) ** 2 - jnp.log(sigma) - 0.5 * LOG_2PI

    before = jnp.concatenate([mu[None], y[:-1]])
    return jax.lax.scan(step, 0.0, (y, before))[1].sum()


def garch(rng: np.random.Generator, n: int = 50) -> Problem:
    """GARCH(1, 1); the variance of the first return is given."""
    time = dt.Dim("time")
    y, first = dt.tensor("y", dims=time), dt.scalar("first")
    mu, omega, alpha, beta = (dt.scalar(name) for name in ("mu", "omega", "alpha", "beta"))

    def step(variance, y):
        square = (y - mu) ** 2
        term = -0.5 * (dt.log(variance) + square / variance + LOG_2PI)
        return omega + alpha * square + beta * variance, term

    _, terms = dt.scan(step, first, y, dim=time)
    arguments = [rng.normal(size=n), *(np.array(v) for v in (0.9, 0.1, 0.2, 0.15, 0.7))]
    inputs = {y: ("time",), first: (), mu: (), omega: (), alpha: (), beta: ()}
    return Problem(inputs, terms.sum(), garch_by_hand, garch_for_jax, arguments)


def garch_by_hand(y, first, mu, omega, alpha, beta):
    total, variance = 0.0, first
    for value in y:
        total -= 0.5 * (np.log(variance) + (value - mu) ** 2 / variance + LOG_2PI)
        variance = omega + alpha * (value - mu) ** 2 + beta * variance
    return total


def garch_for_jax(y, first, mu, omega, alpha, beta):
    def step(variance, y):
        term = -0.5 * (jnp.log(variance) + (y - mu) ** 2 / variance + LOG_2PI)
        return omega + alpha * (y - mu) ** 2 + beta * variance, term

    return jax.lax.scan(step, first, y)[1].sum()


# -- a recurrent network ---------------------------------------------------------------------------

GATES = ("input", "forget", "output", "candidate")


def lstm(rng: np.random.Generator, n: int = 12) -> Problem:
    """Two features, three hidden units; the squares of the last output and the mean of all."""
    time = dt.Dim("time")
    feature, unit = dt.Dim("feature", length=2), dt.Dim("unit", length=3)
    gate, source = dt.Dim("gate", coords=GATES), unit.rename("source")

    x = dt.tensor("x", dims=[time, feature])
    from_x = dt.tensor("from_x", dims=[gate, unit, feature])
    from_h = dt.tensor("from_h", dims=[gate, unit, source])
    bias = dt.tensor("bias", dims=[gate, unit])

    def step(past, x):
        h, c = past
        pre = dt.dot(from_x, x, dim=feature) + bias
        pre = pre + dt.dot(from_h, h.rename_dim(unit, source), dim=source)
        admit, keep, show = (dt.sigmoid(pre.sel(gate=name)) for name in GATES[:3])
        c = keep * c + admit * dt.tanh(pre.sel(gate="candidate"))
        h = show * dt.tanh(c)
        return (h, c), h

    (h, _), hs = dt.scan(step, (dt.zeros(unit), dt.zeros(unit)), x, dim=time)
    arguments = [rng.normal(size=s) for s in ((n, 2), (4, 3, 2), (4, 3, 3), (4, 3))]
    value = (h**2).sum() + hs.mean()
    inputs = {
        x: ("time", "feature"), from_x: ("gate", "unit", "feature"),
        from_h: ("gate", "unit", "source"), bias: ("gate", "unit"),
    }  # fmt: skip
    return Problem(inputs, value, lstm_by_hand, lstm_for_jax, arguments)


def lstm_by_hand(x, from_x, from_h, bias):
    h, c, hs = np.zeros(3), np.zeros(3), []
    for row in x:
        pre = from_x @ row + from_h @ h + bias
        admit, keep, show = 1 / (1 + np.exp(-pre[:3]))
        c = keep * c + admit * np.tanh(pre[3])
        h = show * np.tanh(c)
        hs.append(h)
    return (h**2).sum() + np.mean(hs)


def lstm_for_jax(x, from_x, from_h, bias):
    def step(past, x):
        h, c = past
        pre = from_x @ x + from_h @ h + bias
        admit, keep, show = jax.nn.sigmoid(pre[:3])
        c = keep * c + admit * jnp.tanh(pre[3])
        h = show * jnp.tanh(c)
        return (h, c), h

    (h, _), hs = jax.lax.scan(step, (jnp.zeros(3), jnp.zeros(3)), x)
    return (h**2).sum() + hs.mean()


# -- a hidden Markov chain -------------------------------------------------------------------------


def hidden_markov(rng: np.random.Generator, n: int = 8) -> Problem:
    """Three states with normal emissions; the forward pass scales its probabilities."""
    time = dt.Dim("time")
    state = dt.Dim("state", coords=["calm", "mild", "wild"])
    origin = state.rename("origin")
    y = dt.tensor("y", dims=time)
    start, location = dt.tensor("start", dims=state), dt.tensor("location", dims=state)
    transition = dt.tensor("transition", dims=[origin, state])

    def step(weight, y):
        """`weight`: the probabilities of the states, given what was observed before."""
        seen = weight * dt.exp(-0.5 * (y - location) ** 2) / np.sqrt(2 * np.pi)
        total = seen.sum(state)
        reached = dt.dot((seen / total).rename_dim(state, origin), transition, dim=origin)
        return reached, dt.log(total)

    _, terms = dt.scan(step, start, y, dim=time)
    arguments = [
        rng.normal(size=n), rng.dirichlet(np.ones(3)), np.array([-1.0, 0.5, 2.0]),
        rng.dirichlet(np.ones(3), size=3),
    ]  # fmt: skip
    inputs = {
        y: ("time",), start: ("state",), location: ("state",), transition: ("origin", "state")
    }  # fmt: skip
    return Problem(inputs, terms.sum(), hidden_markov_by_hand, hidden_markov_for_jax, arguments)


def hidden_markov_by_hand(y, start, location, transition):
    """The sum over all paths of states."""
    density = np.exp(-0.5 * (y[:, None] - location) ** 2) / np.sqrt(2 * np.pi)
    total = 0.0
    for path in np.ndindex(*[3] * len(y)):
        weight = start[path[0]] * density[0, path[0]]
        for t in range(1, len(y)):
            weight *= transition[path[t - 1], path[t]] * density[t, path[t]]
        total += weight
    return np.log(total)


def hidden_markov_for_jax(y, start, location, transition):
    def step(log_weight, y):
        seen = log_weight - 0.5 * (y - location) ** 2 - 0.5 * LOG_2PI
        return jax.nn.logsumexp(seen[:, None] + jnp.log(transition), axis=0), seen

    return jax.nn.logsumexp(jax.lax.scan(step, jnp.log(start), y)[1][-1])
