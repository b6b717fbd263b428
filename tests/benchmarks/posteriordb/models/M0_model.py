"""Capture and recapture: an unknown number of individuals, all equally likely to be seen."""

import numpy as np

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("M0_data-M0_model",)


def model(data, backend="numba"):
    individual = dt.Dim("individual")
    omega, p = (dt.rv(name, dist.Uniform(0, 1)) for name in ["omega", "p"])
    seen = dt.rv("seen", dist.zero_inflated(dist.Binomial(data["T"], p), omega), dims=individual)
    return dt.Model(seen, backend=backend).observe({seen: np.sum(data["y"], axis=1)})
