"""A mixture of two normal distributions of known width."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("normal_2-normal_mixture",)


def model(data, backend="numba"):
    obs, component = dt.Dim("obs"), dt.Dim("component", length=2)
    theta = dt.rv("theta", dist.Uniform(0, 1))
    mu = dt.rv("mu", dist.Normal(0, 10), dims=component)
    weights = dt.stack([theta, 1 - theta], component)
    y = dt.rv("y", dist.mixture(weights, dist.Normal(mu, 1), dim=component), dims=obs)
    return dt.Model(y, backend=backend).observe({y: data["y"]})
