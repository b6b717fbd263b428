"""Drivers killed on British roads: a level that walks, seasons that change, two effects."""

import numpy as np

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("uk_drivers-state_space_stochastic_level_stochastic_seasonal",)


def model(data, backend="numba"):
    month = dt.Dim("month", length=data["n"])
    petrol = dt.data(data["x"], dims=month, name="petrol")
    belts = dt.data(data["w"], dims=month, name="belts")
    scale = dt.Dim("scale", coords=["season", "level", "noise"])

    def widths(x):
        return dist.StudentT(4, 0, 1).logp(x).sum(scale)

    sigma = dt.rv("sigma", dist.custom(widths, dt.supports.positive_ordered, event_dims=scale))
    of_season, of_level, noise = (sigma.sel(scale=label) for label in scale.coords)

    def walk(x, width):
        return dist.Normal(0, width).logp(x.diff("month")).sum()

    late = dt.Dim("late", length=data["n"] - 11)

    def round_year(x, width):
        year = sum(
            x.isel(month=slice(k, data["n"] - 11 + k)).relabel("month", late) for k in range(12)
        )
        return dist.Normal(0, width).logp(year).sum()

    center, width = np.mean(data["y"]), 3 * np.std(data["y"], ddof=1)
    bounds = dt.supports.bounded(center - width, center + width)
    mu = dt.rv("mu", dist.custom(walk, bounds, event_dims=month, width=of_level))
    season = dist.custom(round_year, dt.real, event_dims=month, width=of_season)
    seasonal = dt.rv("seasonal", season)
    beta, effect = dt.rv("beta", dist.Flat()), dt.rv("lambda", dist.Flat())
    y = dt.rv("y", dist.Normal(mu + beta * petrol + effect * belts + seasonal, noise))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
