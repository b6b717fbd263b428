"""Test scores of children by how much their mothers worked."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("kidiq_with_mom_work-kidscore_mom_work",)


def model(data, backend="numba"):
    child = dt.Dim("child")
    work = dt.Dim("work", coords=range(1, 5))
    worked = dt.data(data["mom_work"], dims=child, categories=work, name="mom_work")
    # the first category is where all start, the others are differences from it
    beta = dt.rv("beta", dist.Flat(), dims=work)
    sigma = dt.rv("sigma", dist.HalfFlat())
    start = beta.sel(work=1)
    level = dt.where(worked == 1, start, start + beta.sel(work=worked))
    score = dt.rv("score", dist.Normal(level, sigma))
    return dt.Model(score, backend=backend).observe({score: data["kid_score"]})
