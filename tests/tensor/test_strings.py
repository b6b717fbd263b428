"""Strings are labels of a dim of the strings that occur."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

OBS = dt.Dim("obs", length=6)
WHERE = ["USA", "Italy", "USA", "Kenya", "Italy", "USA"]
VALUES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
CODES, FOUND = pd.factorize(np.array(WHERE, dtype=object), sort=True)


@pytest.mark.parametrize(
    "values",
    [
        WHERE,
        tuple(WHERE),
        np.array(WHERE),
        np.array(WHERE, dtype=object),
        np.array(WHERE, dtype=np.dtypes.StringDType()),
        pd.Series(WHERE),
        pd.Series(WHERE, dtype="string"),
        pd.Index(WHERE),
        xr.DataArray(WHERE, dims="obs"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_strings_are_sorted_labels(values):
    where = dt.data(values, dims=OBS, name="country")
    assert where.categories == dt.Dim("country", coords=FOUND)
    np.testing.assert_array_equal(where.codes.values, CODES)
    assert where.values.tolist() == WHERE
    assert dt.data(values, dims=OBS).categories == dt.Dim("label", coords=FOUND)


def test_a_column_gives_its_name():
    assert dt.data(pd.Series(WHERE, name="country"), dims=OBS).categories.name == "country"
    table = pd.DataFrame({"country": WHERE, "x": VALUES})
    assert dt.frame(table, dims=OBS).country.categories == dt.Dim("country", coords=FOUND)
    kinds = pd.Series(pd.Categorical(WHERE, ["USA", "Kenya", "Italy", "Chad"]))
    assert dt.data(kinds, dims=OBS).categories.coords.tolist() == ["USA", "Kenya", "Italy", "Chad"]


def test_groups_and_lookups_are_xarrays():
    where, x = dt.data(WHERE, dims=OBS, name="country"), dt.data(VALUES, dims=OBS)
    by_name = xr.DataArray(WHERE, dims="obs", name="country")
    expected = xr.DataArray(VALUES, dims="obs").groupby(by_name).mean()
    xr.testing.assert_allclose(x.groupby(where).mean().eval().drop_attrs(), expected)
    wide = dt.Dim("country", coords=["Chad", "Italy", "Kenya", "USA"])
    effect = dt.data([1.0, 2.0, 3.0, 4.0], dims=wide, name="effect")
    array = xr.DataArray([1.0, 2.0, 3.0, 4.0], {"country": wide.coords}, ["country"])
    looked_up = array.sel(country=by_name).values
    np.testing.assert_array_equal(effect.sel(country=where).values, looked_up)
    np.testing.assert_array_equal((where == "USA").values, np.array(WHERE) == "USA")


def test_strings_along_several_dims():
    a, b = dt.Dim("a", length=2), dt.Dim("b", length=3)
    found = dt.data([["u", "v", "u"], ["w", "u", "v"]], dims=[a, b], name="k")
    assert found.categories.coords.tolist() == ["u", "v", "w"]
    values = found.eval().transpose("a", "b").values.tolist()
    assert values == [["u", "v", "u"], ["w", "u", "v"]]


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (["a", None, "b"], dt.LabelError, r"data 'k' lacks 1 label\n  rows: 1"),
        (["a", float("nan"), None], dt.LabelError, "data 'k' lacks 2 labels"),
        (["a", 1, "b"], dt.DtypeError, "data 'k' has objects, but tensors hold numbers or labels"),
        ([b"a", b"b", b"c"], dt.DtypeError, "but tensors hold numbers or labels"),
        (["a", "b"], dt.DimError, "length 3"),
    ],
)
def test_what_is_no_label_is_refused(values, error, message):
    with pytest.raises(error, match=message):
        dt.data(values, dims=dt.Dim("obs", length=3), name="k")


def test_strings_are_no_numbers():
    where = dt.data(WHERE, dims=OBS, name="country")
    for ask in (lambda: where + 1, lambda: where.sum(), lambda: dt.exp(where)):
        with pytest.raises(dt.DimtensorError, match="label"):
            ask()
    with pytest.raises(dt.DtypeError, match="but tensors hold numbers"):
        dt.data("USA")
    with pytest.raises(dt.LabelError, match="'Chad'"):
        where.isel(obs=0).__eq__("Chad")
