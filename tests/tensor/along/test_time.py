"""Dates: calendar parts, groups of a frequency, distances; against xarray and pandas."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import LONG_JAX

DAY = dt.date_range("day", start="2020-12-20", periods=60)
DATES = pd.date_range("2020-12-20", periods=60)
SITE = dt.Dim("site", coords=["a", "b"])
FRAME = xr.DataArray(
    np.random.default_rng(1).normal(size=(60, 2)), coords={"day": DATES, "site": ["a", "b"]}
)
x = dt.data(FRAME, dims=[DAY, SITE])
PARTS = ["year", "quarter", "month", "day", "dayofyear", "dayofweek", "hour", "minute", "second"]


def test_a_dim_of_dates_is_the_dim_of_these_labels():
    assert DAY is dt.Dim("day", coords=DATES)
    assert DAY.dt.freq == "D"
    assert dt.date_range("t", start="2021-01-01", end="2021-03-01", freq="MS").dt.freq == "MS"
    zoned = dt.date_range("t", start="2021-03-27", periods=3, tz="Europe/Berlin")
    assert str(zoned.to_index().tz) == "Europe/Berlin"
    assert zoned.extend(1).to_index()[-1] == pd.Timestamp("2021-03-30", tz="Europe/Berlin")


@pytest.mark.parametrize("part", PARTS)
def test_calendar_parts_group_as_in_xarray(part):
    hours = pd.date_range("2020-12-31 21:58:30", periods=100, freq="37min")
    hour = dt.date_range("t", start="2020-12-31 21:58:30", periods=100, freq="37min")
    values = np.random.default_rng(2).normal(size=100)
    expected = xr.DataArray(values, coords={"t": hours}).groupby(f"t.{part}").mean()
    found = dt.data(values, dims=hour).groupby(getattr(hour.dt, part)).mean().eval()
    assert found.dims == (part,)
    xr.testing.assert_allclose(found.drop_attrs().dropna(part), expected)


def test_weeks_are_those_of_iso():
    expected = [date.isocalendar()[1] for date in DATES]
    assert DAY.dt.week.values.tolist() == expected


def test_parts_select_effects_for_other_dates():
    effect = dt.data(np.arange(7.0), dims=dt.Dim("dayofweek", coords=range(7)))
    longer = DAY.extend(10)
    assert longer.coords[:60].tolist() == DAY.coords.tolist()
    assert effect.sel(dayofweek=longer.dt.dayofweek).values.tolist() == [
        float(date.weekday()) for date in pd.date_range("2020-12-20", periods=70)
    ]
    assert (DAY.dt.dayofweek == 6).sum().item() == 9


@pytest.mark.parametrize("freq", ["W", "MS", "ME", "5D", "QS", "W-WED", "36h"])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "std", "last", "median", "count"])
def test_resampling_is_xarrays(freq, name):
    expected = getattr(FRAME.resample(day=freq), name)()
    found = getattr(x.resample(day=freq), name)().eval()
    if name in ("sum", "count"):  # of a group without elements, which pandas has so, too
        expected = expected.fillna(0)
    xr.testing.assert_allclose(found.drop_attrs().transpose(*expected.dims), expected)


def test_resampling_options_dates_in_no_order_and_gaps():
    pieces = FRAME.isel(day=[50, 3, 2, 51, 4, 20])
    some = dt.data(pieces)
    # pandas, whose groups without elements are empty as ours are; xarray wants dates in order
    table = pieces.to_pandas().sort_index()
    for freq, options in [
        ("W", {}),
        ("W", {"closed": "left"}),
        ("96h", {"label": "right", "origin": "end"}),
    ]:
        expected = table.resample(freq, **options).mean()
        found = some.resample(day=freq, **options).mean().eval().transpose("day", "site")
        np.testing.assert_allclose(found, expected)
        assert (found.day.to_index() == expected.index).all()
    back = some.resample(day="W").map("mean").eval().transpose("day", "site")
    expected = table.groupby(pd.Grouper(freq="W")).transform("mean").loc[pieces.day.to_index()]
    np.testing.assert_allclose(back, expected)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_resampling_of_an_input_and_its_gradient(backend):
    y = dt.tensor("y", dims=DAY)
    weekly = y.resample(day="W").mean()
    f = dt.function([y], [weekly, dt.grad((weekly**2).sum(), y)], backend=backend)
    values = FRAME[:, 0]
    means, gradient = f(y=values)
    expected = values.resample(day="W").mean()
    np.testing.assert_allclose(means, expected)
    n = values.resample(day="W").count()
    each = (2 * expected / n).to_pandas().reindex(DATES, method="bfill")
    np.testing.assert_allclose(gradient, each)


def test_moving_by_a_distance():
    expected = FRAME.to_pandas().shift(freq="7D").reindex(DATES)
    np.testing.assert_allclose(x.shift(day="7D").eval().transpose("day", "site"), expected)
    np.testing.assert_allclose(x.shift(day="7D").values, x.shift(day=7).values)
    months = dt.date_range("m", start="2021-01-01", periods=5, freq="MS")
    y = dt.data(np.arange(5.0), dims=months)
    assert y.shift(m=pd.DateOffset(months=2)).values.tolist()[2:] == [0.0, 1.0, 2.0]
    gaps = dt.Dim("day", coords=pd.to_datetime(["2021-01-05", "2021-01-01", "2021-01-02"]))
    z = dt.data([5.0, 1.0, 2.0], dims=gaps)
    assert z.shift(day=np.timedelta64(1, "D"), fill_value=0.0).values.tolist() == [0.0, 0.0, 1.0]
    assert z.shift(day="-3D", fill_value=0.0).values.tolist() == [0.0, 0.0, 5.0]


def test_windows_of_a_distance():
    found = x.rolling(day="7D").mean()
    np.testing.assert_allclose(found.values, x.rolling(day=7).mean().values)
    with pytest.raises(dt.LabelError, match="'5h' is no number of positions along dim 'day'"):
        x.rolling(day="5h")


@pytest.mark.parametrize(
    ("dates", "window", "n"),
    [
        (pd.date_range("2021-03-25", periods=8, tz="Europe/Berlin"), "3D", 3),
        (pd.date_range("2021-10-28", periods=8, tz="Europe/Berlin"), timedelta(days=3), 3),
        (pd.date_range("2021-10-28", periods=8, tz="Europe/Berlin"), np.timedelta64(2, "D"), 2),
        (pd.date_range("2021-03-27", periods=60, freq="h", tz="Europe/Berlin"), "1D", 24),
        (pd.date_range("2021-03-27", periods=60, freq="h", tz="Europe/Berlin"), "6h", 6),
        (pd.date_range("2021-01-31", periods=9, freq="ME"), "3ME", 3),
        (pd.date_range("2021-01-01", periods=9, freq="MS"), pd.DateOffset(months=2), 2),
        (pd.timedelta_range("0h", periods=9, freq="6h"), "12h", 2),
        (pd.timedelta_range("0h", periods=9, freq="6h"), "1D", 4),
    ],
    ids=str,
)
def test_windows_of_days_months_and_durations(dates, window, n):
    y = dt.data(np.arange(len(dates)) ** 2.0, dims=dt.Dim("t", coords=dates))
    expected = pd.Series(np.arange(len(dates)) ** 2.0).rolling(n).mean()
    np.testing.assert_allclose(y.rolling(t=window).mean().values, expected)


def test_hours_are_not_days_where_the_clock_changes():
    dates = pd.date_range("2021-03-25", periods=8, tz="Europe/Berlin")
    y = dt.data(np.arange(8.0), dims=dt.Dim("t", coords=dates))
    with pytest.raises(dt.LabelError, match="'72h' is no number of positions along dim 't'"):
        y.rolling(t="72h")


DURATIONS = pd.timedelta_range("1h", periods=9, freq="6h")
LASTING = xr.DataArray(np.arange(9.0) ** 2, coords={"t": DURATIONS})


@pytest.mark.parametrize("freq", ["12h", "1D", "7h"])
@pytest.mark.parametrize("name", ["mean", "sum", "max", "std"])
def test_durations_are_resampled_as_by_xarray(freq, name):
    found = getattr(dt.data(LASTING).resample(t=freq), name)().eval()
    expected = getattr(LASTING.resample(t=freq), name)()
    xr.testing.assert_allclose(found.drop_attrs(), expected)


def test_groups_and_shifts_of_durations():
    y = dt.data(LASTING)
    expected = LASTING.groupby("t.days").mean()
    np.testing.assert_allclose(y.groupby("t.days").mean().values, expected)
    by_day = LASTING.groupby(LASTING.t.dt.floor("1D")).mean()
    np.testing.assert_allclose(y.groupby(y.dims[0].dt.floor("1D")).mean().values, by_day)
    np.testing.assert_allclose(y.shift(t="12h").values, LASTING.shift(t=2))
    np.testing.assert_allclose(y.resample(t="3h").ffill().values, LASTING.resample(t="3h").ffill())
    with pytest.raises(dt.OptionError, match=r"durations have no part 'day' .did you mean 'days'"):
        y.groupby("t.day")


@pytest.mark.parametrize("period", ["7D", "365.25D"])
def test_fourier_designs_go_on_where_data_end(period):
    whole, later = DAY.extend(9), dt.date_range("day", start=DATES[-1], periods=9)
    found = dt.fourier(whole, period, order=2).eval()
    np.testing.assert_allclose(found[-9:], dt.fourier(later.extend(1), period, 2).eval()[1:])
    days = (pd.date_range(DATES[0], periods=69) - pd.Timestamp("1970-01-01")).days.to_numpy()
    angle = 2 * np.pi * days / float(period[:-1])
    expected = [np.sin(angle), np.cos(angle), np.sin(2 * angle), np.cos(2 * angle)]
    found = found.sel(fourier=["sin_1", "cos_1", "sin_2", "cos_2"]).transpose("fourier", ...)
    np.testing.assert_allclose(found, expected, atol=1e-11)
    numbers = dt.fourier(dt.Dim("t", coords=[0.0, 1.0, 5.0]), 4.0).eval()
    np.testing.assert_allclose(numbers.transpose("t", ...), [[0, 1], [1, 0], [1, 0]], atol=1e-15)


def test_columns_of_labels():
    table = pd.get_dummies(DATES.day_of_week).to_numpy(float)
    np.testing.assert_allclose(dt.one_hot(DAY.dt.dayofweek).eval().transpose("day", ...), table)


@pytest.mark.parametrize(("labels", "later"), [
    ([1871, 1872, 1873], [1871, 1872, 1873, 1874, 1875]),
    ([1960, 1970, 1980], [1960, 1970, 1980, 1990, 2000]),
    ([0, -1], [0, -1, -2, -3]),
    (np.array([5, 4], "u1"), [5, 4, 3, 2]),
    ([2**62, 2**62 + 1], [2**62, 2**62 + 1, 2**62 + 2, 2**62 + 3]),
    ([1871.0, 1872.0, 1873.0], [1871.0, 1872.0, 1873.0, 1874.0, 1875.0]),
])  # fmt: skip
def test_numbers_at_equal_distances_are_extended(labels, later):
    assert dt.Dim("year", coords=labels).extend(2) == dt.Dim("year", coords=later)


def test_rounded_numbers_at_equal_distances_are_extended():
    longer = dt.Dim("at", coords=np.arange(11) * 0.1).extend(2)
    np.testing.assert_allclose(longer.coords, np.arange(13) * 0.1)
    with pytest.raises(dt.LabelError, match="they are of dtype float64"):
        dt.Dim("at", coords=[0.0, 0.1, 0.21]).extend(1)


@pytest.mark.parametrize("freq", ["Q", "M", "Y-JUN", "D", "W", "h"])
def test_periods_are_extended_and_have_the_parts_of_pandas(freq):
    periods = pd.period_range("2019-11-30", periods=9, freq=freq)
    dim = dt.Dim("t", coords=periods[:6])
    assert dim.extend(3) == dt.Dim("t", coords=periods)
    assert dim.dt.freq == periods.freqstr
    x = dt.data(np.arange(6.0), dims=dim)
    for part in ("year", "quarter", "month", "week", "day", "hour"):
        found = x.groupby(getattr(dim.dt, part)).sum(skipna=True).to_series()
        expected = pd.Series(range(6)).groupby(getattr(periods[:6], part)).sum()
        np.testing.assert_array_equal(found[expected.index], expected)
    for part in ("days_in_month", "is_leap_year"):
        np.testing.assert_array_equal(getattr(dim.dt, part).values, getattr(periods[:6], part))
    assert dim.dt.strftime("%Y").categories.coords.tolist() == sorted({*periods[:6].strftime("%Y")})


def test_what_periods_do_not_have_is_said_with_the_dates_on_which_they_start():
    t = dt.Dim("t", coords=pd.period_range("2019Q4", periods=3, freq="Q"))
    with pytest.raises(dt.LabelError, match=r"dtype period\[Q-DEC\]") as e:
        _ = t.dt.decimal_year
    hint = str(e.value).partition("dates on which they start: ")[2]
    assert eval(hint, {"dt": dt, "t": t}) == dt.date_range("t", "2019-10-01", periods=3, freq="QS")


K = dt.Dim("k", length=3)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: dt.date_range("day"), "do not determine the dates"),
        (lambda: dt.date_range("day", start="soon", periods=2), "do not determine the dates"),
        (lambda: K.dt.month, "the labels of dim 'k' are no dates, they are not known"),
        (lambda: dt.Dim("k", coords=[1, 2]).dt.year, "they are of dtype int64"),
        (lambda: dt.Dim("k", coords=[1, 2, 4]).extend(2), "the labels of dim 'k' are no dates"),
        (lambda: K.extend(2), "extend: the labels of dim 'k' are no dates"),
        (lambda: DAY.extend(-1), "a number of labels of at least 0, not -1"),
        (lambda: dt.date_range("t", start="2021-01-01", periods=2).extend(1), "have no frequency"),
        (lambda: x.resample(day="spam"), "'spam' is no frequency of dates"),
        (lambda: x.resample(day="W", site="W"), "resample takes one dim, 2 are given"),
        (lambda: x.resample(site="W"), "resample: the labels of dim 'site' are no dates"),
        (lambda: x.shift(day="often"), "'often' is no distance between dates"),
        (lambda: x.shift(site="7D"), "shift: the labels of dim 'site' are no dates"),
        (lambda: dt.fourier(DAY, 7), "the period of dates has a unit, such as '7D'"),
        (lambda: dt.fourier(DAY, "7D", 0), "an order from 1"),
        (lambda: dt.one_hot(dt.scalar("z")), "one_hot takes a tensor of labels"),
    ],
)  # fmt: skip
def test_what_is_refused(ask, message):
    with pytest.raises(dt.DimtensorError, match=message):
        ask()


@pytest.mark.parametrize("part", ["year", "month", "dayofweek", "week"])
def test_parts_of_dates_are_groups_by_name(part):
    dates = pd.date_range("2020-12-20", periods=40)
    values = np.arange(40.0) ** 2
    x = dt.data(values, dims=dt.Dim("day", coords=dates))
    found = x.groupby(f"day.{part}").mean().dropna(part).eval()
    series = pd.Series(values, dates)
    name = "day_of_week" if part == "dayofweek" else part
    key = dates.isocalendar()["week"] if part == "week" else getattr(dates, name)
    expected = series.groupby(np.asarray(key)).mean()
    np.testing.assert_allclose(found, expected)
    assert found[part].values.tolist() == expected.index.tolist()


def test_year_and_month_are_groups_together():
    dates = pd.date_range("2020-11-20", periods=60)
    values = np.arange(60.0) ** 2
    day = dt.Dim("day", coords=dates)
    found = dt.data(values, dims=day).groupby([day.dt.year, day.dt.month]).mean().eval()
    expected = pd.Series(values).groupby([dates.year, dates.month]).mean()
    for (year, month), mean in expected.items():
        np.testing.assert_allclose(found.sel(year=year, month=month), mean)
    assert int(found.notnull().sum()) == len(expected)


def test_what_is_no_part_of_dates_is_told():
    x = dt.data(np.zeros(3), dims=dt.date_range("day", start="2021-01-01", periods=3))
    with pytest.raises(dt.OptionError, match=r"no part 'mnth' \(did you mean 'month'\?\)"):
        x.groupby("day.mnth")
    with pytest.raises(dt.DimError, match=r"there is no dim 'dya' \(did you mean 'day'\?\)"):
        x.groupby("dya.month")
    with pytest.raises(AttributeError, match=r"groups have no 'agg'(?s:.*)mean\(\), \.sum\(\)"):
        x.groupby("day.month").agg("mean")
    with pytest.raises(AttributeError, match=r"(?s)no \.ewm.*x\.rolling_exp"):
        x.ewm(span=3)
