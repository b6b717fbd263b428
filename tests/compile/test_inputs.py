"""What goes into a function: every kind of value, in every order, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

K = dt.Dim("k", coords=["a", "b", "c"])
OBS = dt.Dim("obs")
A = dt.tensor("a", dims=K)
X = dt.tensor("x", dims=OBS)
W = dt.tensor("w", dims=[OBS, K])
IN_ORDER = xr.DataArray([1.0, 2.0, 3.0], dims="k", coords={"k": ["a", "b", "c"]})
TABLE = xr.DataArray(
    np.arange(6.0).reshape(3, 2),
    dims=["k", "obs"],
    coords={"k": ["a", "b", "c"], "obs": ["p", "q"]},
)


def function(inputs, outputs):
    return dt.function(inputs, outputs, backend="python")


@pytest.fixture(scope="module")
def twice_a():
    return function([A], A * 2)


@pytest.fixture(scope="module")
def twice_w():
    return function([W], W * 2)


@pytest.mark.parametrize(
    "value",
    [
        IN_ORDER,
        IN_ORDER[[2, 0, 1]],
        IN_ORDER.assign_coords(lat=("k", [4, 5, 6]), z=3).rename("other"),
        IN_ORDER.to_series(),
        IN_ORDER.to_series()[["c", "b", "a"]],
        pd.Series([2.0, 1.0, 3.0], index=["b", "a", "c"]),
        pd.Series([2, 1, 3], index=["b", "a", "c"], dtype="Int64"),
        np.array([1.0, 2.0, 3.0]),
        np.array([1, 2, 3]),
        np.array([1.0, 2.0, 3.0], dtype=">f8"),
        np.array([1.0, 0.0, 2.0, 0.0, 3.0])[::2],
        np.broadcast_to(np.array([1.0, 2.0, 3.0]), (2, 3))[0],
        [1.0, 2.0, 3.0],
        (1.0, 2.0, 3.0),
        pd.Index([1.0, 2.0, 3.0]),
        ("k", [1.0, 2.0, 3.0]),
        (K, [1.0, 2.0, 3.0]),
        (["k"], np.array([1, 2, 3])),
    ],
)
def test_values_along_one_dim(twice_a, value):
    xr.testing.assert_identical(twice_a(value), 2 * IN_ORDER)


@pytest.mark.parametrize(
    "value",
    [
        TABLE,
        TABLE.T,
        TABLE[[2, 0, 1]].T,
        TABLE.to_pandas(),
        TABLE.to_pandas().T.loc[:, ["b", "c", "a"]],
        TABLE.to_series(),
    ],
)
def test_values_along_two_dims(twice_w, value):
    xr.testing.assert_identical(twice_w(value), 2 * TABLE)


def test_pairs_name_the_axes_of_plain_arrays(twice_w):
    expected = 2 * TABLE.drop_vars("obs")
    xr.testing.assert_identical(twice_w((("k", "obs"), TABLE.values)), expected)
    xr.testing.assert_identical(twice_w(([OBS, K], TABLE.values.T)), expected)
    with pytest.raises(dt.InputError, match="2 dims are named for an array of 1 axes"):
        twice_w((("k", "obs"), [1.0, 2.0]))


def test_numbers_go_into_scalars():
    s = dt.scalar("s")
    f = function([s], s * 2)
    for value in (3, 3.0, np.float32(3), np.array(3), xr.DataArray(3), True + 2):
        assert float(f(value)) == 6.0
    assert f(True).item() == 2.0


def test_a_labeled_vector_batches_a_scalar():
    s = dt.scalar("s")
    draws = pd.Series([1.0, 2.0], index=pd.Index([7, 8], name="draw"))
    result = function([s], s * 2)(draws)
    xr.testing.assert_identical(result, 2 * draws.to_xarray())


def test_arguments_by_position_by_name_and_both():
    f = function([A, X], A.sum() - X)
    expected = [5.0, 4.0]
    a, x = [1.0, 2.0, 3.0], [1.0, 2.0]
    for result in (f(a, x), f(a, x=x), f(x=x, a=a)):
        assert result.values.tolist() == expected


@pytest.mark.parametrize(
    ("dtype", "value", "result"),
    [
        ("float32", [1.0, 2.5, 3.0], np.array([2.0, 5.0, 6.0], dtype="float32")),
        ("complex128", [1.0, 2j, 3.0], np.array([2, 4j, 6])),
        ("int32", np.array([1, 2, 3], dtype="int64"), np.array([2, 4, 6], dtype="int32")),
        ("int64", np.array([True, False, True]), np.array([2, 0, 2])),
    ],
)
def test_values_take_the_dtype_of_the_input(dtype, value, result):
    x = dt.tensor("x", dims=K, dtype=dtype)
    found = function([x], x * 2)(value)
    np.testing.assert_array_equal(found, result)
    assert found.dtype == result.dtype


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        ("int64", [1.0, 2.0, 3.0], "has values of float64, the tensor has dtype int64"),
        ("float64", [1j, 2.0, 3.0], "has values of complex128, the tensor has dtype float64"),
        ("bool", [1, 0, 1], "has values of int64, the tensor has dtype bool"),
        ("int32", [1, 2, 2**40], "has values that do not fit into int32: 1099511627776"),
        ("uint8", [1, 2, -1], "has values that do not fit into uint8: -1"),
        (
            "int64",
            np.array([1, 2, 2**63], dtype="uint64"),
            "has values that do not fit into int64: 9223",
        ),
        ("float64", ["u", "v", "w"], "has strings, the tensor has dtype float64"),
        ("float64", np.array(["2020"] * 3, "M8[Y]"), "has datetimes, the tensor has dtype float64"),
        ("float64", [None, 1.0, 2.0], "has objects, the tensor has dtype float64"),
    ],
)
def test_values_that_would_be_lost_are_refused(dtype, value, message):
    x = dt.tensor("x", dims=K, dtype=dtype)
    with pytest.raises(dt.DtypeError, match=f"input 'x' {message}"):
        function([x], x)(value)


def test_missing_values_of_pandas_are_nan(twice_a):
    result = twice_a(pd.Series([1, None, 3], index=["a", "b", "c"], dtype="Int64"))
    np.testing.assert_array_equal(result, [2.0, np.nan, 6.0])


def test_ragged_lists_are_no_array(twice_a):
    with pytest.raises(dt.InputError, match="the nested sequences do not make an array"):
        twice_a([[1.0], [2.0, 3.0], 3.0])


def test_labels_as_values():
    w = dt.tensor("w", dims=OBS, categories=K)
    f = function([A, w], A.sel(k=w))
    labels = np.array(["c", "a", "a"])
    series = pd.Series(labels)
    arrays = [labels, labels.tolist(), labels.astype(object), xr.DataArray(labels, dims="obs")]
    for value in [*arrays, series, series.astype("category")]:
        assert f([1.0, 2.0, 3.0], value).values.tolist() == [3.0, 1.0, 1.0]


def test_datetimes_as_labels_of_dims_and_as_values():
    days = pd.date_range("2020-01-01", periods=3)
    day = dt.Dim("day", coords=days)
    x, w = dt.tensor("x", dims=day), dt.tensor("w", dims=OBS, categories=day)
    values = xr.DataArray([3.0, 2.0, 1.0], dims="day", coords={"day": days[::-1]})
    result = function([x, w], [x, x.sel(day=w), x.sel(day=slice("2020-01-02", None))])(
        values, days[[2, 0]]
    )
    assert result[0].values.tolist() == [1.0, 2.0, 3.0]
    assert result[0].indexes["day"].equals(days)
    assert result[1].values.tolist() == [3.0, 1.0]
    xr.testing.assert_identical(
        result[2], values.sortby("day").sel(day=slice("2020-01-02", None)).rename(None)
    )


@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2020-01-01", periods=2, tz="Europe/Rome"),
        pd.period_range("2020-01", periods=2, freq="M"),
        pd.interval_range(0, 2),
        pd.timedelta_range("1h", periods=2),
        pd.Index([1.5, 2.5]),
        pd.Index([True, False]),
        pd.Index(["a", 1]),
        pd.CategoricalIndex(["v", "u"]),
    ],
)
def test_labels_of_every_kind_come_out_as_they_went_in(index):
    series = pd.Series([1.0, 2.0], index=index)
    result = function([X], [X * 2, X[::-1]])(series)
    assert list(result[0].indexes["obs"]) == list(index)
    assert list(result[1].indexes["obs"]) == list(index)[::-1]
    fixed = dt.tensor("fixed", dims=dt.Dim("obs", coords=index))
    assert fixed.eval({fixed: series[::-1]}).values.tolist() == [1.0, 2.0]
    assert fixed.sel(obs=index[1]).eval({fixed: series}).item() == 2.0


def test_labels_as_values_of_a_dim_that_gets_its_labels_with_the_call():
    w = dt.tensor("w", dims=dt.Dim("at"), categories=OBS)
    f = function([X, w], X.sel(obs=w))
    x = xr.DataArray([1.0, 2.0, 3.0], dims="obs", coords={"obs": ["p", "q", "r"]})
    assert f(x, ["r", "p"]).values.tolist() == [3.0, 1.0]
    assert f(x[::-1], ["r", "p", "p"]).values.tolist() == [3.0, 1.0, 1.0]
    with pytest.raises(dt.LabelError, match="input 'w': dim 'obs' has no label 'z'"):
        f(x, ["z"])
    assert f(x.values, [2, 0]).values.tolist() == [3.0, 1.0]
    with pytest.raises(
        dt.LabelError, match="input 'w' has labels of dim 'obs', which has no label"
    ):
        f(x.values, ["p"])
    with pytest.raises(dt.PositionError, match="input 'w' has positions outside of dim 'obs'"):
        f(x.values, [3])


def test_a_dim_as_an_input():
    f = function([OBS, A], A.sum() + dt.zeros(OBS) + dt.arange(OBS))
    for length in (2, np.int64(2), np.array(2), dt.Dim("obs", length=2)):
        result = f(obs=length, a=[1.0, 2.0, 3.0])
        assert result.values.tolist() == [6.0, 7.0]
        assert list(result.coords) == []
    for labels in (["u", "v"], pd.Index(["u", "v"]), dt.Dim("obs", coords=["u", "v"])):
        result = f(labels, [1.0, 2.0, 3.0])
        assert result.obs.values.tolist() == ["u", "v"]
    assert f(0, [1.0, 2.0, 3.0]).shape == (0,)
    for wrong in (None, 2.5, -1, "uv", True):
        with pytest.raises(dt.InputError, match="input 'obs' is a dim: it takes a length"):
            f(wrong, [1.0, 2.0, 3.0])


def test_a_dim_as_an_input_agrees_with_the_others():
    f = function([OBS, X], X + dt.zeros(OBS))
    with pytest.raises(dt.DimError, match="input 'obs': 3\n  input 'x': 2"):
        f(3, [1.0, 2.0])
    labeled = xr.DataArray([1.0, 2.0], dims="obs", coords={"obs": ["p", "q"]})
    with pytest.raises(dt.LabelError, match="inputs disagree about the labels of dim 'obs'"):
        f(["q", "p"], labeled)
    assert f(2, labeled).obs.values.tolist() == ["p", "q"]
    fixed = function([K], dt.zeros(K))
    assert fixed(["a", "b", "c"]).shape == fixed(3).shape == (3,)
    with pytest.raises(dt.LabelError, match="input 'k' is a dim that has other labels"):
        fixed(["b", "a", "c"])
    with pytest.raises(dt.DimError, match="dim 'k' has length 3, input 'k' has length 2"):
        fixed(2)


def test_lengths_of_nothing():
    f = function([X, W], [X * 2, X.sum(), X[1:], W.sum("obs"), W.mean()])
    doubled, total, tail, sums, mean = f([], TABLE[:, :0].T)
    assert (doubled.shape, tail.shape) == ((0,), (0,))
    assert (float(total), sums.values.tolist()) == (0.0, [0.0, 0.0, 0.0])
    assert np.isnan(mean)
    empty = dt.tensor("e", dims=dt.Dim("z", length=0))
    assert float(function([empty], empty.sum())([])) == 0.0


def test_inputs_that_are_not_used_are_still_checked():
    f = function([X, A], A * 2)
    assert f([1.0], [1.0, 2.0, 3.0]).values.tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(dt.DtypeError, match="input 'x' has strings"):
        f(["u"], [1.0, 2.0, 3.0])


def test_anonymous_dims_are_called_by_their_number():
    one, two = dt.Dim(), dt.Dim()
    x = dt.from_shaped(np.arange(6.0).reshape(2, 3), dims=[one, two])
    result = x.eval()
    assert result.dims == ("dim_0", "dim_1")
    np.testing.assert_array_equal(result, np.arange(6.0).reshape(2, 3))
    y = dt.tensor("y", dims=[one, two])
    f = function([y], [y * 2, y.sum(one), y.sum(two)])
    doubled, over_one, over_two = f(result)
    xr.testing.assert_identical(doubled, 2 * result)
    assert over_one.values.tolist() == [3.0, 5.0, 7.0]
    assert over_two.values.tolist() == [3.0, 12.0]
    assert over_one.dims == over_two.dims == ("dim_0",)
    beside = dt.tensor("b", dims=[dt.Dim("dim_0", length=2), one])
    assert function([beside], beside)((["dim_0", "dim_1"], np.zeros((2, 2)))).dims == (
        "dim_0",
        "dim_1",
    )


def test_values_that_are_like_earlier_ones_are_read_as_those_were():
    """A port remembers what DataArrays were like: their names, lengths and labels, not more."""
    row, col = dt.Dim("row", coords=["a", "b", "c"]), dt.Dim("col")
    x = dt.tensor("x", dims=[row, col])
    weights = dt.data(xr.DataArray([1.0, 10.0, 100.0], coords={"row": ["a", "b", "c"]}), name="w")
    f = dt.function([x], [(x * weights).sum(row), 2 * x], backend="python")
    whole = xr.DataArray(
        np.arange(6.0).reshape(3, 2), dims=("row", "col"), coords={"row": ["a", "b", "c"]}
    )
    labeled = whole.assign_coords(col=["u", "v"])
    cases = [
        whole, whole.T, whole.drop_vars("row"), labeled, labeled.T, labeled.isel(row=[2, 0, 1]),
        labeled.isel(col=[1, 0]), labeled.isel(col=[0]), whole.isel(col=[1, 1, 0]),
        whole.astype("float32"), whole.astype(int), whole.isel(col=slice(None, None, -1)),
        labeled.assign_coords(kind=("row", [1, 2, 3])),
    ]  # fmt: skip
    by_label = xr.DataArray([1.0, 10.0, 100.0], dims="row", coords={"row": ["a", "b", "c"]})
    for round in range(3):
        for value in cases:
            given = value + round  # other elements, like those before
            total, twice = f(given)
            given = given if "row" in given.coords else given.assign_coords(row=["a", "b", "c"])
            expected = (given * by_label).sum("row").drop_vars("kind", errors="ignore")
            xr.testing.assert_identical(total, expected.astype(float))
            np.testing.assert_array_equal(
                twice.sel(row=given.row).transpose(*given.dims).values, 2 * given.values
            )
        with pytest.raises(dt.LabelError, match="does not have the labels"):
            f(whole.assign_coords(row=["a", "b", "d"]))
        with pytest.raises(dt.DimError, match="has length 3"):
            f(whole.drop_vars("row").isel(row=[0, 1]))
        with pytest.raises(dt.DtypeError, match="strings"):
            f(whole.astype(str))
