"""Butterflies at sites: which species are there, where each occurs, and when it is seen."""

import numpy as np

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("butterfly-multi_occupancy",)


def model(data, backend="numba"):
    site = dt.Dim("site")
    species = dt.Dim("species", length=data["S"])
    alpha, beta = (dt.rv(name, dist.Cauchy(0, 2.5)) for name in ("alpha", "beta"))
    trait = dt.Dim("trait", coords=["occupancy", "detection"])
    sigma = dt.rv("sigma_uv", dist.HalfCauchy(2.5), dims=trait)
    rho = dt.rv(
        "rho_uv",
        dist.custom(lambda r: dist.Beta(2, 2).logp((r + 1) / 2), dt.supports.bounded(-1, 1)),
    )
    wide, deep = sigma.sel(trait="occupancy"), sigma.sel(trait="detection")
    u = dt.rv("uv1", dist.Normal(0, wide), dims=species)
    v = dt.rv("uv2", dist.Normal(rho * deep / wide * u, deep * dt.sqrt(1 - rho**2)))
    Omega = dt.rv("Omega", dist.Beta(2, 2))

    available = dt.rv("available", dist.Bernoulli(Omega), dims=species)
    present = dt.rv("present", dist.Bernoulli(available * dt.sigmoid(alpha + u)), dims=site)
    visits = dt.rv("visits", dist.Binomial(data["K"], present * dt.sigmoid(beta + v)))
    # species that nobody saw were seen at no site
    seen = np.zeros((data["S"], data["J"]), int)
    seen[: data["n"]] = data["X"]
    fit = dt.Model(visits, backend=backend).observe({visits: (("species", "site"), seen)})
    return fit.marginalize(available, present)
