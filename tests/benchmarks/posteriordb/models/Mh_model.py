"""Capture and recapture: chances that differ between individuals."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("Mh_data-Mh_model",)


def model(data, backend="numba"):
    individual = dt.Dim("individual")
    omega, mean_p = (dt.rv(name, dist.Uniform(0, 1)) for name in ("omega", "mean_p"))
    sigma = dt.rv("sigma", dist.Uniform(0, 5))
    raw = dt.rv("eps_raw", dist.Normal(0, 1), dims=individual)
    logit_p = dt.logit(mean_p) + sigma * raw
    seen = dt.rv("seen", dist.zero_inflated(dist.Binomial(data["T"], logit_p=logit_p), omega))
    return dt.Model(seen, backend=backend).observe({seen: data["y"]})
