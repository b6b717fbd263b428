"""Effects of coaching in eight schools, measured with known errors."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("eight_schools-eight_schools_centered",)


def model(data, backend="numba"):
    school = dt.Dim("school", coords=list("ABCDEFGH"))
    error = dt.data(data["sigma"], dims=school, name="error")
    mu = dt.rv("mu", dist.Normal(0, 5))
    tau = dt.rv("tau", dist.HalfCauchy(5))
    theta = dt.rv("theta", dist.Normal(mu, tau), dims=school)
    y = dt.rv("y", dist.Normal(theta, error))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
