"""Counts whose logarithmic rate is a Gaussian process."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("gp_pois_regr-gp_pois_regr",)


def model(data, backend="numba"):
    obs = dt.Dim("obs", length=data["N"])
    other = obs.rename("other")
    x = dt.data(data["x"], dims=obs, name="x")
    rho = dt.rv("rho", dist.Gamma(25, 4))
    alpha = dt.rv("alpha", dist.HalfNormal(2))
    f_tilde = dt.rv("f_tilde", dist.Normal(0, 1), dims=obs)
    distance = (x - x.relabel(obs, other)) / rho
    cov = alpha**2 * dt.exp(-0.5 * distance**2) + 1e-10 * dt.eye(obs, other)
    f = dt.dot(dt.linalg.cholesky(cov, [obs, other]), f_tilde.relabel(obs, other), dim=other)
    k = dt.rv("k", dist.Poisson(dt.exp(f)))
    return dt.Model(k, backend=backend).observe({k: data["k"]})
