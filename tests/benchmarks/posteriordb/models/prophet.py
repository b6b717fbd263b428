"""Downloads of a package by day: a trend with changes of its slope, seasons and holidays."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("rstan_downloads-prophet",)


def model(data, backend="numba"):
    day, change, regressor = dt.Dim("day"), dt.Dim("change"), dt.Dim("regressor")
    t = dt.data(data["t"], dims=day, name="t")
    changes = dt.data(data["t_change"], dims=change, name="changes")
    X = dt.data(data["X"], dims=[day, regressor], name="X")
    additive = dt.data(data["s_a"], dims=regressor, name="additive")
    multiplicative = dt.data(data["s_m"], dims=regressor, name="multiplicative")
    widths = dt.data(data["sigmas"], dims=regressor, name="widths")

    k, m = (dt.rv(name, dist.Normal(0, 5)) for name in "km")
    delta = dt.rv("delta", dist.Laplace(0, data["tau"]), dims=change)
    sigma = dt.rv("sigma_obs", dist.HalfNormal(0.5))
    beta = dt.rv("beta", dist.Normal(0, widths))
    # the slope changes by delta, and the line goes on where it was
    since = dt.maximum(t - changes, 0.0)
    trend = k * t + m + dt.dot(since, delta, dim=change)
    scaled = 1 + dt.dot(X, beta * multiplicative, dim=regressor)
    y = dt.rv("y", dist.Normal(trend * scaled + dt.dot(X, beta * additive, dim=regressor), sigma))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
