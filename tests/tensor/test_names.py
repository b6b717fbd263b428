"""Names of xarray: tensors have them, or say what takes their place."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

T = dt.Dim("t", coords=["a", "b"])
X = dt.data([1.0, 2.0], dims=T, name="x")
# of files, of lazy arrays and of xarray's own bookkeeping
NOT_OURS = """
as_numpy assign_attrs broadcast_equals chunks chunksizes close convert_calendar data drop_attrs
drop_encoding drop_indexes encoding from_dict from_iris from_series get_axis_num interp_calendar
load_async reorder_levels reset_coords reset_encoding set_close set_xindex to_dask_dataframe to_iris
to_masked_array to_unstacked_dataset unify_chunks variable xindexes
"""
NAMES = [
    name for name in dir(xr.DataArray) if name[0] != "_" and name not in {*NOT_OURS.split(), "T"}
    # what other libraries have registered, if they were imported before
    and type(inspect.getattr_static(xr.DataArray, name)).__name__ != "_CachedAccessor"
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_xarray_is_there_or_has_a_hint(name):
    if hasattr(X, name):
        return
    with pytest.raises(dt.NoAttributeError, match=rf"a tensor has no \.{name}\n.*\nhint: "):
        getattr(X, name)


def test_series_and_tables_of_results():
    expected = pd.Series([1.0, 2.0], index=pd.Index(["a", "b"], name="t"), name="x")
    pd.testing.assert_series_equal(X.to_series(), expected)
    found = dt.function([], X * 2, backend="python")().to_series()
    np.testing.assert_array_equal(found, [2.0, 4.0])
    with pytest.raises(dt.DimError, match="no dims to make an index of"):
        X.sum().to_series()


def test_what_hints_say_works():
    other = dt.Dim("t", coords=["b", "a", "c"])
    assert X.reindex(other).values[:2].tolist() == [2.0, 1.0]
    assert X.relabel("t", dt.Dim("s", coords=["p", "q"])).dims[0].coords.tolist() == ["p", "q"]
    line = dt.data([0.0, 2.0], dims=dt.Dim("k", coords=[0, 2]))
    target = dt.Dim("k", coords=[0, 1, 2])
    assert line.interp({line.dims[0]: target.coords}).values.tolist() == [0.0, 1.0, 2.0]
    sites = dt.Dim("site", coords=["r"])
    rows = dt.data([1.0, 3.0, 5.0], dims=dt.Dim("row"))
    of = dt.data(["r", "r", "r"], dims=rows.dims[0], categories=sites)
    assert rows.groupby(of).mean().values.tolist() == [3.0]
