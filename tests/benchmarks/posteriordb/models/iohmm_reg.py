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
    pi1 = dt.rv("pi1", dist.Dirichlet(dt.ones(state), dim=state))
    w = dt.rv("w", dist.Normal(0, 5), dims=[state, predictor])
    b = dt.rv("b", dist.Normal(0, 5), dims=[state, predictor])
    sigma = dt.rv("sigma", dist.HalfNormal(3), dims=state)
    chances = dt.softmax(dt.dot(u, w, dim=predictor), state)
    first = dt.where(dt.arange(time) == 0, pi1, 1.0)
    weights = first * chances.shift({time: -1}, fill_value=1.0)
    outputs = dist.Normal(dt.dot(u, b, dim=predictor), sigma)
    y = dt.rv("y", dist.mixture(weights, outputs, dim=state))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
