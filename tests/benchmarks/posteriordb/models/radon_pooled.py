"""Radon in houses: one level, and a difference by floor."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("radon_mn-radon_pooled", "radon_all-radon_pooled")


def model(data, backend="numba"):
    house = dt.Dim("house")
    floor = dt.data(data["floor_measure"], dims=house, name="floor")
    alpha, beta = (dt.rv(name, dist.Normal(0, 10)) for name in ("alpha", "beta"))
    sigma = dt.rv("sigma_y", dist.HalfNormal(1))
    y = dt.rv("log_radon", dist.Normal(alpha + beta * floor, sigma))
    return dt.Model(y, backend=backend).observe({y: data["log_radon"]})
