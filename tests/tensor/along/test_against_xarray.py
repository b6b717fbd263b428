"""What xarray's users write, with xarray as the oracle: options, odd labels, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist

NUMBERS = np.random.default_rng(3).normal(size=7)
NUMBERS[[1, 4, 5]] = np.nan


def array(labels, values=NUMBERS):
    return xr.DataArray(values, coords={"t": labels}, dims="t", name="x")


def tensor(a):
    dims = [dt.Dim(name, coords=a.indexes[name]) for name in a.dims]
    return dt.data(a.values, dims=dims, name=a.name)


def assert_same(got, expected, rtol=1e-10):
    found = got.eval()
    assert set(found.dims) == set(expected.dims)
    for name in expected.dims:
        if name in expected.coords:
            assert list(found.indexes[name]) == list(expected.indexes[name])
    found = found.transpose(*expected.dims)
    np.testing.assert_allclose(found.values, expected.values, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("unsorted", [False, True])
def test_combining_takes_the_labels_of_both(unsorted):
    one = array([3.0, 0.0, 5.0, 1.0, 2.0, 6.0, 4.0] if unsorted else np.arange(7.0))
    two = array(np.arange(4.0, 11.0), NUMBERS[::-1] * 2)
    got = tensor(one).combine_first(tensor(two))
    assert_same(got, one.combine_first(two))
    late = dt.tensor("late", dims=dt.Dim("t"))
    with pytest.raises(dt.LabelError, match="labels of one are not known"):
        tensor(one).combine_first(late)
    with pytest.raises(dt.DimError, match=r"has \{k\}, this one has not"):
        tensor(one).combine_first(dt.data([1.0], dims=dt.Dim("k")))


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_parts_of_dates_cut_slices_whatever_their_order(zone):
    dates = ["2021-03-02", "2020-01-01", "2021-03-01", "2021-04-30", "2021-05-05"]
    index = pd.DatetimeIndex(dates).tz_localize(zone)
    x = dt.data([1.0, 2.0, 3.0, 4.0, 5.0], dims=dt.Dim("day", coords=index))
    series = pd.Series([1.0, 2.0, 3.0, 4.0, 5.0], index=index)

    def between(start, stop):  # pandas slices what is sorted
        chosen = series.sort_index().loc[start:stop]
        return series[series.isin(chosen)]

    for start, stop in [("2021-03", "2021-04"), (None, "2021-03"), ("2021-03-02", None)]:
        got, expected = x.sel(day=slice(start, stop)), between(start, stop)
        assert got.values.tolist() == expected.tolist()
        assert got.dims[0].coords.tolist() == list(dt.Dim("d", coords=expected.index).coords)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_polynomials_of_dates_with_a_zone_count_as_those_without(zone):
    index = pd.date_range("2020-03-01", periods=7, tz=zone)
    values = np.arange(7.0) ** 2
    plain = array(index.tz_convert("UTC").tz_localize(None), values)
    found = tensor(array(index, values)).polyfit("t", 1)
    assert_same(found, plain.polyfit("t", 1).polyfit_coefficients, rtol=1e-6)


def test_polynomials_along_a_dim_without_labels_say_how():
    with pytest.raises(dt.LabelError, match=r"relabel\('k', dt.Dim\(name, coords=range\(n\)\)\)"):
        dt.tensor("x", dims=dt.Dim("k", length=4)).polyfit("k", 1)


def test_lengths_that_are_computed_are_refused_where_a_mask_would_do():
    x = dt.tensor("x", dims=dt.Dim("k"))
    with pytest.raises(dt.DtypeError, match=r"is computed(.|\n)*x.isel\(k=dt.arange\(dim\) < n\)"):
        x.isel(k=slice(None, x.sum()))
    with pytest.raises(dt.DtypeError, match="is computed"):
        x.head(k=x.count())
    with pytest.raises(dt.OptionError, match="head takes a number of positions of at least 0"):
        x.head(k=-1)
    with pytest.raises(dt.OptionError, match="tail takes a number of positions of at least 0"):
        x.tail(k=-2)


@pytest.mark.parametrize("backend", ["python", "numba", "jax"])
def test_powers_of_two_are_exact(backend):
    if backend == "jax":
        pytest.importorskip("jax")
    k = dt.Dim("k")
    x, n = dt.tensor("x", dims=k), dt.tensor("n", dims=k, dtype="int64")
    powers = np.array([5, -7, 64, 1000, -1000, 3, -1])
    values = np.linspace(1.0, 2.0, len(powers))
    f = dt.function([x, n], [dt.ldexp(x, n), dt.grad(dt.ldexp(x, n).sum(), x)], backend=backend)
    got, slope = f(values, powers)
    assert got.values.tolist() == np.ldexp(values, powers).tolist()
    assert slope.values.tolist() == np.ldexp(1.0, powers).tolist()


def test_what_is_not_there_is_an_attribute_error():
    x = dt.tensor("x", dims=dt.Dim("k"))
    assert not hasattr(x, "T")
    with pytest.raises(dt.NoAttributeError, match="dims have no order"):
        x.T


def test_modules_show_what_is_public_alone():
    assert dir(dt.fft) == ["fft", "ifft", "irfft", "rfft"]
    for module in (dt.linalg, dt.random, dist):
        assert not {"Any", "np", "annotations", "families", "draws", "equations"} & {*dir(module)}
    assert {"Normal", "mixture", "custom"} <= {*dir(dist)}
    assert {"solve", "svd"} <= {*dir(dt.linalg)}
