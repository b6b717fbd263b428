"""Households that switch to another well, with distance and arsenic interacting."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("wells_data-wells_interaction_model",)


def model(data, backend="numba"):
    household = dt.Dim("household")
    distance, arsenic = columns(data, ("dist", "arsenic"), household)
    alpha = dt.rv("alpha", dist.Flat())
    logit_p = alpha + linear(
        {
            "distance": distance / 100,
            "arsenic": arsenic,
            "distance:arsenic": distance / 100 * arsenic,
        }
    )
    switched = dt.rv("switched", dist.Bernoulli(logit_p=logit_p))
    return dt.Model(switched, backend=backend).observe({switched: data["switched"]})
