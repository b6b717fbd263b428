"""Dogs learn to avoid a shock: log odds by the numbers of shocks and of avoided ones."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("dogs-dogs",)


def model(data, backend="numba"):
    dog, trial = dt.Dim("dog"), dt.Dim("trial")
    term = dt.Dim("term", coords=["intercept", "avoided", "shocks"])
    beta = dt.rv("beta", dist.Normal(0, 100), dims=term)

    def step(before, beta):
        avoided, shocks = before
        intercept, by_avoided, by_shocks = (beta.sel(term=label) for label in term.coords)
        logit_p = intercept + by_avoided * avoided + by_shocks * shocks
        return dist.Bernoulli(logit_p=logit_p), lambda y: (avoided + 1 - y, shocks + y)

    y = dt.rv("y", dist.Series(step, (0.0, 0.0), dim=trial, beta=beta), dims=dog)
    return dt.Model(y, backend=backend).observe({y: (("dog", "trial"), data["y"])})
