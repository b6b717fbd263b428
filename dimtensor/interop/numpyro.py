"""NumPyro's sampler."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from dimtensor.interop.jax_blocks import Programs, repeated
from dimtensor.interop.jax_samplers import JaxSampler, Options, PureDensity
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
    tunes_in_blocks = True

    def programs(
        self, density: PureDensity, settings: SamplerSettings, tune: int, options: Options
    ) -> Programs:
        """Make the programs of all chains; see :class:`JaxSampler`."""
        import jax
        from numpyro.infer import NUTS

        statistics = attrgetter("z", *_STATISTICS)

        def kernel_of(fixed: tuple[Any, ...]) -> Any:
            return NUTS(
                potential_fn=lambda x: -density.function(x, *fixed),
                target_accept_prob=options.target_accept,
                max_tree_depth=options.maxdepth,
                dense_mass=options.dense_mass,
            )

        def begin(number: Any, keys: Any, starts: Any, *fixed: Any) -> Any:
            return kernel_of(fixed).init(keys, tune, init_params=starts), None

        def block(count: Any, state: Any, *fixed: Any) -> Any:
            kernel = kernel_of(fixed)
            # a kernel samples after it has been initialized, which nothing is computed for
            jax.eval_shape(lambda: kernel.init(state.rng_key, tune, init_params=state.z))

            def step(state: Any) -> Any:
                state = kernel.sample(state, (), {})
                return state, statistics(state)

            return repeated(step, state, count)

        return Programs(begin, block)

    def draws_of(self, found: Any, maxdepth: int) -> Draws:
        """Turn results of the programs into draws."""
        vectors, *others = found
        statistics = dict(zip(_STATISTICS.values(), others, strict=True))
        statistics["lp"] = -statistics["lp"]
        # a tree of depth d has between 2**(d - 1) and 2**d - 1 steps, a complete one all of them
        statistics["tree_depth"] = np.frexp(statistics["n_steps"].astype(float))[1]
        complete = statistics["n_steps"] >= 2**maxdepth - 1
        statistics["reached_max_treedepth"] = complete & ~statistics["diverging"]
        return Draws(vectors, statistics_of(statistics))


SAMPLER = NumPyroSampler()
