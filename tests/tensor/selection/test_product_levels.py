"""Selection of levels of a product of dims; oracle: xarray's stacked dims."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt

ARRAY = xr.DataArray(
    np.arange(24.0).reshape(2, 3, 4),
    dims=["a", "b", "c"],
    coords={"a": ["p", "q"], "b": [10, 20, 30], "c": list("wxyz")},
)
X = dt.data(ARRAY)
A, B, C = (dt.Dim(name, coords=ARRAY.indexes[name]) for name in "abc")


def test_what_is_left_of_two_is_the_other() -> None:
    flat = X.ravel(["a", "b"])
    assert flat.sel(a="q").dims == (B, C)
    xr.testing.assert_equal(flat.sel(a="q").eval(), ARRAY.sel(a="q", drop=True))
    xr.testing.assert_equal(flat.sel({A: "q", B: 20}).eval(), ARRAY.sel(a="q", b=20, drop=True))
    xr.testing.assert_equal(flat.sel(b=20, c="y").eval(), ARRAY.sel(b=20, c="y", drop=True))


def test_what_is_left_of_three_is_a_product() -> None:
    flat = X.ravel(name="cell")
    found = flat.sel(b=20)
    assert found.dims == (dt.ProductDim([A, C], "cell"),)
    expected = ARRAY.stack(cell=["a", "b", "c"]).sel(b=20)
    np.testing.assert_array_equal(found.eval().values, expected.values)
    assert found.eval().indexes["cell"].equals(expected.indexes["cell"])
    some = flat.sel(b=[30, 10]).unravel()
    xr.testing.assert_equal(some.eval(), ARRAY.sel(b=[30, 10]))


def test_levels_by_a_tensor_of_labels() -> None:
    obs = dt.Dim("obs", length=3)
    where = dt.data(["q", "p", "q"], dims=obs, categories=A)
    found = X.ravel(["a", "b"]).sel(a=where)
    expected = ARRAY.sel(a=xr.DataArray(["q", "p", "q"], dims="obs")).drop_vars("a")
    xr.testing.assert_equal(found.eval().transpose(*expected.dims), expected)


def test_levels_of_some_of_the_elements() -> None:
    flat = X.isel(c=0).ravel(["a", "b"])
    some = flat.isel(a_b=[5, 0, 3])
    found = some.sel(a="q").eval()
    assert found.indexes["b"].tolist() == [30, 10]
    assert found.values.tolist() == ARRAY.isel(c=0).sel(a="q", b=[30, 10]).values.tolist()
    three = X.ravel().isel(a_b_c=slice(None, None, -1)).sel(b=20)
    stacked = ARRAY.stack(z=["a", "b", "c"])[::-1].sel(b=20)
    assert three.eval().values.tolist() == stacked.values.tolist()
    assert list(three.dims[0]) == stacked.indexes["z"].tolist()
    with pytest.raises(dt.LabelError, match="levels of some of the elements"):
        some.sel(a=["p"])


def test_levels_that_are_not_there() -> None:
    flat = X.ravel(["a", "b"])
    with pytest.raises(dt.LabelError, match="dim 'a' has no label 'r'"):
        flat.sel(a="r")
    with pytest.raises(dt.DimError, match="sel: there is no dim 'd'"):
        flat.sel(d=1)


def test_dims_by_name() -> None:
    flat = X.ravel(["a", "b"])
    assert "a_b" in flat.dims
    assert "a" not in flat.dims
    assert C in flat.dims
    assert flat.dims["c"] is C
    assert X.dims == (A, B, C)
    with pytest.raises(dt.DimError, match="dims: there is no dim 'd'"):
        flat.dims["d"]
