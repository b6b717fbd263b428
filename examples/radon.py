"""Radon in 919 houses of Minnesota: a hierarchical model with an effect for each county.

The log radon level of a house depends on its county, on the uranium in the soil there, and on the
floor where it was measured; the effects of the counties come from one population. The model is that
of A. Gelman and J. Hill, "Data Analysis Using Regression and Multilevel/Hierarchical Models"
(2007), chapter 12, with the priors of posteriordb's ``radon_hierarchical_intercept_noncentered``.

Run it with ``make demo`` or ``python examples/radon.py``. It prints the posterior by name, compares
it with a reference posterior made by Stan, says where the time went, and writes two pictures into
``radon_output/``.
"""

# ruff: noqa: E402 (the clock starts before the imports, whose time is part of the report)
from __future__ import annotations

import time

STARTED = time.perf_counter()

import argparse
from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

import dimtensor as dt
from dimtensor import dist

IMPORTED = time.perf_counter()

DATA = Path(__file__).parent / "data"
POPULATION = ["mu_alpha", "sigma_alpha", "sigma_y", "beta[log_uranium]", "beta[floor]"]


def build_model(houses: pd.DataFrame) -> dt.Model:
    """The model over named dims, its effects of counties not centered, as in the reference."""
    county = dt.Dim("county", coords=sorted(set(houses["county"])))
    predictor = dt.Dim("predictor", coords=["log_uranium", "floor"])
    house = dt.Dim("house")

    county_of = dt.data(houses["county"], dims=house, categories=county, name="county_of")
    log_uranium = dt.data(houses["log_uranium"], dims=house, name="log_uranium")
    floor = dt.data(houses["floor"], dims=house, name="floor")

    mu_alpha = dt.rv("mu_alpha", dist.Normal(0, 10))
    sigma_alpha = dt.rv("sigma_alpha", dist.HalfNormal(1))
    alpha_raw = dt.rv("alpha_raw", dist.Normal(0, 1), dims=county)
    alpha = dt.named("alpha", mu_alpha + sigma_alpha * alpha_raw)  # one effect per county
    beta = dt.rv("beta", dist.Normal(0, 10), dims=predictor)
    sigma_y = dt.rv("sigma_y", dist.HalfNormal(1))
    mean = (
        alpha.sel(county=county_of)  # looked up for each house
        + beta.sel(predictor="log_uranium") * log_uranium
        + beta.sel(predictor="floor") * floor
    )
    log_radon = dt.rv("log_radon", dist.Normal(mean, sigma_y))
    return dt.Model(log_radon).observe({log_radon: houses["log_radon"]})


def print_tables(table: pd.DataFrame, houses: pd.DataFrame) -> None:
    columns = ["mean", "sd", "mcse_mean", "ess_bulk", "r_hat"]
    formats = {"float_format": "{:.3f}".format, "formatters": {"ess_bulk": "{:.0f}".format}}
    print("\nPopulation")
    print(table.loc[POPULATION, columns].to_string(**formats))

    effects = table[table.index.str.startswith("alpha[")]
    highest = effects.sort_values("mean", ascending=False).head(10)[columns]
    highest.index = highest.index.str.removeprefix("alpha[").str.removesuffix("]")
    highest.insert(0, "houses", houses["county"].value_counts()[highest.index])
    print("\nThe ten counties with the highest effect (alpha)")
    print(highest.to_string(**formats))


def compare_with_reference(table: pd.DataFrame, houses: pd.DataFrame) -> None:
    """Say whether all posterior means lie within 4 Monte Carlo standard errors of the reference."""
    reference = pd.read_csv(DATA / "radon_mn_reference.csv", index_col="parameter")
    counties = sorted(set(houses["county"]))
    names = {f"alpha_raw.{at + 1}": f"alpha_raw[{name}]" for at, name in enumerate(counties)}
    names |= {"beta.1": "beta[log_uranium]", "beta.2": "beta[floor]"}
    reference = reference.rename(index=names)
    ours = table.loc[reference.index]
    errors = np.hypot(ours["mcse_mean"], reference["mcse_mean"])
    distance = (ours["mean"] - reference["mean"]).abs() / errors
    verdict = "agree with" if (distance < 4).all() else "DIFFER from"
    print(
        f"\nThe means of {len(distance)} parameters {verdict} the reference posterior: the largest "
        f"distance is {distance.max():.2f} Monte Carlo standard errors ({distance.idxmax()}); "
        "4 are allowed."
    )


def draw_forest(posterior: xr.DataTree, houses: pd.DataFrame, path: Path) -> None:
    """Effects of the counties with their 50% and 90% intervals, from the highest to the lowest."""
    alpha = posterior["alpha"].sortby(posterior["alpha"].mean(["chain", "draw"]))
    middle = alpha.mean(["chain", "draw"])
    low, quarter, upper, high = alpha.quantile([0.05, 0.25, 0.75, 0.95], ["chain", "draw"]).values
    n_houses = houses["county"].value_counts()
    names = alpha["county"].values
    rows = np.arange(len(names))

    figure = Figure(figsize=(7.5, 13.5), layout="constrained")
    axes = figure.subplots()
    axes.hlines(rows, low, high, color="tab:blue", linewidth=1)
    axes.hlines(rows, quarter, upper, color="tab:blue", linewidth=3)
    axes.plot(middle, rows, "o", color="white", markeredgecolor="tab:blue", markersize=4)
    axes.axvline(posterior["mu_alpha"].mean(), color="0.4", linestyle="--", linewidth=1)
    axes.set_yticks(rows, [f"{name} ({n_houses[name]})" for name in names], fontsize=7)
    axes.set_ylim(-1, len(names))
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.set_xlabel("effect of the county on log radon (mean, 50% and 90% intervals)")
    axes.set_title("Radon in Minnesota: 85 counties (houses); dashed: mu_alpha", fontsize=10)
    figure.savefig(path, dpi=150)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000, help="draws per chain (1000)")
    parser.add_argument("--tune", type=int, default=1000, help="tuning steps per chain (1000)")
    parser.add_argument("--chains", type=int, default=4, help="number of chains (4)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("radon_output"), help="folder")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    seconds = {"import": IMPORTED - STARTED}
    clock = time.perf_counter()

    def lap(step: str) -> None:
        nonlocal clock
        seconds[step], clock = time.perf_counter() - clock, time.perf_counter()

    houses = dt.datasets.load("radon")
    lap("read")
    model = build_model(houses)
    lap("build")
    density = model.log_density()
    density.logp_and_grad(density.initial_point)
    lap("compile")
    trace = model.sample(options.draws, tune=options.tune, chains=options.chains, seed=options.seed)
    lap("sample")
    table = az.summary(trace, round_to="none")
    print_tables(table, houses)
    compare_with_reference(table, houses)
    lap("summary")
    draw_forest(trace["posterior"], houses, options.output / "forest.png")
    dt.to_graph({"logp": density.expression}, options.output / "graph.svg")
    lap("pictures")

    print(f"\nWritten: {options.output / 'forest.png'}, {options.output / 'graph.svg'}")
    print("Seconds: " + ", ".join(f"{step} {taken:.2f}" for step, taken in seconds.items()), end="")
    print(f"; in all {sum(seconds.values()):.1f}")


if __name__ == "__main__":
    main()
