"""Draws by NumPyro."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.extras import require
from dimtensor.interop.jax_samplers import (
    TUNE,
    Options,
    PureDensity,
    check_cores,
    errors_named,
    kept_program,
    pure_density,
    read_options,
    starts_of,
)
from dimtensor.interop.watching import tell_step, watch
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
    check_cores(cores, "numpyro")
    with jax.enable_x64(True):
        density = pure_density(model)
        starts = starts_of(model, density, start, chains, seed)
        keys = jax.random.split(jax.random.key(seed), chains)
        arguments = (keys, starts, *density.fixed)

        def make() -> Any:
            program = _program(density, draws, tune, save_warmup, options)
            return jax.jit(program).lower(0, *arguments).compile()

        key = ("numpyro", draws, tune, chains, save_warmup, options)
        program = kept_program(model, density, key, make)
        started = time.perf_counter()
        with errors_named(model):
            found = watch(program, arguments, tune + draws, f"{chains} chains", progress_bar)
        found = jax.tree.map(lambda x: np.asarray(x).swapaxes(0, 1), found)
        seconds = time.perf_counter() - started
    after, warmup = (None if part is None else _draws(part, options.maxdepth) for part in found)
    assert after is not None
    attributes = {
        "inference_library": "numpyro",
        "inference_library_version": numpyro.__version__,
    }
    return Run(after, warmup, seconds, attributes)


def _program(
    density: PureDensity, draws: int, tune: int, warmup: bool, options: Options
) -> Callable[..., Any]:
    """The program of all chains: of the number of the run, keys, starts and the data.

    It gives what is told of each draw.
    """
    import jax
    from numpyro.infer import NUTS

    told = attrgetter("z", *_TOLD)

    def program(number: Any, keys: Any, starts: Any, *fixed: Any) -> Any:
        kernel = NUTS(
            potential_fn=lambda x: -density.function(x, *fixed),
            target_accept_prob=options.target_accept,
            max_tree_depth=options.maxdepth,
            dense_mass=options.dense_mass,
        )
        state = kernel.init(keys, tune, init_params=starts)

        def following(keep: bool) -> Callable[..., Any]:
            def step(state: Any, at: Any) -> Any:
                tell_step(number, at)
                state = kernel.sample(state, (), {})
                return state, told(state) if keep else None

            return step

        tuned, before = jax.lax.scan(following(warmup), state, jax.numpy.arange(tune))
        _, after = jax.lax.scan(following(True), tuned, jax.numpy.arange(draws))
        return after, before

    return program


def _draws(found: tuple[np.ndarray, ...], maxdepth: int) -> Draws:
    vectors, *told = found
    statistics = dict(zip(_TOLD.values(), told, strict=True))
    statistics["lp"] = -statistics["lp"]
    # a tree of depth d has between 2**(d - 1) and 2**d - 1 steps, and all of them if it is whole
    statistics["tree_depth"] = np.frexp(statistics["n_steps"].astype(float))[1]
    whole = statistics["n_steps"] >= 2**maxdepth - 1
    statistics["reached_max_treedepth"] = whole & ~statistics["diverging"]
    return Draws(vectors, statistics_of(statistics))
