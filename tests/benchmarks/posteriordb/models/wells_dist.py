"""Households that switch to another well, by its distance."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("wells_data-wells_dist",)


def model(data, backend="numba"):
    household = dt.Dim("household")
    term = dt.Dim("term", coords=["intercept", "distance"])
    distance = dt.data(data["dist"], dims=household, name="distance")
    beta = dt.rv("beta", dist.Flat(), dims=term)
    logit_p = beta.sel(term="intercept") + beta.sel(term="distance") * distance
    switched = dt.rv("switched", dist.Bernoulli(logit_p=logit_p))
    return dt.Model(switched, backend=backend).observe({switched: data["switched"]})
