"""One column in the containers of pandas, polars and pyarrow: the same numbers and labels."""

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

OBS = dt.Dim("obs")
LARGE = 2**53 + 1  # no float


def test_labels_in_an_index_of_categories():
    index = pd.CategoricalIndex(["b", "a", "b"], categories=["c", "b", "a"])
    where = dt.data(index, dims=OBS, name="where")
    assert where.eval().values.tolist() == index.tolist()
    assert where.categories.coords.tolist() == index.categories.tolist()
    with pytest.raises(dt.LabelError, match="data 'where' lacks 1 label"):
        dt.data(pd.CategoricalIndex(["b", None]), dims=OBS, name="where")


@pytest.mark.parametrize("width", ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt32", "UInt64"])
def test_integers_beside_gaps_in_every_width(width):
    column = pl.Series([1, None, 3], dtype=getattr(pl, width))
    for given in (column, column.to_arrow(), pd.Series([1, None, 3], dtype=width)):
        found = dt.data(given, dims=OBS).values
        np.testing.assert_array_equal(found, [1.0, np.nan, 3.0])


COLUMN = pd.Series([LARGE, None, 3], dtype="Int64")


@pytest.mark.parametrize(
    "given",
    [("obs", COLUMN), (np.int64(LARGE), pd.NA, 3), pl.Series([-LARGE, None, 3])],
    ids=["pair", "tuple", "negative"],
)
def test_integers_beside_gaps_are_never_rounded(given):
    with pytest.raises(dt.InputError, match=r"integers that are no floats.*\n.*9007199254740993"):
        dt.data(given, dims=OBS)


@pytest.mark.parametrize("make", [list, lambda items: np.array(items, dtype=object)])
def test_integers_of_64_bits_without_a_sign_are_not_rounded(make):
    assert dt.data(make([1, 2**63 + 1]), dims=OBS).values.tolist() == [1, 2**63 + 1]
    assert dt.data(make([-1, 2**63]), dims=OBS).values.tolist() == [-1.0, 2.0**63]
    with pytest.raises(dt.InputError, match=r"beside negative ones.*\n.*9223372036854775809"):
        dt.data(make([-1, 2**63 + 1]), dims=OBS)


def test_periods_in_arrays_of_pyarrow_are_not_their_numbers():
    months = pd.Series(pd.period_range("2020-01", periods=3, freq="M"))
    month = dt.Dim("month", coords=months)
    where = dt.data(pa.Array.from_pandas(months[::-1]), dims=OBS, categories=month)
    assert where.eval().values.tolist() == months[::-1].tolist()
    with pytest.raises(dt.DtypeError, match="data has objects"):
        dt.data(pa.Array.from_pandas(months), dims=OBS)


def test_a_series_is_no_label():
    with pytest.raises(dt.LabelError, match="a label is a value that does not change"):
        dt.Dim("z", coords=["obs", pd.Series([1.0])])


CATEGORIES = pd.CategoricalIndex(["b", "a", "b"])


@pytest.mark.parametrize("labels", [CATEGORIES, CATEGORIES.array, pd.Index(["b", "a", "b"])])
def test_observed_labels_in_an_index_or_array_of_pandas(labels):
    letter = dt.Dim("letter", coords=["a", "b"])
    share = dt.data([0.25, 0.75], dims=letter)
    y = dt.rv("y", dt.dist.Categorical(share, dim=letter), dims=OBS)
    found = dt.Model(y, backend="python").observe({y: labels}).logp({})["y"]
    np.testing.assert_allclose(found, np.log([0.75, 0.25, 0.75]))


def test_groups_in_an_array_of_pandas_have_no_dim():
    x = dt.data([1.0, 2.0, 3.0], dims=OBS)
    for labels in (CATEGORIES.array, pd.array(["b", "a", "b"], dtype="string")):
        with pytest.raises(dt.InputError, match="groupby: nothing says along which dim this"):
            x.groupby(labels)
