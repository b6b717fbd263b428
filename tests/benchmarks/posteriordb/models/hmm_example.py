"""A hidden Markov model of two states with normal outputs, whose means are in order."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("hmm_example-hmm_example",)
PARTS = {"theta": ("theta1", "theta2")}
AXES = {"theta": ("state", "following")}


def model(data, backend="numba"):
    time, state = dt.Dim("time"), dt.Dim("state", coords=["first", "second"])
    following = state.rename("following")
    means = dist.Normal(dt.data([3.0, 10.0], dims=state), 1)
    prior = dist.custom(
        lambda x: means.logp(x).sum(state), dt.supports.positive_ordered, event_dims=state
    )
    mu = dt.rv("mu", prior)
    theta = dt.rv("theta", dist.Dirichlet(dt.ones(following), dim=following), dims=state)
    # the first state is as likely as the other one
    z = dt.rv("z", dist.MarkovChain(dt.full(state, 0.5), theta, dim=time))
    y = dt.rv("y", dist.Normal(mu.sel(state=z), 1))
    return dt.Model(y, backend=backend).observe({y: data["y"]}).marginalize(z)
