"""Seeds that germinate, by kind and root extract, with an effect of each plate."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._seeds import log_odds

POSTERIORS = ("seeds_data-seeds_model",)


def model(data, backend="numba"):
    plate = dt.Dim("plate")
    seeds = dt.data(data["N"], dims=plate, name="seeds")
    tau = dt.rv("tau", dist.Gamma(0.001, 0.001))
    b = dt.rv("b", dist.Normal(0, 1 / dt.sqrt(tau)), dims=plate)
    logit_p = log_odds(data, plate, 1000) + b
    grown = dt.rv("grown", dist.Binomial(seeds, logit_p=logit_p))
    return dt.Model(grown, backend=backend).observe({grown: data["n"]})
