"""Radon in houses: levels of counties around a common one."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("radon_mod-radon_county",)


def model(data, backend="numba"):
    house = dt.Dim("house")
    county = dt.Dim("county", coords=range(1, data["J"] + 1))
    county_of = dt.data(data["county"], dims=house, categories=county, name="county_of")
    mu = dt.rv("mu_a", dist.Normal(0, 1))
    spread, sigma = (dt.rv(name, dist.Uniform(0, 100)) for name in ("sigma_a", "sigma_y"))
    a = dt.rv("a", dist.Normal(mu, spread), dims=county)
    y = dt.rv("log_radon", dist.Normal(a.sel(county=county_of), sigma))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
