"""Seeds that germinate, by kind and root extract, with an effect of each plate; narrow priors."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._seeds import log_odds

POSTERIORS = ("seeds_data-seeds_stanified_model",)


def model(data, backend="numba"):
    plate = dt.Dim("plate")
    seeds = dt.data(data["N"], dims=plate, name="seeds")
    sigma = dt.rv("sigma", dist.HalfCauchy(1))
    b = dt.rv("b", dist.Normal(0, sigma), dims=plate)
    logit_p = log_odds(data, plate, 1) + b
    grown = dt.rv("grown", dist.Binomial(seeds, logit_p=logit_p))
    return dt.Model(grown, backend=backend).observe({grown: data["n"]})
