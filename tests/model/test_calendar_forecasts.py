"""Forecasts over more dates: what the calendar determines follows, and is not asked for.

Expected values are computed with pandas from the dates of the longer dim.
"""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist

MONTH = dt.date_range("month", start="2020-01-01", periods=24, freq="MS")
LONGER = MONTH.extend(6)
DATES = pd.date_range("2020-01-01", periods=30, freq="MS")
MOY = dt.Dim("moy", coords=range(1, 13))
SEASON = np.arange(12.0) ** 2
SEASON -= SEASON.mean()


def parts():
    season = dt.rv("season", dist.ZeroSumNormal(1.0, dim=MOY))
    return {
        "month": (season.sel(moy=MONTH.dt.month), SEASON[DATES.month - 1]),
        "days": (MONTH.dt.days_in_month * 1.0 + season.sum(), DATES.days_in_month),
        "decimal year": (MONTH.dt.decimal_year + season.sum(), decimal_years()),
        "waves": (
            dt.fourier(MONTH, "365.25D").sel(fourier="sin_1") + season.sum(),
            np.sin(2 * np.pi * (DATES - pd.Timestamp("1970-01-01")).days / 365.25),
        ),
        "leap year": (dt.where(MONTH.dt.is_leap_year, season.sel(moy=1), 0.0),
                      np.where(DATES.is_leap_year, SEASON[0], 0.0)),
        "text": (dt.data(SEASON, dims=dt.Dim("text", coords=[f"{m:02d}" for m in range(1, 13)]))
                 .sel(text=MONTH.dt.strftime("%m")) + season.sum(), SEASON[DATES.month - 1]),
        "quarters": (season.sel(moy=MONTH.dt.month).resample(month="QS").mean(),
                     pd.Series(SEASON[DATES.month - 1], DATES).resample("QS").mean()),
        "groups": (
            season.sel(moy=MONTH.dt.month).groupby(MONTH.dt.quarter).mean(),
            pd.Series(SEASON[DATES.month - 1]).groupby(DATES.quarter).mean()),
    }  # fmt: skip


def decimal_years():
    days = np.where(DATES.is_leap_year, 366, 365)
    return DATES.year + (DATES.day_of_year - 1) / days


def draws(**arrays):
    pairs = {name: (("chain", "draw", *dims), x[None, None]) for name, (dims, x) in arrays.items()}
    return xr.Dataset(pairs, {"moy": range(1, 13)})


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("name", parts())
def test_parts_of_the_calendar_follow(name, pickled):
    expression, expected = parts()[name]
    mean = dt.named("mean", expression)
    model = dt.Model(dt.rv("y", dist.Normal(mean, 1.0)), backend="python")
    model = pickle.loads(pickle.dumps(model)) if pickled else model
    post = draws(season=(("moy",), SEASON))
    found = model.predict(post, names=["mean"], dims={MONTH: LONGER}, seed=1)["predictions"]["mean"]
    np.testing.assert_allclose(found.squeeze(), expected, atol=1e-9)


def test_a_level_and_a_season_go_on():
    level = dt.rv("level", dist.GaussianRandomWalk(0.0, 1e-6, dim=MONTH, start=dist.Normal(0, 1)))
    season = dt.rv("season", dist.ZeroSumNormal(1.0, dim=MOY))
    y = dt.rv("y", dist.Normal(level + season.sel(moy=MONTH.dt.month), 1e-6))
    fit = dt.Model(y, backend="python").observe(y=np.zeros(24))
    post = draws(level=(("month",), np.full(24, 5.0)), season=(("moy",), SEASON))
    post = post.assign_coords(month=DATES[:24])
    found = fit.predict(post, dims={MONTH: LONGER}, seed=1)["predictions"]["y"]
    np.testing.assert_allclose(found.squeeze(), 5.0 + SEASON[DATES.month - 1], atol=1e-4)
    assert (found["month"].values == DATES).all()


def test_new_years_are_new_groups():
    effect = dt.rv("effect", dist.Normal(0.0, 1e-6), dims=MONTH.dt.year.categories)
    mean = dt.named("mean", effect.sel(year=MONTH.dt.year))
    model = dt.Model(dt.rv("y", dist.Normal(mean, 1.0)), backend="python")
    years = {"year": [2020, 2021]}
    post = xr.Dataset({"effect": (("chain", "draw", "year"), [[[1.0, 2.0]]])}, years)
    found = model.predict(post, names=["mean"], dims={MONTH: LONGER}, seed=1)["predictions"]
    expected = np.select([DATES.year == 2020, DATES.year == 2021], [1.0, 2.0], 0.0)
    np.testing.assert_allclose(found["mean"].squeeze(), expected, atol=1e-4)


