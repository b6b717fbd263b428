"""Summer temperatures at Kilpisjärvi: a line over the years."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("kilpisjarvi_mod-kilpisjarvi",)


def model(data, backend="numba"):
    summer = dt.Dim("summer")
    year = dt.data(data["x"], dims=summer, name="year")
    alpha = dt.rv("alpha", dist.Normal(data["pmualpha"], data["psalpha"]))
    beta = dt.rv("beta", dist.Normal(data["pmubeta"], data["psbeta"]))
    sigma = dt.rv("sigma", dist.HalfFlat())
    temperature = dt.rv("temperature", dist.Normal(alpha + beta * year, sigma))
    return dt.Model(temperature, backend=backend).observe({temperature: data["y"]})
