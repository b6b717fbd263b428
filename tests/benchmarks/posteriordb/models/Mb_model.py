"""Capture and recapture: who was caught the time before has another chance."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("Mb_data-Mb_model",)


def model(data, backend="numba"):
    individual = dt.Dim("individual", length=data["M"])
    occasion = dt.Dim("occasion", coords=range(1, data["T"] + 1))
    omega, p, c = (dt.rv(name, dist.Uniform(0, 1)) for name in ("omega", "p", "c"))
    caught = dt.data(data["y"], dims=[individual, occasion], name="captures")
    before = caught.shift(occasion=1, fill_value=0)
    chance = dt.where(before == 1, c, p)
    present = dt.rv("present", dist.Bernoulli(omega), dims=individual)
    seen = dt.rv("seen", dist.Bernoulli(present * chance), dims=[individual, occasion])
    fit = dt.Model(seen, backend=backend).observe({seen: (("individual", "occasion"), data["y"])})
    return fit.marginalize(present)
