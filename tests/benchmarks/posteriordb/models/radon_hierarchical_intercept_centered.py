"""Radon in houses: a level for each county, centered, and slopes by uranium and floor."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._radon import centered, houses

POSTERIORS = (
    "radon_mn-radon_hierarchical_intercept_centered",
    "radon_all-radon_hierarchical_intercept_centered",
)


def model(data, backend="numba"):
    county, county_of, floor = houses(data)
    alpha = centered("alpha", county)
    predictor = dt.Dim("predictor", coords=["log_uppm", "floor"])
    beta = dt.rv("beta", dist.Normal(0, 10), dims=predictor)
    log_uppm = dt.data(data["log_uppm"], dims=floor.dims, name="uranium")
    slopes = beta.sel(predictor="log_uppm") * log_uppm + beta.sel(predictor="floor") * floor
    sigma = dt.rv("sigma_y", dist.HalfNormal(1))
    y = dt.rv("log_radon", dist.Normal(alpha.sel(county=county_of) + slopes, sigma))
    return dt.Model(y, backend=backend).observe({y: data["log_radon"]})
