"""A mixture of two normal distributions whose means are in no order."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("low_dim_gauss_mix_collapse-low_dim_gauss_mix_collapse",)


def model(data, backend="numba"):
    obs, component = dt.Dim("obs"), dt.Dim("component", length=2)
    mu = dt.rv("mu", dist.Normal(0, 2), dims=component)
    sigma = dt.rv("sigma", dist.HalfNormal(2), dims=component)
    theta = dt.rv("theta", dist.Beta(5, 5))
    weights = dt.stack([theta, 1 - theta], component)
    y = dt.rv("y", dist.mixture(weights, dist.Normal(mu, sigma), dim=component), dims=obs)
    return dt.Model(y, backend=backend).observe({y: data["y"]})
