"""Test scores of children by their mothers' schooling and IQ."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("kidiq-kidscore_momhsiq",)


def model(data, backend="numba"):
    child = dt.Dim("child")
    mom_hs, mom_iq = columns(data, ("mom_hs", "mom_iq"), child)
    sigma = dt.rv("sigma", dist.HalfCauchy(2.5))
    mean = linear({"intercept": 1.0, "mom_hs": mom_hs, "mom_iq": mom_iq})
    score = dt.rv("score", dist.Normal(mean, sigma))
    return dt.Model(score, backend=backend).observe({score: data["kid_score"]})
