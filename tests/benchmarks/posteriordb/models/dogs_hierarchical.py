"""Dogs learn to avoid a shock: both shocks and avoidances lower the chance of the next one."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("dogs-dogs_hierarchical",)


def model(data, backend="numba"):
    dog, trial = dt.Dim("dog"), dt.Dim("trial")
    a, b = (dt.rv(name, dist.Uniform(0, 1)) for name in "ab")

    def step(before, a, b):
        shocks, avoided = before
        p = dt.exp(shocks * dt.log(a) + avoided * dt.log(b))
        return dist.Bernoulli(p), lambda y: (shocks + y, avoided + 1 - y)

    y = dt.rv("y", dist.Series(step, (0.0, 0.0), dim=trial, a=a, b=b), dims=dog)
    return dt.Model(y, backend=backend).observe({y: (("dog", "trial"), data["y"])})
