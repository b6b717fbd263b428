"""Models of the cases `posterior`, `refit` and `predict`, for dimtensor, PyMC and NumPyro.

The three texts of a model have one density: their posteriors are compared. Each function imports
what it needs, so that imports count.
"""

import csv
from pathlib import Path

import numpy as np

RADON = Path(__file__).parent.parent.parent / "dimtensor" / "datasets" / "radon.csv"
MODELS = ("radon", "eight_schools", "item_response", "series")
# what effective draws are counted of, and posteriors compared by
NAMES = {
    "radon": ("mu", "spread", "alpha", "slope", "sigma"),
    "eight_schools": ("mu", "tau", "standard"),
    "item_response": ("ability", "difficulty", "discrimination"),
    "series": ("mu", "spread", "step", "sigma", "level", "walk"),
}


def problem(model):
    rng = np.random.default_rng(5)
    if model == "radon":
        with RADON.open() as file:
            rows = list(csv.DictReader(file))
        _, county = np.unique([row["county"] for row in rows], return_inverse=True)
        floor, y = (np.array([float(row[k]) for row in rows]) for k in ("floor", "log_radon"))
        return {"county": county, "floor": floor, "y": y, "counties": 85}
    if model == "eight_schools":
        y, error = [28, 8, -3, 7, -1, 1, 18, 12], [15, 10, 16, 11, 9, 11, 10, 18]
        return {"y": np.array(y, float), "error": np.array(error, float)}
    if model == "item_response":
        people, items = 1000, 100
        person, item = (x.ravel() for x in np.indices((people, items)))
        slope, at = np.exp(0.3 * rng.normal(size=items)), rng.normal(size=items)
        logit = slope[item] * (rng.normal(size=people)[person] - at[item])
        y = (rng.uniform(size=people * items) < 1 / (1 + np.exp(-logit))).astype("int64")
        return {"person": person, "item": item, "y": y, "people": people, "items": items}
    stores, days = 10, 100
    walk = 0.2 * rng.normal(size=(stores, days)).cumsum(axis=1)
    level = 1.0 + rng.normal(size=(stores, 1))
    return {"y": level + walk + 0.5 * rng.normal(size=(stores, days))}


# -- dimtensor -------------------------------------------------------------------------------------


def dimtensor(model, p):
    import dimtensor as dt

    return globals()[f"_dimtensor_{model}"](dt, dt.dist, p)


def _dimtensor_radon(dt, dist, p):
    county, house = dt.Dim("county", length=p["counties"]), dt.Dim("house")
    county_of = dt.tensor("county_of", dims=house, categories=county)
    floor = dt.tensor("floor", dims=house)
    mu = dt.rv("mu", dist.Normal(0, 10))
    spread = dt.rv("spread", dist.HalfNormal(1))
    alpha = dt.rv("alpha", dist.Normal(mu, spread), dims=county)
    slope = dt.rv("slope", dist.Normal(0, 1))
    sigma = dt.rv("sigma", dist.Exponential(1))
    y = dt.rv("y", dist.Normal(alpha.sel(county=county_of) + slope * floor, sigma))
    return dt.Model(y, data={county_of: p["county"], floor: p["floor"]}).observe({y: p["y"]})


def _dimtensor_eight_schools(dt, dist, p):
    school = dt.Dim("school")
    error = dt.data(p["error"], dims=school, name="error")
    standard = dt.rv("standard", dist.Normal(0, 1), dims=school)
    mu, tau = dt.rv("mu", dist.Normal(0, 5)), dt.rv("tau", dist.HalfCauchy(5))
    y = dt.rv("y", dist.Normal(mu + tau * standard, error))
    return dt.Model(y).observe({y: p["y"]})


def _dimtensor_item_response(dt, dist, p):
    person, item = dt.Dim("person", length=p["people"]), dt.Dim("item", length=p["items"])
    answer = dt.Dim("answer")
    who = dt.data(p["person"], dims=answer, categories=person, name="who")
    what = dt.data(p["item"], dims=answer, categories=item, name="what")
    ability = dt.rv("ability", dist.Normal(0, 1), dims=person)
    difficulty = dt.rv("difficulty", dist.Normal(0, 1), dims=item)
    slope = dt.rv("discrimination", dist.LogNormal(0, 0.5), dims=item)
    logit = slope.sel(item=what) * (ability.sel(person=who) - difficulty.sel(item=what))
    y = dt.rv("y", dist.Bernoulli(logit_p=logit))
    return dt.Model(y).observe({y: p["y"]})


