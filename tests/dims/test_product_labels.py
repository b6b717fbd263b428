"""Labels of combined dims are the labels of their parts, datetimes included."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt


@pytest.mark.parametrize("unit", ["ns", "s", "D"])
def test_dates_stay_dates_in_a_product(unit):
    days = np.array(["2020-01-01", "2020-01-02"], dtype=f"datetime64[{unit}]")
    day, k = dt.Dim("day", coords=days), dt.Dim("k", coords=["a", "b"])
    product = dt.ProductDim({day, k})
    expected = [(d, label) for d in days for label in "ab"]
    assert [tuple(map(str, pair)) for pair in product.coords] == [
        tuple(map(str, pair)) for pair in expected
    ]
    assert product.position((days[1], "a")) == 2
    pd.testing.assert_index_equal(
        product.to_index(), pd.MultiIndex.from_product([days, ["a", "b"]], names=["day", "k"])
    )


def test_dates_stay_dates_beside_other_labels():
    days = np.array(["2020-01-01"], dtype="datetime64[ns]")
    joined = dt.ConcatDim([dt.Dim("t", coords=days), dt.Dim("t", coords=["later"])])
    assert list(joined.coords) == [days[0], "later"]
