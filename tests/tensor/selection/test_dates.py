"""Parts of dates, spans, periods and intervals as labels; oracle: xarray."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

INDEXES = {
    "days": pd.date_range("2019-12-30", periods=500, freq="D"),
    "hours": pd.date_range("2020-01-31 20:00", periods=60, freq="h"),
    "months": pd.date_range("2019-11-01", periods=20, freq="MS"),
    "backwards": pd.date_range("2020-03-30", periods=90, freq="-1D"),
    "time zone": pd.date_range("2020-01-31 20:00", periods=60, freq="h", tz="Europe/Rome"),
    "periods": pd.period_range("2019-11", periods=20, freq="M"),
    "spans": pd.timedelta_range("20h", periods=60, freq="h"),
}
UNSORTED = pd.DatetimeIndex(["2020-02-03", "2021-01-01", "2020-02-01", "2020-03-01"])


def array_of(index: pd.Index) -> xr.DataArray:
    return xr.DataArray(np.arange(float(len(index))), dims="t", coords={"t": index})


def known(array: xr.DataArray) -> dt.DimTensor:
    return dt.data(array, dims=dt.Dim("t", coords=array.indexes["t"]))


def as_in_xarray(found: xr.DataArray, expected: xr.DataArray) -> None:
    xr.testing.assert_equal(found, expected if "t" in expected.dims else expected.drop_vars("t"))
    if "t" in expected.dims:
        assert found.indexes["t"].dtype == expected.indexes["t"].dtype


@pytest.mark.parametrize(
    ("index", "key"),
    [
        ("days", "2020-02"),
        ("days", "2020"),
        ("days", "2020-02-29"),
        ("days", "Feb 2020"),
        ("days", pd.Timestamp("2020-02-29")),
        ("days", ["2020-02-29", "2020-01-01"]),
        ("hours", "2020-02-01"),
        ("hours", "2020-02"),
        ("hours", "2020-02-01 05:00"),
        ("hours", "2020-02-01T05"),
        ("months", "2020-02"),
        ("months", "2020"),
        ("months", "2020-02-01"),
        ("backwards", "2020-02"),
        ("time zone", "2020-02-01"),
        ("time zone", "2020-02-01 05:00"),
        ("time zone", pd.Timestamp("2020-02-01 05:00", tz="Europe/Rome")),
        ("time zone", pd.Timestamp("2020-02-01 04:00", tz="UTC")),
        ("periods", "2020-02"),
        ("periods", "2020"),
        ("periods", pd.Period("2020-02", "M")),
        ("periods", pd.Timestamp("2020-02-11")),
        ("spans", "1 days"),
        ("spans", "25h"),
        ("spans", pd.Timedelta("25h")),
    ],
    ids=str,
)
def test_label_as_in_xarray(index: str, key: Any) -> None:
    array = array_of(INDEXES[index])
    as_in_xarray(known(array).sel(t=key).eval(), array.sel(t=key))


@pytest.mark.parametrize(
    ("index", "start", "stop"),
    [
        ("days", "2020-01", "2020-06"),
        ("days", "2020", None),
        ("days", None, "2020-02"),
        ("days", pd.Timestamp("2020-02-29"), "2020-03"),
        ("hours", "2020-02-01", "2020-02-01"),
        ("hours", "2020-02-01 05:00", "2020-02"),
        ("months", "2020-02", "2020-02"),
        ("time zone", "2020-02-01", "2020-02-01 05:00"),
        ("periods", "2020-02", "2020-05"),
        ("periods", "2019", "2019"),
        ("spans", "1 days", "1 days"),
        ("spans", "25h", None),
    ],
    ids=str,
)
def test_slice_as_in_xarray(index: str, start: Any, stop: Any) -> None:
    array = array_of(INDEXES[index])
    expected = array.sel(t=slice(start, stop))
    assert expected.size
    as_in_xarray(known(array).sel(t=slice(start, stop)).eval(), expected)
    late = dt.tensor("x", dims=dt.Dim("t")).sel(t=slice(start, stop))
    as_in_xarray(late.eval({"x": array}), expected)
    assert late.sum().eval({"x": array}).item() == expected.sum().item()


def test_part_of_dates_in_no_order() -> None:
    array = array_of(UNSORTED)
    as_in_xarray(known(array).sel(t="2020-02").eval(), array.sel(t="2020-02"))
    for index in (
        UNSORTED,
        INDEXES["backwards"],
    ):  # pandas refuses it: what it gives of sorted ones
        array = array_of(index)
        within = array.sortby("t").sel(t=slice("2020-02", "2020-03")).t
        expected = array.sel(t=array.t.isin(within))
        as_in_xarray(known(array).sel(t=slice("2020-02", "2020-03")).eval(), expected)


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
@pytest.mark.parametrize("other", ["ns", "s", "D"])
def test_arrays_of_dates_in_any_unit_are_labels(unit: str, other: str) -> None:
    labels = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], f"M8[{unit}]")
    dim = dt.Dim("t", coords=labels)
    x = dt.data([1.0, 2.0, 3.0], dims=dim)
    wanted = labels[[2, 0]].astype(f"M8[{other}]")
    assert x.sel(t=wanted).eval().values.tolist() == [3.0, 1.0]
    assert x.sel(t=wanted[0]).eval().item() == 3.0
    assert x.sel(t=list(wanted)).dims == x.sel(t=wanted).dims
    assert dt.data(wanted, dims=dt.Dim("obs"), categories=dim).codes.eval().values.tolist() == [
        2,
        0,
    ]
    spans = labels - labels[0]
    y = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("t", coords=spans))
    wanted = spans[[2, 0]].astype(f"m8[{other}]")
    assert y.sel(t=wanted).eval().values.tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    "key", ["2018", "2020-02-30", "no date", 2020, True, np.timedelta64(1, "D")]
)
@pytest.mark.parametrize("index", ["days", "time zone", "periods"])
def test_no_such_date(index: str, key: Any) -> None:
    with pytest.raises(dt.LabelError, match="dim 't' has no label"):
        known(array_of(INDEXES[index])).sel(t=key)


def test_dates_that_arrive_at_the_call() -> None:
    x = dt.tensor("x", dims=dt.Dim("t"))
    days = array_of(INDEXES["days"])
    assert x.sel(t="2020-02-29").eval({x: days}).item() == days.sel(t="2020-02-29").item()
    found = x.sel(t=["2020-02-29", "2020-01-01"]).eval({x: days})
    xr.testing.assert_equal(found, days.sel(t=["2020-02-29", "2020-01-01"]))
    with pytest.raises(
        dt.LabelError, match=r"'2020-02' stands for 29 labels of dim 't'.*\n.*\n.*sl"
    ):
        x.sel(t="2020-02").eval({x: days})
    month = x.sel(t=slice("2020-02", "2020-02")).eval({x: days})
    xr.testing.assert_equal(month, days.sel(t="2020-02"))


def test_numbers_in_intervals_as_in_xarray() -> None:
    array = array_of(pd.IntervalIndex.from_breaks([0.0, 1.0, 4.0, 9.0]))
    x = known(array)
    for key in (0.5, 1.0, 8, pd.Interval(1.0, 4.0)):
        as_in_xarray(x.sel(t=key).eval(), array.sel(t=key))
    as_in_xarray(x.sel(t=[8.0, 0.5, 0.25]).eval(), array.sel(t=[8.0, 0.5, 0.25]))
    with pytest.raises(dt.LabelError, match="dim 't' has no label 10"):
        x.sel(t=10)


@pytest.mark.parametrize("method", ["nearest", "pad", "backfill"])
def test_nearest_date_as_in_xarray(method: str) -> None:
    array = array_of(INDEXES["months"])
    x = known(array)
    for key in ("2020-02-11", pd.Timestamp("2020-02-20"), ["2020-02-11", "2020-03-01"]):
        as_in_xarray(x.sel(t=key, method=method).eval(), array.sel(t=key, method=method))


def test_nearest_label_where_there_is_no_order() -> None:
    x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k", coords=[3, 1, 2]))
    with pytest.raises(dt.LabelError, match=r"cannot look up 1\.5 in dim 'k' with method='pad'"):
        x.sel(k=1.5, method="pad")
    with pytest.raises(dt.LabelError, match="with method='close'"):
        x.sel(k=1.5, method="close")
