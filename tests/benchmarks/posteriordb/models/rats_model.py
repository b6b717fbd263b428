"""Weights of young rats: a line for each."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("rats_data-rats_model",)


def model(data, backend="numba"):
    rat, weighing = dt.Dim("rat", coords=range(1, data["N"] + 1)), dt.Dim("weighing")
    rat_of = dt.data(data["rat"], dims=weighing, categories=rat, name="rat_of")
    day = dt.data(data["x"], dims=weighing, name="day")
    mu_alpha, mu_beta = (dt.rv(name, dist.Normal(0, 100)) for name in ("mu_alpha", "mu_beta"))
    sigma_y, sigma_alpha, sigma_beta = (
        dt.rv(name, dist.HalfFlat()) for name in ("sigma_y", "sigma_alpha", "sigma_beta")
    )
    alpha = dt.rv("alpha", dist.Normal(mu_alpha, sigma_alpha), dims=rat)
    beta = dt.rv("beta", dist.Normal(mu_beta, sigma_beta), dims=rat)
    line = alpha.sel(rat=rat_of) + beta.sel(rat=rat_of) * (day - data["xbar"])
    weight = dt.rv("weight", dist.Normal(line, sigma_y))
    return dt.Model(weight, backend=backend).observe({weight: data["y"]})
