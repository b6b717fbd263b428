"""A linear regression with five predictors."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("sblrc-blr", "sblri-blr")


def model(data, backend="numba"):
    obs, predictor = dt.Dim("obs"), dt.Dim("predictor", length=data["D"])
    x = dt.data(data["X"], dims=[obs, predictor], name="x")
    beta = dt.rv("beta", dist.Normal(0, 10), dims=predictor)
    sigma = dt.rv("sigma", dist.HalfNormal(10))
    y = dt.rv("y", dist.Normal(dt.dot(x, beta, dim=predictor), sigma))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
