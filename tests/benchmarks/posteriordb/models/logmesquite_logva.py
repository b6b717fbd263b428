"""Weights of mesquite bushes by volumes and areas of their canopies, in logarithms."""

import numpy as np

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("mesquite-logmesquite_logva",)


def model(data, backend="numba"):
    bush = dt.Dim("bush")
    names = ("diam1", "diam2", "canopy_height", "group")
    diam1, diam2, canopy_height, group = columns(data, names, bush)
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear(
        {
            "intercept": 1.0,
            "log_volume": dt.log(diam1 * diam2 * canopy_height),
            "log_area": dt.log(diam1 * diam2),
            "group": group,
        }
    )
    log_weight = dt.rv("log_weight", dist.Normal(mean, sigma))
    return dt.Model(log_weight, backend=backend).observe({log_weight: np.log(data["weight"])})
