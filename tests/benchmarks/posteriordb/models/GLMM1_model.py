"""Counts of tits at sites, over years: an effect of each site."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("GLMM_data-GLMM1_model",)


def model(data, backend="numba"):
    visit = dt.Dim("visit")
    site = dt.Dim("site", coords=range(1, data["nsite"] + 1))
    site_of = dt.data(data["obssite"], dims=visit, categories=site, name="site_of")
    mu = dt.rv("mu_alpha", dist.Normal(0, 10))
    spread = dt.rv("sd_alpha", dist.Uniform(0, 5))
    alpha = dt.rv("alpha", dist.Normal(mu, spread), dims=site)
    count = dt.rv("count", dist.Poisson(dt.exp(alpha).sel(site=site_of)))
    return dt.Model(count, backend=backend).observe({count: data["obs"]})
