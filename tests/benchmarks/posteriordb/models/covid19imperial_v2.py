"""Deaths of a pandemic in several countries, by infections that measures slow down."""

import numpy as np

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("ecdc0401-covid19imperial_v2", "ecdc0501-covid19imperial_v2")


def model(data, backend="numba"):
    n_seeded, n_days = data["N0"], max(data["N"])  # what is later has no deaths yet
    country = dt.Dim("country", length=data["M"])
    measure = dt.Dim("measure", length=data["P"])
    day = dt.Dim("day", coords=range(n_seeded + 1, n_days + 1))
    lag = dt.Dim("lag", coords=range(1, n_days))
    measures = np.array(data["X"])[:, n_seeded:n_days]
    measures = dt.data(measures, dims=[country, day, measure], name="measures")
    population = dt.data(data["pop"], dims=country, name="population")
    infects = dt.data(data["SI"][: n_days - 1], dims=lag, name="infects")
    dies = dt.data(np.array(data["f"])[: n_days - 1], dims=[lag, country], name="dies")

    kappa = dt.rv("kappa", dist.HalfNormal(0.5))

    def around(x, kappa):
        return dist.Normal(3.28, kappa).logp(x)

    mu = dt.rv("mu", dist.custom(around, dt.positive, kappa=kappa), dims=country)
    alpha_hier = dt.rv("alpha_hier", dist.Gamma(0.1667, 1), dims=measure)
    tau = dt.rv("tau", dist.Exponential(0.03))
    y = dt.rv("y", dist.Exponential(1 / tau), dims=country)
    phi = dt.rv("phi", dist.HalfNormal(5))
    noise = dist.truncated(dist.Normal(1, 0.1), lower=0)
    ifr_noise = dt.rv("ifr_noise", noise, dims=country)

    alpha = alpha_hier - np.log(1.05) / 6
    reproduction = mu * dt.exp(-dt.dot(measures, alpha, dim=measure))

    def step(state, reproduction):
        recent, total = state  # infections, the newest first, and their sum
        total = total + recent.isel(lag=0)
        left = (population - total) / population
        new = left * reproduction * dt.dot(recent, infects, dim=lag)
        return (dt.push(recent, new, lag), total), dt.dot(recent, dies, dim=lag)

    start = dt.where(dt.arange(lag) < n_seeded, y, 0.0)
    _, died = dt.scan(step, (start, (n_seeded - 1) * y), reproduction, dim=day)

    counts = np.array(data["deaths"], float)[n_seeded:n_days]
    number = np.arange(n_seeded + 1, n_days + 1)[:, None]
    counts[(number < data["EpidemicStart"]) | (number > data["N"])] = np.nan
    deaths = dt.rv("deaths", dist.NegativeBinomial(ifr_noise * died, phi))
    fit = dt.Model(deaths, backend=backend)
    return fit.observe({deaths: (("day", "country"), counts)}, missing="drop")
