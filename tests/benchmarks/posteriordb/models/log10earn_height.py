"""Orders of magnitude of earnings by height."""

import numpy as np

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import linear

POSTERIORS = ("earnings-log10earn_height",)


def model(data, backend="numba"):
    person = dt.Dim("person")
    height = dt.data(data["height"], dims=person, name="height")
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear({"intercept": 1.0, "height": height})
    log10_earnings = dt.rv("log10_earnings", dist.Normal(mean, sigma))
    return dt.Model(log10_earnings, backend=backend).observe(
        {log10_earnings: np.log10(data["earn"])}
    )
