"""One rate behind two counts."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("Rate_3_data-Rate_3_model",)


def model(data, backend="numba"):
    group = dt.Dim("group", length=2)
    theta = dt.rv("theta", dist.Beta(1, 1))
    n = dt.data([data["n1"], data["n2"]], dims=group, name="n")
    k = dt.rv("k", dist.Binomial(n, theta))
    return dt.Model(k, backend=backend).observe({k: [data["k1"], data["k2"]]})
