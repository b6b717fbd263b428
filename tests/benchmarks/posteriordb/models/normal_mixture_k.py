"""A mixture of normal distributions."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("normal_5-normal_mixture_k",)


def model(data, backend="numba"):
    obs, component = dt.Dim("obs"), dt.Dim("component", length=data["K"])
    theta = dt.rv("theta", dist.Dirichlet(dt.ones(component), dim=component))
    mu = dt.rv("mu", dist.Normal(0, 10), dims=component)
    sigma = dt.rv("sigma", dist.Uniform(0, 10), dims=component)
    y = dt.rv("y", dist.mixture(theta, dist.Normal(mu, sigma), dim=component), dims=obs)
    return dt.Model(y, backend=backend).observe({y: data["y"]})
