"""Groups and periods without elements: NaN of them in a log density are warned of."""

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt
from dimtensor import dist

OBS = dt.Dim("obs", length=4)
SHOP = dt.Dim("shop", coords=["north", "south", "west"])
WHERE = dt.data(["north", "south", "north", "south"], dims=OBS, categories=SHOP, name="place")
X = dt.data([1.0, 2.0, 4.0, 8.0], dims=OBS)
EMPTY = "groups along 'shop' have no elements: their {} is NaN"


def density(mu, data=None):
    y = dt.rv("y", dist.Normal(mu, 1.0))
    zeros = np.zeros([dim.length for dim in y.dims])
    model = dt.Model(y, backend="python").observe({y: (y.dims, zeros)} if y.dims else {y: 0.0})
    return (model.with_data(data) if data else model).log_density()


@pytest.mark.parametrize("name", ["mean", "min", "max", "std", "var", "median", "first"])
@pytest.mark.parametrize("change", [lambda x: x, lambda x: 2.0 * x.sum()], ids=["each", "sum"])
def test_reductions_of_no_elements(name, change):
    with pytest.warns(dt.errors.ModelWarning, match=EMPTY.format(name) + r"[^$]*empty: 'west'"):
        found = density(change(getattr(X.groupby(WHERE), name)()))
    assert np.isnan(found.logp(np.zeros(0)))


def test_groups_of_random_variables():
    a = dt.rv("a", dist.Normal(0.0, 1.0), dims=OBS)
    with pytest.warns(dt.errors.ModelWarning, match=EMPTY.format("mean")):
        found = density(a.groupby(WHERE).mean())
    assert np.isnan(found.logp(np.zeros(4)))


def test_periods():
    day = dt.Dim("day", coords=pd.to_datetime(["2020-01-01", "2020-01-05", "2020-03-03"]))
    x = dt.data([1.0, 2.0, 3.0], dims=day)
    with pytest.warns(dt.errors.ModelWarning, match="along 'day' .* mean is NaN[^$]*2020-02-01"):
        density(x.resample(day="MS").mean())
    density(x.resample(day="MS").sum())


def test_combinations_of_labels():
    kind = dt.Dim("kind", coords=["a", "b"])
    of = dt.data(["a", "b", "a", "a"], dims=OBS, categories=kind)
    pairs = X.groupby([WHERE, of]).mean()
    with pytest.warns(dt.errors.ModelWarning, match=r"'kind' and 'shop'[^$]*\('b', 'north'\)"):
        density(pairs)


@pytest.mark.parametrize(
    "of",
    [
        lambda by: by.sum(),
        lambda by: by.count() + 0.0,
        lambda by: by.mean().fillna(0.0),
        lambda by: by.mean().sel(shop=["north", "south"]),
        lambda by: by - by.mean(),
        lambda by: by.map("std"),
        lambda by: by.mean().sum(skipna=True),
    ],
    ids=["sum", "count", "fillna", "sel", "centered", "map", "skipna"],
)
def test_what_is_a_number_does_not_warn(of):
    assert np.isfinite(density(of(X.groupby(WHERE))).logp(np.zeros(0)))


def test_labels_that_come_with_the_data():
    mu = X.groupby(WHERE).mean()
    full = {"place": ["north", "south", "north", "west"]}
    assert np.isfinite(density(mu, full).logp(np.zeros(0)))
    with pytest.warns(dt.errors.ModelWarning, match=EMPTY.format("mean") + "[^$]*empty: 'south'"):
        density(mu, {"place": ["north", "west", "north", "west"]})


def test_labels_along_a_dim_that_gets_its_length_with_the_data():
    step, turn = dt.Dim("step"), dt.Dim("turn", length=3)
    x = dt.data([1.0, 2.0, 3.0, 4.0], dims=step, name="x")
    mu = x.groupby((dt.arange(step) % 2).as_labels(turn)).mean()
    with pytest.warns(dt.errors.ModelWarning, match="along 'turn' [^$]*empty: 2"):
        density(mu)
