"""Selection of levels of a product of dims; oracle: xarray's stacked dims."""

from __future__ import annotations

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize(
    "a", [dt.Dim("a", length=2), dt.Dim("a"), A], ids=["length", "late", "labels"]
)
@pytest.mark.parametrize(
    "b", [dt.Dim("b", length=3), dt.Dim("b"), B], ids=["length", "late", "labels"]
)
@pytest.mark.parametrize("kind", ["series", "array", "tuples"])
def test_tuples_in_any_order_are_put_into_that_of_the_product(
    a: dt.Dim, b: dt.Dim, kind: str
) -> None:
    """Labels of some of the factors come with the values; they were taken for those of the dim."""
    table = ARRAY.isel(c=1)
    stacked = table.stack(a_b=["b", "a"]).isel(a_b=[1, 0, 3, 2, 5, 4])
    value = {
        "series": stacked.to_series().rename_axis(["b", "a"]),
        "array": stacked,
        "tuples": xr.DataArray(
            stacked.values,
            dims="a_b",
            coords={"a_b": pd.Index([(p, q) for q, p in stacked.a_b.values], tupleize_cols=False)},
        ),
    }[kind]
    z, size = dt.tensor("z", dims=dt.ProductDim([a, b])), dt.tensor("size", dims=[a, b])
    f = dt.function([z, size], [2 * z, z.unravel() + 0 * size], backend="python")
    lengths = (("a", "b"), np.zeros((2, 3)))
    for _ in range(2):  # a value like the first is read in another way
        flat, grid = f(value, lengths)
        found = flat.to_series().to_dict()
        assert found == {(p, q): 2 * table.sel(a=p, b=q).item() for p in "pq" for q in (10, 20, 30)}
        xr.testing.assert_equal(grid.sortby(["a", "b"]).transpose("a", "b"), table.drop_vars("c"))


def test_tuples_that_are_no_product() -> None:
    z = dt.tensor("z", dims=dt.ProductDim([dt.Dim("a"), B]))
    rows = ARRAY.isel(c=1).stack(a_b=["a", "b"]).to_series()
    with pytest.raises(dt.LabelError, match=r"labels of dim 'a_b'\n +missing: \('q', 30\)"):
        z.sum().eval({z: rows.iloc[:5]})
    with pytest.raises(dt.LabelError, match=r"more than once: \('p', 10\)"):
        z.sum().eval({z: rows.iloc[[0, 0, 1, 2, 3, 4, 5]]})
    other = dt.tensor("other", dims=dt.Dim("a"))
    said = xr.DataArray([1.0, 2.0], dims="a", coords={"a": ["q", "p"]})
    with pytest.raises(dt.LabelError, match="inputs disagree about the labels of dim 'a'"):
        (z.sum() + other.sum()).eval({z: rows, other: said})
