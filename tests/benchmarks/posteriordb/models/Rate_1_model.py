"""The rate of a binomial count."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("Rate_1_data-Rate_1_model",)


def model(data, backend="numba"):
    theta = dt.rv("theta", dist.Beta(1, 1))
    k = dt.rv("k", dist.Binomial(data["n"], theta))
    return dt.Model(k, backend=backend).observe({k: data["k"]})
