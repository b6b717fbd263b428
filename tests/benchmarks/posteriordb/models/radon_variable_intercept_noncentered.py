"""Radon in houses: levels by county, not centered, and a difference by floor."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._radon import houses, noncentered

POSTERIORS = (
    "radon_mn-radon_variable_intercept_noncentered",
    "radon_all-radon_variable_intercept_noncentered",
)


def model(data, backend="numba"):
    county, county_of, floor = houses(data)
    alpha = noncentered("alpha", county)
    beta = dt.rv("beta", dist.Normal(0, 10))
    sigma = dt.rv("sigma_y", dist.HalfNormal(1))
    y = dt.rv("log_radon", dist.Normal(alpha.sel(county=county_of) + beta * floor, sigma))
    return dt.Model(y, backend=backend).observe({y: data["log_radon"]})
