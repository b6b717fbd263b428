"""Counts of falcons by year: a cubic trend."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("GLM_Poisson_Data-GLM_Poisson_model",)


def model(data, backend="numba"):
    year = dt.Dim("year", coords=range(1, data["n"] + 1))
    time = dt.data(data["year"], dims=year, name="standardized_year")
    alpha = dt.rv("alpha", dist.Uniform(-20, 20))
    betas = [dt.rv(f"beta{k}", dist.Uniform(-10, 10)) for k in (1, 2, 3)]
    log_rate = alpha + sum(b * time**k for k, b in enumerate(betas, 1))
    count = dt.rv("count", dist.Poisson(dt.exp(log_rate)))
    return dt.Model(count, backend=backend).observe({count: data["C"]})
