"""The options that reductions, places of extremes and quantiles have in xarray and NumPy."""

from __future__ import annotations

import warnings
from itertools import permutations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import dimtensor as dt
from dimtensor.tensor.reductions.quantiles import METHODS
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import LONG_JAX

LABELS = {"t": [1.5, 2.0, 4.0, 8.0], "site": ["a", "b", "c"]}
T, SITE = (dt.Dim(name, coords=labels) for name, labels in LABELS.items())
X = dt.tensor("x", dims=[T, SITE])
OPEN, OTHER = dt.Dim("open"), dt.Dim("other")
FREE = dt.tensor("free", dims=[OPEN, OTHER])
OVER = ["t", ["site"], ["site", "t"], None]
ELEMENTS = st.sampled_from([np.nan, np.nan, -np.inf, np.inf, 0.0, 1.0, 1.0, 2.5, -3.0])


def array(rng, missing=()):
    values = rng.normal(size=(4, 3)).round(2)
    values[tuple(np.array(missing, dtype=int).reshape(-1, 2).T)] = np.nan
    return xr.DataArray(values, LABELS, ["t", "site"])


GONE = {"none": [], "some": [(0, 0), (2, 0), (1, 2)], "a row": [(1, 0), (1, 1), (1, 2)],
        "a column": [(0, 1), (1, 1), (2, 1), (3, 1), (0, 0)]}  # fmt: skip


