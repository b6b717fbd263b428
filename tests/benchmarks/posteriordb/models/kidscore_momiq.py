"""Test scores of children by their mothers' IQ."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import linear

POSTERIORS = ("kidiq-kidscore_momiq",)


def model(data, backend="numba"):
    child = dt.Dim("child")
    mom_iq = dt.data(data["mom_iq"], dims=child, name="mom_iq")
    sigma = dt.rv("sigma", dist.HalfCauchy(2.5))
    mean = linear({"intercept": 1.0, "mom_iq": mom_iq})
    score = dt.rv("score", dist.Normal(mean, sigma))
    return dt.Model(score, backend=backend).observe({score: data["kid_score"]})
