"""Draws by NumPyro."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.interop.extras import require
from dimtensor.interop.jax_samplers import (
    TUNE,
    Options,
    check_cores,
    pure_density,
    read_options,
    starts_of,
)
from dimtensor.model.inference.runs import Draws, Run, statistics_of

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity

NEEDS = "dt.sample with sampler='numpyro'"
_TOLD = {
    "potential_energy": "lp",
    "accept_prob": "acceptance_rate",
    "num_steps": "n_steps",
    "diverging": "diverging",
    "energy": "energy",
    "adapt_state.step_size": "step_size",
}


def prepared(options: Mapping[str, Any], own: Sequence[str]) -> Callable[..., Run]:
    """What samples with options that are known."""
    require("numpyro", "numpyro", NEEDS)
    return partial(sample, options=read_options(options, "numpyro", own))


def sample(
    model: LogDensity,
    start: np.ndarray,
    *,
    draws: int,
    tune: int | None,
    chains: int,
    cores: int | None,
    seed: int,
    progress_bar: bool,
    save_warmup: bool,
    options: Options,
) -> Run:
    """Run NumPyro's No-U-Turn sampler, all chains at once."""
    tune = TUNE if tune is None else tune
    jax = require("jax", "jax", NEEDS)
    numpyro = require("numpyro", "numpyro", NEEDS)
    from numpyro.infer import MCMC, NUTS

    check_cores(cores, "numpyro")
    with jax.enable_x64(True):
        density = pure_density(model)
        starts = jax.numpy.asarray(starts_of(model, density, start, chains, seed))

        def potential(x: Any) -> Any:
            return -density.function(x, *density.fixed)

        kernel = NUTS(
            potential_fn=potential,
            target_accept_prob=options.target_accept,
            max_tree_depth=options.maxdepth,
            dense_mass=options.dense_mass,
        )
        mcmc = MCMC(
            kernel,
            num_warmup=tune,
            num_samples=draws,
            num_chains=chains,
            chain_method="vectorized",
            progress_bar=progress_bar,
        )
        started = time.perf_counter()
        init = starts if chains > 1 else starts[0]
        key, warmup = jax.random.key(seed), None
        if save_warmup:
            mcmc.warmup(key, extra_fields=tuple(_TOLD), init_params=init, collect_warmup=True)
            warmup = _draws(mcmc, options.maxdepth)
            key = mcmc.post_warmup_state.rng_key
        mcmc.run(key, extra_fields=tuple(_TOLD), init_params=init)
        after = _draws(mcmc, options.maxdepth)
        seconds = time.perf_counter() - started
    attributes = {
        "inference_library": "numpyro",
        "inference_library_version": numpyro.__version__,
    }
    return Run(after, warmup, seconds, attributes)


def _draws(mcmc: Any, maxdepth: int) -> Draws:
    vectors = np.asarray(mcmc.get_samples(group_by_chain=True))
    told = mcmc.get_extra_fields(group_by_chain=True)
    found = {name: np.asarray(told[theirs]) for theirs, name in _TOLD.items()}
    found["lp"] = -found["lp"]
    # a tree of depth d has between 2**(d - 1) and 2**d - 1 steps, and all of them if it is whole
    found["tree_depth"] = np.frexp(found["n_steps"].astype(float))[1]
    found["reached_max_treedepth"] = (found["n_steps"] >= 2**maxdepth - 1) & ~found["diverging"]
    return Draws(vectors, statistics_of(found))
