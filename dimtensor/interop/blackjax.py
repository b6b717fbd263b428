"""BlackJAX: log densities as the pure functions that it takes, and its sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dimtensor.errors import InputError
from dimtensor.extras import require
from dimtensor.interop.jax_blocks import Programs, repeated
from dimtensor.interop.jax_samplers import (
    JaxSampler,
    Options,
    PureDensity,
    impossible_where_checks_fail,
    pure_density,
)
from dimtensor.interop.watching import tell_step
from dimtensor.model.inference.runs import Draws, statistics_of
from dimtensor.model.inference.samplers import SamplerSettings

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity
    from dimtensor.model.minibatch.estimate import Estimate


def to_blackjax(model: LogDensity) -> Callable[[Any], Any]:
    """Return the log density as a pure function of a JAX vector.

    It computes in 64 bits whatever JAX's flag says, and returns a value of the dtype of the vector,
    so that it fits into the loops of samplers in 32 bits, too. Where a check fails it is -inf.
    """
    require("jax", "jax", "to_blackjax")
    density = pure_density(model)
    return _exact(lambda x: density.function(x, *density.fixed), model.size)


def minibatch_to_blackjax(model: LogDensity, estimate: Estimate) -> Callable[[Any, Any], Any]:
    """Return the estimate of a log density as a pure function of a JAX vector and a batch."""
    jax = require("jax", "jax", "to_blackjax")
    positional = estimate.function("logp_on_jax").positional
    density = impossible_where_checks_fail(positional.raw)
    fixed = (*estimate.lengths, *positional.fixed)
    orders, dtypes = estimate.orders("logp_on_jax"), estimate.dtypes

    def function(x: Any, *batch: Any) -> Any:
        given = [each.astype(dtype) for each, dtype in zip(batch, dtypes, strict=True)]
        pairs = zip(given[2:], orders, strict=True)
        rows = [jax.numpy.transpose(values, order) for values, order in pairs]
        return density(x, *given[:2], *rows, *fixed)

    exact = _exact(function, model.size)

    def of_batch(x: Any, batch: Any) -> Any:
        positions, weight, *rows = batch
        return exact(x, *map(jax.numpy.asarray, (positions, weight, *(rows[0] if rows else ()))))

    return of_batch


def _exact(function: Callable[..., Any], size: int) -> Callable[..., Any]:
    """Make a function of a vector compute in 64 bits, and return a value of the vector's dtype.

    Arguments after the vector are not differentiated.
    """
    import jax

    @jax.custom_jvp
    def in_dtype_of(x: Any, *others: Any) -> Any:
        with jax.enable_x64(True):
            return function(x.astype("float64"), *others).astype(x.dtype)

    # The rule keeps the whole gradient inside of the 64 bits; left to itself JAX would transpose
    # the operations where the flag is the caller's.
    @in_dtype_of.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, *others), (tangent, *_) = primals, tangents
        with jax.enable_x64(True):
            value, gradient = jax.value_and_grad(function)(x.astype("float64"), *others)
            value, gradient = value.astype(x.dtype), gradient.astype(x.dtype)
        return value, jax.numpy.dot(gradient, tangent)

    def log_density(x: Any, *others: Any) -> Any:
        x = jax.numpy.asarray(x)
        if x.shape != (size,):
            raise InputError(
                f"the model has {size} unconstrained elements, the vector has {x.shape}; "
                "jax.vmap maps over more axes"
            )
        return in_dtype_of(x, *others)

    return log_density


class BlackJAXSampler(JaxSampler):
    """No-U-Turn sampler of BlackJAX, with Stan's windows of adaptation."""

    name = "blackjax"
    chain_axis = 0

    def programs(
        self, density: PureDensity, settings: SamplerSettings, tune: int, options: Options
    ) -> Programs:
        """Make the programs of all chains; see :class:`JaxSampler`."""
        import blackjax
        import jax

        def begin(number: Any, key: Any, start: Any, *fixed: Any) -> Any:
            def during_tuning(state: Any, info: Any, adaptation: Any) -> Any:
                tell_step(number, adaptation.ss_state.step)
                return _draw(state, info, adaptation.step_size) if settings.save_warmup else None

            def log_density(x: Any) -> Any:
                return density.function(x, *fixed)

            adaptation = blackjax.window_adaptation(
                blackjax.nuts,
                log_density,
                is_mass_matrix_diagonal=not options.dense_mass,
                target_acceptance_rate=options.target_accept,
                adaptation_info_fn=during_tuning,
                max_num_doublings=options.maxdepth,
            )
            first, second = jax.random.split(key)
            (state, parameters), before = adaptation.run(first, start, num_steps=tune)
            del parameters["max_num_doublings"]  # a number for the compiler
            return (state, second, parameters), before

        def block(count: Any, begun: Any, *fixed: Any) -> Any:
            state, key, parameters = begun
            kernel = blackjax.nuts(
                lambda x: density.function(x, *fixed),
                **parameters,
                max_num_doublings=options.maxdepth,
            )

            def step(state_and_key: Any) -> Any:
                state, key = state_and_key
                key, own = jax.random.split(key)
                state, info = kernel.step(own, state)
                return (state, key), _draw(state, info, parameters["step_size"])

            (state, key), draws = repeated(step, (state, key), count)
            return (state, key, parameters), draws

        data = [None] * len(density.fixed)
        return Programs(
            jax.vmap(begin, in_axes=(None, 0, 0, *data)), jax.vmap(block, in_axes=(None, 0, *data))
        )

    def draws_of(self, found: Any, maxdepth: int) -> Draws:
        """Turn results of the programs into draws."""
        found = dict(found)
        vectors, turning = found.pop("vectors"), found.pop("turning")
        deep = found["tree_depth"] >= maxdepth
        found["reached_max_treedepth"] = deep & ~turning & ~found["diverging"]
        return Draws(vectors, statistics_of(found))


def _draw(state: Any, info: Any, step_size: Any) -> dict[str, Any]:
    """Gather the vector and the statistics of a draw."""
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


SAMPLER = BlackJAXSampler()
