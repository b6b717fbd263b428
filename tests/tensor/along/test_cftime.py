"""Labels of cftime, dates of the calendars of climate models, against xarray."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
import dimtensor.dist as dist
from dimtensor.errors import LabelError, OptionError

cftime = pytest.importorskip("cftime")
CALENDARS = ["noleap", "360_day"]


def days(calendar, n=800, start="2000-01-05", freq="D"):
    return xr.date_range(start, periods=n, freq=freq, calendar=calendar, use_cftime=True)


@pytest.fixture(params=CALENDARS)
def series(request):
    index = days(request.param)
    values = np.random.default_rng(0).normal(size=len(index))
    return xr.DataArray(values, {"t": index}, ["t"])


def evaluated(x):
    return dt.evaluate(x, backend="python")


def agree(found, expected):
    assert found.dims == expected.dims
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
    for name in expected.dims:
        assert found[name].values.tolist() == expected[name].values.tolist()


def test_labels_come_out_as_they_came_in(series):
    found = evaluated(dt.data(series) * 2.0)
    assert found.indexes["t"].equals(series.indexes["t"])
    assert found.indexes["t"].calendar == series.indexes["t"].calendar
    of_array = dt.Dim("t", coords=series.t.values)
    assert of_array == dt.Dim("t", coords=series.indexes["t"])
    assert repr(of_array).startswith("Dim('t', [2000-01-05, 2000-01-06,")


def test_dates_of_two_calendars_are_never_the_same_label():
    one, other = (dt.Dim("t", coords=days(calendar, 3)) for calendar in CALENDARS)
    assert one != other
    x = dt.data([1.0, 2.0, 3.0], dims=one)
    with pytest.raises(LabelError, match="has no label 2000-01-05"):
        x.sel(t=days("360_day", 3)[0])


def _selections(index):
    return [
        index[7], "2000-02-11", "2000-03", "2001", slice("2000-02", "2000-04"),
        slice("2000-12-30", None), slice(index[3], index[9]), [index[4], index[2]],
    ]  # fmt: skip


@pytest.mark.parametrize("at", range(8))
def test_sel_is_that_of_xarray(series, at):
    selection = _selections(series.indexes["t"])[at]
    agree(evaluated(dt.data(series).sel(t=selection)), series.sel(t=selection))


def test_lists_of_texts(series):
    found = evaluated(dt.data(series).sel(t=["2000-02-11", "2000-01-06"]))
    index = series.indexes["t"]
    wanted = [index[(index.month == m) & (index.day == d)][0] for m, d in ((2, 11), (1, 6))]
    agree(found, series.sel(t=wanted))


def test_slices_of_dates_in_no_order(series):
    shuffled = series.isel(t=np.random.default_rng(1).permutation(series.sizes["t"]))
    found = evaluated(dt.data(shuffled).sel(t=slice("2000-02", "2000-04")))
    agree(found.sortby("t"), series.sel(t=slice("2000-02", "2000-04")))
    with pytest.raises(LabelError, match=r"hint: exchange the ends: slice\('2000-02', '2000-04'\)"):
        dt.data(series).sel(t=slice("2000-04", "2000-02"))


def test_predictions_extend_what_the_calendar_determines(series):
    x = dt.data(series[:40])
    (dim,) = x.dims
    month = dim.dt.month
    effect = dt.data(np.arange(12.0), dims=month.categories)
    y = effect.sel(month=month)
    longer = dim.extend(60)
    found = evaluated(dt.substitute(y, {dim: longer}))
    assert found.values.tolist() == [date.month - 1 for date in longer.coords.tolist()]


def test_nearest_dates(series):
    x, late = dt.data(series), series.indexes["t"][3] + pd.Timedelta("9h")
    agree(evaluated(x.sel(t=[late], method="nearest")), series.sel(t=[late], method="nearest"))


def test_days_that_a_calendar_has_not(series):
    x = dt.data(series)
    with pytest.raises(LabelError, match="has no label '2001-02-31'"):
        x.sel(t="2001-02-31")
    with pytest.raises(LabelError, match="has no label '2001-02-31'"):
        x.sel(t=["2001-02-31"])
    with pytest.raises(LabelError, match="integers are not labels"):
        x.sel(t=[0, 1])


@pytest.mark.parametrize("part", ["month", "year", "day", "dayofyear", "dayofweek", "hour"])
def test_groups_of_calendar_parts(series, part):
    found = evaluated(dt.data(series).groupby(f"t.{part}").mean()).dropna(part)
    agree(found, series.groupby(f"t.{part}").mean())


def test_groups_of_a_calendar_are_those_that_it_has():
    for calendar, n, last in (("noleap", 365, 31), ("360_day", 360, 30)):
        dim = dt.Dim("t", coords=days(calendar, 2))
        assert len(dim.dt.dayofyear.categories) == n
        assert dim.dt.day.categories.coords[-1] == last


def test_seasons_and_quarters(series):
    dim = dt.data(series).dims[0]
    found = evaluated(dt.data(series).groupby("t.season").mean())
    expected = series.groupby("t.season").mean()
    agree(found, expected.sel(season=found.season))
    np.testing.assert_array_equal(dim.dt.quarter.values, (series.t.dt.month - 1) // 3 + 1)


@pytest.mark.parametrize("part", ["days_in_month", "days_in_year", "decimal_year", "is_leap_year"])
def test_numbers_of_the_calendar(series, part):
    found = getattr(dt.data(series).dims[0].dt, part).values
    np.testing.assert_allclose(found, getattr(series.t.dt, part).values, rtol=1e-14)


def test_ends_of_months_by_hand():
    dim = dt.Dim("t", coords=days("360_day", 3, "2001-12-29"))  # 29 and 30 December, 1 January
    assert dim.dt.is_month_end.values.tolist() == [False, True, False]
    assert dim.dt.is_year_end.values.tolist() == dim.dt.is_quarter_end.values.tolist()
    assert dim.dt.is_year_start.values.tolist() == [False, False, True]
    assert dim.dt.is_quarter_start.values.tolist() == dim.dt.is_month_start.values.tolist()
    assert dim.dt.strftime("%Y-%m").values.tolist() == ["2001-12", "2001-12", "2002-01"]


@pytest.mark.parametrize("freq", ["MS", "ME", "YE", "YS", "QS", "D", "7D", "36h"])
def test_resample_is_that_of_xarray(series, freq):
    found = evaluated(dt.data(series).resample(t=freq).mean())
    agree(found, series.resample(t=freq).mean())


def test_resample_options_and_order(series):
    x = dt.data(series)
    found = evaluated(x.resample(t="5D", closed="right", label="right").max())
    agree(found, series.resample(t="5D", closed="right", label="right").max())
    shuffled = series.isel(t=np.random.default_rng(1).permutation(series.sizes["t"]))
    agree(evaluated(dt.data(shuffled).resample(t="MS").mean()), series.resample(t="MS").mean())


def test_means_of_months_by_hand():
    index = days("360_day", 60, "2000-02-01")
    x = dt.data(np.arange(60.0), dims=dt.Dim("t", coords=index))
    found = evaluated(x.resample(t="MS").mean())
    assert found.values.tolist() == [14.5, 44.5]
    assert [(d.month, d.day) for d in found.t.values.tolist()] == [(2, 1), (3, 1)]


def test_more_dates_than_there_are(series):
    few = series[:4]
    x = dt.data(few)
    agree(evaluated(x.resample(t="8h").ffill()), few.resample(t="8h").ffill())
    agree(evaluated(x.resample(t="8h").nearest()), few.resample(t="8h").nearest())
    found = evaluated(x.resample(t="12h").interpolate())
    np.testing.assert_allclose(found.values[::2], few.values)
    np.testing.assert_allclose(found.values[1::2], (few.values[1:] + few.values[:-1]) / 2)


def test_windows_and_shifts_by_distance(series):
    x = dt.data(series)
    agree(evaluated(x.rolling(t="30D").mean()), series.rolling(t=30).mean())
    agree(evaluated(x.rolling(t=3).sum()), series.rolling(t=3).sum())
    agree(evaluated(x.shift(t="2D")), series.shift(t=2))
    monthly = series.resample(t="MS").mean()
    y = dt.data(monthly)
    agree(evaluated(y.rolling(t="3MS").mean()), monthly.rolling(t=3).mean())
    agree(evaluated(y.shift(t="1MS")), monthly.shift(t=1))


def test_floors(series):
    hours = days(series.indexes["t"].calendar, 30, freq="h")
    x = dt.data(np.arange(30.0), dims=dt.Dim("h", coords=hours))
    (dim,) = x.dims
    assert evaluated(x.groupby(dim.dt.floor("D")).max()).values.tolist() == [23.0, 29.0]
    assert [time.hour for time in dim.dt.time.values[:3].tolist()] == [0, 1, 2]


def test_frequency_and_extension(series):
    (dim,) = dt.data(series[:5]).dims
    assert dim.dt.freq == "D"
    assert dim.extend(20).coords.tolist() == days(series.indexes["t"].calendar, 25).tolist()


def test_fourier_comes_round_with_the_year():
    index = days("360_day", 361, "1999-01-01")
    found = dt.fourier(dt.Dim("t", coords=index), "360D")
    found = evaluated(found).transpose("t", "fourier").values
    np.testing.assert_allclose(found[0], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(found[90], [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found[360], found[0], atol=1e-12)


def test_what_these_calendars_have_not(series):
    x = dt.data(series)
    with pytest.raises(LabelError, match=r"week: the weeks of ISO 8601 .*\n.*\nhint: .*'7D'"):
        x.groupby("t.week")
    with pytest.raises(LabelError, match="isocalendar: dates of the standard calendar have it"):
        x.dims[0].dt.isocalendar()
    with pytest.raises(OptionError, match=r"the distance: 'W-SUN' is no frequency .*\n.*'7D'"):
        x.shift(t="W")
    with pytest.raises(OptionError, match="resample: 'W' is no frequency of dates of cftime"):
        x.resample(t="W")


def test_results_are_written_with_their_calendar(series, tmp_path):
    pytest.importorskip("h5netcdf")
    (dim,) = dt.data(series[:5]).dims
    drawn = dt.Model(dt.rv("x", dist.Normal(0, 1), dims=dim)).draw(2, seed=0, backend="python")
    drawn.to_netcdf(tmp_path / "drawn.nc")
    read = dt.load_posterior(tmp_path / "drawn.nc")
    assert read["prior_predictive"].indexes["t"].equals(series[:5].indexes["t"])


def test_cftime_is_not_imported():
    code = """if True:
    import sys
    import dimtensor as dt
    dt.Dim('t', coords=['a', None])
    print('cftime' in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
