"""Test scores of children by their mothers' schooling."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import linear

POSTERIORS = ("kidiq-kidscore_momhs",)


def model(data, backend="numba"):
    child = dt.Dim("child")
    mom_hs = dt.data(data["mom_hs"], dims=child, name="mom_hs")
    sigma = dt.rv("sigma", dist.HalfCauchy(2.5))
    mean = linear({"intercept": 1.0, "mom_hs": mom_hs})
    score = dt.rv("score", dist.Normal(mean, sigma))
    return dt.Model(score, backend=backend).observe({score: data["kid_score"]})
