"""NumPyro's sampler."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from dimtensor.interop.jax_samplers import JaxSampler, Options, PureDensity
from dimtensor.interop.watching import tell_step
from dimtensor.model.inference.runs import Draws, statistics_of
from dimtensor.model.inference.samplers import SamplerSettings

# NumPyro's names of statistics, and ArviZ's
_STATISTICS = {
    "potential_energy": "lp",
    "accept_prob": "acceptance_rate",
    "num_steps": "n_steps",
    "diverging": "diverging",
    "energy": "energy",
    "adapt_state.step_size": "step_size",
}


class NumPyroSampler(JaxSampler):
    """No-U-Turn sampler of NumPyro."""

    name = "numpyro"
    chain_axis = 1

    def program(
        self, density: PureDensity, settings: SamplerSettings, tune: int, options: Options
    ) -> Callable[..., Any]:
        """Make the program of all chains; see :class:`JaxSampler`."""
        import jax
        from numpyro.infer import NUTS

        statistics = attrgetter("z", *_STATISTICS)

        def program(number: Any, keys: Any, starts: Any, *fixed: Any) -> Any:
            kernel = NUTS(
                potential_fn=lambda x: -density.function(x, *fixed),
                target_accept_prob=options.target_accept,
                max_tree_depth=options.maxdepth,
                dense_mass=options.dense_mass,
            )
            state = kernel.init(keys, tune, init_params=starts)

            def step_of(keep: bool) -> Callable[..., Any]:
                def step(state: Any, at: Any) -> Any:
                    tell_step(number, at)
                    state = kernel.sample(state, (), {})
                    return state, statistics(state) if keep else None

                return step

            tuning, drawing = step_of(settings.save_warmup), step_of(True)
            tuned, before = jax.lax.scan(tuning, state, jax.numpy.arange(tune))
            _, after = jax.lax.scan(drawing, tuned, jax.numpy.arange(settings.draws))
            return after, before

        return program

    def draws_of(self, found: Any, maxdepth: int) -> Draws:
        """Turn results of the program into draws."""
        vectors, *others = (x.swapaxes(0, 1) for x in found)
        statistics = dict(zip(_STATISTICS.values(), others, strict=True))
        statistics["lp"] = -statistics["lp"]
        # a tree of depth d has between 2**(d - 1) and 2**d - 1 steps, a complete one all of them
        statistics["tree_depth"] = np.frexp(statistics["n_steps"].astype(float))[1]
        complete = statistics["n_steps"] >= 2**maxdepth - 1
        statistics["reached_max_treedepth"] = complete & ~statistics["diverging"]
        return Draws(vectors, statistics_of(statistics))


SAMPLER = NumPyroSampler()
