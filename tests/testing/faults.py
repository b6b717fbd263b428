"""Models and functions with a seeded fault each, and the contract that finds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

import dimtensor as dt
from dimtensor import dist

OBS = dt.Dim("obs")
COUNTIES = ["Anoka", "Becker", "Clay", "Dodge"]
COUNTY = dt.Dim("county", coords=COUNTIES)
FRAME = pd.DataFrame({
    "county": ["Dodge", "Anoka", "Clay", "Anoka", "Becker", "Dodge", "Clay", "Becker"],
    "x": [0.3, -1.2, 0.8, 1.5, -0.4, 0.1, 2.1, -0.9],
    "y": [0.5, -0.6, 1.1, 0.2, -1.4, 0.9, 1.8, -0.3],
})  # fmt: skip


def column(df: pd.DataFrame, name: str) -> dt.DimTensor:
    return dt.data(df[name], dims=OBS, name=name)


def levels(df: pd.DataFrame) -> dt.DimTensor:
    """Levels of counties, looked up for the rows by label."""
    where = dt.data(df["county"], dims=OBS, categories=COUNTY)
    return dt.rv("level", dist.Normal(0.0, 1.0), dims=COUNTY).sel(county=where)


def normal(df: pd.DataFrame, mean: Any, y: Any = None, sigma: Any = 1.0) -> dt.Model:
    out = dt.rv("y", dist.Normal(mean, sigma), dims=OBS)
    return dt.Model(out, backend="python").observe({out: df["y"].to_numpy() if y is None else y})


# -- models ----------------------------------------------------------------------------------------


def right(df):
    return normal(df, levels(df) + column(df, "x"))


def right_with_labels_as_they_occur(df):
    found, labels = pd.factorize(df["county"])
    county = dt.Dim("county", coords=list(labels))
    level = dt.rv("level", dist.Normal(0.0, 1.0), dims=county)
    return normal(df, level.isel(county=dt.data(found, dims=OBS)))


def right_with_centered_predictor(df):
    x = column(df, "x")
    return normal(df, levels(df) + (x - x.mean(OBS)) / x.std(OBS))


def first_county_for_the_reference(df):
    level = dt.rv("level", dist.Normal(0.0, 1.0), dims=COUNTY)
    where = dt.data(df["county"], dims=OBS, categories=COUNTY)
    return normal(df, level.sel(county=where) - level.isel(county=0))


def codes_as_they_occur(df):
    level = dt.rv("level", dist.Normal(0.0, 1.0), dims=COUNTY)
    return normal(df, level.isel(county=dt.data(pd.factorize(df["county"])[0], dims=OBS)))


def means_of_counties_as_they_occur(df):
    means = df.groupby("county", sort=False)["x"].mean().to_numpy()
    level = dt.rv("level", dist.Normal(dt.data(means, dims=COUNTY), 1.0))
    return normal(df, level.sel(county=dt.data(df["county"], dims=OBS, categories=COUNTY)))


def priors_in_the_order_of_rows(df):
    county = dt.Dim("county", coords=list(df["county"].unique()))
    level = dt.rv("level", dist.Normal(dt.data([0.0, 1.0, 2.0, 3.0], dims=county), 1.0))
    return normal(df, level.sel(county=dt.data(df["county"], dims=OBS, categories=county)))


def predictor_sorted_alone(df):
    return normal(df, levels(df) + dt.data(np.sort(df["x"]), dims=OBS))


def outcome_reversed(df):
    return normal(df, levels(df) + column(df, "x"), y=df["y"].to_numpy()[::-1])


def first_row_for_the_baseline(df):
    x = column(df, "x")
    return normal(df, levels(df) + x - x.isel(obs=0))


def first_row_of_the_table(df):
    return normal(df, levels(df) + df["x"].iloc[0])


def sums_over_rows_before(df):
    return normal(df, levels(df) + column(df, "x").cumsum(OBS))


def row_before(df):
    return normal(df, levels(df) + column(df, "x").shift(obs=1, fill_value=0.0))


def rows_counted(df):
    return normal(df, levels(df) + 0.1 * dt.arange(OBS))


def first_half_treated(df):
    return normal(df, levels(df) + dt.data(1.0 * (np.arange(len(df)) < len(df) / 2), dims=OBS))


def noise_of_odd_rows(df):
    return normal(df, levels(df), sigma=dt.data(1.0 + np.arange(len(df)) % 2, dims=OBS))


def weights_by_position(df):
    return normal(df, levels(df) * dt.data(np.linspace(0, 1, len(df)), dims=OBS))


def running_mean_taken_off(df):
    return normal(df, levels(df), y=(df["y"] - df["y"].expanding().mean()).to_numpy())


def difference_to_the_row_before(df):
    return normal(df, levels(df), y=df["y"].diff().fillna(0.0).to_numpy())


def rolling_mean(df):
    smooth = df["x"].rolling(3, min_periods=1).mean().to_numpy()
    return normal(df, levels(df) + dt.data(smooth, dims=OBS))


def duplicates_dropped(df):
    first = ~df["county"].duplicated().to_numpy()
    return normal(df, levels(df) + dt.data(1.0 * first, dims=OBS))


def row_of_the_largest(df):
    return normal(df, levels(df) + 0.1 * float(np.argmax(df["x"].to_numpy())))


def first_of_each_county(df):
    first = df.groupby("county")["x"].transform("first").to_numpy()
    return normal(df, levels(df) + dt.data(first, dims=OBS))


def labels_moved_by_position(df):
    level = dt.rv("level", dist.Normal(0.0, 1.0), dims=COUNTY)
    county = dt.Dim("county", coords=COUNTIES[::-1])
    moved = dt.from_shaped(level.to_shaped([COUNTY]), dims=[county])
    return normal(df, moved.sel(county=dt.data(df["county"], dims=OBS, categories=county)))


MODELS: dict[Callable[..., dt.Model], str] = {
    first_county_for_the_reference: "selects from county by position",
    codes_as_they_occur: "exchanging index=0 and index=1",
    means_of_counties_as_they_occur: "positions along index",
    priors_in_the_order_of_rows: "positions along index",
    predictor_sorted_alone: "positions along index",
    outcome_reversed: "positions along index",
    first_row_for_the_baseline: "positions along obs",
    first_row_of_the_table: "positions along index",
    sums_over_rows_before: "positions along index",
    row_before: "positions along index",
    rows_counted: "positions along index",
    first_half_treated: "positions along index",
    noise_of_odd_rows: "positions along index",
    weights_by_position: "positions along index",
    running_mean_taken_off: "positions along index",
    difference_to_the_row_before: "positions along index",
    rolling_mean: "positions along index",
    duplicates_dropped: "positions along index",
    row_of_the_largest: "positions along index",
    first_of_each_county: "positions along index",
}
RIGHT = [right, right_with_labels_as_they_occur, right_with_centered_predictor]


# -- functions -------------------------------------------------------------------------------------


class Fault(NamedTuple):
    function: Callable[..., Any]
    contract: str
    text: str


SALES = xr.DataArray(
    np.array([[1.0, 2.5, 0.5], [3.0, 0.2, 1.1], [0.7, 4.0, 2.2]]),
    {"country": ["Italy", "Kenya", "USA"], "shop": ["north", "south", "west"]},
    ("country", "shop"),
    name="sales",
)
PRICES = xr.DataArray([2.0, 3.0, 5.0], {"country": ["Italy", "Kenya", "USA"]}, ("country",))

FUNCTIONS = {
    "share of all": Fault(lambda x, p: x / x.sum(), "batches", "is not that of a loop"),
    "mean of all": Fault(lambda x, p: x - x.mean(), "batches", "is not that of a loop"),
    "total of all": Fault(lambda x, p: (x * p).sum(), "batches", "has no values along it"),
    "axis": Fault(lambda x, p: x.reduce(np.mean, axis=0), "batches", "has no values along it"),
    "first": Fault(lambda x, p: x.isel(country=0), "labels", "exchanging 'Italy' and 'Kenya'"),
    "last": Fault(lambda x, p: x - x.isel(shop=-1), "labels", "exchanging 'south' and 'west'"),
    "one element": Fault(lambda x, p: x.values[0, 0], "labels", "along country"),
    "wrong axis": Fault(
        lambda x, p: x.copy(data=x.values * p.values), "labels", "positions along country"
    ),
    "before": Fault(lambda x, p: x.cumsum("country"), "labels", "positions along country"),
    "sorted": Fault(lambda x, p: x.copy(data=np.sort(x.values, 0)), "labels", "along country"),
    "largest": Fault(lambda x, p: x.argmax("country"), "labels", "positions along country"),
    "named": Fault(
        lambda x, p: x.assign_coords(country=["a", "b", "c"]), "labels", "positions along country"
    ),
}
