"""Ranks, places, covariances, cross products and polynomials against NumPy, SciPy and xarray."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import dimtensor as dt
from tests.backend_names import LONG_JAX

T, SITE = dt.Dim("t", coords=[0.0, 1.0, 1.5, 4.0, 5.0, 7.0]), dt.Dim("site", coords=["a", "b"])
RNG = np.random.default_rng(11)
FIRST, SECOND = (
    xr.DataArray(RNG.normal(size=(6, 2)), coords={"t": T.coords, "site": ["a", "b"]},
                 dims=["t", "site"])
    for _ in range(2)
)  # fmt: skip
FIRST[1, 0] = SECOND[4, 1] = SECOND[1, 0] = np.nan
x, y = (dt.data(frame, dims=[T, SITE]) for frame in (FIRST, SECOND))


def same(found, expected):
    result = found.eval().drop_attrs().transpose(*expected.dims)
    xr.testing.assert_allclose(result, expected)


@pytest.mark.parametrize("over", [["t"], ["t", "site"]])
def test_covariances_are_xarrays(over):
    for ddof in (0, 1):
        same(dt.cov(x, y, over, ddof=ddof, skipna=True), xr.cov(FIRST, SECOND, over, ddof=ddof))
    same(dt.corr(x, y, over, skipna=True), xr.corr(FIRST, SECOND, over))
    one = FIRST.isel(site=0, drop=True)
    same(dt.corr(x.isel(site=0), y, "t", skipna=True), xr.corr(one, SECOND, "t"))


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradients_of_correlations(backend):
    k = dt.Dim("k")
    a, b = dt.tensor("a", dims=k), dt.tensor("b", dims=k)
    f = dt.function([a, b], dt.grad(dt.corr(a, b), a), backend=backend)
    u, v = RNG.normal(size=(2, 7))
    step = 1e-6 * np.eye(7)
    numeric = [(np.corrcoef(u + s, v)[0, 1] - np.corrcoef(u - s, v)[0, 1]) / 2e-6 for s in step]
    np.testing.assert_allclose(f(a=u, b=v), numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("pct", [False, True])
def test_ranks_are_those_of_scipy(pct):
    values = np.array([[3.0, 1.0, 3.0, np.nan, -2.0, 3.0], [1.0, 2.0, 3.0, 4.0, 5.0, 5.0]])
    z = dt.data(values.T, dims=[T, SITE])
    expected = stats.rankdata(values, axis=1, nan_policy="omit")
    if pct:
        expected = expected / (~np.isnan(values)).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(z.rank("t", pct=pct).eval().transpose("site", "t"), expected)


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("side", ["left", "right"])
def test_places_are_those_of_numpy(backend, side):
    n, m = dt.Dim("n"), dt.Dim("m")
    a, v = dt.tensor("a", dims=n), dt.tensor("v", dims=m)
    f = dt.function([a, v], dt.searchsorted(a, v, side=side), backend=backend)
    for length in (0, 1, 2, 7, 8, 9):
        array = np.sort(RNG.integers(0, 5, size=length)).astype(float)
        values = np.array([-1.0, 0.0, 1.0, 2.5, 4.0, 9.0, np.inf, np.nan])
        for ends in ([], [np.nan, np.nan]):  # after all numbers, as they are sorted
            sorted_ = np.concatenate([array, ends])
            found = f(a=sorted_, v=values)
            np.testing.assert_array_equal(found, np.searchsorted(sorted_, values, side))


def test_cross_products_are_those_of_numpy():
    axis = dt.Dim("axis", coords=["x", "y", "z"])
    u, v = RNG.normal(size=(2, 4, 3))
    k = dt.Dim("k")
    found = dt.cross(dt.data(u, dims=[k, axis]), dt.data(v, dims=[k, axis]), "axis")
    np.testing.assert_allclose(found.eval().transpose(..., "axis"), np.cross(u, v))


@pytest.mark.parametrize("deg", [0, 1, 3])
def test_polynomials_are_those_of_numpy(deg):
    whole = FIRST.fillna(0.5)
    z = dt.data(whole, dims=[T, SITE])
    found = z.polyfit("t", deg)
    expected = np.polyfit(T.coords, whole.values, deg)
    np.testing.assert_allclose(found.eval().transpose("degree", "site"), expected, atol=1e-10)
    at = dt.data([0.5, 2.0], dims=dt.Dim("k"))
    values = dt.polyval(at, found).eval().transpose("site", "k")
    np.testing.assert_allclose(values, [np.polyval(c, [0.5, 2.0]) for c in expected.T])


def test_polynomials_of_dates_are_xarrays():
    days = pd.date_range("1970-01-01", periods=6)
    frame = xr.DataArray([1.0, 3.0, 2.0, 5.0, 4.0, 6.0], coords={"day": days}, dims="day")
    expected = frame.polyfit("day", 1).polyfit_coefficients
    np.testing.assert_allclose(dt.data(frame).polyfit("day", 1).values, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: dt.searchsorted(x.isel(site=0), 1.0, side="up"), "'left' or 'right', not 'up'"),
        (lambda: dt.searchsorted(x, x, "t"), "the values have dim 't' themselves"),
        (lambda: dt.cross(x, x, "site"), "dim 'site' has length 2, not 3"),
        (lambda: x.polyfit("t", 6), "degree 6 of 6 labels along dim 't'"),
        (lambda: x.polyfit("site", 1), "the labels of dim 'site' are no numbers"),
        (lambda: dt.polyval(1.0, x, "site"), "the labels of dim 'site' are no degrees"),
        (lambda: x.rank("k"), "k"),
        (lambda: dt.cov(x, y, "k"), "k"),
    ],
)
def test_what_is_refused(ask, message):
    with pytest.raises(dt.DimtensorError, match=message):
        ask()


AGE = xr.DataArray([3.0, 18.0, 50.0, 99.0, np.nan, 0.0], coords={"t": T.coords}, name="age")


@pytest.mark.parametrize(
    "options",
    [{}, {"right": False}, {"include_lowest": True}, {"labels": ["child", "adult"]}],
    ids=str,
)
@pytest.mark.parametrize("name", ["sum", "mean", "count", "max"])
def test_groups_of_intervals_are_xarrays(options, name):
    whole = FIRST.fillna(0.5)
    expected = getattr(whole.groupby_bins(AGE, [0, 18, 65], **options), name)()
    age = dt.data(AGE, dims=T)
    groups = dt.data(whole, dims=[T, SITE]).groupby_bins(age, [0, 18, 65], **options)
    found = getattr(groups, name)().eval().drop_attrs()
    np.testing.assert_allclose(found.transpose("age_bins", "site"),
                               expected.transpose("age_bins", "site"))  # fmt: skip
    assert list(found.age_bins.values) == list(expected.age_bins.values)


@pytest.mark.parametrize("precision", [1, 3, 6])
@pytest.mark.parametrize("right", [False, True])
def test_labels_of_intervals_have_xarrays_digits(precision, right):
    edges = [0.0, 17.123456, 17.123456, 65.0]
    options = {"precision": precision, "right": right}
    whole, age = FIRST.fillna(0.5), dt.data(AGE, dims=T)
    expected = whole.groupby_bins(AGE, sorted(set(edges)), **options).sum()
    z = dt.data(whole, dims=[T, SITE])
    result = z.groupby_bins(age, edges, duplicates="drop", **options).sum().eval()
    with pytest.raises(dt.OptionError, match="edges ascend"):
        z.groupby_bins(age, edges, **options)
    assert list(result.age_bins.values) == list(expected.age_bins.values)
    np.testing.assert_allclose(result.transpose("age_bins", "site"),
                               expected.transpose("age_bins", "site"))  # fmt: skip
    with pytest.raises(dt.OptionError, match="'raise' or 'drop', not 'keep'"):
        x.groupby_bins(dt.data(AGE, dims=T), edges, duplicates="keep")


@pytest.mark.parametrize("backend", LONG_JAX)
def test_inputs_by_intervals_of_data_and_their_gradient(backend):
    n = dt.Dim("n", length=4)
    a = dt.tensor("a", dims=n)
    means = a.groupby_bins(dt.data([0.5, 1.5, 5.0, 1.7], dims=n), [0.0, 1.0, 2.0]).mean()
    f = dt.function([a], [means, dt.grad((means**2).sum(), a)], backend=backend)
    found, gradient = f(a=[1.0, 2.0, 3.0, 4.0])
    assert found.values.tolist() == [1.0, 3.0]
    assert gradient.values.tolist() == [2.0, 3.0, 0.0, 3.0]


def test_intervals_of_equal_length_are_those_of_pandas():
    whole = FIRST.isel(site=0).fillna(0.5)
    age = dt.data(AGE.fillna(7.0), dims=T)
    expected = whole.groupby_bins(AGE.fillna(7.0), 3).sum()
    found = dt.data(whole, dims=T).groupby_bins(age, 3).sum().eval()
    np.testing.assert_allclose(found.fillna(0), expected.fillna(0))
    for bins, message in [([1, 0], "edges ascend"), ([1], "two at least")]:
        with pytest.raises(dt.OptionError, match=message):
            x.groupby_bins(age, bins)
    with pytest.raises(dt.OptionError, match="1 labels of 2 intervals"):
        x.groupby_bins(age, [0, 1, 2], labels=["a"])
    with pytest.raises(dt.GraphError, match="not known before a function is called"):
        x.groupby_bins(dt.tensor("g", dims=T), 3)
    with pytest.raises(dt.DimError, match="the groups have one dim"):
        x.groupby_bins(x, [0, 1])


@pytest.mark.parametrize("deg", [0, 1, 3])
def test_polynomials_of_what_is_not_missing_are_xarrays(deg, rng):
    values = rng.normal(size=(7, 4)) + np.arange(7.0)[:, None] ** 2
    values[[0, 3, 5], [0, 0, 1]] = np.nan
    values[:, 3] = np.nan
    labels = [10.0, 11, 13, 14, 18, 19, 25]
    frame = xr.DataArray(values, {"u": labels, "k": list("abcd")}, ["u", "k"])
    expected = frame.isel(k=slice(3)).polyfit("u", deg, skipna=True).polyfit_coefficients
    found = dt.data(frame).polyfit("u", deg, skipna=True).eval().transpose("degree", "k")
    np.testing.assert_allclose(found.isel(k=slice(3)), expected, rtol=1e-7, atol=1e-7)
    assert np.isnan(found.isel(k=3)).all()
    assert not np.isfinite(dt.data(frame).polyfit("u", deg).eval().isel(k=0)).any()
