"""An autoregression of order K with a constant."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("arK-arK",)


def model(data, backend="numba"):
    time, lag = dt.Dim("time"), dt.Dim("lag", coords=range(1, data["K"] + 1))
    alpha = dt.rv("alpha", dist.Normal(0, 10))
    beta = dt.rv("beta", dist.Normal(0, 10), dims=lag)
    sigma = dt.rv("sigma", dist.HalfCauchy(2.5))
    y = dt.rv("y", dist.AR(beta, sigma, dim=time, start=dist.Flat(), constant=alpha))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
