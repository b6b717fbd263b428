"""Test scores of children, with standardized predictors and their interaction."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("kidiq_with_mom_work-kidscore_interaction_z",)


def model(data, backend="numba"):
    child = dt.Dim("child")
    mom_hs, mom_iq = columns(data, ("mom_hs", "mom_iq"), child)
    hs, iq = ((x - x.mean()) / (2 * x.std(ddof=1)) for x in (mom_hs, mom_iq))
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear({"intercept": 1.0, "mom_hs": hs, "mom_iq": iq, "mom_hs:mom_iq": hs * iq})
    score = dt.rv("score", dist.Normal(mean, sigma))
    return dt.Model(score, backend=backend).observe({score: data["kid_score"]})
