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
    # as many rows as combinations of the labels that are there
    pairs = [("a", 1), ("b", 1), ("a", 2), (None, 2)]
    index = pd.MultiIndex.from_tuples(pairs, names=["firm", "year"])
    with pytest.raises(dt.LabelError, match=r"'firm', 'year' lack labels\n  rows: \(nan, 2\)"):
        dt.frame(pd.DataFrame({"sales": [1.0, 2.0, 3.0, 4.0]}, index=index))


def test_numbers_are_not_copied():
    values = np.arange(5.0)
    table = dt.frame(pd.DataFrame({"x": values}, copy=False), dims=OBS)
    assert np.shares_memory(table.x.node.attrs.values, values)


def test_numbers_are_not_copied_whichever_library_has_them():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for number, table in enumerate((pl.DataFrame, pa.table, pd.DataFrame)):
        values = np.arange(5.0) + 100 * number + 71  # equal data is one node
        given = table({"x": values})
        own = given["x"].to_numpy()
        assert np.shares_memory(dt.frame(given, dims=OBS).x.node.attrs.values, own)
        assert np.shares_memory(dt.data(given["x"], dims=OBS).node.attrs.values, own)
    gaps = pd.DataFrame({"x": np.array([1.0, np.nan, 7.0], dtype="float32")}, copy=False)
    kept = dt.frame(gaps, dims=OBS).x
    assert kept.dtype == "float32"
    assert np.shares_memory(kept.node.attrs.values, gaps["x"].to_numpy())


