"""Effects of coaching in eight schools, measured with known errors; centered on zero."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("eight_schools-eight_schools_noncentered",)


def model(data, backend="numba"):
    school = dt.Dim("school", coords=list("ABCDEFGH"))
    error = dt.data(data["sigma"], dims=school, name="error")
    theta_trans = dt.rv("theta_trans", dist.Normal(0, 1), dims=school)
    mu = dt.rv("mu", dist.Normal(0, 5))
    tau = dt.rv("tau", dist.HalfCauchy(5))
    y = dt.rv("y", dist.Normal(mu + tau * theta_trans, error))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
