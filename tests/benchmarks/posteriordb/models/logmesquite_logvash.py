"""Weights of mesquite bushes by volume, area, shape and height, in logarithms."""

import numpy as np

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("mesquite-logmesquite_logvash",)


def model(data, backend="numba"):
    bush = dt.Dim("bush")
    names = ("diam1", "diam2", "canopy_height", "total_height", "group")
    diam1, diam2, canopy_height, total_height, group = columns(data, names, bush)
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear(
        {
            "intercept": 1.0,
            "log_volume": dt.log(diam1 * diam2 * canopy_height),
            "log_area": dt.log(diam1 * diam2),
            "log_shape": dt.log(diam1 / diam2),
            "log_total_height": dt.log(total_height),
            "group": group,
        }
    )
    log_weight = dt.rv("log_weight", dist.Normal(mean, sigma))
    return dt.Model(log_weight, backend=backend).observe({log_weight: np.log(data["weight"])})