class WithArrows:
    """A table of a library that narwhals does not know."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_any_table_with_the_interface_of_arrow():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    for table in (WithArrows(pa.table(ROWS)), pa.RecordBatch.from_pydict(ROWS)):
        found = dt.frame(table, dims=OBS)
        assert found.county.values.tolist() == ROWS["county"]
        np.testing.assert_array_equal(found.price.values, [1, np.nan, 3, 4])
    with pytest.raises(dt.ArgumentError, match=r"not LazyFrame\nhint: table.collect\(\) runs"):
        dt.frame(pl.LazyFrame(ROWS), dims=OBS)


def test_dates_keep_their_time_zone():
    hours = pd.date_range("2021-03-28", periods=4, freq="h", tz="Europe/Berlin")
    frame = pd.DataFrame({"hour": hours, "v": [1.0, 2.0, 3.0, 4.0]})
    tables = [frame, pytest.importorskip("polars").from_pandas(frame)]
    tables.append(tables[1].to_arrow())
    known = dt.date_range("hour", start="2021-03-28", periods=9, freq="h", tz="Europe/Berlin")
    for table in tables:
        found = dt.frame(table, dims=OBS)
        assert found.hour.categories.dt.hour.values.tolist() == [
            0,
            1,
            3,
            4,
        ]  # of the clock in spring
        assert found.v.groupby(found.hour).sum().values.tolist() == [1.0, 2.0, 3.0, 4.0]
        column = dt.frame(table, dims=OBS, categories={"hour": known}).hour
        assert column.codes.values.tolist() == [0, 1, 2, 3]
        alone = dt.data(table["hour"], dims=OBS, categories=known)
        assert alone.codes.values.tolist() == [0, 1, 2, 3]


def test_columns_of_dtypes_that_few_libraries_have():
    import decimal

    pl = pytest.importorskip("polars")
    money = pl.DataFrame({"x": [decimal.Decimal("1.5"), None]})
    np.testing.assert_array_equal(dt.frame(money, dims=OBS).x.values, [1.5, np.nan])
    months = pd.period_range("2021-01", periods=3, freq="M")
    frame = pd.DataFrame({
        "month": months[[2, 0, 2]],
        "z": [1j, 2, 3],
        "few": pd.arrays.SparseArray([0.0, 0.0, 1.0]),
    })  # fmt: skip
    found = dt.frame(frame, dims=OBS)
    assert found.month.codes.values.tolist() == [1, 0, 1]
    assert found.month.categories is dt.Dim("month", coords=months[[0, 2]])
    assert found.z.values.tolist() == [1j, 2, 3]
    assert found.few.values.tolist() == [0.0, 0.0, 1.0]


def test_categories_of_a_column_are_a_dim():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    kinds = ["low", "mid", "high"]
    columns = [
        pd.Series(pd.Categorical(["high", "low"], kinds), name="level"),
        pl.Series("level", ["high", "low"], dtype=pl.Enum(kinds)),
    ]
    for column in columns:
        found = dt.data(column, dims=OBS)
        assert (found.name, found.categories) == ("level", dt.Dim("level", coords=kinds))
        assert found.codes.values.tolist() == [2, 0]
    encoded = pa.chunked_array([["b", "a"], ["b"]]).dictionary_encode()
    found = dt.data(encoded, dims=OBS, name="key")
    assert found.categories.coords[found.codes.values].tolist() == ["b", "a", "b"]
    other = dt.Dim("other", coords=["mid", "low", "high", "none"])
    assert dt.data(columns[0], dims=OBS, categories=other).codes.values.tolist() == [2, 1]
    numbers = pd.Series([3, 1], dtype="category", name="n")
    assert dt.data(numbers, dims=OBS, dtype="float64").values.tolist() == [3.0, 1.0]
    unnamed = dt.data(pa.chunked_array([["b", "a"], ["b"]]).dictionary_encode(), dims=OBS)
    assert unnamed.categories == dt.Dim("label", coords=["b", "a"])
    with pytest.raises(dt.LabelError, match="data 'level' lacks 1 label\n  rows: 1"):
        dt.data(pl.Series("level", ["low", None], dtype=pl.Enum(kinds)), dims=OBS)


def test_columns_of_a_table_are_told_by_their_names():
    pl = pytest.importorskip("polars")
    side = dt.Dim("side", coords=["left", "right"])
    frame = pl.DataFrame({"right": [1.0, 2.0], "left": [3.0, 4.0]})
    x = dt.tensor("x", dims=[OBS, side])
    f = dt.function([x], x.sum(OBS), backend="python")
    for table in (frame, frame.to_arrow()):
        assert dt.data(table, dims=[OBS, side]).sel(side="left").values.tolist() == [3.0, 4.0]
        assert f(table).sel(side="right") == 3.0
        for dims in ([OBS, dt.Dim("k", length=2)], [OBS], [side]):
            with pytest.raises(dt.InputError, match="columns of a table are those of the dim"):
                dt.data(table, dims=dims)


def test_the_axes_of_a_frame_without_names_are_told_by_their_labels():
    side = dt.Dim("side", coords=["left", "right"])
    frame = pd.DataFrame({"right": [1.0, 2.0, 5.0], "left": [3.0, 4.0, 6.0]})
    x = dt.tensor("x", dims=[OBS, side])
    for table in (frame, frame.T, frame.rename_axis(columns="side"), frame.rename_axis("obs")):
        assert dt.data(table, dims=[OBS, side]).sel(side="left").values.tolist() == [3.0, 4.0, 6.0]
        assert x.eval({x: table}).sel(side="right").values.tolist() == [1.0, 2.0, 5.0]
    foreign = frame.rename_axis(index="id")  # of the rows, as of a Series; labels tell the others
    for table in (foreign, foreign.T, foreign.rename_axis(columns="feature")):
        assert dt.data(table, dims=[OBS, side]).sel(side="left").values.tolist() == [3.0, 4.0, 6.0]
    with pytest.raises(dt.InputError, match=r"obs(.|\n)*rename_axis\(index='obs', columns='k'\)"):
        dt.data(foreign, dims=[OBS, dt.Dim("k", length=2)])
    late = x.eval({x: frame[1:]})
    assert late.obs.values.tolist() == [1, 2]
    with pytest.raises(dt.LabelError, match="missing: 'left'\n  unknown: 'lft'"):
        x.eval({x: frame.rename(columns={"left": "lft"})})


@pytest.mark.parametrize(
    "dims",
    [[OBS, dt.Dim("other")], [dt.Dim("a", coords=["r", "s"]), dt.Dim("b", coords=["s", "r"])]],
    ids=["no labels", "the same labels"],
)
def test_the_axes_of_a_frame_that_nothing_tells_apart(dims):
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], ["r", "s"], ["r", "s"])
    with pytest.raises(dt.InputError, match="told apart by the names of its index and its col"):
        dt.data(frame, dims=dims)


def test_the_hint_for_an_array_of_two_axes_has_them_in_their_order():
    side = dt.Dim("a", coords=["left", "right"])
    x = dt.tensor("x", dims=[OBS, side])
    with pytest.raises(dt.InputError, match=r"name the axes: \(\('obs', 'a'\), array\)"):
        x.eval({x: np.ones((3, 2))})


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
        (lambda t: dt.frame(t), "the dim of the rows is not given"),
        (lambda t: dt.frame(3), "frame takes a table, not int"),
        (lambda t: dt.frame(t, dims=dt.Dim("obs", length=3)), "has length 3, the table has 4 rows"),
        (lambda t: dt.frame(t, dims=[OBS, dt.Dim("k")]), "the rows of a table are one dim"),
        (lambda t: dt.frame(t, dims=dt.Dim("price")), "column 'price' has the name of the dim"),
        (lambda t: dt.frame(t, OBS, {"conty": OBS}), "the table has no columns 'conty'"),
        (lambda t: dt.frame(t, dims=OBS)["prize"], "no column 'prize' \\(did you mean 'price'"),
        (lambda t: dt.frame(t.assign(county=["a", None, "b", "c"]), dims=OBS).county,
         "column 'county' lacks 1 label\n  rows: 1"),
        (lambda t: dt.frame(t.assign(price=[1j] * 3 + [[2]]), dims=OBS)["price"],
         "column 'price' holds"),
        (lambda t: dt.frame(t.set_axis([*"abcda"], axis=1), dims=OBS), "occur more than once: 'a'"),
        (lambda t: dt.frame(t.set_axis(range(5), axis=1), dims=OBS), "name of a column is a"),
    ],
)  # fmt: skip
def test_what_is_refused(ask, message):
    with pytest.raises(dt.DimtensorError, match=message):
        ask(pd.DataFrame(ROWS))


def test_a_column_that_cannot_be_data_spoils_no_other():
    seen = pd.to_datetime(["2020-01-01", None])
    table = pd.DataFrame({"price": [1.0, 2.0], "seen": seen, "odd": [object(), 1]})
    found = dt.frame(table, dims=dt.Dim("row"))
    assert found.price.values.tolist() == [1.0, 2.0]
    assert list(found) == ["price", "seen", "odd"]
    assert "  seen   column 'seen' lacks 1 label" in repr(found).splitlines()
    for _ in range(2):
        with pytest.raises(dt.LabelError, match="column 'seen' lacks 1 label\n  rows: 1"):
            found.seen
        with pytest.raises(dt.DtypeError, match="column 'odd' holds"):
            found["odd"]
    site, year = ["a", "a", "b", "b"], [1, 2, 1, 2]
    by_index = pd.DataFrame({"n": [1.0, 2.0, 3.0, 4.0], "w": ["u", None, "v", "u"]})
    by_index.index = pd.MultiIndex.from_arrays([site, year], names=["site", "year"])
    grid = dt.frame(by_index)
    assert grid.n.sel(site="b", year=1).item() == 3.0
    with pytest.raises(dt.LabelError, match="column 'w' lacks 1 label"):
        grid.w
    with pytest.raises(dt.LabelError, match="lacks 1 label"):
        dt.frame(table, OBS, {"seen": dt.Dim("seen", coords=seen[:1])})


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_integers_that_are_no_floats_are_not_rounded_for_a_gap(library):
    imported = pytest.importorskip(library)

    def table(values):
        if library == "pandas":
            return pd.DataFrame({"id": pd.array(values, dtype="Int64")})
        return (imported.table if library == "pyarrow" else imported.DataFrame)({"id": values})

    found = dt.frame(table([2**53, None, -(2**53)]), dims=OBS)["id"]
    np.testing.assert_array_equal(found.values, [2.0**53, np.nan, -(2.0**53)])
    assert dt.frame(table([2**60 + 1, 1]), dims=OBS)["id"].values.tolist() == [2**60 + 1, 1]
    with pytest.raises(dt.InputError, match=r"'id' has gaps(.|\n)*integers: 1152921504606846977"):
        dt.frame(table([2**60 + 1, None, 1]), dims=OBS)["id"]


def entered(column):
    """The values of a column of a table, as data, as an input, and as data of two dims."""
    native = pd.DataFrame({"c": column}) if isinstance(column, pd.Series) else column.to_frame("c")
    yield dt.frame(native, dims=OBS).c.values
    yield dt.data(column, dims=OBS).values
    x = dt.tensor("x", dims=OBS)
    yield dt.evaluate(x, {"x": column}).values
    if isinstance(column, pd.Series):
        yield dt.data(column.array, dims=OBS).values
        yield dt.data(xr.DataArray(column.array, dims="obs")).values
        whole = (
            pd.DataFrame({"c": column, "other": 0.5}).rename_axis("obs").rename_axis(columns="k")
        )
        yield dt.data(whole).sel(k="c").values
        pairs = pd.MultiIndex.from_product([["a"], range(len(column))], names=["one", "more"])
        yield dt.data(column.set_axis(pairs)).sel(one="a").values


GAPS = {
    "boolean": ([True, None, False], [1.0, np.nan, 0.0]),
    "bool[pyarrow]": ([True, None, False], [1.0, np.nan, 0.0]),
    "UInt8": ([1, None, 255], [1.0, np.nan, 255.0]),
    "Int64": ([2**53, None, 0], [2.0**53, np.nan, 0.0]),
    "int64[pyarrow]": ([2**53, None, 0], [2.0**53, np.nan, 0.0]),
    "Float64": ([0.1, None, np.inf], [0.1, np.nan, np.inf]),
    "Float32": ([0.5, None, np.inf], [0.5, np.nan, np.inf]),
}


@pytest.mark.parametrize("dtype", GAPS)
def test_gaps_of_nullable_columns_are_nan_wherever_they_enter(dtype):
    values, expected = GAPS[dtype]
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    for found in entered(pd.Series(values, dtype=dtype)):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("values", [[True, None, False], [1, None, 3]], ids=str)
def test_gaps_of_polars_are_nan_wherever_they_enter(values):
    pl = pytest.importorskip("polars")
    for found in entered(pl.Series("c", values)):
        np.testing.assert_array_equal(found, np.array(values, dtype=float))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_integers_that_are_no_floats_are_refused_as_data_and_as_inputs(library):
    imported, values = pytest.importorskip(library), [2**60 + 1, None]
    x = dt.tensor("x", dims=OBS)
    if library == "pandas":
        column = pd.Series(values, dtype="Int64")
    else:
        column = imported.array(values) if library == "pyarrow" else imported.Series(values)
    with pytest.raises(dt.InputError, match=r"data has gaps(.|\n)*integers: 1152921504606846977"):
        dt.data(column, dims=OBS)
    with pytest.raises(dt.InputError, match=r"input 'x' has gaps"):
        dt.evaluate(x, {"x": column})
    if library == "pandas":
        pairs = pd.MultiIndex.from_product([["a"], [1, 2]], names=["one", "two"])
        with pytest.raises(dt.InputError, match="data has gaps"):
            dt.data(column.set_axis(pairs))


def test_gaps_among_labels_are_labels():
    flags = pd.Series([True, None, False], dtype="boolean")
    flag = dt.Dim("flag", coords=flags)
    assert dt.data(flags, dims=OBS, categories=flag).codes.values.tolist() == [0, 1, 2]
    with pytest.raises(dt.LabelError, match="has no label <NA>"):
        dt.data(flags, dims=OBS, categories=dt.Dim("flag", coords=[True, False]))


def test_arrays_of_pyarrow_are_columns():
    pa = pytest.importorskip("pyarrow")
    row = dt.Dim("row")
    words = pa.array(["b", "a", "b"]).dictionary_encode()
    for each in (words, pa.chunked_array([words])):
        found = dt.data(each, dims=row, name="word")
        assert found.categories.coords.tolist() == ["b", "a"]
        assert found.values.tolist() == ["b", "a", "b"]
    np.testing.assert_array_equal(dt.data(pa.array([1, None, 3]), dims=row).values, [1, np.nan, 3])
    with pytest.raises(dt.DtypeError, match=r"data holds List\(Int64\), no numbers, labels or"):
        dt.data(pa.array([[1], [2]]), dims=row)
    with pytest.raises(dt.LabelError, match=r"(?s)data 'word' lacks 1 label.*rows: 1"):
        dt.data(pa.array(["a", None]).dictionary_encode(), dims=row, name="word")


@pytest.mark.parametrize("name", [None, "word"])
def test_a_missing_label_in_a_categorical_is_told(name):
    column = pd.Series(pd.Categorical(["a", None, "b", None]))
    with pytest.raises(dt.LabelError, match=r"(?s)lacks 2 labels.*rows: 1, 3"):
        dt.data(column, dims=dt.Dim("row"), name=name)


def test_a_method_of_columns_is_no_method_of_the_table():
    table = dt.frame(pd.DataFrame({"a b": [1.0, 3.0], "c": [5.0, 7.0]}), dims=OBS)
    with pytest.raises(
        dt.NoAttributeError,
        match=r"no 'mean': columns have it[\s\S]*table\['a b'\]\.mean\(\), or of",
    ):
        table.mean()
    with pytest.raises(dt.NoAttributeError, match=r"table\['a b'\]\.sizes, or"):
        _ = table.sizes
    means = {name: table[name].mean().item() for name in table}
    assert means == {"a b": 2.0, "c": 6.0}
    with pytest.raises(AttributeError, match="no column 'maen'"):
        _ = table.maen
