"""Times on the days on which clocks change, and dates that nanoseconds do not hold."""

import datetime

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt

BACK = dt.date_range("h", start="2024-10-26", periods=72, freq="h", tz="Europe/Rome")
FORWARD = dt.date_range("h", start="2024-03-30", periods=72, freq="h", tz="Europe/Rome")
OLD = np.array(["1400-01-01", "1500-01-01", "1500-06-01", "1600-01-01", "2000-01-01"], "M8[D]")


def looked_up(dim, time):
    """Every way in which a text finds a label, each as a function."""
    x = dt.data(np.arange(72.0), dim)
    return [
        lambda: x.sel(h=time),
        lambda: x.sel(h=[time]),
        lambda: x.sel(h=slice("2024-01-01", time)),
        lambda: x.sel(h=time, method="nearest"),
        lambda: x.interp(h=[time]),
        lambda: x.drop_sel(h=[time]),
        lambda: dt.data([time], dt.Dim("obs"), categories=dim),
        lambda: dt.date_range("h", start=time, periods=3, freq="h", tz="Europe/Rome"),
    ]


@pytest.mark.parametrize("way", range(8))
def test_times_that_are_there_twice_or_not_at_all(way):
    with pytest.raises(dt.errors.LabelError, match=r"Europe/Rome go back.*there twice") as e:
        looked_up(BACK, "2024-10-27 02:00")[way]()
    summer, winter = str(e.value).split("offset: ")[1].split(" or ")
    x = dt.data(np.arange(72.0), BACK)
    hours = BACK.coords.tolist() if hasattr(BACK.coords, "tolist") else list(BACK)
    for text, place in ((summer, 26), (winter, 27)):
        time = eval(text)
        assert pd.Timestamp(time) == hours[place]
        assert x.sel(h=time).item() == x.sel(h=[time]).item() == place
        assert dt.data([time], dt.Dim("obs"), categories=BACK).codes.item() == place
    with pytest.raises(dt.errors.LabelError, match=r"Europe/Rome go forward.*is not there") as e:
        looked_up(FORWARD, "2024-03-31 02:00")[way]()
    assert "'2024-03-31 03:00:00+02:00'" in str(e.value)


def test_a_time_without_a_zone_is_no_label_of_one():
    x = dt.data(np.arange(72.0), BACK)
    for time in (datetime.datetime(2024, 10, 27, 1), np.datetime64("2024-10-27T01:00")):
        with pytest.raises(dt.errors.LabelError, match="time zone Europe/Rome, this is in none"):
            x.sel(h=time)
    assert x.sel(h="2024-10-27 01:00").item() == 25.0


@pytest.mark.parametrize("dim", [BACK, FORWARD])
@pytest.mark.parametrize("day", ["1D", "-1D"])
def test_a_day_before_on_the_calendar_names_the_hours(dim, day):
    x = dt.data(np.arange(72.0), dim)
    with pytest.raises(dt.errors.LabelError, match="the clocks of Europe/Rome change") as e:
        x.shift(h=day)
    found = eval(str(e.value).split("clocks: ")[1])
    hours = 24 if day == "1D" else -24
    np.testing.assert_array_equal(found.values, pd.Series(np.arange(72.0)).shift(hours))


@pytest.mark.parametrize("method", ["floor", "ceil", "round"])
@pytest.mark.parametrize("freq", ["h", "30min", "D"])
def test_times_are_rounded_across_a_change(method, freq):
    clocks = pd.date_range("2024-10-26 22:10", periods=12, freq="40min", tz="UTC")
    local = clocks.tz_convert("Europe/Rome")
    found = getattr(dt.Dim("h", coords=local).dt, method)(freq)
    found = pd.DatetimeIndex(found.values if hasattr(found, "values") else found)
    if freq == "D":
        wanted = getattr(local.tz_localize(None), method)("D").tz_localize("Europe/Rome")
    else:  # the offset is of whole hours
        wanted = getattr(clocks, method)(freq)
    assert (found == wanted).all()


def test_parts_of_dates_before_nanoseconds():
    x = dt.data(np.arange(5.0), dt.Dim("y", coords=OLD))
    assert x.sel(y="1500").values.tolist() == [1, 2]
    assert x.sel(y="1500-06").values.tolist() == [2]
    assert x.sel(y="1500-06-01").item() == 2
    assert x.sel(y="2000").values.tolist() == [4]
    assert x.sel(y=slice("1400", "2000")).values.tolist() == [0, 1, 2, 3, 4]
    assert x.sel(y=slice("1450", "1500")).values.tolist() == [1, 2]
    assert x.sel(y=slice("1500-02", None)).values.tolist() == [2, 3, 4]
    assert x.sel(y=slice(None, "1500")).values.tolist() == [0, 1, 2]
    assert x.sel(y=slice("1400", "2000", 2)).values.tolist() == [0, 2, 4]
    assert x.isel(y=[3, 1, 0]).sel(y=slice("1400", "1500")).values.tolist() == [1, 0]
    for missing in ("1450", "1500-07", "1500-06-02"):
        with pytest.raises(dt.errors.LabelError, match="has no label"):
            x.sel(y=missing)
    with pytest.raises(dt.errors.LabelError, match=r"exchange the ends: slice\('1400', '1600'\)"):
        x.sel(y=slice("1600", "1400"))
