"""Labels: equality by value, look-ups, and what is told apart."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt
from dimtensor.dims import Coords

DAYS = ["2020-01-01", "2020-01-02"]


@pytest.mark.parametrize(
    "same",
    [
        [[1, 2], np.array([1, 2], "i4"), np.array([1, 2], "u1"), [np.int64(1), 2]],
        [[1.5, 2.0], np.array([1.5, 2.0], "f4"), [np.float64(1.5), 2], pd.Series([1.5, 2.0])],
        [["a", "bb"], np.array(["a", "bb"], "U9"), pd.Index(["a", "bb"]), ("a", np.str_("bb"))],
        [
            pd.to_datetime(DAYS),
            np.array(DAYS, "M8[D]"),
            np.array(DAYS, "M8[ns]"),
            [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)],
            [pd.Timestamp(day) for day in DAYS],
        ],
        [[("a", 1), ("a", 2)], pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])],
        [[True, False], np.array([True, False])],
    ],
    ids=["integers", "floats", "strings", "dates", "tuples", "bools"],
)  # fmt: skip
def test_equal_labels_written_in_different_ways_are_one_dim(same: list) -> None:
    dims = [dt.Dim("d", coords=labels) for labels in same]
    assert all(dim is dims[0] for dim in dims)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 1]),
        ([1, 2], ["1", "2"]),
        ([1, 0], [True, False]),
        ([1.0, 2.0], [1.0, 2.5]),
        (["a"], ["a", "b"]),
        ([2**63], [-(2**63)]),
        (np.array(["2020-01-01T00:00:01"], "M8[s]"), np.array(["2020-01-01"], "M8[D]")),
        ([], [0]),
    ],
    ids=repr,
)
def test_different_labels_are_different_dims(one: object, other: object) -> None:
    assert dt.Dim("d", coords=one) != dt.Dim("d", coords=other)


def test_labels_keep_their_dtype() -> None:
    assert Coords(np.array([1, 2], "i4")).values.dtype == "i4"
    assert Coords(np.array(["a"], "U7")).values.tolist() == ["a"]


def test_labels_cannot_be_changed() -> None:
    source = np.array([1, 2])
    coords = Coords(source)
    source[0] = 9
    assert coords.values.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        coords.values[0] = 3


@pytest.mark.parametrize(
    ("labels", "label", "position"),
    [
        (["a", "b"], "b", 1),
        ([10, 20], np.int32(20), 1),
        ([10, 20], 20.0, 1),
        ([0.5, 1.5], 0.5, 0),
        (pd.to_datetime(DAYS), "2020-01-02", 1),
        (pd.to_datetime(DAYS), pd.Timestamp("2020-01-02"), 1),
        (pd.to_datetime(DAYS), np.datetime64("2020-01-01"), 0),
        (pd.to_timedelta([1, 2], "D"), np.timedelta64(2, "D"), 1),
        ([("a", 1), ("b", 2)], ("b", 2), 1),
        (["x", 3, None], 3, 1),
        ([True, False], False, 1),
    ],
)
def test_position_of_a_label(labels: object, label: object, position: int) -> None:
    dim = dt.Dim("d", coords=labels)
    assert dim[label] == position
    assert label in dim


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        (["a", "b"], "c"),
        (["a", "b"], 0),
        ([10, 20], "10"),
        ([0, 1], True),
        ([True, False], 1),
        (pd.to_datetime(DAYS), "2021-01-01"),
        (pd.to_datetime(DAYS), "no date"),
        (pd.to_datetime(DAYS), 0),
        (pd.to_timedelta([1], "D"), 86400),
    ],
)
def test_label_that_is_not_there(labels: object, label: object) -> None:
    dim = dt.Dim("d", coords=labels)
    assert label not in dim
    with pytest.raises(dt.LabelError, match="dim 'd' has no label"):
        dim[label]


def test_all_unknown_labels_are_named_with_those_there_are() -> None:
    dim = dt.Dim("d", coords=["a", "b"])
    with pytest.raises(dt.LabelError, match=r"has no labels 'x', 'y'\n  labels: 'a', 'b'"):
        dim[["x", "a", "y"]]


def test_misspelt_label_gets_a_guess() -> None:
    with pytest.raises(dt.LabelError, match=r"has no label 'Kenia' \(did you mean 'Kenya'\?\)"):
        dt.Dim("d", coords=["Kenya", "Italy"])["Kenia"]


def test_label_that_occurs_twice_selects_nothing() -> None:
    dim = dt.SelDim(dt.Dim("d", coords=["a", "b"]), positions=[0, 0, 1])
    assert "a" in dim
    assert dim["b"] == 2
    with pytest.raises(dt.LabelError, match="label 'a' occurs more than once in dim 'd'"):
        dim["a"]
    with pytest.raises(dt.LabelError, match="label 'a' occurs more than once in dim 'd'"):
        dim[["b", "a"]]


def test_labels_are_one_dimensional() -> None:
    with pytest.raises(dt.LabelError, match=r"labels of a dim are one-dimensional, .* \(1, 2\)"):
        dt.Dim("d", coords=np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("labels", "selection"),
    [
        (["c", "a", "b"], slice("c", "a")),
        (["a", "b", "c"], slice("aa", None)),
        ([10, 20, 30], slice(15, 30)),
        ([30, 20, 10], slice(30, 20)),
        ([1.0, 2.0, 3.0], slice(None, 2.5)),
        (pd.to_datetime(["2020-01-01", "2020-01-15", "2020-02-01"]), slice("2020-01", "2020-01")),
        ([10, 20, 30, 40], slice(10, 40, 2)),
    ],
    ids=str,
)
def test_slices_include_both_ends_as_in_xarray(labels: object, selection: slice) -> None:
    import xarray as xr

    expected = xr.DataArray(np.arange(len(labels)), dims="d", coords={"d": labels}).sel(d=selection)
    sliced = dt.Dim("d", coords=labels)[selection]
    np.testing.assert_array_equal(sliced.coords, expected["d"].values)


def test_slice_from_an_unknown_label_in_no_order() -> None:
    with pytest.raises(dt.LabelError, match="cannot slice dim 'd' from 'x' to 'a'"):
        dt.Dim("d", coords=["c", "a", "b"])["x":"a"]


@pytest.mark.parametrize("method", ["nearest", "pad", "backfill"])
def test_inexact_look_up_as_in_xarray(method: str) -> None:
    import xarray as xr

    x = dt.data([1.0, 2.0, 4.0], dims=dt.Dim("d", coords=[10.0, 20.0, 40.0]))
    array = xr.DataArray([1.0, 2.0, 4.0], dims="d", coords={"d": [10.0, 20.0, 40.0]})
    found = x.sel(d=[12.0, 39.0], method=method).eval()
    xr.testing.assert_equal(found, array.sel(d=[12.0, 39.0], method=method))
    with pytest.raises(dt.LabelError, match=r"dim 'd' has no label 15\.0"):
        x.sel(d=15.0, method=method, tolerance=1.0)
