"""Households that switch to another well, with all pairs of three centered predictors."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("wells_data-wells_dae_inter_model",)


def model(data, backend="numba"):
    household = dt.Dim("household")
    distance, arsenic, education = columns(data, ("dist", "arsenic", "educ"), household)
    far = (distance - distance.mean()) / 100
    poison = arsenic - arsenic.mean()
    school = (education - education.mean()) / 4
    alpha = dt.rv("alpha", dist.Flat())
    logit_p = alpha + linear(
        {
            "distance": far,
            "arsenic": poison,
            "education": school,
            "distance:arsenic": far * poison,
            "distance:education": far * school,
            "arsenic:education": poison * school,
        }
    )
    switched = dt.rv("switched", dist.Bernoulli(logit_p=logit_p))
    return dt.Model(switched, backend=backend).observe({switched: data["switched"]})
