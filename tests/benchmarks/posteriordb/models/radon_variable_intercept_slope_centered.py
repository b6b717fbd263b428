"""Radon in houses: levels and differences by floor that vary with the county."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._radon import centered, houses

POSTERIORS = (
    "radon_mn-radon_variable_intercept_slope_centered",
    "radon_all-radon_variable_intercept_slope_centered",
)


def model(data, backend="numba"):
    county, county_of, floor = houses(data)
    alpha = centered("alpha", county)
    beta = centered("beta", county)
    sigma = dt.rv("sigma_y", dist.HalfNormal(1))
    y = dt.rv(
        "log_radon",
        dist.Normal(alpha.sel(county=county_of) + beta.sel(county=county_of) * floor, sigma),
    )
    return dt.Model(y, backend=backend).observe({y: data["log_radon"]})
