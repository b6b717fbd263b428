"""Logarithms of earnings by that of height, and sex."""

import numpy as np

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("earnings-logearn_logheight_male",)


def model(data, backend="numba"):
    person = dt.Dim("person")
    height, male = columns(data, ("height", "male"), person)
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear({"intercept": 1.0, "log_height": dt.log(height), "male": male})
    log_earnings = dt.rv("log_earnings", dist.Normal(mean, sigma))
    return dt.Model(log_earnings, backend=backend).observe({log_earnings: np.log(data["earn"])})
