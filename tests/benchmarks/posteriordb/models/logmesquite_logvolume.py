"""Weights of mesquite bushes by the volumes of their canopies, in logarithms."""

import numpy as np

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("mesquite-logmesquite_logvolume",)


def model(data, backend="numba"):
    bush = dt.Dim("bush")
    diam1, diam2, canopy_height = columns(data, ("diam1", "diam2", "canopy_height"), bush)
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear({"intercept": 1.0, "log_volume": dt.log(diam1 * diam2 * canopy_height)})
    log_weight = dt.rv("log_weight", dist.Normal(mean, sigma))
    return dt.Model(log_weight, backend=backend).observe({log_weight: np.log(data["weight"])})