def quiet(function, *args, **options):
    """What xarray gives, without NumPy's warnings of what is empty."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


def assert_same(found, wanted, rtol=1e-12):
    wanted = wanted.drop_vars([name for name in wanted.coords if name not in wanted.dims])
    assert set(found.dims) == set(wanted.dims)
    xr.testing.assert_allclose(found.transpose(*wanted.dims).drop_attrs(), wanted, rtol=rtol)


# -- how many must be left -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("gone", GONE)
def test_min_count_is_xarrays(name, gone, rng):
    x = array(rng, GONE[gone])
    asked = [(over, least) for over in OVER for least in (0, 1, 2, 4, 12, 13)]
    results = [getattr(X, name)(over, skipna=True, min_count=least) for over, least in asked]
    for (over, least), found in zip(asked, dt.evaluate(results, {X: x}), strict=True):
        assert_same(found, getattr(x, name)(over, skipna=True, min_count=least))


def test_min_count_of_nothing_and_of_integers():
    n = dt.Dim("n")
    x, whole = dt.tensor("x", dims=n), dt.tensor("whole", dims=n, dtype="int64")
    least = x.sum(skipna=True, min_count=1)
    assert np.isnan(least.eval({x: []}))
    for count, values in [(2, [3, 4]), (3, [3, 4])]:
        frame = xr.DataArray(np.array(values), dims="n")
        found = dt.prod(whole, skipna=True, min_count=count).eval({whole: frame})
        expected = frame.prod(skipna=True, min_count=count)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_gradient_of_a_sum_with_min_count(rng):
    x = array(rng, GONE["a column"])
    y = (X.fillna(0.0) * 0.0 + X).sum("t", skipna=True, min_count=3).fillna(1.0)

    def oracle(values):
        return float((values.sum("t", skipna=True, min_count=3).fillna(1.0) ** 2).sum())

    complete = x.fillna(0.3)
    assert_gradient((X.sum("t", skipna=True, min_count=3) ** 2).sum(), X, {X: complete},
                    oracle=oracle)  # fmt: skip
    slope = dt.grad((y**2).sum(), X).eval({X: x}).transpose("t", "site")
    np.testing.assert_allclose(slope[:, 2], np.full(4, 2 * float(x[:, 2].sum())))
    assert (slope[:, 1] == 0).all()


# -- variances -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("skipna", [False, True])
@pytest.mark.parametrize("gone", GONE)
def test_variances_of_any_ddof_are_xarrays(name, skipna, gone, rng):
    x = array(rng, GONE[gone])
    asked = [(over, ddof) for over in OVER for ddof in (0, 1, 3, 4, 20)]
    results = [getattr(X, name)(over, ddof=ddof, skipna=skipna) for over, ddof in asked]
    for (over, ddof), found in zip(asked, dt.evaluate(results, {X: x}), strict=True):
        assert_same(found, quiet(getattr(x, name), over, ddof=ddof, skipna=skipna), rtol=1e-10)


# -- places and labels of extremes -----------------------------------------------------------------


@given(values=st.lists(ELEMENTS, min_size=1, max_size=5).filter(lambda v: not np.isnan(v).all()))
def test_places_leave_out_what_is_missing(values):
    """Where xarray is right: it takes a NaN for an infinity if there is nothing else."""
    x = dt.data(values, dims=dt.Dim("n", length=len(values)))
    present = [at for at, value in enumerate(values) if not np.isnan(value)]
    assert x.argmax(skipna=True).item() == max(present, key=lambda at: values[at])
    assert x.argmin(skipna=True).item() == min(present, key=lambda at: values[at])


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("gone", ["none", "some"])
def test_places_are_xarrays(name, gone, rng):
    x = array(rng, GONE[gone])
    skipna = gone != "none"
    for order in permutations(x.dims):
        moved = x.transpose(*order)
        for over in ("t", "site"):
            found = getattr(X, name)(over, skipna=skipna).eval({X: moved})
            assert_same(found, getattr(x, name)(over, skipna=skipna))
    places = getattr(X, name)(..., skipna=skipna)
    expected = getattr(x, name)(..., skipna=skipna)
    assert places.keys() == expected.keys()
    for dim, place in places.items():
        assert place.eval({X: x}).item() == expected[dim].item()
    (one,) = getattr(X, name)(["t"], skipna=skipna).values()
    assert_same(one.eval({X: x}), getattr(x, name)("t", skipna=skipna))


@pytest.mark.parametrize("backend", LONG_JAX)
def test_a_row_without_elements_has_no_place(backend, rng):
    x = array(rng, GONE["a column"])
    f = dt.function([X], X.argmax("t", skipna=True), backend=backend)
    with pytest.raises(
        dt.CheckError, match=r"argmax: all elements are missing along dim 't'(.|\n)*site='b'"
    ):
        f(x)
    assert f(x.fillna(0.0)).dims == ("site",)
    with pytest.raises(dt.CheckError, match="idxmin: all elements are missing"):
        X.idxmin("t", skipna=True).eval({X: x})


@pytest.mark.parametrize("name", ["idxmax", "idxmin"])
@pytest.mark.parametrize("gone", GONE)
def test_labels_of_extremes_are_xarrays(name, gone, rng):
    x = array(rng, GONE[gone])
    for over, fill in [("t", np.nan), ("t", -1), ("t", 4.0), ("site", "b")]:
        found = getattr(X, name)(over, skipna=True, fill_value=fill).eval({X: x})
        wanted = quiet(getattr(x, name), over, skipna=True, fill_value=fill)
        assert found.dims == wanted.dims
        np.testing.assert_array_equal(found.values, wanted.values)
    if gone == "none":
        np.testing.assert_array_equal(getattr(X, name)("t").eval({X: x}), getattr(x, name)("t"))


def test_labels_of_extremes_that_come_later(rng):
    late = dt.Dim("late")
    x = dt.tensor("x", dims=[late, SITE])
    frame = array(rng, GONE["a column"]).rename(t="late").assign_coords(late=list("wxyz"))
    found = x.idxmax("late", skipna=True, fill_value="y").eval({x: frame})
    assert found.values.tolist() == frame.idxmax("late", fill_value="y").values.tolist()
    assert found.values[1] == "y"


def test_labels_that_fit_no_dim():
    with pytest.raises(
        dt.LabelError, match=r"fill_value 'z' is no label of dim 'site'(.|\n)*a number"
    ):
        X.idxmax("site", skipna=True, fill_value="z")
    with pytest.raises(dt.LabelError, match="fill_value nan is no label of dim 'site'"):
        X.idxmin("site", skipna=True, fill_value=np.nan)
    with pytest.raises(dt.OptionError, match="it goes with skipna=True"):
        X.idxmax("t", fill_value=0.0)
    with pytest.raises(dt.OptionError, match="min_count counts the elements that are left"):
        X.sum(min_count=1)
    with pytest.raises(dt.OptionError, match=r"min_count is an integer, not 0\.5"):
        X.prod(skipna=True, min_count=0.5)


# -- quantiles -------------------------------------------------------------------------------------

LEVELS = [0.0, 0.1, 0.25, 1 / 3, 0.5, 0.625, 0.75, 0.9, 1.0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("skipna", [False, True])
def test_quantiles_by_all_methods_are_xarrays(method, skipna, rng):
    arrays = [array(rng, missing) for missing in GONE.values()]
    results = [X.quantile(LEVELS, over, method=method, skipna=skipna) for over in OVER]
    results.append(X.quantile(0.3, "t", method=method, skipna=skipna))
    f = dt.function([X], results, backend="python")
    for x in arrays:
        *lists, one = f(x)
        for over, found in zip(OVER, lists, strict=True):
            assert_same(found, quiet(x.quantile, LEVELS, over, method=method, skipna=skipna))
        assert_same(one, quiet(x.quantile, 0.3, "t", method=method, skipna=skipna))


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_of_few_elements_and_of_ties_are_numpys(method, rng):
    n = dt.Dim("n")
    x = dt.tensor("x", dims=n)
    f = dt.function([x], x.quantile(LEVELS, method=method), backend="python")
    assert np.isnan(f([])).all()
    for length in (*range(1, 8), 10):
        values = rng.integers(0, 5, size=length).astype(float)
        expected = np.quantile(values, LEVELS, method=method)
        np.testing.assert_allclose(f(values), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradients_of_quantiles(backend, rng):
    """By elements; by the level, too, where it is an unknown."""
    n, level = dt.Dim("n"), dt.tensor("level", dims=dt.Dim("level", length=2))
    x = dt.tensor("x", dims=n)
    y = x.quantile([0.2, 0.7], method="hazen").sum() + (x.quantile(level) ** 2).sum()
    f = dt.function([x, level], [y, *dt.grad(y, [x, level])], backend=backend)
    values, levels = rng.normal(size=6), np.array([0.37, 0.81])

    def oracle(values, levels):
        fixed = np.quantile(values, [0.2, 0.7], method="hazen")
        return fixed.sum() + (np.quantile(values, levels) ** 2).sum()

    found, by_element, by_level = f(values, levels)
    assert float(found) == pytest.approx(oracle(values, levels))
    for slope, at, change in [
        (by_element, values, lambda s: oracle(values + s, levels)),
        (by_level, levels, lambda s: oracle(values, levels + s)),
    ]:
        steps = 1e-6 * np.eye(len(at))
        numeric = [(change(s) - change(-s)) / 2e-6 for s in steps]
        np.testing.assert_allclose(slope, numeric, rtol=1e-6, atol=1e-8)


def test_levels_and_methods_that_are_none():
    for q in (1.5, [0.5, -1.0], np.nan):
        with pytest.raises(dt.OptionError, match="a quantile is between 0 and 1, not"):
            X.quantile(q)
    with pytest.raises(dt.OptionError, match="not an array of 2 axes"):
        X.quantile([[0.5]])
    with pytest.raises(dt.OptionError, match="a number between 0 and 1, not 'median'"):
        X.quantile("median")
    with pytest.raises(dt.OptionError, match=r"no method 'linearr'.*'linear'"):
        dt.quantile(X, 0.5, method="linearr")
    with pytest.raises(dt.CheckError, match="a quantile is between 0 and 1"):
        X.quantile(dt.data([0.5, 3.0], dims=dt.Dim("q")), "t").eval(
            {X: (["t", "site"], np.ones((4, 3)))}
        )
