"""Calendar parts of dims of dates, and dates filled at a frequency: against pandas and xarray."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import LONG_JAX

DATES = {
    "hours": pd.date_range("2019-12-30 21:58:30.000123", periods=70, freq="203h"),
    "no order": pd.to_datetime(["2021-03-31", "2020-02-29", "2020-12-31", "2021-01-01"]),
    "zone": pd.date_range("2020-03-28", periods=9, freq="9h", tz="Europe/Berlin"),
    "one": pd.to_datetime(["2024-06-30 12:00"]),
    "none": pd.to_datetime([]),
}
# names of xarray that pandas 3 has otherwise
OF_PANDAS = {"dayofyear": "day_of_year", "dayofweek": "day_of_week"}
CYCLES = ["quarter", "month", "day", "dayofyear", "dayofweek", "hour", "minute", "second", "year"]
NUMBERS = ["days_in_month", "microsecond", "nanosecond"]
CONDITIONS = ["is_leap_year", "is_month_start", "is_month_end", "is_quarter_start",
              "is_quarter_end", "is_year_start", "is_year_end"]  # fmt: skip


@pytest.mark.parametrize("which", DATES)
def test_parts_are_those_of_pandas(which):
    dates = DATES[which]
    dim = dt.Dim("t", coords=dates)
    for part in [*CYCLES, *NUMBERS, *CONDITIONS]:
        expected = getattr(dates, OF_PANDAS.get(part, part))
        assert getattr(dim.dt, part).values.tolist() == list(expected), part
    for part in CYCLES:  # all labels of what comes round, whether they are found or not
        labels = getattr(dim.dt, part).categories.coords.tolist()
        assert labels == list(range(labels[0], labels[-1] + 1)) if labels else which == "none"
    iso = dates.isocalendar()
    found = dim.dt.isocalendar()
    assert found.year.values.tolist() == iso["year"].tolist()
    assert found.week.values.tolist() == iso["week"].tolist() == dim.dt.week.values.tolist()
    assert found.weekday.values.tolist() == iso["day"].tolist()
    for freq in ("D", "6h"):
        for name in ("floor", "ceil", "round"):
            expected = getattr(dates, name)(freq)
            got = getattr(dim.dt, name)(freq)
            assert got.categories.to_index()[got.codes.values].tolist() == expected.tolist()
    assert dim.dt.date.codes.values.tolist() == pd.factorize(dates.date, sort=True)[0].tolist()
    assert dim.dt.time.values.tolist() == dates.time.tolist()
    assert dim.dt.strftime("%Y-%m, %a").values.tolist() == dates.strftime("%Y-%m, %a").tolist()


def test_parts_that_xarray_makes():
    dates = DATES["hours"]
    times, dim = xr.DataArray(dates, dims="t"), dt.Dim("t", coords=dates)
    assert dim.dt.season.values.tolist() == times.dt.season.values.tolist()
    assert dim.dt.season.categories.coords.tolist() == ["DJF", "MAM", "JJA", "SON"]
    assert dim.dt.days_in_year.values.tolist() == times.dt.days_in_year.values.tolist()
    np.testing.assert_allclose(dim.dt.decimal_year.values, times.dt.decimal_year, rtol=1e-14)


@pytest.mark.parametrize("part", ["season", "is_month_end", "days_in_month", "dayofweek", "date"])
def test_groups_by_name(part):
    dates = pd.date_range("2020-01-01", periods=100, freq="31h")
    values = np.random.default_rng(3).normal(size=100)
    frame = xr.DataArray(values, coords={"t": dates}, dims="t")
    x = dt.data(frame)
    expected = frame.groupby(f"t.{part}").mean()
    found = x.groupby(f"t.{part}").mean().eval()
    assert found.dims == expected.dims == (part,)
    there = found.dropna(part)
    if part in ("date", "is_month_end"):  # dates of pandas are days of NumPy here
        np.testing.assert_allclose(there, expected)
    else:
        np.testing.assert_allclose(there.sel({part: expected[part]}), expected)


def test_refusals():
    with pytest.raises(dt.LabelError, match="season: the labels of dim 'k' are no dates"):
        dt.Dim("k", coords=[1, 2]).dt.season
    with pytest.raises(dt.OptionError, match="floor: 'MS' is no fixed frequency"):
        dt.date_range("t", start="2020-01-01", periods=3).dt.floor("MS")
    x = dt.tensor("x", dims=dt.date_range("t", start="2020-01-01", periods=3))
    with pytest.raises(
        dt.OptionError, match=r"dates have no part 'seasons' .did you mean 'season'"
    ):
        x.groupby("t.seasons")


# -- filled ----------------------------------------------------------------------------------------

FRAME = xr.DataArray(
    np.random.default_rng(1).normal(size=(6, 2)),
    coords={
        "day": pd.to_datetime("2021-01-01") + pd.to_timedelta([6, 24, 42, 96, 102, 144], "h"),
        "site": ["a", "b"],
    },
)  # fmt: skip
x = dt.data(FRAME)


def same(found, expected):
    result = found.eval().drop_attrs().transpose(*expected.dims)
    xr.testing.assert_allclose(result, expected)


@pytest.mark.parametrize("freq", ["6h", "9h", "D", "2D", "W"])
@pytest.mark.parametrize("name", ["ffill", "pad", "bfill", "backfill", "nearest"])
def test_filling_is_xarrays(freq, name):
    for options in ({}, {"tolerance": "8h"}, {"tolerance": pd.Timedelta("1D")}):
        expected = getattr(FRAME.resample(day=freq), name)(**options)
        same(getattr(x.resample(day=freq), name)(**options), expected)


@pytest.mark.parametrize("freq", ["6h", "9h", "2D"])
def test_dates_of_a_frequency_and_between_them(freq):
    holes = FRAME.copy()
    holes[2, 0] = np.nan
    same(dt.data(holes).resample(day=freq).asfreq(), holes.resample(day=freq).asfreq())
    for kind in ("linear", "nearest"):
        expected = FRAME.resample(day=freq).interpolate(kind)
        same(x.resample(day=freq).interpolate(kind), expected)


def test_ends_of_groups():
    for options in (
        {"offset": "3h"},
        {"offset": pd.Timedelta("-2h"), "closed": "right"},
        {"closed": "right", "label": "right"},
        {"origin": "epoch"},
        {"origin": "start"},
        {"origin": pd.Timestamp("2020-12-31 03:00")},
    ):
        same(x.resample(day="10h", **options).mean(), FRAME.resample(day="10h", **options).mean())
        same(x.resample(day="10h", **options).ffill(), FRAME.resample(day="10h", **options).ffill())
    with pytest.raises(dt.OptionError, match="the offset: 'later' is no distance between dates"):
        x.resample(day="D", offset="later")
    with pytest.raises(dt.OptionError, match="ffill: the tolerance: 'ME' has no length of its own"):
        x.resample(day="D").ffill(tolerance="ME")


def test_dates_in_no_order_are_filled_by_date():
    mixed = dt.data(FRAME.isel(day=[3, 0, 5, 1, 2, 4]))
    for name in ("ffill", "bfill", "nearest", "interpolate", "asfreq"):
        expected = getattr(FRAME.resample(day="9h"), name)()
        same(getattr(mixed.resample(day="9h"), name)(), expected)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradients_count_how_often_an_element_is_used(backend):
    y = dt.tensor("y", dims=x.dims)
    filled = y.resample(day="6h").ffill(tolerance="12h")
    between = y.resample(day="6h").interpolate()
    f = dt.function([y], [dt.grad(each.sum(skipna=True), y) for each in (filled, between)],
                    backend=backend)  # fmt: skip
    counts, weights = f(FRAME)
    units = FRAME.isel(site=0).copy(data=np.zeros(6))
    for at in range(6):
        units[:] = np.eye(6)[at]
        expected = units.resample(day="6h").ffill(tolerance="12h").sum()
        np.testing.assert_allclose(counts.isel(day=at), expected)
        expected = units.resample(day="6h").interpolate("linear").sum()
        np.testing.assert_allclose(weights.isel(day=at), expected, atol=1e-12)


def test_new_labels_take_what_is_near():
    t = xr.DataArray([1.0, 2.0, 3.0], coords={"t": [0.0, 2.0, 5.0]}, dims="t")
    new = [-1.0, 0.4, 2.0, 4.0, 9.0]
    for method in ("nearest", "pad", "ffill", "backfill", "bfill"):
        for tolerance in (None, 1.0):
            expected = t.reindex(t=new, method=method, tolerance=tolerance)
            for order in ([0, 1, 2], [2, 0, 1]):
                y = dt.data(t.isel(t=order))
                found = y.reindex(t=new, method=method, tolerance=tolerance)
                np.testing.assert_array_equal(found.values, expected)
                filled = y.reindex(t=new, fill_value=0.0, method=method, tolerance=tolerance)
                np.testing.assert_array_equal(filled.values, expected.fillna(0.0))
            for down in (t.isel(t=slice(None, None, -1)), t.isel(t=[1]), t.isel(t=[])):
                expected = down.reindex(t=new, method=method, tolerance=tolerance)
                found = dt.data(down).reindex(t=new, method=method, tolerance=tolerance)
                np.testing.assert_array_equal(found.values, expected)
    with pytest.raises(dt.OptionError, match="there is no method 'linear'"):
        dt.data(t).reindex(t=new, method="linear")
    named = dt.data([1.0, 2.0], dims=dt.Dim("k", coords=["a", "b"]))
    with pytest.raises(dt.LabelError, match="in dim 'k' with method='nearest'"):
        named.reindex(k=["c"], method="nearest")


WHEN = pd.to_datetime(["2021-03-31", "2020-02-29", "2021-03-31", "2020-12-31"])


@pytest.mark.parametrize("part", [*CYCLES, *NUMBERS, *CONDITIONS, "season"])
def test_parts_of_a_column_of_dates(part):
    times = xr.DataArray(WHEN, dims="obs")
    when = dt.frame(pd.DataFrame({"when": WHEN}), dims=dt.Dim("obs")).when
    expected = getattr(times.dt, part)
    assert getattr(when.dt, part).values.tolist() == expected.values.tolist()


def test_functions_of_a_column_of_dates():
    times = xr.DataArray(WHEN, dims="obs")
    when = dt.data(WHEN, dims=dt.Dim("obs"), categories=dt.Dim("when", coords=WHEN.unique()))
    assert when.dt.strftime("%b").values.tolist() == times.dt.strftime("%b").values.tolist()
    assert when.dt.floor("D").values.tolist() == times.dt.floor("D").values.tolist()
    iso, expected = when.dt.isocalendar(), times.dt.isocalendar()
    assert iso.week.values.tolist() == expected["week"].values.tolist()
    assert repr(when.dt).startswith("<DateParts of labels of Dim('when'")


def test_groups_of_a_column_by_a_part_of_its_dates():
    sold = np.array([1.0, 2.0, 4.0, 8.0])
    frame = dt.frame(pd.DataFrame({"when": WHEN, "sold": sold}), dims=dt.Dim("obs"))
    found = frame.sold.groupby(frame.when.dt.year).sum()
    assert found.to_series().to_dict() == {2020: 10.0, 2021: 5.0}


def test_what_has_no_parts_of_dates():
    obs = dt.Dim("obs")
    with pytest.raises(
        dt.NoAttributeError, match=r"no \.dt\n.*\nhint: parts of dates are of their"
    ):
        _ = dt.data([1.0, 2.0], dims=obs).dt
    shops = dt.data(["a", "b"], dims=obs, categories=dt.Dim("shop", coords=["a", "b"]))
    with pytest.raises(dt.LabelError, match="the labels of dim 'shop' are no dates"):
        _ = shops.dt.month
    late = dt.tensor("late", dims=obs, categories=dt.Dim("day"))
    with pytest.raises(dt.LabelError, match="day"):
        _ = late.dt.month


# -- dates that are missing -----------------------------------------------------------------------

PADDED = dt.Dim("day", coords=pd.DatetimeIndex(["2020-01-01", None, "2020-04-05"]))
OF_DATES = {
    "season": lambda dim: dim.dt.season,
    "month": lambda dim: dim.dt.month,
    "year": lambda dim: dim.dt.year,
    "days_in_month": lambda dim: dim.dt.days_in_month,
    "date": lambda dim: dim.dt.date,
    "time": lambda dim: dim.dt.time,
    "floor": lambda dim: dim.dt.floor("D"),
    "strftime": lambda dim: dim.dt.strftime("%Y"),
    "isocalendar": lambda dim: dim.dt.isocalendar(),
    "decimal_year": lambda dim: dim.dt.decimal_year,
    "extend": lambda dim: dim.extend(3, "D"),
    "resample": lambda dim: dt.data(np.ones(3), dims=dim).resample(day="MS"),
    "fourier": lambda dim: dt.fourier(dim, "365D", 1),
}


@pytest.mark.parametrize("name", OF_DATES)
def test_parts_of_missing_dates_are_refused(name):
    with pytest.raises(
        dt.LabelError, match="some labels of dim 'day' are no dates, they are NaT"
    ) as e:
        OF_DATES[name](PADDED)
    assert "positions: 1" in str(e.value)
    OF_DATES[name](dt.date_range("day", start="2020-01-01", periods=3))


def test_missing_dates_are_moved_as_they_are():
    x = dt.data([1.0, 2.0, 4.0], dims=PADDED)
    assert x.shift(day="95D").sel(day="2020-04-05").item() == 1.0


def test_blocks_of_dates_have_the_mean_of_those_that_are_there():
    day = dt.date_range("day", start="2020-01-01", periods=4)
    padded = dt.data([1.0, 2.0, 3.0, 4.0], dims=day).pad(day=(1, 4))
    found = padded.coarsen(day=3).sum(skipna=True).eval().indexes["day"]
    assert [str(label)[:16] for label in found] == ["2020-01-01 12:00", "2020-01-03 12:00", "NaT"]
    level = dt.Dim("level", coords=[1.0, np.nan, 3.0, 5.0])
    numbers = dt.data(np.ones(4), dims=level).coarsen(level=2).sum().eval().indexes["level"]
    assert numbers.tolist() == [1.0, 4.0]


def test_intervals_have_no_nearest_one():
    span = dt.Dim("span", coords=pd.interval_range(0, 4, periods=2))
    with pytest.raises(dt.LabelError, match=r"cannot look up 1\.5 in dim 'span'"):
        dt.data([1.0, 2.0], dims=span).sel(span=1.5, method="nearest")
