"""Log densities as pure JAX functions, for whatever takes one, and draws by BlackJAX."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.errors import InputError
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

NEEDS = "dt.sample with sampler='blackjax'"


def to_blackjax(model: LogDensity) -> Callable[[Any], Any]:
    """The log density as a pure function of a JAX vector.

    It computes in 64 bits whatever JAX's flag says, and returns a value of the dtype of the vector,
    so that it fits into the loops of samplers in 32 bits, too. Where a check fails it is -inf.
    """
    jax = require("jax", "jax", "to_blackjax")
    density, size = pure_density(model), model.size

    def exact(x: Any) -> Any:
        return density.function(x, *density.fixed)

    @jax.custom_jvp
    def in_dtype_of(x: Any) -> Any:
        with jax.enable_x64(True):
            return exact(x.astype("float64")).astype(x.dtype)

    # The rule keeps the whole gradient inside of the 64 bits; left to itself JAX would transpose
    # the operations where the flag is the caller's.
    @in_dtype_of.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (tangent,) = primals, tangents
        with jax.enable_x64(True):
            value, gradient = jax.value_and_grad(exact)(x.astype("float64"))
            value, gradient = value.astype(x.dtype), gradient.astype(x.dtype)
        return value, jax.numpy.dot(gradient, tangent)

    def log_density(x: Any) -> Any:
        x = jax.numpy.asarray(x)
        if x.shape != (size,):
            raise InputError(
                f"the model has {size} unconstrained elements, the vector has {x.shape}; "
                "jax.vmap maps over more axes"
            )
        return in_dtype_of(x)

    return log_density


def prepared(options: Mapping[str, Any], own: Sequence[str]) -> Callable[..., Run]:
    """What samples with options that are known."""
    require("blackjax", "blackjax", NEEDS)
    return partial(sample, options=read_options(options, "blackjax", own))


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
    """Run BlackJAX's No-U-Turn sampler with Stan's windows of adaptation, all chains at once."""
    tune = TUNE if tune is None else tune
    jax = require("jax", "jax", NEEDS)
    blackjax = require("blackjax", "blackjax", NEEDS)
    check_cores(cores, "blackjax")
    with jax.enable_x64(True):
        density = pure_density(model)
        starts = starts_of(model, density, start, chains, seed)
        keys = jax.random.split(jax.random.key(seed), chains)
        key = ("blackjax", draws, tune, chains, save_warmup, options)
        arguments = (keys, starts, *density.fixed)

        def make() -> Any:
            one = _one_chain(blackjax, density, draws, tune, save_warmup, options)
            several = jax.vmap(one, in_axes=(None, 0, 0, *[None] * len(density.fixed)))
            return jax.jit(several).lower(0, *arguments).compile()

        program = kept_program(model, density, key, make)
        started = time.perf_counter()
        with errors_named(model):
            found = watch(program, arguments, tune + draws, f"{chains} chains", progress_bar)
        found = jax.tree.map(np.asarray, found)
        seconds = time.perf_counter() - started
    after, warmup = (None if part is None else _draws(part, options.maxdepth) for part in found)
    assert after is not None
    attributes = {
        "inference_library": "blackjax",
        "inference_library_version": blackjax.__version__,
    }
    return Run(after, warmup, seconds, attributes)


def _one_chain(
    blackjax: Any,
    density: PureDensity,
    draws: int,
    tune: int,
    warmup: bool,
    options: Options,
) -> Callable[..., Any]:
    """The program of a chain: of the number of the run, a key, a start and the data.

    It gives what is told of each draw.
    """
    import jax

    def told(state: Any, info: Any, step_size: Any) -> dict[str, Any]:
        return {
            "vectors": state.position,
            "lp": state.logdensity,
            "tree_depth": info.num_trajectory_expansions,
            "turning": info.is_turning,
            "acceptance_rate": info.acceptance_rate,
            "n_steps": info.num_integration_steps,
            "diverging": info.is_divergent,
            "energy": info.energy,
            "step_size": step_size,
        }

    def chain(number: Any, key: Any, start: Any, *fixed: Any) -> Any:
        def of_warmup(state: Any, info: Any, adaptation: Any) -> Any:
            tell_step(number, adaptation.ss_state.step)
            return told(state, info, adaptation.step_size) if warmup else None

        def log_density(x: Any) -> Any:
            return density.function(x, *fixed)

        adaptation = blackjax.window_adaptation(
            blackjax.nuts,
            log_density,
            is_mass_matrix_diagonal=not options.dense_mass,
            target_acceptance_rate=options.target_accept,
            adaptation_info_fn=of_warmup,
            max_num_doublings=options.maxdepth,
        )
        first, second = jax.random.split(key)
        (state, parameters), before = adaptation.run(first, start, num_steps=tune)
        kernel = blackjax.nuts(log_density, **parameters)

        def step(state: Any, given: Any) -> Any:
            at, key = given
            tell_step(number, at)
            state, info = kernel.step(key, state)
            return state, told(state, info, parameters["step_size"])

        steps = jax.numpy.arange(draws), jax.random.split(second, draws)
        _, after = jax.lax.scan(step, state, steps)
        return after, before

    return chain


def _draws(found: dict[str, Any], maxdepth: int) -> Draws:
    found = dict(found)
    vectors, turning = found.pop("vectors"), found.pop("turning")
    deep = found["tree_depth"] >= maxdepth
    found["reached_max_treedepth"] = deep & ~turning & ~found["diverging"]
    return Draws(vectors, statistics_of(found))
