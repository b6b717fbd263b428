"""Who watches a television program, by encouragement."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import linear

POSTERIORS = ("sesame_data-sesame_one_pred_a",)


def model(data, backend="numba"):
    child = dt.Dim("child")
    encouraged = dt.data(data["encouraged"], dims=child, name="encouraged")
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear({"intercept": 1.0, "encouraged": encouraged})
    watched = dt.rv("watched", dist.Normal(mean, sigma))
    return dt.Model(watched, backend=backend).observe({watched: data["watched"]})
