"""A Gaussian process seen with noise; its values are integrated out."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("gp_pois_regr-gp_regr",)


def model(data, backend="numba"):
    obs = dt.Dim("obs")
    x = dt.data(data["x"], dims=obs, name="x")
    rho = dt.rv("rho", dist.Gamma(25, 4))
    alpha = dt.rv("alpha", dist.HalfNormal(2))
    sigma = dt.rv("sigma", dist.HalfNormal(1))

    def kernel(x, y):
        return alpha**2 * dt.exp(-0.5 * ((x - y) / rho) ** 2)

    # the noise has the variance sigma, as in Stan's program
    y = dt.rv("y", dist.GP(kernel, dim=obs, at=x, jitter=sigma))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
