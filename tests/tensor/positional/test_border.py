"""What comes in through ``from_shaped``, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytensor.tensor as pt
import pytest
import xarray as xr

import dimtensor as dt

K = dt.Dim("k", coords=["a", "b", "c"])
Z = dt.Dim("z", length=3)


@pytest.mark.parametrize(
    "value",
    [
        xr.DataArray([1.0, 2.0, 3.0], coords={"k": ["c", "b", "a"]}, dims="k"),
        pd.Series([1.0, 2.0, 3.0], index=["c", "b", "a"]),
        None,
        "abc",
        [[1.0], [2.0, 3.0]],
    ],
    ids=["DataArray", "Series", "None", "str", "ragged"],
)
def test_what_is_no_positional_variable_is_refused(value):
    """Labels of a value would be lost here."""
    with pytest.raises(dt.ArgumentError, match=f"not {type(value).__name__}\\nhint: dt.data"):
        dt.from_shaped(value, dims=K)


def test_tensors_and_strings_are_refused():
    with pytest.raises(dt.ArgumentError, match="this is a dims-tensor already"):
        dt.from_shaped(dt.ones(K), dims=K)
    with pytest.raises(dt.DtypeError, match="from_shaped takes numbers: Unsupported dtype"):
        dt.from_shaped(np.array(["a", "b", "c"]), dims=K)


def test_arrays_without_labels_are_taken():
    assert dt.from_shaped([1.0, 2.0, 3.0], dims=K).eval().sel(k="c") == 3.0


def test_positions_of_labels():
    found = dt.from_shaped(pt.constant(np.array([2, 0, -1])), dims=Z, categories=K)
    assert found.eval().values.tolist() == ["c", "a", "c"]
    with pytest.raises(dt.DimError, match="categories are a Dim"):
        dt.from_shaped(pt.constant(np.array([2, 0, 1])), dims=Z, categories="k")
    with pytest.raises(dt.DtypeError, match=r"labels of dim 'k' are integers, .* of float64"):
        dt.from_shaped(pt.vector(), dims=Z, categories=K)
    outside = dt.from_shaped(pt.constant(np.array([2, 5, 1])), dims=Z, categories=K)
    with pytest.raises(dt.PositionError, match="outside of dim 'k' of length 3: 5"):
        outside.eval()
