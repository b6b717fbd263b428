"""Counts of falcons by year: a cubic trend and an effect of each year."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("GLMM_Poisson_data-GLMM_Poisson_model",)


def model(data, backend="numba"):
    year = dt.Dim("year", coords=range(1, data["n"] + 1))
    time = dt.data(data["year"], dims=year, name="standardized_year")
    alpha = dt.rv("alpha", dist.Uniform(-20, 20))
    # beta2 may be up to 20, where its density is 0
    wide = dist.custom(lambda x: dist.Uniform(-10, 10).logp(x), dt.supports.bounded(-10, 20))
    priors = [dist.Uniform(-10, 10), wide, dist.Uniform(-10, 10)]
    betas = [dt.rv(f"beta{k}", d) for k, d in enumerate(priors, 1)]
    sigma = dt.rv("sigma", dist.Uniform(0, 5))
    eps = dt.rv("eps", dist.Normal(0, sigma), dims=year)
    log_rate = alpha + sum(b * time**k for k, b in enumerate(betas, 1)) + eps
    count = dt.rv("count", dist.Poisson(dt.exp(log_rate)))
    return dt.Model(count, backend=backend).observe({count: data["C"]})
