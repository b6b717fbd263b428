"""A hidden Markov model of two states with normal outputs.

The distribution of each observation given those before it is a mixture over the state.
"""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("hmm_example-hmm_example",)
PARTS = {"theta": ("theta1", "theta2")}
AXES = {"theta": ("state", "following")}


def model(data, backend="numba"):
    time, state = dt.Dim("time"), dt.Dim("state", coords=["first", "second"])
    following = state.rename("following")
    means = dist.Normal(dt.data([3.0, 10.0], dims=state), 1)
    prior = dist.custom(lambda x: means.logp(x).sum(state), dt.positive_ordered, event_dims=state)
    mu = dt.rv("mu", prior)
    theta = dt.rv("theta", dist.Dirichlet(dt.ones(following), over=following), dims=state)

    def step(belief, mu, theta):
        def after(y):
            seen = (dt.log(belief) + dist.Normal(mu, 1).logp(y)).softmax(state)
            return (seen * theta).sum(state).relabel(following, state)

        return dist.mixture(belief, dist.Normal(mu, 1), over=state), after

    y = dt.rv("y", dist.Series(step, dt.full(state, 0.5), over=time, mu=mu, theta=theta))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
