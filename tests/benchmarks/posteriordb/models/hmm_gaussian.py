"""A hidden Markov model whose states have normal outputs with means in order.

As in Stan's program, the first output is weighed by all states together, whatever the state.
"""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("hmm_gaussian_simulated-hmm_gaussian",)
AXES = {"A": ("state", "following")}


def model(data, backend="numba"):
    time, state = dt.Dim("time"), dt.Dim("state", coords=range(1, data["K"] + 1))
    following = state.rename("following")
    pi1 = dt.rv("pi1", dist.Dirichlet(dt.ones(state), dim=state))
    A = dt.rv("A", dist.Dirichlet(dt.ones(following), dim=following), dims=state)
    mu = dt.rv("mu", dist.ordered(dist.Flat(), dim=state))
    sigma = dt.rv("sigma", dist.HalfFlat(), dims=state)
    first = dt.rv("first", dist.Normal(mu, sigma))
    second = dt.dot(pi1, A, dim=state).relabel(following, state)
    z = dt.rv("z", dist.MarkovChain(second, A, dim=time))
    y = dt.rv("y", dist.Normal(mu.sel(state=z), sigma.sel(state=z)))
    fit = dt.Model(first, y, backend=backend)
    known = {first: [data["y"][0]] * data["K"], y: data["y"][1:]}
    return fit.observe(known).marginalize(z)
