"""Logarithms of earnings by standardized height and sex, with their interaction."""

import numpy as np

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("earnings-logearn_interaction_z",)


def model(data, backend="numba"):
    person = dt.Dim("person")
    height, male = columns(data, ("height", "male"), person)
    z = (height - height.mean()) / height.std(ddof=1)
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear({"intercept": 1.0, "height": z, "male": male, "height:male": z * male})
    log_earnings = dt.rv("log_earnings", dist.Normal(mean, sigma))
    return dt.Model(log_earnings, backend=backend).observe({log_earnings: np.log(data["earn"])})
