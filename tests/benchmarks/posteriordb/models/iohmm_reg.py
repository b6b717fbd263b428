"""Regressions that switch between states, with inputs that say how likely each state is.

What the inputs say of a position weighs the state before it, whatever follows: given these
weights positions are independent, and the sum over all paths is a product of mixtures.
"""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("iohmm_reg_simulated-iohmm_reg",)
AXES = {"w": ("state", "predictor"), "b": ("state", "predictor")}


def model(data, backend="numba"):
    time, predictor = dt.Dim("time", length=data["T"]), dt.Dim("predictor", length=data["M"])
    state = dt.Dim("state", coords=range(1, data["K"] + 1))
    u = dt.data(data["u"], dims=[time, predictor], name="u")
    y = dt.data(data["y"], dims=time, name="y")
    pi1, sigma = dt.tensor("pi1", dims=state), dt.tensor("sigma", dims=state)
    w, b = (dt.tensor(name, dims=[state, predictor]) for name in ("w", "b"))
    chances = dt.softmax(dt.dot(u, w, dim=predictor), state)
    first = dt.where(dt.arange(time) == 0, pi1, 1.0)
    # the weights of a position need not add up to 1, so this is no distribution
    weights = first * chances.shift({time: -1}, fill_value=1.0)
    outputs = dist.Normal(dt.dot(u, b, dim=predictor), sigma)
    terms = {
        "w": dist.Normal(0, 5).logp(w).sum(),
        "b": dist.Normal(0, 5).logp(b).sum(),
        "sigma": dist.HalfNormal(3).logp(sigma).sum(),
        "y": dt.logsumexp(dt.log(weights) + outputs.logp(y), state).sum(),
    }
    supports = {pi1: dt.supports.simplex(state), w: dt.real, b: dt.real, sigma: dt.positive}
    return dt.LogDensity(terms, supports, backend=backend)
