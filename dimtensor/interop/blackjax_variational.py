"""Approximations of posteriors by BlackJAX: Pathfinder, and normal ones fitted by steps."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.extras import require
from dimtensor.interop.jax_samplers import errors_named, kept_program, pure_density, starts_of

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity


class Approximation(NamedTuple):
    """Draws of an approximation.

    Attributes
    ----------
    vectors : ndarray
        Of the dims draw and element.
    log_p, log_q : ndarray
        Log densities of the posterior, but for a constant, and of the approximation.
    elbo : ndarray
        The evidence lower bound: of each step, or of each path.
    seconds : float
    library : str
    version : str
    """

    vectors: np.ndarray
    log_p: np.ndarray
    log_q: np.ndarray
    elbo: np.ndarray
    seconds: float
    library: str
    version: str


def pathfinder(
    model: LogDensity, start: np.ndarray, draws: int, paths: int, seed: int, maxiter: int
) -> Approximation:
    """Run Pathfinder from several starts, and resample its draws by their importance."""
    jax = require("jax", "jax", "pathfinder")
    blackjax = require("blackjax", "blackjax", "pathfinder")
    from blackjax.vi import multipathfinder

    with jax.enable_x64(True):
        density = pure_density(model)
        starts = starts_of(model, density, start, paths, seed)
        first, second = jax.random.split(jax.random.key(seed))
        each = -(-2 * draws // paths)  # more than are kept, as some are drawn twice

        def run(chosen: Any, starts: Any, *fixed: Any) -> Any:
            def log_density(x: Any) -> Any:
                return density.function(x, *fixed)

            state, _ = multipathfinder.multi_approximate(
                chosen, log_density, starts, each, maxiter=maxiter
            )
            weights, _ = multipathfinder.psis_weights(state)
            return state.samples, state.logp, state.logq, weights, state.path_states.elbo

        arguments = (first, starts, *density.fixed)
        key = ("pathfinder", each, paths, maxiter)
        program = kept_program(model, density, key, lambda: run, *arguments)
        began = time.perf_counter()
        with errors_named(model):
            samples, log_p, log_q, weights, elbo = jax.block_until_ready(program(*arguments))
        at = jax.random.choice(second, weights.shape[0], (draws,), p=jax.numpy.exp(weights))
        each_of = [np.asarray(x).reshape(-1, *x.shape[2:])[at] for x in (samples, log_p, log_q)]
        vectors, p, q = each_of
        seconds = time.perf_counter() - began
    best = np.asarray(elbo).reshape(paths, -1).max(axis=1)
    return Approximation(vectors, p, q, best, seconds, "blackjax", blackjax.__version__)


def advi(
    model: LogDensity,
    draws: int,
    seed: int,
    steps: int,
    samples: int,
    learning_rate: float,
    full_rank: bool,
) -> Approximation:
    """Fit a normal approximation by Adam with a decaying learning rate."""
    jax = require("jax", "jax", "advi")
    blackjax = require("blackjax", "blackjax", "advi")
    optax = require("optax", "blackjax", "advi")
    kind = blackjax.vi.fullrank_vi if full_rank else blackjax.vi.meanfield_vi
    optimizer = optax.adam(optax.cosine_decay_schedule(learning_rate, steps, alpha=0.01))
    with jax.enable_x64(True):
        density = pure_density(model)
        first, second = jax.random.split(jax.random.key(seed))

        def run(first: Any, second: Any, *fixed: Any) -> Any:
            def log_density(x: Any) -> Any:
                return density.function(x, *fixed)

            def step(state: Any, key: Any) -> Any:
                state, info = kind.step(key, state, log_density, optimizer, samples)
                return state, -info.elbo  # what is minimized is its negative

            state = kind.init(jax.numpy.zeros(model.size), optimizer)
            state, elbo = jax.lax.scan(step, state, jax.random.split(first, steps))
            found = kind.sample(second, state, draws)
            if full_rank:
                log_q = kind.generate_fullrank_logdensity(state.mu, state.chol_params)
            else:
                log_q = kind.generate_meanfield_logdensity(state.mu, state.rho)
            return found, jax.vmap(log_density)(found), jax.vmap(log_q)(found), elbo

        key = ("advi", draws, steps, samples, learning_rate, full_rank)
        arguments = (first, second, *density.fixed)
        program = kept_program(model, density, key, lambda: run, *arguments)
        began = time.perf_counter()
        with errors_named(model):
            vectors, log_p, log_q, elbo = map(np.asarray, program(*arguments))
        seconds = time.perf_counter() - began
    return Approximation(vectors, log_p, log_q, elbo, seconds, "blackjax", blackjax.__version__)
