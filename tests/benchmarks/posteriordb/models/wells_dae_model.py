"""Households that switch to another well, by distance, arsenic and education."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("wells_data-wells_dae_model",)


def model(data, backend="numba"):
    household = dt.Dim("household")
    distance, arsenic, education = columns(data, ("dist", "arsenic", "educ"), household)
    alpha = dt.rv("alpha", dist.Flat())
    logit_p = alpha + linear(
        {"distance": distance / 100, "arsenic": arsenic, "education": education / 4}
    )
    switched = dt.rv("switched", dist.Bernoulli(logit_p=logit_p))
    return dt.Model(switched, backend=backend).observe({switched: data["switched"]})
