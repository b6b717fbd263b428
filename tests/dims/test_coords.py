"""Labels: equality by value, look-ups, and what is told apart."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.dims import Coords, dim_labels
from dimtensor.dims.slices import slice_positions
from tests.steps import counted_calls

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


def test_misspelled_label_gets_a_guess() -> None:
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
    expected = xr.DataArray(np.arange(len(labels)), dims="d", coords={"d": labels}).sel(d=selection)
    sliced = dt.Dim("d", coords=labels)[selection]
    np.testing.assert_array_equal(sliced.coords, expected["d"].values)


def test_slice_from_an_unknown_label_in_no_order() -> None:
    with pytest.raises(dt.LabelError, match="cannot slice dim 'd' from 'x' to 'a'"):
        dt.Dim("d", coords=["c", "a", "b"])["x":"a"]


@pytest.mark.parametrize("method", ["nearest", "pad", "backfill"])
def test_inexact_look_up_as_in_xarray(method: str) -> None:
    x = dt.data([1.0, 2.0, 4.0], dims=dt.Dim("d", coords=[10.0, 20.0, 40.0]))
    array = xr.DataArray([1.0, 2.0, 4.0], dims="d", coords={"d": [10.0, 20.0, 40.0]})
    found = x.sel(d=[12.0, 39.0], method=method).eval()
    xr.testing.assert_equal(found, array.sel(d=[12.0, 39.0], method=method))
    with pytest.raises(dt.LabelError, match=r"dim 'd' has no label 15\.0"):
        x.sel(d=15.0, method=method, tolerance=1.0)


# -- labels that no array of NumPy holds, or that it would change ----------------------------------


def same_index(found: pd.Index, expected: pd.Index) -> None:
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    assert found.equals(expected)


INSTANTS = pd.date_range("2020-01-01", periods=3, freq="h", tz="Europe/Rome")


@pytest.mark.parametrize(
    "labels",
    [
        [2**63 + 1, 1, -1],
        [2**64, 2**64 + 1],
        [2**60 + 1, 0.5],
        np.array([2**63 + 1, 1], "u8"),
        ["a", "a\0"],
        np.array(["a", "a\0"], dtype=object),
        [b"a", b"a\0"],
        ["a", None, float("nan")],
        [True, 1, "1"],
        [datetime.datetime(1500, 1, 1), datetime.datetime(9999, 1, 1)],
        [datetime.timedelta(days=1), datetime.timedelta(microseconds=1)],
        [("a", 2**63 + 1), ("a", -1)],
    ],
    ids=repr,
)
def test_labels_do_not_change(labels: list) -> None:
    dim = dt.Dim("d", coords=labels)
    assert len(dim) == len(labels)
    for position, label in enumerate(labels):
        assert dim[label] == position
        (stays,) = dim[[label]]
        if isinstance(label, datetime.timedelta):
            stays = pd.Timedelta(stays)
        assert stays == label or stays is label or stays != stays
    assert dt.Dim("d", coords=list(labels)) is dim


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, "a"], [True, "a"]),
        ([0, None], [False, None]),
        ([np.nan, 1.0], [None, 1.0]),
        (["a"], ["a\0"]),
        (["a"], [b"a"]),
        ([2**63 + 1, -1], [2.0**63, -1.0]),
        (INSTANTS, INSTANTS.tz_convert("UTC")),
        (INSTANTS, INSTANTS.tz_localize(None)),
        (
            pd.period_range("2020", periods=2, freq="M"),
            pd.to_datetime(["2020-01-01", "2020-02-01"]),
        ),
        (pd.interval_range(0, 2), pd.interval_range(0, 2, closed="left")),
    ],
    ids=repr,
)
def test_labels_that_look_alike_are_different_dims(one: object, other: object) -> None:
    assert dt.Dim("d", coords=one) is not dt.Dim("d", coords=other)


@pytest.mark.parametrize(
    "index",
    [
        INSTANTS,
        pd.period_range("2020-01", periods=3, freq="M"),
        pd.interval_range(0, 3),
        pd.arrays.IntervalArray.from_breaks(pd.date_range("2020", periods=4)),
        pd.timedelta_range("1D", periods=3),
        pd.date_range("2020", periods=3),
    ],
    ids=lambda index: str(index.dtype),
)
def test_labels_come_back_as_what_they_were(index: Any) -> None:
    index = pd.Index(index, name="d")
    dim, late = dt.Dim("d", coords=index), dt.Dim("d")
    source = xr.DataArray([1.0, 2.0, 3.0], dims="d", coords={"d": index})
    shuffled = source[[2, 0, 1]]
    x, y = dt.tensor("x", dims=dim), dt.tensor("y", dims=late)
    for result in (
        dt.function([x], x * 1.0, backend="python")(shuffled),
        dt.function([y], y * 1.0, backend="python")(source),
        dt.data(source).eval(),
    ):
        same_index(result.indexes["d"], index)
        xr.testing.assert_equal(result, source)
    backwards = dt.data(source)[::-1].eval()
    assert backwards.indexes["d"].dtype == index.dtype
    xr.testing.assert_equal(backwards, source[::-1])
    label = index[1]
    assert dim[label] == 1
    assert pd.Index(dim[[label, index[0]]].coords).tolist() == index[[1, 0]].tolist()
    joined = dt.concat([dt.data(source)[:1], dt.data(source)[2:]], "d").eval()
    assert joined.indexes["d"].dtype == index.dtype
    assert pickle.loads(pickle.dumps(dim)) is dim


def test_one_instant_in_two_time_zones_is_one_label() -> None:
    dim = dt.Dim("d", coords=INSTANTS)
    x = dt.tensor("x", dims=dim)
    elsewhere = xr.DataArray(
        [3.0, 1.0, 2.0], dims="d", coords={"d": INSTANTS.tz_convert("UTC")[[2, 0, 1]]}
    )
    result = dt.function([x], x * 1.0, backend="python")(elsewhere)
    assert result.values.tolist() == [1.0, 2.0, 3.0]
    same_index(result.indexes["d"], INSTANTS)
    with pytest.raises(dt.LabelError, match="has no label"):
        dim[INSTANTS[0].tz_localize(None)]


def test_missing_labels_are_equal_to_themselves() -> None:
    dim = dt.Dim("d", coords=[1.0, np.nan])
    assert dim[float("nan")] == dim[np.float32("nan")] == 1
    assert dt.Dim("d", coords=[1.0, float("nan")]) is dim
    assert dim[[np.nan, 1.0]].coords.tolist()[1] == 1.0
    assert dt.Dim("d", coords=pd.to_datetime(["2020", None]))[np.datetime64("NaT", "s")] == 1
    with pytest.raises(dt.LabelError, match="dim 'd' has labels more than once: nan"):
        dt.Dim("d", coords=[np.nan, 1.0, float("nan")])


def test_zeros_and_nans_of_all_signs_are_one_label() -> None:
    payload = np.array([0x7FF8000000000001], "u8").view("f8")
    assert dt.Dim("d", coords=[0.0, payload[0]]) is dt.Dim("d", coords=[-0.0, -np.nan])


@pytest.mark.parametrize("labels", [["a", "b", "a"], [1, 1.0], [np.nan, np.nan], [("a", 1)] * 2])
def test_labels_of_a_new_dim_are_there_once(labels: list) -> None:
    with pytest.raises(dt.LabelError, match="dim 'd' has labels more than once"):
        dt.Dim("d", coords=labels)


@pytest.mark.parametrize(
    ("coords", "message"),
    [
        (5, "dim 'f': coords are one label for each position, 5 is no sequence of labels"),
        ("abc", "'abc' is one label\nhint: coords="),
        ({"a", "b"}, "labels of a dim have an order, a set does not say which"),
        ({"a": 1}, "labels of a dim have an order, a dict does not say which"),
        ([[1], [2]], "a label is a value that does not change, .* is a list"),
        (np.zeros(2, dtype=[("a", "i4")]), "labels of a dim are single values, not records"),
    ],
    ids=["number", "text", "set", "dict", "lists", "records"],
)
def test_what_are_no_labels(coords: object, message: str) -> None:
    with pytest.raises(dt.LabelError, match=message):
        dt.Dim("f", coords=coords)


@pytest.mark.parametrize("missing", [None, np.nan], ids=["strings only", "with a missing one"])
def test_strings_of_variable_width(missing: object) -> None:
    kind = np.dtypes.StringDType() if missing is None else np.dtypes.StringDType(na_object=np.nan)
    labels = np.array(["a", "b" * 40, "a\0" if missing is None else missing], dtype=kind)
    dim = dt.Dim("d", coords=labels)
    assert dim["b" * 40] == 1
    assert dim["a\0" if missing is None else np.nan] == 2


@pytest.mark.parametrize("dtype", [">i8", ">f4", ">U3", ">M8[s]"])
def test_labels_of_the_other_byte_order(dtype: str) -> None:
    labels = np.array([1, 2, 3]).astype(dtype)
    native = labels.astype(labels.dtype.newbyteorder("="))
    assert dt.Dim("d", coords=labels) is dt.Dim("d", coords=native)
    assert dt.Dim("d", coords=labels).coords.dtype == native.dtype


def test_number_of_less_precision_is_found_as_in_xarray() -> None:
    labels = np.array([0.1, 0.2], "f4")
    array = xr.DataArray([1.0, 2.0], dims="d", coords={"d": labels})
    x = dt.data(array)
    xr.testing.assert_equal(x.sel(d=0.1).eval(), array.sel(d=0.1).drop_vars("d"))
    xr.testing.assert_equal(x.sel(d=[0.2, 0.1]).eval(), array.sel(d=[0.2, 0.1]))


def test_labels_leave_as_python_objects() -> None:
    days = pd.date_range("2020-01-01", periods=2).astype("datetime64[ns]")
    assert list(dt.Dim("d", coords=days)) == list(days.to_numpy())
    x = dt.tensor("x", dims=dt.Dim("d"))
    texts = [
        repr(x.sel(d=np.str_("IBM"))),
        repr(x.sel(d=[np.str_("IBM")]).dims),
        repr(x.sel(d=slice(np.str_("IBM"), np.int64(3))).dims),
        repr(x.sel(d=np.int64(3))),
    ]
    assert not [text for text in texts if "np." in text]


def test_a_million_labels_in_another_order_are_joined_at_once() -> None:
    n = 200_000
    order = np.random.default_rng(0).permutation(n)
    for labels in (np.arange(n), pd.date_range("2000", periods=n, freq="s"), np.arange(n) / 7):
        dim = dt.Dim("d", coords=labels)
        with counted_calls() as calls:
            found = Coords(labels[order]).find(dim_labels(dim))
        assert calls.number < 2_000  # not one for each label
        np.testing.assert_array_equal(order[found], np.arange(n))


def test_labels_of_a_dim_that_is_padded() -> None:
    zoned = dim_labels(dt.PadDim(dt.Dim("d", coords=INSTANTS), 1, 2))
    assert zoned.index.dtype == INSTANTS.dtype
    assert zoned.index.isna().tolist() == [True, False, False, False, True, True]
    large = dt.PadDim(dt.Dim("d", coords=[2**60 + 1, 2**60 + 2]), 1, 0)
    assert large[2**60 + 2] == 2
    spans = dt.PadDim(dt.Dim("d", coords=pd.interval_range(0, 2)), 0, 1)
    assert spans[0.5] == 0


@pytest.mark.parametrize(
    "labels",
    [INSTANTS, pd.interval_range(0, 3), [("a", 1), ("b", 2), ("c", 3)], [2**64, "a", None]],
    ids=["time zone", "intervals", "tuples", "mixture"],
)
def test_labels_as_values(labels: Any) -> None:
    dim = dt.Dim("d", coords=labels)
    x = dt.data([1.0, 3.0, 2.0], dims=dim)
    assert x.idxmax().eval().item() == labels[1]
    assert dt.labels(dim).eval().values.tolist() == list(labels)
    assert (dt.labels(dim) == labels[2]).eval().values.tolist() == [False, False, True]


def test_labels_of_pandas_are_written_as_they_are_read() -> None:
    assert repr(dt.Dim("d", coords=INSTANTS[:1])) == "Dim('d', [2020-01-01 00:00:00+01:00])"
    assert repr(dt.Dim("d", coords=pd.interval_range(0, 1))) == "Dim('d', [(0, 1]])"
    assert repr(dt.Dim("d", coords=pd.period_range("2020", periods=1, freq="M"))) == (
        "Dim('d', [2020-01])"
    )
    assert repr(dt.Dim("d", coords=pd.timedelta_range("90min", periods=1))) == (
        "Dim('d', [90 minutes])"
    )


@pytest.mark.parametrize("dtype", ["int64", "uint64", "M8[s]", "m8[ns]", "int32"])
@pytest.mark.parametrize("step", [1, 3, 10**6])
def test_many_labels_are_found_in_any_order(dtype: str, step: int, rng) -> None:
    """Close together or far apart, with some that are not there; the oracle is a dict."""
    n = 12_000
    numbers = rng.permutation(n) * (step if dtype != "int32" else 2) + 5
    wanted = np.concatenate([rng.permutation(numbers), [0, 4, numbers.max() + 1, 2**31 - 1]])
    if dtype == "uint64":
        wanted = np.concatenate([wanted.astype("u8"), np.array([2**63, 2**64 - 1], "u8")])
    place = {number: at for at, number in enumerate(numbers.tolist())}
    expected = [place.get(number, -1) for number in wanted.tolist()]
    found = Coords(numbers.astype(dtype)).find(Coords(wanted.astype(dtype)))
    assert found.tolist() == expected
    if dtype.startswith("m8"):
        lacking = Coords(np.array(["NaT"] * 3, dtype))
        assert Coords(numbers.astype(dtype)).find(lacking).tolist() == [-1, -1, -1]


def test_many_texts_are_found_in_any_order(rng) -> None:
    texts = [f"{'é' * (number % 3)}{number}" for number in range(12_000)]
    mixed = [texts[at] for at in rng.permutation(len(texts))]
    wanted = [*texts, "", "a", texts[-1] + "0" * 9]
    place = {text: at for at, text in enumerate(mixed)}
    found = Coords(mixed).find(Coords(wanted))
    assert found.tolist() == [place.get(text, -1) for text in wanted]
    again = Coords([*mixed, mixed[5]]).find(Coords(mixed))  # the first of those there twice
    assert again.tolist() == list(range(len(mixed)))


@pytest.mark.parametrize("labels", [[1, 2, 5, 9], [7], [-3, 0, 3]])
def test_slices_of_integers_are_those_of_pandas(labels: list[int]) -> None:
    coords, index = Coords(labels), pd.Index(labels)
    for start in (None, -9, 0, 1, 3, 5, 9, 10**30):
        for stop in (None, -9, 0, 1, 3, 5, 9, 10**30):
            wanted = index[index.slice_indexer(start, stop)]
            if None not in (start, stop) and not len(wanted):
                if len(index[index.slice_indexer(stop, start)]):
                    with pytest.raises(dt.errors.LabelError, match="exchange the ends"):
                        slice_positions(coords, slice(start, stop))
                    continue
            np.testing.assert_array_equal(
                index[slice_positions(coords, slice(start, stop))], wanted
            )


@pytest.mark.parametrize(
    ("labels", "empty", "meant"),
    [
        ([60.0, 50.0, 40.0, 30.0], slice(30, 60), slice(60, 30)),
        ([60.0, 50.0, 40.0, 30.0], slice(55.5, 61), slice(61, 55.5)),
        ([1, 2, 3, 4], slice(3, 2), slice(2, 3)),
        ([1, 2, 3, 4], slice(2, 3, -1), slice(3, 2, -1)),
        (["c", "a", "b"], slice("a", "c"), slice("c", "a")),
        (pd.date_range("2020-01-01", periods=60), slice("2020-02", "2020-01"), None),
        (pd.date_range("2020-01-01", periods=60)[::-1], slice("2020-01-05", "2020-02-03"), None),
        (pd.period_range("2020-01", periods=4, freq="M"), slice("2020-03", "2020-02"), None),
    ],
)
def test_a_slice_against_the_order_of_labels_says_which_order_they_have(labels, empty, meant):
    dim, index = dt.Dim("k", coords=labels), pd.Index(labels)
    x = dt.data(np.arange(len(index)), dims=dim)
    if meant is None:
        meant = slice(empty.stop, empty.start)
        if index[0] > index[-1]:  # parts of dates are found in every order
            wanted = np.arange(len(index))[(index >= empty.start) & (index <= empty.stop)]
            return np.testing.assert_array_equal(x.sel(k=empty).values, wanted)
    with pytest.raises(
        dt.errors.LabelError, match=r"selects nothing.*\n.*\n.*exchange the ends"
    ) as e:
        x.sel(k=empty)
    advice = eval(str(e.value).split("exchange the ends: ")[1])
    assert advice == meant
    wanted = index.slice_indexer(meant.start, meant.stop, meant.step)
    np.testing.assert_array_equal(x.sel(k=advice).values, np.arange(len(index))[wanted])
    late = dt.float64("late", dt.Dim("late"))
    f = dt.function([late], late.sel(late=empty), backend="python")
    with pytest.raises(dt.errors.LabelError, match="exchange the ends"):
        f(pd.Series(np.arange(len(index)), pd.Index(labels, name="late")))


def test_a_slice_between_labels_is_empty_as_in_pandas():
    x = dt.data([1.0, 2.0], dims=dt.Dim("k", coords=[1, 4]))
    for between in (slice(2, 3), slice(3, 2), slice(7, 9)):
        assert x.sel(k=between).sizes["k"] == 0


def test_units_with_a_multiplier_are_counted_in_the_unit():
    for kind in "mM":
        given = np.array([1, 3], f"{kind}8[25s]")
        t = dt.Dim("t", coords=given)
        assert t.coords.dtype == f"{kind}8[s]"
        found = dt.exp(dt.data([0.0, 1.0], dims=t)).eval()
        np.testing.assert_array_equal(found.t.values, given)
        assert found.values[1] == pytest.approx(np.e)
