"""Successes of falcons by year: a quadratic trend."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("GLM_Binomial_data-GLM_Binomial_model",)


def model(data, backend="numba"):
    year = dt.Dim("year", coords=range(1, data["nyears"] + 1))
    time = dt.data(data["year"], dims=year, name="standardized_year")
    total = dt.data(data["N"], dims=year, name="pairs")
    alpha, beta1, beta2 = (dt.rv(name, dist.Normal(0, 100)) for name in ("alpha", "beta1", "beta2"))
    logit_p = dt.named("logit_p", alpha + beta1 * time + beta2 * time**2)
    count = dt.rv("count", dist.Binomial(total, logit_p=logit_p))
    return dt.Model(count, backend=backend).observe({count: data["C"]})
