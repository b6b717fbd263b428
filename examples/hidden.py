"""Three data sets with something that was not observed, summed out of the model and recovered.

- Old Faithful: is an eruption of the short or of the long kind? A mixture.
- Major earthquakes of each year: was it a quiet, a usual or a busy time? A hidden Markov model.
- Dippers on the river: is a bird that was not seen again dead, or was it missed? Capture and
  recapture.

Run it with ``python examples/hidden.py``. It prints the posteriors by name and writes three
pictures into ``hidden_output/``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

import dimtensor as dt
from dimtensor import dist

COLORS = {"quiet": "#4c78a8", "usual": "#bab0ac", "busy": "#e45756"}


def eruptions() -> tuple[dt.Model, pd.DataFrame]:
    """Durations of eruptions and waiting times after them, of two kinds."""
    data = dt.datasets.load("old_faithful")
    eruption, kind = dt.Dim("eruption"), dt.Dim("kind", coords=["short", "long"])
    measure = dt.Dim("measure", coords=["duration", "waiting"])
    pairs = [kind, measure]
    center = dt.data([[2.0, 55.0], [4.5, 80.0]], dims=pairs)
    scale = dt.data([0.5, 5.0], dims=measure)

    offset = dt.rv("offset", dist.Normal(0, 1), dims=pairs)
    mean = dt.named("mean", center + scale * offset)
    spread = dt.rv("spread", dist.HalfNormal(scale), dims=pairs)
    share = dt.rv("share", dist.Beta(2, 2))
    chances = dt.stack([share, 1 - share], kind)
    which = dt.rv("which", dist.Categorical(chances, dim=kind), dims=eruption)
    seen = dt.rv("seen", dist.Normal(mean.sel(kind=which), spread.sel(kind=which)))
    values = (("eruption", "measure"), data[["duration", "waiting"]].to_numpy())
    return dt.Model(seen, mean).observe({seen: values}).marginalize(which), data


def earthquakes() -> tuple[dt.Model, pd.Series]:
    """Counts of years, in states that last."""
    counts = dt.datasets.load("earthquakes")["count"]
    year, state = dt.Dim("year", coords=list(counts.index)), dt.Dim("state", coords=list(COLORS))
    after = state.rename("after")
    stays = dt.where(dt.arange(state) == dt.arange(after), 8.0, 1.0)

    level = dt.rv("level", dist.ordered(dist.Normal(3.0, 0.5), dim=state))
    rate = dt.named("rate", dt.exp(level))
    move = dt.rv("move", dist.Dirichlet(stays, dim=after))
    time = dt.rv("time", dist.MarkovChain(dt.full(state, 1 / 3), move, dim=year))
    count = dt.rv("count", dist.Poisson(rate.sel(state=time)))
    return dt.Model(count, rate).observe({count: counts.to_numpy()}).marginalize(time), counts


def dippers() -> tuple[dt.Model, pd.DataFrame]:
    """Birds that were released each year, and the year in which they were next seen, if any."""
    table = dt.datasets.load("dippers")
    rows = table.loc[table.index.repeat(table["birds"])].reset_index(drop=True)
    last, years = 1987, 6
    ahead = rows["released"].to_numpy()[:, None] + 1 + np.arange(years)
    next_seen = rows["next_seen"].fillna(last + 1).to_numpy()[:, None]
    seen_in = np.where(ahead <= np.minimum(next_seen, last), ahead == next_seen, np.nan)
    floods = np.where((ahead == 1983) | (ahead == 1984), "flood", "usual")

    release, later = dt.Dim("release"), dt.Dim("later", length=years)
    water = dt.Dim("water", coords=["flood", "usual"])
    fate = dt.Dim("fate", coords=["alive", "dead"])
    after = fate.rename("after")
    river = dt.data(floods, dims=[release, later], categories=water, name="river")

    survival = dt.rv("survival", dist.Beta(1, 1), dims=water)
    sight = dt.rv("sight", dist.Beta(1, 1))
    lives = survival.sel(water=river)
    first = lives.isel(later=0)
    start = dt.stack([first, 1 - first], fate)
    move = dt.stack([dt.stack([lives, 1 - lives], after), dt.data([0.0, 1.0], dims=after)], fate)
    is_alive = dt.data([1.0, 0.0], dims=fate)
    bird = dt.rv("bird", dist.MarkovChain(start, move, dim=later))
    seen = dt.rv("seen", dist.Bernoulli(is_alive.sel(fate=bird) * sight))
    fit = dt.Model(seen).observe({seen: (("release", "later"), seen_in)}, missing="drop")
    return fit.marginalize(bird), rows


def table_of(post: xr.DataTree, names: list[str]) -> str:
    """Means and standard deviations by name."""
    lines = []
    for name in names:
        x = post["posterior"][name]
        mean, sd = x.mean(["chain", "draw"]), x.std(["chain", "draw"])
        for at in np.ndindex(mean.shape):
            labels = [str(mean[d].values[k]) for d, k in zip(mean.dims, at, strict=True)]
            title = f"{name}[{', '.join(labels)}]" if labels else name
            lines.append(f"{title:24} {float(mean[at]):8.3f} {float(sd[at]):8.3f}")
    return "\n".join(lines)


def draw_eruptions(data: pd.DataFrame, chance: xr.DataArray, path: Path) -> None:
    """Eruptions, colored by the probability that they are long."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    dots = axes.scatter(data["duration"], data["waiting"], c=chance, cmap="coolwarm", s=14)
    axes.set(xlabel="duration (minutes)", ylabel="waiting time (minutes)")
    figure.colorbar(dots, label="probability of the long kind")
    figure.savefig(path, dpi=80)


