"""Logarithms of earnings by height."""

import numpy as np

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import linear

POSTERIORS = ("earnings-logearn_height",)


def model(data, backend="numba"):
    person = dt.Dim("person")
    height = dt.data(data["height"], dims=person, name="height")
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear({"intercept": 1.0, "height": height})
    log_earnings = dt.rv("log_earnings", dist.Normal(mean, sigma))
    return dt.Model(log_earnings, backend=backend).observe({log_earnings: np.log(data["earn"])})
