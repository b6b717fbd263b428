"""Capture and recapture: chances by occasion, individual, and whether caught the time before."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("Mtbh_data-Mtbh_model",)


def model(data, backend="numba"):
    individual = dt.Dim("individual", length=data["M"])
    occasion = dt.Dim("occasion", coords=range(1, data["T"] + 1))
    omega = dt.rv("omega", dist.Uniform(0, 1))
    mean_p = dt.rv("mean_p", dist.Uniform(0, 1), dims=occasion)
    gamma = dt.rv("gamma", dist.Normal(0, 10))
    sigma = dt.rv("sigma", dist.Uniform(0, 3))
    raw = dt.rv("eps_raw", dist.Normal(0, 1), dims=individual)
    caught = dt.data(data["y"], dims=[individual, occasion], name="captures")
    before = caught.shift(occasion=1, fill_value=0)
    chance = dt.sigmoid(dt.logit(mean_p) + sigma * raw + gamma * before)
    present = dt.rv("present", dist.Bernoulli(omega), dims=individual)
    seen = dt.rv("seen", dist.Bernoulli(present * chance), dims=[individual, occasion])
    fit = dt.Model(seen, backend=backend).observe({seen: (("individual", "occasion"), data["y"])})
    return fit.marginalize(present)
