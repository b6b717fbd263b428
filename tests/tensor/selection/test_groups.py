"""Options and further reductions of groups, against xarray, pandas and NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.tensor.reductions.quantiles import METHODS
from dimtensor.tensor.selection.groupby import REDUCTIONS
from tests.backend_names import LONG_JAX

ORDER = ["u", "v", "w"]
GROUPS = dt.Dim("key", coords=ORDER)
OBS, SITE = dt.Dim("obs", coords=[3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0]), dt.Dim("site", length=2)
KEYS = np.array(["w", "u", "u", "v", "w", "u", "w"])
KEY = dt.data(KEYS, dims=OBS, categories=GROUPS)
X = dt.tensor("x", dims=[OBS, SITE])
FREE = dt.Dim("free")
FREE_KEY = dt.tensor("free_key", dims=FREE, categories=GROUPS)
V = dt.tensor("v", dims=FREE)

GONE = {"none": [], "some": [(1, 0), (0, 1), (2, 1)], "a group": [(3, 0), (1, 1), (2, 1), (5, 1)]}


def array(rng, gone="none"):
    values = rng.normal(size=(7, 2)).round(2)
    for at in GONE[gone]:
        values[at] = np.nan
    coords = {"obs": list(OBS.coords), "key": ("obs", KEYS)}
    return xr.DataArray(values, coords, ["obs", "site"])


def plain(x):
    return x.drop_vars("key")


def assert_same(found, wanted, rtol=1e-10):
    assert set(found.dims) == set(wanted.dims)
    np.testing.assert_allclose(found.transpose(*wanted.dims).values, wanted.values, rtol=rtol)


def quiet(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


REDUCED = ["sum", "prod", "mean", "min", "max", "median", "var", "std"]


@pytest.mark.parametrize("gone", GONE)
@pytest.mark.parametrize("name", REDUCED)
def test_reductions_over_further_dims_are_xarrays(name, gone, rng):
    x, by = array(rng, gone), X.groupby(KEY)
    cases = [(over, skipna) for over in (None, "obs", ["obs", "site"], ...)
             for skipna in (False, True)]  # fmt: skip
    found = dt.evaluate([getattr(by, name)(over, skipna=skipna) for over, skipna in cases],
                        {X: plain(x)})  # fmt: skip
    for (over, skipna), one in zip(cases, found, strict=True):
        assert_same(one, quiet(getattr(x.groupby("key"), name), over, skipna=skipna))


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("gone", GONE)
def test_min_count_of_groups_is_xarrays(name, gone, rng):
    x, by = array(rng, gone), X.groupby(KEY)
    for least in (0, 1, 2, 3):
        found = getattr(by, name)(skipna=True, min_count=least).eval({X: plain(x)})
        assert_same(found, getattr(x.groupby("key"), name)(skipna=True, min_count=least))
    with pytest.raises(dt.OptionError, match="it goes with skipna=True"):
        getattr(by, name)(min_count=1)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("gone", GONE)
def test_running_sums_of_groups_are_xarrays(name, gone, rng):
    x, by = array(rng, gone), X.groupby(KEY)
    for skipna in (False, True):
        found = getattr(by, name)(skipna=skipna).eval({X: plain(x)})
        wanted = getattr(x.groupby("key"), name)(skipna=skipna)
        assert found.indexes["obs"].tolist() == wanted.indexes["obs"].tolist()
        assert_same(found, wanted)


@pytest.mark.parametrize("name", ["any", "all", "count"])
def test_truth_of_groups_is_xarrays(name, rng):
    x, by = array(rng, "some"), X.groupby(KEY)
    assert_same(getattr(by, name)().eval({X: plain(x)}), getattr(x.groupby("key"), name)())
    found = getattr(by, name)(...).eval({X: plain(x)})
    assert_same(found, getattr(x.groupby("key"), name)(...))
    if name != "count":
        true = dt.tensor("true", dims=[OBS, SITE], dtype="bool")
        found = getattr(true.groupby(KEY), name)().eval({true: plain(x > 0)})
        assert_same(found, getattr((x > 0).groupby("key"), name)())


@pytest.mark.parametrize("dtype", ["int64", "int8", "bool", "float32"])
def test_products_of_other_dtypes_are_numpys(dtype, rng):
    values = rng.integers(0, 2 if dtype == "bool" else 5, size=7).astype(dtype)
    v, key = dt.tensor("v", dims=FREE, dtype=dtype), FREE_KEY
    results = [v.groupby(key).prod(), v.groupby(key).cumsum()]
    product, running = dt.evaluate(results, {v: values, key: KEYS})
    assert product.dtype == np.prod(values).dtype
    assert product.values.tolist() == [np.prod(values[label == KEYS]) for label in ORDER]
    assert running.dtype == np.cumsum(values).dtype
    for label in ORDER:
        assert running.values[label == KEYS].tolist() == np.cumsum(values[label == KEYS]).tolist()


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_of_groups_by_all_methods_are_numpys(method, rng):
    levels = [0.0, 0.3, 0.5, 0.75, 1.0]
    x, by = array(rng), X.groupby(KEY)
    found = by.quantile(levels, method=method).eval({X: plain(x)})
    one = by.quantile(0.3, ..., method=method, skipna=True).eval({X: plain(array(rng, "some"))})
    assert one.dims == ("key",)
    wanted = x.groupby("key").quantile(levels, method=method)
    assert found.indexes["quantile"].tolist() == levels
    assert_same(found, wanted, rtol=1e-9)


def test_quantiles_of_groups_leave_out_what_is_missing(rng):
    x = array(rng, "a group")
    found = X.groupby(KEY).quantile([0.2, 0.9], skipna=True).eval({X: plain(x)})
    assert_same(found, quiet(x.groupby("key").quantile, [0.2, 0.9], skipna=True))


@pytest.mark.parametrize("gone", ["none", "some"])
def test_places_of_extremes_are_those_of_pandas(gone, rng):
    x, by = array(rng, gone), X.groupby(KEY)
    results = [by.argmax(skipna=True), by.argmin(skipna=True), by.idxmax(skipna=True),
               by.idxmin(skipna=True)]  # fmt: skip
    found = [one.transpose("key", "site") for one in dt.evaluate(results, {X: plain(x)})]
    for site in (0, 1):
        series = pd.Series(x.values[:, site]).groupby(KEYS)
        assert found[0].values[:, site].tolist() == series.idxmax().tolist()
        assert found[1].values[:, site].tolist() == series.idxmin().tolist()
        labeled = pd.Series(x.values[:, site], index=list(OBS.coords)).groupby(KEYS)
        assert found[2].values[:, site].tolist() == labeled.idxmax().tolist()
        assert found[3].values[:, site].tolist() == labeled.idxmin().tolist()


def test_a_group_without_elements_has_no_place(rng):
    x, by = plain(array(rng, "a group")), X.groupby(KEY)
    with pytest.raises(dt.CheckError, match=r"argmax: a group has no elements(.|\n)*key='v'"):
        by.argmax(skipna=True).eval({X: x})
    found = by.idxmin(skipna=True, fill_value=np.nan).eval({X: x}).transpose("key", "site")
    assert np.isnan(found.values).tolist() == [[False, True], [True, False], [False, False]]
    empty = V.groupby(FREE_KEY)
    results = [empty.prod(), empty.all(), empty.any(), empty.cumsum()]
    product, every, some, running = dt.evaluate(results, {V: [2.0, 3.0], FREE_KEY: ["u", "u"]})
    assert product.values.tolist() == [6.0, 1.0, 1.0]
    assert every.values.tolist() == [True, True, True]
    assert some.values.tolist() == [True, False, False]
    assert running.values.tolist() == [2.0, 5.0]


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradients_of_products_and_running_sums(backend, rng):
    by = V.groupby(FREE_KEY)
    loss = (by.prod() ** 2).sum() + (by.cumsum() ** 2).sum() + by.cumprod().sum()
    f = dt.function([V, FREE_KEY], [loss, dt.grad(loss, V)], backend=backend)

    def oracle(values, labels):
        series = pd.Series(values).groupby(labels)
        total = (series.prod().reindex(ORDER, fill_value=1.0) ** 2).sum()
        return total + (series.cumsum() ** 2).sum() + series.cumprod().sum()

    for n in (0, 1, 7):
        values, labels = rng.normal(size=n), rng.choice(ORDER, size=n)
        values[2:3] = 0.0
        found, slope = f(values, labels)
        assert float(found) == pytest.approx(oracle(values, labels))
        steps = 1e-6 * np.eye(n)
        numeric = [(oracle(values + s, labels) - oracle(values - s, labels)) / 2e-6 for s in steps]
        np.testing.assert_allclose(slope, numeric, rtol=1e-6, atol=1e-8)


ARITHMETIC = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
              "/": lambda a, b: a / b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
              "**": lambda a, b: a**b}  # fmt: skip


@pytest.mark.parametrize("sign", ARITHMETIC)
def test_arithmetic_with_a_value_per_group_is_xarrays(sign, rng):
    x = abs(array(rng))
    per_group = xr.DataArray(rng.uniform(0.5, 2.0, size=3), {"key": ORDER}, ["key"])
    compute = ARITHMETIC[sign]
    found = compute(X.groupby(KEY), dt.data(per_group, dims=GROUPS)).eval({X: plain(x)})
    assert_same(found, compute(x.groupby("key"), per_group))
    same = compute(X.groupby(KEY), per_group).eval({X: plain(x)})
    np.testing.assert_array_equal(found, same)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("over", ["obs", "site", ["obs", "site"], ...], ids=str)
def test_running_sums_along_further_dims_are_xarrays(name, over, rng):
    x = array(rng, "some")
    for skipna in (False, True):
        found = getattr(X.groupby(KEY), name)(over, skipna=skipna).eval({X: plain(x)})
        assert_same(found, getattr(x.groupby("key"), name)(over, skipna=skipna))


def test_groups_of_which_a_condition_holds_are_xarrays(rng):
    x = array(rng)
    kept = xr.DataArray([True, False, True], {"key": ORDER}, ["key"])
    others = xr.DataArray([1.0, 2.0, 3.0], {"key": ORDER}, ["key"])
    by = X.groupby(KEY)
    results = [by.where(kept), by.where(kept, 7.0), by.where(kept, others)]
    found = dt.evaluate(results, {X: plain(x)})
    for one, options in zip(found, [(), (7.0,), (others,)], strict=True):
        assert_same(one, x.groupby("key").where(kept, *options))


def test_groups_by_two_labels_are_those_of_pandas(rng):
    kinds = np.array(["p", "p", "q", "p", "q", "p", "q"])
    kind = dt.data(kinds, dims=OBS, categories=dt.Dim("kind", coords=["p", "q"]))
    x = plain(array(rng))
    by = X.groupby([KEY, kind])
    results = [by.prod(), by.cumsum(), by.idxmax(skipna=True, fill_value=np.nan)]
    product, running, label = dt.evaluate(results, {X: x})
    for site in (0, 1):
        series = pd.Series(x.values[:, site], index=list(OBS.coords))
        groups = series.groupby([KEYS, kinds])
        np.testing.assert_allclose(running.transpose("obs", "site")[:, site], groups.cumsum())
        for found, wanted, nothing in [
            (product, groups.prod(), 1.0), (label, groups.idxmax(), np.nan),
        ]:  # fmt: skip
            table = wanted.unstack(fill_value=nothing)
            np.testing.assert_allclose(found.isel(site=site).transpose("key", "kind"), table)


def test_missing_elements_take_the_value_of_their_group(rng):
    x = array(rng, "some")
    per_group = xr.DataArray([1.0, 2.0, 3.0], {"key": ORDER}, ["key"])
    found = X.groupby(KEY).fillna(per_group).eval({X: plain(x)})
    assert_same(found, x.groupby("key").fillna(per_group))


def test_what_groups_refuse():
    by = X.groupby(KEY)
    with pytest.raises(
        dt.DimError, match=r"along dim 'obs', which is not named(.|\n)*x.mean\(dim\)"
    ):
        by.mean("site")
    with pytest.raises(dt.DimError, match="a value per group is along dim 'key'"):
        by - 1.0
    with pytest.raises(dt.DimError, match="a value per group is along dim 'key'"):
        by.fillna(X)
    with pytest.raises(dt.OptionError, match="no method 'liner'"):
        by.quantile(0.5, method="liner")
    with pytest.raises(dt.LabelError, match="fill_value 'z' is no label of dim 'obs'"):
        by.idxmax(skipna=True, fill_value="z")


def test_more_combinations_than_memory_holds_are_refused_at_once():
    n, rng = 1000, np.random.default_rng(0)
    obs = dt.Dim("obs")
    sizes = {"customer": 50_000, "item": 20_000}
    at = {name: rng.integers(0, size // 1000, n) for name, size in sizes.items()}
    customer, item = (
        dt.data(at[name], obs, name, dt.Dim(name, coords=np.arange(size)))
        for name, size in sizes.items()
    )
    sold = dt.data(rng.normal(size=n), obs, name="sold")
    with pytest.raises(dt.errors.MemoryLimitError, match="1,000,000,000 combinations") as e:
        sold.groupby([customer, item])
    first, then = str(e.value).split("occur: ")[1].split("; ")
    names = {"pd": pd, "dt": dt, "customer": customer, "item": item, "sold": sold}
    exec(first, names)
    found = eval(then, names).sum()
    wanted = pd.Series(sold.values).groupby([at["customer"], at["item"]]).sum()
    assert found.sizes == {"customer_item": len(wanted)}
    for pair in wanted.index[:5]:
        assert found.sel(customer_item=pair).item() == pytest.approx(wanted[pair])
    with pytest.raises(dt.errors.MemoryLimitError, match="combinations of a and b, which take"):
        dt.frame(pd.DataFrame({"x": [1.0] * 20_000}, pd.MultiIndex.from_arrays(
            [np.arange(20_000), np.arange(20_000)[::-1]], names=["a", "b"])))  # fmt: skip


# -- pairs and fits --------------------------------------------------------------------------------

T, S = dt.Dim("t", coords=100 + np.arange(60) / 2), dt.Dim("s", coords=["u", "v"])
OF_T = np.array(list("abc"))[np.random.default_rng(0).integers(0, 3, 60)]


@pytest.fixture(scope="module")
def pairs():
    """Two tables with missing elements, and groups of which one is empty."""
    rng = np.random.default_rng(1)
    one = rng.normal(size=(60, 2))
    two = one + rng.normal(size=(60, 2))
    one[3, 0] = two[7, 1] = np.nan
    return one, two, dt.data(OF_T, dims=T, categories=dt.Dim("key", coords=list("abcd")))


@pytest.mark.parametrize("name", ["cov", "corr"])
def test_covariances_of_groups_are_those_of_pandas(pairs, name):
    one, two, key = pairs
    by, other = dt.data(one, dims=[T, S]).groupby(key), dt.data(two, dims=[T, S])
    found = getattr(by, name)(other, skipna=True).eval().transpose("s", "key").values
    strict = getattr(by, name)(other).eval().transpose("s", "key").values
    for at in range(2):
        table = pd.DataFrame({"x": one[:, at], "y": two[:, at]})
        for k, label in enumerate("abc"):
            rows = table[label == OF_T]
            expected = getattr(rows, name)().loc["x", "y"]
            assert found[at, k] == pytest.approx(expected, rel=1e-12)
            if rows.isna().any(axis=None):
                expected = np.nan
            assert strict[at, k] == pytest.approx(expected, rel=1e-12, nan_ok=True)
    assert np.isnan(found[:, 3]).all()
    both = getattr(by, name)(other, ..., skipna=True).values
    for k, label in enumerate("abc"):
        rows = pd.DataFrame({"x": one[label == OF_T].ravel(), "y": two[label == OF_T].ravel()})
        assert both[k] == pytest.approx(getattr(rows, name)().loc["x", "y"], rel=1e-12)


@pytest.mark.parametrize("deg", [0, 1, 3])
def test_fits_of_groups_are_numpys(pairs, deg):
    one, _, key = pairs
    by = dt.data(one, dims=[T, S]).groupby(key)
    found = by.polyfit("t", deg, skipna=True).eval().transpose("s", "key", "degree").values
    strict = by.polyfit(T, deg).eval().transpose("s", "key", "degree").values
    for at in range(2):
        for k, label in enumerate("abc"):
            rows = (label == OF_T) & ~np.isnan(one[:, at])
            expected = np.polyfit(100 + np.flatnonzero(rows) / 2, one[rows, at], deg)
            np.testing.assert_allclose(found[at, k], expected, rtol=1e-9)
            whole = not np.isnan(one[label == OF_T, at]).any()
            np.testing.assert_allclose(strict[at, k], expected if whole else np.nan, rtol=1e-9)
    assert np.isnan(found[:, 3]).all()


def test_what_fits_of_groups_refuse(pairs):
    one, _, key = pairs
    by = dt.data(one, dims=[T, S]).groupby(key)
    with pytest.raises(dt.DimError, match="polyfit: the groups are of elements along dim 't'"):
        by.polyfit("s", 1)
    with pytest.raises(dt.OptionError, match="the degree is an integer of at least 0, not -1"):
        by.polyfit("t", -1)


@pytest.mark.parametrize("name", [*REDUCTIONS, "argmin", "argmax", "idxmin", "idxmax"])
def test_a_tensor_with_the_dim_of_the_groups_is_refused(name):
    kind, obs = dt.Dim("kind", coords=["a", "b"]), dt.Dim("obs", length=3)
    labels = dt.data(["b", "a", "b"], dims=obs, categories=kind)
    x = dt.data(np.arange(6.0).reshape(3, 2), dims=[obs, kind])
    with pytest.raises(dt.DimError, match="of groups: the result is along dim 'kind', which x has"):
        getattr(x.groupby(labels), name)()
    gaps = x.groupby(labels) - dt.data([1.0, 2.0], dims=kind)
    expected = np.arange(6.0).reshape(3, 2) - [[2.0], [1.0], [2.0]]
    np.testing.assert_array_equal(gaps.eval().transpose("obs", "kind"), expected)
