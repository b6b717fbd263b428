"""Labels that stand for a missing one (None, NaN, NA) come out as they went in."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.dims import Coords

BIG = 2**53 + 1  # no float
LABELS = {
    "string": ["a", None],
    "first": [None, "a"],
    "integer": [BIG, None],
    "float": [1.5, None],
    "bool": [True, None],
    "only": [None],
    "kinds": ["a", 1, None, math.nan, pd.NA],
    "tuple": [("a", None), ("b", 1)],
}


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return all(map(same, found, expected))
    if expected is None or expected is pd.NA:
        return found is expected
    missing = isinstance(expected, float) and math.isnan(expected)
    return isinstance(found, float) and math.isnan(found) if missing else found == expected


def assert_same(found: Any, expected: list) -> None:
    found = list(found)
    assert len(found) == len(expected)
    assert all(map(same, found, expected)), (found, expected)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("late", [False, True], ids=["known", "late"])
def test_none_comes_out_as_it_went_in(labels: list, late: bool) -> None:
    own = dt.Dim("d", coords=labels)
    values = np.arange(float(len(labels)))
    given = xr.DataArray(values, {"d": own.to_index()}, "d")
    x = dt.tensor("x", dims=dt.Dim("d") if late else own)
    (found,) = dt.function([x], [x[::-1]])(given)
    np.testing.assert_array_equal(found, values[::-1])
    assert_same(found.indexes["d"], labels[::-1])
    assert_same(found.d.values, labels[::-1])
    assert_same(found.to_series().index, labels[::-1])
    assert_same(own.to_index(), labels)
    assert pickle.loads(pickle.dumps(own)) == own
    assert all(own.position(label) == at for at, label in enumerate(labels))


def test_missing_labels_of_different_kinds_are_different_dims() -> None:
    dims = [dt.Dim("d", coords=["a", label]) for label in (None, math.nan, pd.NA, 1)]
    assert len(set(dims)) == len(dims)
    assert not any(a == b for a in dims for b in dims if a is not b)
    assert Coords(["a", pd.NA]).first_difference(Coords(["a", 1])) == 1
    with pytest.raises(dt.LabelError, match="dim 'd' has no label nan"):
        dims[0].position(math.nan)


def test_none_in_a_product_and_in_a_stack() -> None:
    d, k = dt.Dim("d", coords=["a", None]), dt.Dim("k", coords=[1, 2])
    pairs = [("a", 1), ("a", 2), (None, 1), (None, 2)]
    x = dt.data([1.0, 2.0], dims=d) + dt.data([10.0, 20.0], dims=k)
    assert_same(dt.evaluate(x.ravel()).indexes["d_k"], pairs)
    assert_same(dt.ProductDim({d, k}).to_index(), pairs)
    assert_same(dt.evaluate(x.ravel().unravel()).indexes["d"], ["a", None])
    more = dt.data([1.0], dims=dt.Dim("d", coords=["z"]))
    joined = dt.concat([dt.data([1.0, 2.0], dims=d), more], "d")
    assert_same(dt.evaluate(joined).indexes["d"], ["a", None, "z"])
    with_nan = dt.ProductDim({dt.Dim("d", coords=["a", math.nan]), k}).to_index()
    assert isinstance(with_nan, pd.MultiIndex)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.array([BIG, BIG - 1, None], dtype="Int64"), [BIG, BIG - 1, pd.NA]),
        (pd.array([BIG, BIG - 1], dtype="Int64"), [BIG, BIG - 1]),
        (pd.array([True, None], dtype="boolean"), [True, pd.NA]),
        (pd.Series(["a", None], dtype="string"), ["a", pd.NA]),
        (pd.Index([1.5, None], dtype="Float64"), [1.5, pd.NA]),
        (pd.Series(["a", math.nan], dtype=object), ["a", math.nan]),
    ],
    ids=["integers", "complete", "bools", "strings", "floats", "nan"],
)
def test_labels_of_columns_with_gaps(column: Any, expected: list) -> None:
    dim = dt.Dim("d", coords=column)
    assert_same(dim.coords, expected)
    assert_same(dt.evaluate(dt.data(np.zeros(len(dim)), dims=dim)).d.values, expected)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
@pytest.mark.parametrize("labels", [[BIG, BIG - 1, None], ["a", None], ["a", "b"], [1, 2]], ids=str)
def test_labels_of_columns_of_other_libraries(library: str, labels: list) -> None:
    module = pytest.importorskip(library)
    column = module.Series(labels) if library == "polars" else module.array(labels)
    assert dt.Dim("d", coords=column) == dt.Dim("d", coords=labels)


@pytest.mark.parametrize("labels", [["a", None], ["a", 1]], ids=["none", "kinds"])
def test_labels_without_an_order_are_not_sorted(labels: list) -> None:
    x = dt.data([1.0, 2.0], dims=dt.Dim("d", coords=labels))
    with pytest.raises(dt.LabelError, match="sortby: the labels of dim 'd' have no order"):
        x.sortby("d")


@pytest.mark.parametrize("labels", [[2.0, math.nan, 1.0], ["b", math.nan, "a"], [3, math.nan, 1]])
def test_rows_of_a_series_whose_labels_lack_a_level_are_there(labels: list) -> None:
    """xarray leaves them out."""
    k = dt.Dim("k", coords=["u", "v"])
    index = pd.MultiIndex.from_product([labels, ["v", "u"]], names=["d", "k"])
    values = pd.Series(np.arange(6.0), index=index)
    expected = {("v", at): 2.0 * at for at in range(3)} | {
        ("u", at): 2.0 * at + 1 for at in range(3)
    }
    for d in (dt.Dim("d", coords=labels), dt.Dim("d", length=3), dt.Dim("d")):
        x = dt.tensor("x", dims=[d, k])
        for found in (x.eval({x: values}), dt.data(values, dims=[d, k]).eval()):
            places = [next(at for at, v in enumerate(labels) if same(w, v)) for w in found.d.values]
            assert sorted(places) == [0, 1, 2]
            for row, at in enumerate(places):
                for label in ("u", "v"):
                    assert found.isel(d=row).sel(k=label) == expected[label, at]
    assert dt.data(values).sizes == {"d": 3, "k": 2}
    assert dt.data(values).sum().eval() == 15.0


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_series_of_a_result_is_the_result_again(at: int) -> None:
    labels: list = [5.0, 7.0]
    labels.insert(at, math.nan)
    given = dt.data(
        [[1.0, 2.0]] * 3, dims=[dt.Dim("d", coords=labels), dt.Dim("k", coords=["v", "u"])]
    )
    result = dt.evaluate(given.cumsum("d"))
    x = dt.tensor("x", dims=[dt.Dim("d"), dt.Dim("k")])
    xr.testing.assert_identical(dt.evaluate(1.0 * x, {x: result.to_series()}), result)
