"""Tables of pandas, polars and pyarrow, column by column."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

ROWS = {
    "county": ["b", "a", "b", "c"],
    "price": [1.0, None, 3.0, 4.0],
    "rooms": [2, 3, None, 4],
    "sold": [True, False, True, True],
    "day": [datetime.datetime(2021, 1, d) for d in (3, 1, 3, 2)],
}
OBS = dt.Dim("obs")


def tables():
    yield "pandas", lambda: pd.DataFrame(ROWS)
    yield "pandas nullable", lambda: pd.DataFrame(ROWS).convert_dtypes()
    yield "polars", lambda: pytest.importorskip("polars").DataFrame(ROWS)
    yield "pyarrow", lambda: pytest.importorskip("pyarrow").table(ROWS)


@pytest.mark.parametrize("make", [make for _, make in tables()], ids=[name for name, _ in tables()])
def test_columns_are_tensors_of_the_rows(make):
    table = dt.frame(make(), dims=OBS)
    assert list(table) == list(ROWS)
    assert all(column.dims == (OBS,) and column.name == name for name, column in table.items())
    np.testing.assert_array_equal(table.price.values, [1, np.nan, 3, 4])
    np.testing.assert_array_equal(table["rooms"].values, [2, 3, np.nan, 4])
    assert table.sold.dtype == "bool"
    assert table.sold.values.tolist() == ROWS["sold"]
    assert table.county.values.tolist() == ROWS["county"]
    assert table.county.categories is dt.Dim("county", coords=["a", "b", "c"])
    assert [str(d)[:10] for d in table.day.values] == [str(d)[:10] for d in ROWS["day"]]
    assert len(table.day.categories) == 3


def test_categories_keep_their_order_and_those_that_are_not_there():
    kinds = ["low", "mid", "high"]
    frame = pd.DataFrame({"level": pd.Categorical(["high", "low"], kinds, ordered=True)})
    assert dt.frame(frame, dims=OBS).level.categories.coords.tolist() == kinds
    pl = pytest.importorskip("polars")
    enum = pl.DataFrame({"level": pl.Series(["high", "low"], dtype=pl.Enum(kinds))})
    column = dt.frame(enum, dims=OBS).level
    assert (column.categories.coords.tolist(), column.codes.values.tolist()) == (kinds, [2, 0])


def test_labels_of_dims_that_there_are():
    county = dt.Dim("county", coords=["a", "b", "c", "d"])
    table = dt.frame(pd.DataFrame(ROWS), dims=OBS, categories={"county": county})
    assert table.county.categories is county
    means = table.price.groupby(table.county).mean(skipna=True)
    expected = pd.DataFrame(ROWS).groupby("county").price.mean().reindex(["a", "b", "c", "d"])
    np.testing.assert_allclose(means.values, expected)


def test_rows_that_pandas_names():
    frame = pd.DataFrame(ROWS).set_index("day", drop=True).iloc[1:]
    day = dt.frame(frame[["price"]]).dims[0]
    assert (day.name, len(day)) == ("day", 3)
    assert dt.frame(frame[["price"]]).price.sel(day="2021-01-03").item() == 3.0
    with pytest.raises(dt.LabelError, match="more than once"):
        dt.frame(pd.DataFrame(ROWS).set_index("day"))
    mixed = frame[["price"]].iloc[::-1]
    np.testing.assert_array_equal(dt.frame(mixed, dims=day).price.values,
                                  dt.frame(frame[["price"]]).price.values)  # fmt: skip


def test_an_index_of_several_levels_is_several_dims():
    long = xr.DataArray(
        np.arange(6.0).reshape(2, 3), coords={"firm": ["x", "y"], "year": [1, 2, 3]}, name="sales"
    )
    table = dt.frame(long.to_dataframe())
    assert {dim.name for dim in table.dims} == {"firm", "year"}
    xr.testing.assert_equal(
        table.sales.eval().drop_attrs().transpose("firm", "year"), long.rename(None)
    )
    some = dt.frame(long.to_dataframe().iloc[[0, 5]]).sales
    assert some.sel(firm="x", year=1).item() == 0.0
    assert np.isnan(some.sel(firm="y", year=1).item())
    twice = pd.concat([long.to_dataframe()] * 2)
    with pytest.raises(dt.LabelError, match="occur more than once"):
        dt.frame(twice)


def test_numbers_are_not_copied():
    values = np.arange(5.0)
    table = dt.frame(pd.DataFrame({"x": values}, copy=False), dims=OBS)
    assert np.shares_memory(table.x.node.attrs.values, values)


def test_a_table_shows_what_is_in_it():
    table = dt.frame(pd.DataFrame(ROWS), dims=OBS)
    assert repr(table).splitlines()[:3] == [
        "<Frame {obs}, 5 columns>",
        "  county  labels of Dim('county', ['a', 'b', 'c'])",
        "  price   float64",
    ]
    assert "price" in dir(table)
    assert table._ipython_key_completions_() == list(ROWS)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: dt.frame(t), "nothing says which dim the rows are"),
        (lambda t: dt.frame(3), "frame takes a table, not int"),
        (lambda t: dt.frame(t, dims=dt.Dim("obs", length=3)), "has length 3, the table has 4 rows"),
        (lambda t: dt.frame(t, dims=[OBS, dt.Dim("k")]), "the rows of a table are one dim"),
        (lambda t: dt.frame(t, dims=dt.Dim("price")), "column 'price' has the name of the dim"),
        (lambda t: dt.frame(t, OBS, {"conty": OBS}), "the table has no columns 'conty'"),
        (lambda t: dt.frame(t, dims=OBS)["prize"], "no column 'prize' \\(did you mean 'price'"),
        (lambda t: dt.frame(t.assign(county=["a", None, "b", "c"]), dims=OBS),
         "1 labels are missing in column 'county'\n  rows: 1"),
        (lambda t: dt.frame(t.assign(price=[1j] * 3 + [[2]]), dims=OBS), "column 'price' holds"),
    ],
)  # fmt: skip
def test_what_is_refused(ask, message):
    with pytest.raises(dt.DimtensorError, match=message):
        ask(pd.DataFrame(ROWS))
