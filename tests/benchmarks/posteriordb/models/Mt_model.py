"""Capture and recapture: chances that differ between occasions."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("Mt_data-Mt_model",)


def model(data, backend="numba"):
    individual = dt.Dim("individual", length=data["M"])
    occasion = dt.Dim("occasion", coords=range(1, data["T"] + 1))
    omega = dt.rv("omega", dist.Uniform(0, 1))
    p = dt.rv("p", dist.Uniform(0, 1), dims=occasion)
    present = dt.rv("present", dist.Bernoulli(omega), dims=individual)
    seen = dt.rv("seen", dist.Bernoulli(present * p), dims=[individual, occasion])
    fit = dt.Model(seen, backend=backend).observe({seen: (("individual", "occasion"), data["y"])})
    return fit.marginalize(present)
