"""A rate before and after its data."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("Rate_4_data-Rate_4_model",)


def model(data, backend="numba"):
    theta, before = (dt.rv(name, dist.Beta(1, 1)) for name in ("theta", "thetaprior"))
    k = dt.rv("k", dist.Binomial(data["n"], theta))
    return dt.Model(k, before, backend=backend).observe({k: data["k"]})
