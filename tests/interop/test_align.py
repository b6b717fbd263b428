"""``dt.align`` and ``dt.reindex`` against xarray, and tensors brought to a common dim."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

ONE = xr.DataArray(
    [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
    dims=["year", "k"],
    coords={"year": [2003, 2001, 2002]},
    name="one",
)
TWO = xr.DataArray([10.0, 20.0, 30.0], dims="year", coords={"year": [2002, 2004, 2003]}, name="two")


@pytest.mark.parametrize("join", ["inner", "outer", "left", "right"])
@pytest.mark.parametrize("fill_value", [np.nan, -1.0])
def test_arrays_and_tensors_align_as_xarray_does(join, fill_value):
    expected = xr.align(ONE, TWO, join=join, fill_value=fill_value)
    for result, want in zip(
        dt.align(ONE, TWO, join=join, fill_value=fill_value), expected, strict=True
    ):
        xr.testing.assert_identical(result, want)
    tensors = dt.align(dt.data(ONE), dt.data(TWO), join=join, fill_value=fill_value)
    for tensor, want in zip(tensors, expected, strict=True):
        assert tensor.node.kind == "data"
        xr.testing.assert_equal(tensor.eval().transpose(*want.dims), want)
    xr.testing.assert_equal(
        (tensors[0] + tensors[1]).eval().transpose("year", "k"), expected[0] + expected[1]
    )


def test_pandas_objects_come_back_as_such():
    series = pd.Series([1, 2], index=pd.Index(["a", "b"], name="k"), name="s")
    frame = pd.DataFrame(
        [[1.0, 2.0]], index=pd.Index(["b"], name="k"), columns=pd.Index([7, 8], name="year")
    )
    one, two = dt.align(series, frame, join="outer")
    pd.testing.assert_series_equal(one, series)
    pd.testing.assert_frame_equal(two, frame.reindex(["a", "b"]))


def test_labels_in_another_order_are_no_reason_to_join():
    shuffled = ONE.isel(year=[2, 0, 1])
    with pytest.raises(dt.LabelError, match="align: labels of dim 'year' differ") as error:
        dt.align(ONE, shuffled)
    assert "array 1 ('one'): 2003, 2001, 2002" in str(error.value)
    assert "join='inner', 'outer', 'left' or 'right'" in str(error.value)
    assert dt.align(ONE, ONE)[1].identical(ONE)


def test_data_on_a_late_dim_keep_the_dim():
    year = dt.Dim("year")
    one, two = (
        dt.data(ONE[:, 0].drop_vars("k", errors="ignore"), dims=year),
        dt.data(TWO, dims=year),
    )
    with pytest.raises(dt.LabelError, match="inputs disagree about the labels of dim 'year'"):
        (one + two).eval()
    left, right = dt.align(one, two, join="inner")
    assert left.dims == right.dims == (year,)
    expected = sum(xr.align(ONE[:, 0], TWO, join="inner"))
    xr.testing.assert_equal((left + right).eval(), expected)
    assert left.name == "one"


def test_symbolic_tensors_align_too():
    a = dt.tensor("a", dims=dt.Dim("k", coords=["x", "y"]))
    b = dt.tensor("b", dims=dt.Dim("k", coords=["y", "z"]))
    left, right = dt.align(a, b, join="outer", fill_value=0.0)
    result = (left + right).eval({"a": [1.0, 2.0], "b": [10.0, 20.0]})
    assert result.k.values.tolist() == ["x", "y", "z"]
    assert result.values.tolist() == [1.0, 12.0, 20.0]


def test_lengths_without_labels_must_agree():
    bare = xr.DataArray(np.zeros(4), dims="year")
    with pytest.raises(dt.DimError, match="dim 'year' has no labels everywhere"):
        dt.align(ONE, bare)
    assert dt.align(ONE, bare[:3])[1].sizes == {"year": 3}


def test_things_without_labels_and_unknown_joins_are_errors():
    with pytest.raises(dt.InputError, match="array 2 has no labels: ndarray"):
        dt.align(ONE, np.zeros(3))
    with pytest.raises(dt.OptionError, match=r"join is one of exact, inner, .* not 'iner'"):
        dt.align(ONE, TWO, join="iner")


@pytest.mark.parametrize("kind", ["data", "symbolic"])
@pytest.mark.parametrize("labels", [["c", "a"], ["b", "zz", "a", "q"], [], ["zz"]])
def test_reindex_against_xarray(kind, labels):
    array = xr.DataArray(
        np.arange(6.0).reshape(3, 2), dims=["k", "m"], coords={"k": ["a", "b", "c"]}
    )
    k, m = dt.Dim("k", coords=["a", "b", "c"]), dt.Dim("m", length=2)
    x = dt.data(array, dims=[k, m]) if kind == "data" else dt.tensor("x", dims=[k, m])
    values = {} if kind == "data" else {x: array}
    for fill in (np.nan, 7.0):
        expected = array.reindex(k=labels, fill_value=fill)
        result = x.reindex(k=labels, fill_value=fill)
        assert dt.Dim("k", coords=labels) in result.dims
        evaluated = result.eval(values).transpose("k", "m")
        np.testing.assert_array_equal(evaluated, expected)
        assert evaluated.k.values.tolist() == labels
        np.testing.assert_array_equal(dt.reindex(array, k=labels, fill_value=fill), expected)


def test_reindex_to_a_dim_lets_tensors_meet():
    old, new = dt.Dim("k", coords=["a", "b", "c"]), dt.Dim("k", coords=["c", "a"])
    x, y = dt.tensor("x", dims=old), dt.tensor("y", dims=new)
    with pytest.raises(dt.DimError, match="two different dims are named 'k'"):
        x + y
    total = x.reindex(new) + y
    assert total.dims == (new,)
    assert total.eval({x: [1.0, 2.0, 3.0], y: [10.0, 20.0]}).values.tolist() == [13.0, 21.0]
    gradient = dt.grad((x.reindex(new) * y).sum(), x)
    assert gradient.eval({x: np.zeros(3), y: [10.0, 20.0]}).values.tolist() == [20.0, 0.0, 10.0]


def test_reindex_of_an_empty_tensor_gives_what_is_filled_in():
    x = dt.tensor("x", dims=dt.Dim("k", coords=np.array([], dtype=str)))
    result = x.reindex(k=["a", "b"], fill_value=3.0)
    assert result.eval({x: []}).values.tolist() == [3.0, 3.0]


def test_dtypes_of_what_is_filled_up():
    k = dt.Dim("k", coords=["a", "b"])
    counts = dt.data([1, 2], dims=k)
    assert counts.reindex(k=["b"]).dtype == "int64"
    assert counts.reindex(k=["b", "c"], fill_value=0).dtype == "int64"
    assert counts.reindex(k=["b", "c"]).dtype == "float64"
    assert dt.tensor("n", dims=k, dtype="int64").reindex(k=["b", "c"]).dtype == "float64"
    with pytest.raises(dt.DtypeError, match="bools are filled up with fill_value=True or False"):
        dt.data([True, False], dims=k).reindex(k=["c"])
    labels = dt.data(["b", "a"], dims=dt.Dim("obs", coords=[1, 2]), categories=k)
    assert labels.reindex(obs=[2]).eval().values.tolist() == ["a"]
    with pytest.raises(dt.LabelError, match="a tensor of labels of dim 'k' cannot be filled up"):
        labels.reindex(obs=[2, 3])


def test_reindex_without_labels_is_an_error():
    bare = dt.tensor("x", dims=dt.Dim("k", length=2))
    with pytest.raises(dt.LabelError, match="reindex: dim 'k' has no labels that are known"):
        bare.reindex(k=["a"])
    named = dt.tensor("x", dims=dt.Dim("k", coords=["a"]))
    with pytest.raises(dt.LabelError, match=r"reindex: Dim\('k', length=2\) has no labels"):
        named.reindex(dt.Dim("k", length=2))
    with pytest.raises(dt.DimError, match="reindex takes dims, or labels by name of dim, not"):
        named.reindex(["a"])
    with pytest.raises(dt.DimError, match="reindex: there is no dim 'q'"):
        dt.reindex(ONE, q=[1])
