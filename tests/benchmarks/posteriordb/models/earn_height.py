"""Earnings by height."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import linear

POSTERIORS = ("earnings-earn_height",)


def model(data, backend="numba"):
    person = dt.Dim("person")
    height = dt.data(data["height"], dims=person, name="height")
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear({"intercept": 1.0, "height": height})
    earnings = dt.rv("earnings", dist.Normal(mean, sigma))
    return dt.Model(earnings, backend=backend).observe({earnings: data["earn"]})
