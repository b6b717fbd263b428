"""Radon in houses: one level, and differences by floor that vary with the county."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._radon import centered, houses

POSTERIORS = ("radon_mn-radon_variable_slope_centered", "radon_all-radon_variable_slope_centered")


def model(data, backend="numba"):
    county, county_of, floor = houses(data)
    alpha = dt.rv("alpha", dist.Normal(0, 10))
    beta = centered("beta", county)
    sigma = dt.rv("sigma_y", dist.HalfNormal(1))
    y = dt.rv("log_radon", dist.Normal(alpha + beta.sel(county=county_of) * floor, sigma))
    return dt.Model(y, backend=backend).observe({y: data["log_radon"]})
