"""A mixture of two normal distributions, whose means are in order."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("low_dim_gauss_mix-low_dim_gauss_mix",)


def model(data, backend="numba"):
    obs, component = dt.Dim("obs"), dt.Dim("component", coords=["low", "high"])
    mu = dt.rv("mu", dist.ordered(dist.Normal(0, 2), dim=component))
    sigma = dt.rv("sigma", dist.HalfNormal(2), dims=component)
    theta = dt.rv("theta", dist.Beta(5, 5))
    weights = dt.stack([theta, 1 - theta], component)
    y = dt.rv("y", dist.mixture(weights, dist.Normal(mu, sigma), dim=component), dims=obs)
    return dt.Model(y, backend=backend).observe({y: data["y"]})
