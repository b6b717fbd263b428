"""Weighted reductions, covariances and fits of polynomials, against xarray and NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import LONG_JAX

LABELS = {"t": [0.0, 1.0, 1.5, 4.0, 5.0, 7.0], "site": ["a", "b"]}
T, SITE = (dt.Dim(name, coords=labels) for name, labels in LABELS.items())
X, Y = (dt.tensor(name, dims=[T, SITE]) for name in "xy")
W = dt.tensor("w", dims=T)
WEIGHTS = {
    "any": [0.5, 2.0, 1.0, 0.25, 3.0, 1.0],
    "some zero": [0.0, 2.0, 0.0, 1.0, 3.0, 0.0],
    "all zero": [0.0] * 6,
    "equal": [2.0] * 6,
    "opposite": [1.0, -1.0, 1.0, -1.0, 1.0, -1.0],
}
NAMES = ["sum", "mean", "var", "std", "sum_of_squares"]


def array(rng, missing=True):
    values = rng.normal(size=(6, 2)).round(3)
    if missing:
        values[[1, 3], 0] = np.nan
    return xr.DataArray(values, LABELS, ["t", "site"])


def weights(kind):
    return xr.DataArray(WEIGHTS[kind], {"t": LABELS["t"]}, ["t"])


def assert_same(found, wanted, rtol=1e-10):
    wanted = wanted.drop_vars([name for name in wanted.coords if name not in wanted.dims])
    assert set(found.dims) == set(wanted.dims)
    found = found.transpose(*wanted.dims).drop_attrs()
    xr.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-12)


def quiet(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("name", NAMES)
def test_reductions_with_weights_are_xarrays(kind, name, rng):
    asked = [(over, skipna) for over in ("t", ["t", "site"], None) for skipna in (True, False)]
    results = [getattr(X.weighted(W), name)(over, skipna=skipna) for over, skipna in asked]
    f = dt.function([X, W], results, backend="python")
    for missing in (False, True):
        x, w = array(rng, missing), weights(kind)
        if kind == "opposite" and name == "std":
            continue  # roots of negative numbers
        for (over, skipna), found in zip(asked, f(x, w), strict=True):
            assert_same(found, quiet(getattr(x.weighted(w), name), over, skipna=skipna))


@pytest.mark.parametrize("kind", ["any", "some zero", "all zero", "equal"])
def test_weighted_quantiles_are_xarrays(kind, rng):
    levels = [0.0, 0.2, 0.5, 0.77, 1.0]
    asked = [(over, skipna) for over in ("t", ["t", "site"], None) for skipna in (True, False)]
    results = [X.weighted(W).quantile(levels, dim=over, skipna=skipna) for over, skipna in asked]
    results.append(X.weighted(W).quantile(0.3, dim="t", skipna=True))
    f = dt.function([X, W], results, backend="python")
    for missing in (False, True):
        x, w = array(rng, missing), weights(kind)
        *lists, one = f(x, w)
        for (over, skipna), found in zip(asked, lists, strict=True):
            assert_same(found, x.weighted(w).quantile(levels, dim=over, skipna=skipna))
        assert_same(one, x.weighted(w).quantile(0.3, dim="t"))


def test_weights_of_few_elements_true_ones_and_missing_ones():
    n = dt.Dim("n")
    x, w = dt.tensor("x", dims=n), dt.tensor("w", dims=n, dtype="bool")
    by = x.weighted(w)
    f = dt.function([x, w], [by.quantile(0.5), by.mean(), by.sum(), by.sum_of_weights()])
    found = [float(one) for one in f([], np.zeros(0, bool))]
    np.testing.assert_array_equal(found, [np.nan, np.nan, 0.0, np.nan])
    assert [float(one) for one in f([3.0], [True])] == [3.0, 3.0, 3.0, 1.0]
    assert [float(one) for one in f([3.0, 5.0, 9.0], [True, True, False])] == [4.0, 4.0, 8.0, 2.0]
    with pytest.raises(dt.InputError, match=r"weights are missing; those of weights.fillna\(0.0\)"):
        x.weighted(dt.data([np.nan, 1.0], dims=n))
    with pytest.raises(dt.InputError, match="cov: weights are missing"):
        dt.cov(x, x, weights=dt.data([np.nan, 1.0], dims=n))


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradients_of_weighted_reductions(backend, rng):
    n = dt.Dim("n", length=5)
    x, w = dt.tensor("x", dims=n), dt.tensor("w", dims=n)
    by = x.weighted(w)
    y = by.quantile(0.4, skipna=True) ** 2 + by.std(skipna=True) + by.mean(skipna=True)
    f = dt.function([x, w], [y, *dt.grad(y, [x, w])], backend=backend)
    values, sizes = rng.normal(size=5), rng.uniform(0.5, 2.0, size=5)
    values[2] = np.nan

    def oracle(values, sizes):
        by = xr.DataArray(values, dims="n").weighted(xr.DataArray(sizes, dims="n"))
        return float(by.quantile(0.4) ** 2 + by.std() + by.mean())

    found, by_element, by_weight = f(values, sizes)
    assert float(found) == pytest.approx(oracle(values, sizes))
    steps = 1e-6 * np.eye(5)
    for slope, change in [
        (by_element, lambda s: oracle(values + s, sizes)),
        (by_weight, lambda s: oracle(values, sizes + s)),
    ]:
        numeric = [(change(s) - change(-s)) / 2e-6 for s in steps]
        np.testing.assert_allclose(slope, numeric, rtol=2e-6, atol=1e-8)


# -- covariances -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["any", "some zero", "equal"])
@pytest.mark.parametrize("over", ["t", ["t", "site"], None])
def test_covariances_with_weights_are_xarrays(kind, over, rng):
    x, y, w = array(rng), array(rng), weights(kind)
    y[4, 1] = np.nan
    results = [
        dt.cov(X, Y, over, weights=W, skipna=True),
        dt.cov(X, Y, over, ddof=0, weights=W, skipna=True),
        dt.corr(X, Y, over, weights=W, skipna=True),
    ]  # fmt: skip
    found = dt.evaluate(results, {X: x, Y: y, W: w})
    assert_same(found[0], xr.cov(x, y, over, weights=w))
    assert_same(found[1], xr.cov(x, y, over, ddof=0, weights=w))
    assert_same(found[2], xr.corr(x, y, over, weights=w))


@pytest.mark.parametrize("name", ["cov", "corr"])
def test_missing_pairs_are_left_out_or_not(name):
    t, s = dt.Dim("t", length=4), dt.Dim("s", length=2)
    u = np.array([[1.0, 2.0], [2.0, np.nan], [4.0, 1.0], [3.0, 3.0]])
    v = np.array([2.0, 1.0, 4.0, 9.0])
    x, y = dt.data(u, dims=[t, s]), dt.data(v, dims=t)
    known = {"cov": np.cov, "corr": np.corrcoef}[name](u[:, 0], v)[0, 1]
    left = {"cov": np.cov, "corr": np.corrcoef}[name](u[[0, 2, 3], 1], v[[0, 2, 3]])[0, 1]
    found = getattr(dt, name)(x, y, "t", skipna=True)
    np.testing.assert_allclose(found.values, [known, left])
    found = getattr(dt, name)(x, y, "t")
    np.testing.assert_allclose(found.values, [known, np.nan])


def test_covariances_of_complex_numbers_are_numpys(rng):
    k = dt.Dim("k")
    u, v = rng.normal(size=(2, 6)) + 1j * rng.normal(size=(2, 6))
    found = dt.cov(dt.data(u, dims=k), dt.data(v, dims=k)).item()
    expected = np.cov(u, v)[1, 0]
    assert found == pytest.approx(expected)
    found = dt.corr(dt.data(u, dims=k), dt.data(v, dims=k)).item()
    assert found == pytest.approx(np.corrcoef(u, v)[1, 0])


def test_gradient_of_a_weighted_covariance(rng):
    x, y, w = array(rng, False), array(rng, False), weights("any")

    def oracle(values):
        return float((xr.cov(values, y, "t", weights=w) ** 2).sum())

    loss = (dt.cov(X, Y, "t", weights=W) ** 2).sum()
    assert_gradient(loss, X, {X: x, Y: y, W: w}, oracle=oracle)


# -- polynomials -----------------------------------------------------------------------------------


@pytest.mark.parametrize("deg", [0, 1, 3])
@pytest.mark.parametrize("skipna", [False, True])
def test_weighted_fits_are_xarrays(deg, skipna, rng):
    x = array(rng, skipna)
    size = WEIGHTS["any"]
    expected = x.polyfit("t", deg, w=size, skipna=skipna).polyfit_coefficients
    for given in (size, np.array(size), weights("any"), dt.data(size, dims=T)):
        assert_same(X.polyfit("t", deg, w=given, skipna=skipna).eval({X: x}), expected, rtol=1e-7)
    unknown = X.polyfit("t", deg, w=W, skipna=skipna).eval({X: x, W: weights("any")})
    assert_same(unknown, expected, rtol=1e-7)


def test_weights_of_each_series_its_own(rng):
    x, size = array(rng, False), rng.uniform(0.5, 2.0, size=(6, 2))
    found = X.polyfit("t", 2, w=dt.data(size, dims=[T, SITE])).eval({X: x})
    expected = [np.polyfit(LABELS["t"], x.values[:, at], 2, w=size[:, at]) for at in (0, 1)]
    np.testing.assert_allclose(found.transpose("site", "degree"), expected, rtol=1e-8)


@pytest.mark.parametrize("size", [None, WEIGHTS["any"]], ids=["equal", "weights"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("options", [{"full": True}, {"cov": True}, {"cov": "unscaled"},
                                     {"full": True, "cov": True}], ids=str)  # fmt: skip
def test_what_fits_tell_besides_is_xarrays(size, missing, options, rng):
    x = array(rng, missing)
    expected = x.polyfit("t", 2, w=size, skipna=missing, **options)
    found = X.polyfit("t", 2, w=size, skipna=missing, **options)
    assert set(found) == set(expected.data_vars)
    for name, got in dt.function([X], found, backend="python")(x).items():
        wanted = expected[name]
        assert set(got.dims) == set(wanted.dims)
        np.testing.assert_allclose(got.transpose(*wanted.dims), wanted, rtol=1e-7, atol=1e-9)


def test_a_fit_of_a_lower_rank(rng):
    x = array(rng, False)
    expected = x.polyfit("t", 3, rcond=0.05, full=True)  # which does not warn
    assert_same(X.polyfit("t", 3, rcond=0.05).eval({X: x}), expected.polyfit_coefficients)


def test_gradient_of_a_fit_by_its_weights(rng):
    x = array(rng, False)

    def oracle(size):
        return float((x.polyfit("t", 1, w=size.values).polyfit_coefficients ** 2).sum())

    loss = (X.polyfit("t", 1, w=W) ** 2).sum()
    assert_gradient(loss, W, {X: x, W: weights("any")}, oracle=oracle)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: X.polyfit("t", 1, w=W, full=True), "full is of weights that are known"),
        (lambda: X.polyfit("t", 1, w=W, rcond=0.1), "rcond is of weights that are known"),
        (lambda: X.polyfit("t", 1, skipna=True, rcond=0.1), "rcond is of fits to all labels"),
        (lambda: X.polyfit("t", 1, cov="scaled"), "True, False or 'unscaled', not 'scaled'"),
        (lambda: X.polyfit("t", 5, cov=True), "cov='unscaled' does without"),
        (lambda: X.polyfit("t", 1, w=[1.0, 2.0]), "length"),
        (lambda: X.polyfit("t", 1, w=[1.0, np.nan, 1, 1, 1, 1]), "polyfit: weights are missing"),
    ],
)
def test_what_fits_refuse(ask, message):
    with pytest.raises(dt.DimtensorError, match=message):
        ask()
