"""Returns whose variance follows from the last return and the last variance."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("garch-garch11",)


def model(data, backend="numba"):
    time = dt.Dim("time")
    mu = dt.rv("mu", dist.Flat())
    alpha0 = dt.rv("alpha0", dist.HalfFlat())
    alpha1 = dt.rv("alpha1", dist.Uniform(0, 1))
    # flat where the two together are below 1
    beta1 = dt.rv("beta1", dist.custom(lambda x: 0.0 * x, dt.supports.bounded(0, 1 - alpha1)))

    def step(variance, mu, alpha0, alpha1, beta1):
        returns = dist.Normal(mu, dt.sqrt(variance))
        return returns, lambda y: alpha0 + alpha1 * (y - mu) ** 2 + beta1 * variance

    known = {"mu": mu, "alpha0": alpha0, "alpha1": alpha1, "beta1": beta1}
    y = dt.rv("y", dist.Series(step, data["sigma1"] ** 2, dim=time, **known))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
