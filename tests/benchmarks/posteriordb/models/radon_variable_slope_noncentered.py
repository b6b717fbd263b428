"""Radon in houses: one level, differences by floor that vary with the county; not centered."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._radon import houses, noncentered

POSTERIORS = (
    "radon_mn-radon_variable_slope_noncentered",
    "radon_all-radon_variable_slope_noncentered",
)


def model(data, backend="numba"):
    county, county_of, floor = houses(data)
    alpha = dt.rv("alpha", dist.Normal(0, 10))
    beta = noncentered("beta", county)
    sigma = dt.rv("sigma_y", dist.HalfNormal(1))
    y = dt.rv("log_radon", dist.Normal(alpha + beta.sel(county=county_of) * floor, sigma))
    return dt.Model(y, backend=backend).observe({y: data["log_radon"]})
