"""Households that switch to another well, by its distance in hundreds of meters."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import linear

POSTERIORS = ("wells_data-wells_dist100_model",)


def model(data, backend="numba"):
    household = dt.Dim("household")
    distance = dt.data(data["dist"], dims=household, name="distance")
    alpha = dt.rv("alpha", dist.Flat())
    logit_p = alpha + linear({"distance": distance / 100})
    switched = dt.rv("switched", dist.Bernoulli(logit_p=logit_p))
    return dt.Model(switched, backend=backend).observe({switched: data["switched"]})
