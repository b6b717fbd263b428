"""Recovery of pilots in a flight simulator, by treatment group and scenario."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("pilots-pilots",)


def model(data, backend="numba"):
    flight = dt.Dim("flight")
    group = dt.Dim("group", coords=range(1, data["n_groups"] + 1))
    scenario = dt.Dim("scenario", coords=range(1, data["n_scenarios"] + 1))
    group_of = dt.data(data["group_id"], dims=flight, categories=group, name="group_of")
    scenario_of = dt.data(data["scenario_id"], dims=flight, categories=scenario, name="scenario_of")
    mu_a, mu_b = (dt.rv(name, dist.Normal(0, 1)) for name in ("mu_a", "mu_b"))
    sigma_a, sigma_b, sigma_y = (
        dt.rv(name, dist.Uniform(0, 100)) for name in ("sigma_a", "sigma_b", "sigma_y")
    )
    a = dt.rv("a", dist.Normal(10 * mu_a, sigma_a), dims=group)
    b = dt.rv("b", dist.Normal(10 * mu_b, sigma_b), dims=scenario)
    level = a.sel(group=group_of) + b.sel(scenario=scenario_of)
    y = dt.rv("recovery", dist.Normal(level, sigma_y))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
