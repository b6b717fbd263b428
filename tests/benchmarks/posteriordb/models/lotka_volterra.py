"""Hares and lynxes: numbers of skins, around the path of Lotka and Volterra's equations."""

import numpy as np

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("hudson_lynx_hare-lotka_volterra",)
EXACT = {"rtol": 1e-11, "atol": 1e-11}


def model(data, backend="numba", rtol=1e-5, atol=1e-3):
    year = dt.Dim("year")
    rate = dt.Dim("rate", coords=["birth", "eaten", "death", "fed"])
    animal = dt.Dim("animal", coords=["hare", "lynx"])
    center = dt.data([1, 0.05, 1, 0.05], dims=rate)
    width = dt.data([0.5, 0.05, 0.5, 0.05], dims=rate)
    theta = dt.rv("theta", dist.truncated(dist.Normal(center, width), lower=0), dims=rate)
    z_init = dt.rv("z_init", dist.LogNormal(np.log(10), 1), dims=animal)
    sigma = dt.rv("sigma", dist.LogNormal(-1, 1), dims=animal)

    def change(t, z):
        hares, lynxes = z.sel(animal="hare"), z.sel(animal="lynx")
        birth, eaten, death, fed = (theta.sel(rate=label) for label in rate.coords)
        return dt.stack([(birth - eaten * lynxes) * hares, (fed * hares - death) * lynxes], animal)

    times = dt.data([0.0, *data["ts"]], dims=year, name="times")
    z = dt.ode(change, z_init, times, rtol=rtol, atol=atol)
    y = dt.rv("y", dist.LogNormal(dt.log(z), sigma))
    skins = [data["y_init"], *data["y"]]
    return dt.Model(y, backend=backend).observe({y: (("year", "animal"), skins)})
