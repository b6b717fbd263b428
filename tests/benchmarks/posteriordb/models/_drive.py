"""What both models of drives to the hoop share: the states, and what is emitted in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dimtensor as dt
from dimtensor import dist


def hidden(
    data: Mapping[str, Any], support: Any
) -> tuple[dt.DimTensor, dt.DimTensor, dt.DimTensor]:
    """A chain of states, and two parameters of each state, in the order of the states."""
    time, state = dt.Dim("time"), dt.Dim("state", coords=["none", "drive"])
    following = state.rename("following")
    counts = dt.data(data["alpha"], dims=[state, following], name="counts")
    theta = dt.rv("theta", dist.Dirichlet(counts, dim=following))
    means = dist.Normal(dt.data([0.0, 3.0], dims=state), 1)
    prior = dist.custom(lambda x: means.logp(x).sum(state), support, event_dims=state)
    # the first state is as likely as the other one
    z = dt.rv("z", dist.MarkovChain(dt.full(state, 0.5), theta, dim=time))
    return z, dt.rv("phi", prior), dt.rv("lambda", prior)