def draw_earthquakes(
    counts: pd.Series, chance: xr.DataArray, rate: xr.DataArray, path: Path
) -> None:
    """Counts with the expected rate, and below them the probabilities of the states."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    above.plot(counts.index, counts, "o", ms=3, color="0.4")
    above.step(counts.index, rate, where="mid", color="black", lw=1)
    above.set(ylabel="major earthquakes")
    below.stackplot(counts.index, chance.transpose("state", "year"), labels=list(COLORS),
                    colors=list(COLORS.values()))  # fmt: skip
    below.set(ylabel="state", yticks=[], xlim=(1900, 2006))
    below.legend(loc="upper center", ncols=3, bbox_to_anchor=(0.5, -0.25), frameon=False)
    figure.savefig(path, dpi=80)


def draw_dippers(rows: pd.DataFrame, alive: xr.DataArray, path: Path) -> None:
    """How probable it is that birds that were not seen again live, by year."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    gone = rows["next_seen"].isna()
    for released in sorted(set(rows["released"])):
        first = int(np.flatnonzero(gone & (rows["released"] == released))[0])
        years = np.arange(released + 1, 1988)
        axes.plot([released, *years], [1.0, *alive.isel(release=first)[: len(years)]], "o-", ms=3)
    axes.set(xlabel="year", ylabel="probability of being alive", ylim=(0, 1.02),
             title="Dippers that were not seen again, by the year of their release")  # fmt: skip
    figure.savefig(path, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--tune", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("hidden_output"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    def sampled(title: str, fit: dt.Model, names: list[str], hidden: str) -> xr.DataTree:
        print(f"\n{title}\nsummed out: {fit.elimination_order}")
        post = fit.sample(options.draws, tune=options.tune, chains=2, seed=options.seed,
                          progress_bar=False, report=False)  # fmt: skip
        print(table_of(post, names))
        return fit.recover(post, hidden, how="probabilities")

    def chances(post: xr.DataTree, name: str) -> xr.DataArray:
        return post["posterior"][f"{name}_probability"].mean(["chain", "draw"])

    fit, data = eruptions()
    post = sampled("Old Faithful", fit, ["share", "mean", "spread"], "which")
    chance = chances(post, "which").sel(kind="long")
    print(f"of {len(data)} eruptions {int((abs(chance - 0.5) < 0.45).sum())} are hard to tell")
    draw_eruptions(data, chance, options.output / "eruptions.png")

    fit, counts = earthquakes()
    post = sampled("Earthquakes", fit, ["rate", "move"], "time")
    chance, rate = chances(post, "time"), post["posterior"]["rate"]
    busy = chance.year.values[(chance.sel(state="busy") > 0.9).values]
    print(f"surely busy: {len(busy)} years, from {busy.min()} to {busy.max()}")
    expected = (post["posterior"]["time_probability"] * rate).sum("state").mean(["chain", "draw"])
    draw_earthquakes(counts, chance, expected, options.output / "earthquakes.png")

    fit, rows = dippers()
    post = sampled("Dippers", fit, ["survival", "sight"], "bird")
    alive = chances(post, "bird").sel(fate="alive").transpose("release", "later")
    draw_dippers(rows, alive, options.output / "dippers.png")


if __name__ == "__main__":
    main()