def _dimtensor_series(dt, dist, p):
    store, day = (dt.Dim(n, length=k) for n, k in zip(("store", "day"), p["y"].shape, strict=True))
    mu, spread = dt.rv("mu", dist.Normal(0, 10)), dt.rv("spread", dist.HalfNormal(1))
    step, sigma = dt.rv("step", dist.HalfNormal(1)), dt.rv("sigma", dist.HalfNormal(1))
    level = dt.rv("level", dist.Normal(mu, spread), dims=store)
    steps = dist.GaussianRandomWalk(0, step, dim=day, start=dist.Normal(0, step))
    walk = dt.rv("walk", steps, dims=store)
    y = dt.rv("y", dist.Normal(level + walk, sigma))
    return dt.Model(y).observe({y: (("store", "day"), p["y"])})


# -- PyMC ------------------------------------------------------------------------------------------


def pymc(model, p):
    import pymc as pm

    with pm.Model() as built:
        globals()[f"_pymc_{model}"](pm, p)
    return built


def _pymc_radon(pm, p):
    county, floor = pm.Data("county_of", p["county"]), pm.Data("floor", p["floor"])
    observed = pm.Data("observed", p["y"])
    mu, spread = pm.Normal("mu", 0, 10), pm.HalfNormal("spread", 1)
    alpha = pm.Normal("alpha", mu, spread, shape=p["counties"])
    slope, sigma = pm.Normal("slope", 0, 1), pm.Exponential("sigma", 1)
    mean = alpha[county] + slope * floor
    pm.Normal("y", mean, sigma, observed=observed, shape=mean.shape)


def _pymc_eight_schools(pm, p):
    standard = pm.Normal("standard", 0, 1, shape=8)
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    pm.Normal("y", mu + tau * standard, p["error"], observed=p["y"])


def _pymc_item_response(pm, p):
    ability = pm.Normal("ability", 0, 1, shape=p["people"])
    difficulty = pm.Normal("difficulty", 0, 1, shape=p["items"])
    slope = pm.LogNormal("discrimination", 0, 0.5, shape=p["items"])
    logit = slope[p["item"]] * (ability[p["person"]] - difficulty[p["item"]])
    pm.Bernoulli("y", logit_p=logit, observed=p["y"])


def _pymc_series(pm, p):
    stores, days = p["y"].shape
    mu, spread = pm.Normal("mu", 0, 10), pm.HalfNormal("spread", 1)
    step, sigma = pm.HalfNormal("step", 1), pm.HalfNormal("sigma", 1)
    level = pm.Normal("level", mu, spread, shape=stores)
    first = pm.Normal.dist(0, step, shape=stores)
    walk = pm.GaussianRandomWalk("walk", 0, step, init_dist=first, steps=days - 1,
                                 shape=(stores, days))  # fmt: skip
    pm.Normal("y", level[:, None] + walk, sigma, observed=p["y"])


# -- NumPyro ---------------------------------------------------------------------------------------


def numpyro(model, p):
    import numpyro

    return lambda: globals()[f"_numpyro_{model}"](numpyro.sample, numpyro.distributions, p)


def _numpyro_radon(sample, dist, p):
    mu, spread = sample("mu", dist.Normal(0, 10)), sample("spread", dist.HalfNormal(1))
    alpha = sample("alpha", dist.Normal(mu, spread).expand([p["counties"]]))
    slope, sigma = sample("slope", dist.Normal(0, 1)), sample("sigma", dist.Exponential(1))
    sample("y", dist.Normal(alpha[p["county"]] + slope * p["floor"], sigma), obs=p["y"])


def _numpyro_eight_schools(sample, dist, p):
    standard = sample("standard", dist.Normal(0, 1).expand([8]))
    mu, tau = sample("mu", dist.Normal(0, 5)), sample("tau", dist.HalfCauchy(5))
    sample("y", dist.Normal(mu + tau * standard, p["error"]), obs=p["y"])


def _numpyro_item_response(sample, dist, p):
    ability = sample("ability", dist.Normal(0, 1).expand([p["people"]]))
    difficulty = sample("difficulty", dist.Normal(0, 1).expand([p["items"]]))
    slope = sample("discrimination", dist.LogNormal(0, 0.5).expand([p["items"]]))
    logit = slope[p["item"]] * (ability[p["person"]] - difficulty[p["item"]])
    sample("y", dist.Bernoulli(logits=logit), obs=p["y"])


def _numpyro_series(sample, dist, p):
    stores, days = p["y"].shape
    mu, spread = sample("mu", dist.Normal(0, 10)), sample("spread", dist.HalfNormal(1))
    step, sigma = sample("step", dist.HalfNormal(1)), sample("sigma", dist.HalfNormal(1))
    level = sample("level", dist.Normal(mu, spread).expand([stores]))
    walk = sample("walk", dist.GaussianRandomWalk(step, days).expand([stores]))
    sample("y", dist.Normal(level[:, None] + walk, sigma), obs=p["y"])
