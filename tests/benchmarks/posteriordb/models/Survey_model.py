"""How many surveys were sent out, and the rate of returns: the number is summed out."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("Survey_data-Survey_model",)


def model(data, backend="numba"):
    helper = dt.Dim("helper")
    theta = dt.rv("theta", dist.Uniform(0, 1))
    n = dt.rv("n", dist.DiscreteUniform(1, data["nmax"]))
    k = dt.rv("k", dist.Binomial(n, theta), dims=helper)
    return dt.Model(k, backend=backend).observe({k: data["k"]}).marginalize(n)
