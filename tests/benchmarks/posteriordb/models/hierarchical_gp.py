"""Votes by state and election: levels, and Gaussian processes over years by region and state."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("state_wide_presidential_votes-hierarchical_gp",)
AXES = {"GP_region_std": ("year", "region"), "GP_state_std": ("year", "state")}


def model(data, backend="numba"):
    vote = dt.Dim("vote")
    year = dt.Dim("year", coords=range(1, data["N_years"] + 1))
    election = dt.Dim("election", coords=range(1, data["N_years_obs"] + 1))
    state = dt.Dim("state", coords=range(1, data["N_states"] + 1))
    region = dt.Dim("region", coords=range(1, data["N_regions"] + 1))
    of_state = [f"states of region {k}" for k in region.coords]
    longs, shorts = ["region, long", "state, long"], ["region, short", "state, short"]
    share = dt.Dim("share", coords=["year", "region", *of_state, *longs, *shorts, "error"])

    def known(name, dim):
        return dt.data(data[name], dims=vote, categories=dim, name=f"{name} of {dim.name}")

    tot_var = dt.rv("tot_var", dist.Gamma(3, 3))
    prop_var = dt.rv("prop_var", dist.Dirichlet(dt.full(share, 2.0), dim=share))
    mu = dt.rv("mu", dist.Normal(0.5, 0.5))
    sd = dt.sqrt(len(share) * prop_var * tot_var)

    other = year.rename("other")
    apart = (dt.arange(year) - dt.arange(other)).astype("float64")

    def process(kind, dim):
        cov = 1e-6 * dt.eye(year, other)
        for span, years in {"long": 8, "short": 3}.items():
            length = dt.rv(f"length_GP_{kind}_{span}", dist.Weibull(30, years))
            width = sd.sel(share=f"{kind}, {span}")
            cov = cov + width**2 * dt.exp(-0.5 * (apart / length) ** 2)
        raw = dt.rv(f"GP_{kind}_std", dist.Normal(0, 1), dims=[year, dim])
        return dt.dot(dt.linalg.cholesky(cov, [year, other]), raw.relabel(year, other), dim=other)

    of_region = dt.data(
        data["state_region_ind"], dims=state, categories=region, name="region of state"
    )
    widths = sd.sel(share=of_state).relabel("share", region).sel(region=of_region)
    year_std = dt.rv("year_std", dist.Normal(0, 1), dims=election)
    state_std = dt.rv("state_std", dist.Normal(0, 1), dims=state)
    region_std = dt.rv("region_std", dist.Normal(0, 1), dims=region)
    at_state, at_region = known("state_ind", state), known("region_ind", region)
    mean = (
        mu
        + (sd.sel(share="year") * year_std).sel(election=known("year_ind", election))
        + (widths * state_std).sel(state=at_state)
        + (sd.sel(share="region") * region_std).sel(region=at_region)
        + process("region", region).sel(year=known("year_ind", year), region=at_region)
        + process("state", state).sel(year=known("year_ind", year), state=at_state)
    )
    y = dt.rv("y", dist.Normal(mean, sd.sel(share="error")))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
