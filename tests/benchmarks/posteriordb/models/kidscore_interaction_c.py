"""Test scores of children, with centered predictors and their interaction."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("kidiq_with_mom_work-kidscore_interaction_c",)


def model(data, backend="numba"):
    child = dt.Dim("child")
    mom_hs, mom_iq = columns(data, ("mom_hs", "mom_iq"), child)
    hs, iq = mom_hs - mom_hs.mean(), mom_iq - mom_iq.mean()
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear({"intercept": 1.0, "mom_hs": hs, "mom_iq": iq, "mom_hs:mom_iq": hs * iq})
    score = dt.rv("score", dist.Normal(mean, sigma))
    return dt.Model(score, backend=backend).observe({score: data["kid_score"]})