def test_real_data_have_to_be_given():
    price = dt.data(np.ones(24), dims=MONTH, name="price")
    slope = dt.rv("slope", dist.Normal(0.0, 1.0))
    mean = dt.named("mean", slope * price * MONTH.dt.days_in_month)
    model = dt.Model(dt.rv("y", dist.Normal(mean, 1.0)), backend="python")
    post = xr.Dataset({"slope": (("chain", "draw"), [[2.0]])})
    lacking = (
        "draws need values that the model lacks: 'price'\n"
        "hint: pass predict the values of 'price' for all labels of the wider dim 'month', by name"
    )
    with pytest.raises(dt.InputError, match=lacking):
        model.predict(post, names=["mean"], dims={MONTH: LONGER}, seed=1)
    data = {price: np.arange(30.0)}
    found = model.predict(post, data, names=["mean"], dims={MONTH: LONGER}, seed=1)["predictions"]
    np.testing.assert_allclose(found["mean"].squeeze(), 2.0 * np.arange(30) * DATES.days_in_month)


def test_real_data_without_a_name_have_to_get_one():
    slope = dt.rv("slope", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(slope * dt.data(np.ones(24), dims=MONTH), 1.0))
    post = xr.Dataset({"slope": (("chain", "draw"), [[2.0]])})
    with pytest.raises(dt.DimError, match=r"predict: unnamed data(.|\n)*name it, dt.data") as error:
        dt.Model(y, backend="python").predict(post, dims={MONTH: LONGER}, seed=1)
    assert "substitute" not in str(error.value)


def test_expressions_over_other_dates():
    """Without a model, as well."""
    x = dt.substitute(1.0 * dt.data(SEASON, dims=MOY).sel(moy=MONTH.dt.month), dims={MONTH: LONGER})
    np.testing.assert_allclose(x.values, SEASON[DATES.month - 1])


# -- the future of what was summed out -------------------------------------------------------------


@pytest.mark.parametrize("gap", [False, True])
def test_the_future_given_a_level_that_is_summed_out(monkeypatch, gap):
    """One draw of the parameters, for which everything that is observed is jointly normal."""

    def sample(spec, draws, **options):
        post = xr.Dataset({"step": (("chain", "draw"), [[0.4]])})
        told = xr.Dataset({"diverging": (("chain", "draw"), [[False]])})
        return xr.DataTree.from_dict({"posterior": post, "sample_stats": told})

    monkeypatch.setattr("dimtensor.model.checking.cross_validate.sample", sample)
    n = 8
    t = dt.Dim("t", coords=[10 * at for at in range(n)])
    step = dt.rv("step", dist.HalfNormal(1.0))
    walk = dist.GaussianRandomWalk(0.0, step, dim=t, start=dist.Normal(0.0, 5.0))
    level = dt.rv("level", walk)
    y = dt.rv("y", dist.Normal(level, 0.5))
    values = np.random.default_rng(1).normal(size=n)
    values[5] = np.nan if gap else values[5]
    fit = dt.Model(y, backend="python").observe({y: values}, missing="drop").marginalize(level)
    found = dt.cross_validate(fit, t, ahead=3, first=4, seed=1, processes=1)
    cov = 25.0 + 0.16 * np.minimum.outer(np.arange(n), np.arange(n)) + 0.25 * np.eye(n)
    expected = np.full(n, np.nan)
    for at in range(4, n):
        known = [k for k in range(4 if at < 7 else 7) if np.isfinite(values[k])]
        gain = cov[at, known] @ np.linalg.inv(cov[np.ix_(known, known)])
        mean, variance = gain @ values[known], cov[at, at] - gain @ cov[known, at]
        expected[at] = -0.5 * ((values[at] - mean) ** 2 / variance + np.log(2 * np.pi * variance))
    np.testing.assert_allclose(found.pointwise["y"], expected, rtol=1e-8)
    assert found.pointwise["t"].values.tolist() == list(t.coords)
    assert found.folds.values.tolist() == [-1] * 4 + [0, 0, 0, 1]
