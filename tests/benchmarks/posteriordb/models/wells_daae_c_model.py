"""Households that switch to another well: centered distance and arsenic interact;
membership in an association and education."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("wells_data-wells_daae_c_model",)


def model(data, backend="numba"):
    household = dt.Dim("household")
    names = ("dist", "arsenic", "assoc", "educ")
    distance, arsenic, member, education = columns(data, names, household)
    far = (distance - distance.mean()) / 100
    poison = arsenic - arsenic.mean()
    alpha = dt.rv("alpha", dist.Flat())
    logit_p = alpha + linear(
        {
            "distance": far,
            "arsenic": poison,
            "distance:arsenic": far * poison,
            "member": member,
            "education": education / 4,
        }
    )
    switched = dt.rv("switched", dist.Bernoulli(logit_p=logit_p))
    return dt.Model(switched, backend=backend).observe({switched: data["switched"]})
