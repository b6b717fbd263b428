"""``expand_dims`` and ``swap_dims``, with xarray as the oracle."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt

T = dt.Dim("t", coords=[10, 20, 30])
ARRAY = xr.DataArray([1.0, 4.0, 9.0], coords={"t": [10, 20, 30]}, dims="t")
X = dt.data([1.0, 4.0, 9.0], dims=T)


def assert_same(found, expected):
    got = found.eval()
    assert set(got.dims) == set(expected.dims)
    xr.testing.assert_equal(
        got.transpose(*expected.dims).rename(None), expected.reset_coords(drop=True)
    )


@pytest.mark.parametrize(
    ("given", "by_name"),
    [
        ("draw", {}),
        (["draw", "chain"], {}),
        ({"draw": 2, "kind": ["a", "b"]}, {}),
        (None, {"draw": 0, "kind": [7]}),
    ],
)
def test_new_dims_as_in_xarray(given, by_name):
    assert_same(X.expand_dims(given, **by_name), ARRAY.expand_dims(given, **by_name))
    late = dt.tensor("x", dims=dt.Dim("t")).expand_dims(given, **by_name)
    assert late.eval({"x": ARRAY}).sum().item() == ARRAY.expand_dims(given, **by_name).sum()


def test_dims_are_taken_as_they_are():
    k = dt.Dim("k", coords=["p", "q"])
    assert X.expand_dims(k).dims == X.expand(k).dims
    gradient = dt.grad((X.expand_dims(k) ** 2).sum(), X)
    np.testing.assert_allclose(gradient.eval().values, [4.0, 16.0, 36.0])
    with pytest.raises(dt.DimError, match="expand_dims: the tensor has dim 't' already"):
        X.expand_dims("t")


def test_labels_in_the_place_of_others_as_in_xarray():
    year = dt.data([2019, 2021, 2020], dims=T, name="year")
    expected = ARRAY.assign_coords(year=("t", [2019, 2021, 2020])).swap_dims(t="year")
    assert_same(X.swap_dims(t=year), expected)
    assert_same(X.swap_dims({"t": year}).sel(year=[2020, 2019]), expected.sel(year=[2020, 2019]))
    assert_same(X.swap_dims(t="step"), ARRAY.swap_dims(t="step"))
    step = dt.Dim("step", length=3)
    assert X.swap_dims({T: step}).dims == (step,)
    place = dt.data(["b", "c", "a"], dims=T, categories=dt.Dim("site", coords=[*"abc"]), name="at")
    assert X.swap_dims(t=place).sel(at="a").item() == 9.0


def test_what_cannot_be_swapped_is_told():
    with pytest.raises(dt.DimError, match="swap_dims"):
        X.swap_dims(time="step")
    with pytest.raises(dt.DimError, match=r"the place of dim 't'"):
        X.swap_dims(t=3)
    with pytest.raises(dt.DimError, match="nothing tells what comes into the place"):
        dt.tensor("x", dims=dt.Dim("t")).swap_dims(t="step")
    twice = dt.data([1, 1, 2], dims=T, name="twice")
    with pytest.raises(dt.LabelError, match="twice"):
        X.swap_dims(t=twice)
    with pytest.raises(dt.DimError, match="relabel: dim 't' has length 3"):
        X.swap_dims(t=dt.Dim("other", length=4))
