"""Selections of a model that come out empty: terms of its density vanish, and it says so."""

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt
from dimtensor import dist

EMPTY = "a selection along 'day' is empty"


def effect(x):
    a = dt.rv("a", dist.Normal(0.0, 1.0))
    return dt.Model(dt.rv("y", dist.Normal(a * x.sum(), 1.0)), backend="python")


@pytest.mark.parametrize(
    "select",
    [
        lambda x: x.sel(day=slice(7, 9)),
        lambda x: x.sel(day=[]),
        lambda x: x[3:],
        lambda x: x.sel(day=slice(7, 9)).diff("day"),
        lambda x: x.isel(day=np.array([False, False, False])),
    ],
)
def test_labels_that_are_known_when_a_model_is_built(select):
    x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("day", coords=[1, 2, 3]))
    with pytest.warns(dt.errors.ModelWarning, match=EMPTY):
        effect(select(x))
    effect(x[1:])  # a selection with elements does not warn


def test_labels_that_come_with_the_data():
    x = dt.float64("x", dt.Dim("day"))
    model = effect(x.sel(day=slice(7, 9))).observe(y=0.0)
    early, late = (pd.Series([1.0, 2.0], pd.Index(at, name="day")) for at in ([1, 2], [8, 9]))
    model.with_data(x=late).log_density()
    for _ in range(2):
        with pytest.warns(dt.errors.ModelWarning, match=EMPTY):
            model.with_data(x=early).log_density()


def test_masks_of_data():
    x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("day"), name="x")
    model = effect(x[x > 2.5]).observe(y=0.0)
    model.log_density()
    with pytest.warns(dt.errors.ModelWarning, match=EMPTY):
        model.with_data(x=[0.0, 1.0]).log_density()
    with pytest.warns(dt.errors.ModelWarning, match=EMPTY):
        effect(x[x > 9.0]).observe(y=0.0).log_density()


def test_an_empty_dim_of_the_data_is_no_selection():
    effect(dt.data(np.zeros(0), dims=dt.Dim("day"))).observe(y=0.0).log_density()


def test_a_chain_of_one_element_has_no_step_and_is_no_selection():
    time, kind = dt.Dim("time"), dt.Dim("kind", coords=["a", "b"])
    move = dt.data(np.full((2, 2), 0.5), dims=[kind, kind.rename("to")])
    start = dt.data([0.3, 0.7], dims=kind)
    z = dt.rv("z", dist.MarkovChain(start, move, dim=time))
    level = dt.data([0.0, 1.0], dims=kind)
    y = dt.rv("y", dist.Normal(level.sel(kind=z), 1.0))
    fit = dt.Model(y, backend="python").observe({y: [0.5]}).marginalize(z).log_density()
    expected = -0.5 * np.log(2 * np.pi) - 0.125
    assert float(fit.logp(np.zeros(0))) == pytest.approx(expected)
