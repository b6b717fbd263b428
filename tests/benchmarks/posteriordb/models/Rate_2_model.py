"""Two rates, and how they differ."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("Rate_2_data-Rate_2_model",)


def model(data, backend="numba"):
    theta1, theta2 = (dt.rv(name, dist.Beta(1, 1)) for name in ("theta1", "theta2"))
    delta = dt.named("delta", theta1 - theta2)
    k1 = dt.rv("k1", dist.Binomial(data["n1"], theta1))
    k2 = dt.rv("k2", dist.Binomial(data["n2"], theta2))
    fit = dt.Model(k1, k2, delta, backend=backend)
    return fit.observe({k1: data["k1"], k2: data["k2"]})
