"""Cholera: susceptible, infected and recovered people, and bacteria in the water."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("sir-sir",)
EXACT = {"rtol": 1e-11, "atol": 1e-11}
START = {"beta": 1.0, "gamma": 0.2, "xi": 10.0, "delta": 0.35}
HALF = 1e6  # bacteria at which half of the contacts infect


def model(data, backend="numba", rtol=1e-6, atol=1e-6):
    day = dt.Dim("day")
    names = ["susceptible", "infected", "recovered", "bacteria"]
    part = dt.Dim("part", coords=names)
    widths = {"beta": 2.5, "gamma": 1, "xi": 25, "delta": 1}
    beta, gamma, xi, delta = (dt.rv(k, dist.HalfCauchy(s)) for k, s in widths.items())

    def change(t, y):
        susceptible, infected, _, bacteria = (y.sel(part=name) for name in names)
        caught = beta * bacteria / (bacteria + HALF) * susceptible
        healed = gamma * infected
        return dt.stack([-caught, caught - healed, healed, xi * infected - delta * bacteria], part)

    times = dt.data([0.0, *data["t"]], dims=day, name="times")
    y = dt.ode(change, dt.data(data["y0"], dims=part), times, rtol=rtol, atol=atol)
    later = y.isel(day=slice(1, None))
    new = dt.rv("stoi_hat", dist.Poisson(-y.sel(part="susceptible").diff("day")))
    water = dt.rv("B_hat", dist.LogNormal(dt.log(later.sel(part="bacteria")), 0.15))
    fit = dt.Model(new, water, backend=backend)
    return fit.observe({new: data["stoi_hat"], water: data["B_hat"]})
