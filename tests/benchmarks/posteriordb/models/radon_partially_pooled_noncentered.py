"""Radon in houses: a level for each county, from a common distribution; not centered."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._radon import houses, noncentered

POSTERIORS = (
    "radon_mn-radon_partially_pooled_noncentered",
    "radon_all-radon_partially_pooled_noncentered",
)


def model(data, backend="numba"):
    county, county_of, _ = houses(data)
    alpha = noncentered("alpha", county)
    sigma = dt.rv("sigma_y", dist.HalfNormal(1))
    y = dt.rv("log_radon", dist.Normal(alpha.sel(county=county_of), sigma))
    return dt.Model(y, backend=backend).observe({y: data["log_radon"]})
