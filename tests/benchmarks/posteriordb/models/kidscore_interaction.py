"""Test scores of children by their mothers' schooling and IQ, with an interaction."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import linear

POSTERIORS = ("kidiq-kidscore_interaction",)


def model(data, backend="numba"):
    child = dt.Dim("child")
    mom_hs = dt.data(data["mom_hs"], dims=child, name="mom_hs")
    mom_iq = dt.data(data["mom_iq"], dims=child, name="mom_iq")
    sigma = dt.rv("sigma", dist.HalfCauchy(2.5))
    mean = linear(
        {"intercept": 1.0, "mom_hs": mom_hs, "mom_iq": mom_iq, "mom_hs:mom_iq": mom_hs * mom_iq}
    )
    score = dt.rv("score", dist.Normal(mean, sigma))
    return dt.Model(score, backend=backend).observe({score: data["kid_score"]})
