"""Grouping by labels: against xarray, pandas and NumPy, with empty groups and batch dims."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import BACKENDS, LONG_JAX

GROUPS = dt.Dim("key", coords=["u", "v", "w", "z"])  # nothing belongs to z
OBS = dt.Dim("obs")
BATCH = dt.Dim("batch", coords=["p", "q"])
KEYS = np.array(["w", "u", "u", "v", "w", "u", "w"])
ORDER = ["u", "v", "w", "z"]

KEY = dt.data(KEYS, dims=OBS, categories=GROUPS)
X = dt.tensor("x", dims=[OBS, BATCH])
V = dt.tensor("v", dims=OBS)

REDUCTIONS = {
    "sum": {},
    "mean": {},
    "min": {},
    "max": {},
    "count": {},
    "first": {},
    "last": {},
    "median": {},
    "var": {},
    "std": {},
    "var with ddof": {"ddof": 1},
    "std with ddof": {"ddof": 1},
}


def array(rng: np.random.Generator, nans: bool = False) -> xr.DataArray:
    values = rng.normal(size=(2, 7)).round(2)
    if nans:
        values[0, [1, 3]] = np.nan
    return xr.DataArray(
        values, dims=["batch", "obs"], coords={"batch": ["p", "q"], "key": ("obs", KEYS)}
    )


def by_xarray(x: xr.DataArray, name: str) -> xr.DataArray:
    """Skipping no NaN, with the group that has no elements."""
    grouped = x.groupby("key")
    method = name.split()[0]
    options = {} if method == "count" else {"skipna": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = getattr(grouped, method)(**options, **REDUCTIONS[name])
    return result.reindex(key=ORDER, fill_value=0 if method in ("sum", "count") else np.nan)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("nans", [False, True])
def test_groups_as_in_xarray(name: str, nans: bool, rng: np.random.Generator):
    x = array(rng, nans)
    found = getattr(X.groupby(KEY), name.split()[0])(**REDUCTIONS[name])
    assert found.dims == (GROUPS, BATCH) or found.dims == (BATCH, GROUPS)
    result = found.eval({X: x.drop_vars("key")})
    wanted = by_xarray(x, name)
    xr.testing.assert_allclose(result.transpose(*wanted.dims), wanted, rtol=1e-10)


@pytest.mark.parametrize("name", sorted(REDUCTIONS.keys() - {"count"}))
@pytest.mark.parametrize("gone", [[], [1], [1, 2, 5], [0, 4, 6], range(7)], ids=str)
def test_missing_values_are_left_out_as_in_xarray(
    name: str, gone: Sequence[int], rng: np.random.Generator
):
    x = array(rng)
    x[0, list(gone)] = np.nan
    method = name.split()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(x.groupby("key"), method)(skipna=True, **REDUCTIONS[name])
    expected = expected.reindex(key=ORDER, fill_value=0 if method == "sum" else np.nan)
    found = getattr(X.groupby(KEY), method)(skipna=True, **REDUCTIONS[name])
    result = found.eval({X: x.drop_vars("key")})
    xr.testing.assert_allclose(result.transpose(*expected.dims), expected, rtol=1e-10)


def test_what_is_no_tensor_of_labels() -> None:
    with pytest.raises(dt.LabelError, match=r"not the name 'obs'(.|\n)*a group of its own"):
        V.groupby("obs")
    with pytest.raises(dt.LabelError, match="not the name 'obs'"):
        V.groupby(OBS)
    with pytest.raises(dt.LabelError, match=r"not the name 'firm'(.|\n)*firm = dt.data"):
        V.groupby("firm")
    with pytest.raises(dt.DimError, match="groupby: categories are a Dim"):
        V.groupby(KEY, categories="key")
    with pytest.raises(dt.OptionError, match=r"groups have no reduction 'means'.*'mean'"):
        V.groupby(KEY).map("means")


@pytest.mark.parametrize(
    "labels",
    [
        pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-02"]).tz_localize("Europe/Rome"),
        pd.PeriodIndex(["2020-02", "2020-01", "2020-02"], freq="M"),
        ["b", "a", "b"],
        [2**63 + 1, -1, 2**63 + 1],
    ],
    ids=["time zone", "periods", "strings", "large integers"],
)
def test_groups_of_labels_of_any_kind(labels: Any) -> None:
    where = pd.Series(labels, index=pd.Index([0, 1, 2], name="obs"), name="group")
    x = dt.data([1.0, 2.0, 4.0], dims=dt.Dim("obs", coords=[0, 1, 2]))
    found = x.groupby(where).sum().eval()
    expected = pd.Series([1.0, 2.0, 4.0]).groupby(np.asarray(where, dtype=object)).sum()
    assert found.values.tolist() == expected.tolist()
    assert found.indexes["group"].tolist() == expected.index.tolist()


@pytest.mark.parametrize("name", ["sum", "mean", "min", "max", "first", "last", "median", "std"])
def test_groups_as_in_pandas(name: str, rng: np.random.Generator):
    values = rng.normal(size=7)
    options = {"ddof": 0} if name == "std" else {}
    wanted = getattr(pd.Series(values).groupby(KEYS), name)(**options).reindex(ORDER)
    if name == "sum":
        wanted = wanted.fillna(0.0)
    result = getattr(V.groupby(KEY), name)().eval({V: values})
    np.testing.assert_allclose(result.values, wanted.values, rtol=1e-12)
    assert result.indexes["key"].tolist() == ORDER


@pytest.mark.parametrize("dtype", ["int64", "int8", "bool", "float32", "uint8"])
def test_groups_of_other_dtypes(dtype: str, rng: np.random.Generator):
    v = dt.tensor("v", dims=OBS, dtype=dtype)
    values = rng.integers(0, 2 if dtype == "bool" else 100, 7).astype(dtype)
    total = v.groupby(KEY).sum().eval({v: values})
    wanted = [values[label == KEYS].sum() for label in ORDER]
    assert total.dtype == values.sum().dtype
    assert total.values.tolist() == wanted
    ends = {"first": lambda g: g[0], "last": lambda g: g[-1]}
    for name in ("min", "max", "mean", "median", "first", "last"):
        result = getattr(v.groupby(KEY), name)().eval({v: values})
        pick = ends.get(name) or getattr(np, name)
        wanted = [float(pick(values[label == KEYS])) for label in ORDER[:3]]
        np.testing.assert_allclose(result.values, [*wanted, np.nan], rtol=1e-6)
        assert result.dtype == ("float32" if dtype == "float32" else "float64")


ORDERED = {
    "median": np.median,
    "lower": lambda g: np.quantile(g, 0.3),
    "highest": lambda g: np.quantile(g, 1.0),
    "last": lambda g: g[-1],
}


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_last_group_is_empty(backend):
    """The one after the last element is not there where the length is known."""
    four, kind = dt.Dim("four", length=4), dt.Dim("kind", coords=["a", "b", "c"])
    x, of = dt.tensor("x", dims=four), dt.data(["a", "a", "b", "a"], dims=four, categories=kind)
    found = dt.function([x], x.groupby(of).median(), backend)(np.array([3.0, 1.0, 2.0, 5.0]))
    np.testing.assert_array_equal(found, [3.0, 2.0, np.nan])


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("skipna", [False, True])
def test_quantiles_and_last_elements_of_groups(backend, skipna, rng):
    row, key = dt.Dim("row"), dt.tensor("key", dims=OBS, categories=GROUPS)
    x = dt.tensor("x", dims=[OBS, row])
    by = x.groupby(key)
    found = [
        by.median(skipna=skipna),
        by.quantile(0.3, skipna=skipna),
        by.quantile(1, skipna=skipna),
        by.last(skipna=skipna),
    ]
    loss = sum((y.fillna(0.0) ** 2).sum() for y in found)
    f = dt.function([x, key], [*found, dt.grad(loss, x)], backend=backend)

    def by_numpy(values, labels):
        results = {name: np.full((len(ORDER), 2), np.nan) for name in ORDERED}
        for name, pick in ORDERED.items():
            for at, label in enumerate(ORDER):
                for column in range(2):
                    group = values[labels == label, column]
                    group = group[~np.isnan(group)] if skipna else group
                    if len(group):
                        results[name][at, column] = pick(group)
        return list(results.values())

    def total(values, labels):
        return sum(np.nansum(one**2) for one in by_numpy(values, labels))

    for n in (0, 1, 9):
        values, labels = rng.normal(size=(n, 2)), rng.choice(ORDER[:3], size=n)
        values[3:5, 0] = values[6:7, 1] = np.nan
        *results, slope = f((("obs", "row"), values), labels)
        for one, expected in zip(results, by_numpy(values, labels), strict=True):
            np.testing.assert_allclose(one.transpose("key", "row"), expected)
        for at in np.ndindex(values.shape):
            step = np.zeros_like(values)
            step[at] = 1e-6
            wanted = (total(values + step, labels) - total(values - step, labels)) / 2e-6
            assert slope.transpose("obs", "row").values[at] == pytest.approx(wanted, abs=1e-7)


def test_what_groups_have_not():
    for name, message in [
        ("ffill", "groups have no 'ffill'\nhint: x.reindex"),
        ("agg", r"hint: groupby\(labels\).mean\(\)"),
        ("medain", "did you mean 'median'"),
    ]:
        with pytest.raises(AttributeError, match=message):
            getattr(V.groupby(KEY), name)
    with pytest.raises(dt.OptionError, match="between 0 and 1, not 2"):
        V.groupby(KEY).quantile(2)


def test_labels_that_come_with_the_call(rng: np.random.Generator):
    key = dt.tensor("key", dims=OBS, categories=GROUPS)
    values = rng.normal(size=5)
    f = dt.function([V, key], V.groupby(key).sum(), backend="python")
    for labels in (np.array(list("zuzvu")), np.array(list("vvvvv"))):
        wanted = [values[label == labels].sum() for label in ORDER]
        np.testing.assert_allclose(f(values, labels).values, wanted, rtol=1e-12)


def test_permuted_elements_give_the_same_groups(rng: np.random.Generator):
    key = dt.tensor("key", dims=OBS, categories=GROUPS)
    grouped = V.groupby(key)
    results = [grouped.sum(), grouped.mean(), grouped.min(), grouped.var(), grouped.count()]
    f = dt.function([V, key], results, backend="python")
    values, order = rng.normal(size=7), rng.permutation(7)
    for first, second in zip(f(values, KEYS), f(values[order], KEYS[order]), strict=True):
        np.testing.assert_allclose(first.values, second.values, rtol=1e-12)


def test_groups_of_nothing():
    key = dt.tensor("key", dims=OBS, categories=GROUPS)
    f = dt.function([V, key], [V.groupby(key).sum(), V.groupby(key).max()], backend="python")
    total, largest = f(np.zeros(0), np.zeros(0, dtype="U1"))
    assert total.values.tolist() == [0.0] * 4
    assert np.isnan(largest.values).all()


WITHOUT = {
    "strings": xr.DataArray(KEYS, dims="obs", name="who"),
    "series": pd.Series(KEYS, name="who", index=pd.RangeIndex(7, name="obs")),
    "integers": xr.DataArray([3, 1, 1, 2, 3, 1, 3], dims="obs", name="who"),
    "dates": xr.DataArray(
        np.array(["2020-01-03", "2020-01-01"], "M8[ns]")[[0, 1, 1, 1, 0, 1, 0]], dims="obs",
        name="who",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", WITHOUT)
def test_groups_without_categories_are_the_labels_found(kind: str, rng: np.random.Generator):
    labels = WITHOUT[kind]
    values = rng.normal(size=7)
    result = V.groupby(labels).mean().eval({V: values})
    wanted = pd.Series(values).groupby(np.asarray(labels)).mean()
    assert result.dims == ("who",)
    assert result.indexes["who"].tolist() == wanted.index.tolist()
    np.testing.assert_allclose(result.values, wanted.values, rtol=1e-12)


def test_integer_data_are_labels_too():
    labels = dt.data(np.array([3, 1, 1]), dims=OBS)
    result = V.groupby(labels).sum().eval({V: np.array([1.0, 2.0, 4.0])})
    assert result.to_series().to_dict() == {1: 6.0, 3: 1.0}


@pytest.mark.parametrize("name", ["sum", "mean", "max", "std", "first"])
def test_map_brings_groups_back_to_the_elements(name: str, rng: np.random.Generator):
    values = rng.normal(size=7)
    back = V.groupby(KEY).map(name).eval({V: values})
    options = {"ddof": 0} if name == "std" else {}
    wanted = pd.Series(values).groupby(KEYS).transform(name, **options)
    np.testing.assert_allclose(back.values, wanted.values, rtol=1e-12)
    same = V.groupby(KEY).map(lambda g: getattr(g, name)()).eval({V: values})
    np.testing.assert_array_equal(same.values, back.values)


def test_map_of_a_result_that_lacks_the_groups_raises():
    with pytest.raises(dt.DimError, match=r"map brings a result on .* back to the elements"):
        V.groupby(KEY).map(lambda g: V)


def test_ties_and_nan_pick_the_first():
    v = np.array([np.nan, 2.0, 2.0, 5.0, 1.0, 1.0, np.nan])
    grouped = V.groupby(KEY)
    assert grouped.first().eval({V: v}).values[:2].tolist() == [2.0, 5.0]
    smallest = grouped.min().eval({V: v})
    assert smallest.values[:2].tolist() == [1.0, 5.0]
    assert np.isnan(smallest.values[2:]).all()


@pytest.mark.parametrize("name", ["sum", "mean", "min", "max", "first", "var", "std"])
def test_gradients_of_groups(name: str, rng: np.random.Generator):
    values = rng.normal(size=7)
    three = dt.data(KEYS, dims=OBS, categories=dt.Dim("key", coords=["u", "v", "w"]))
    # v has one element: its deviation is zero, where differences of it have no limit
    some = np.array([0, 2]) if name == "std" else np.arange(3)
    result = getattr(V.groupby(three), name)().isel(key=some)

    def oracle(x: xr.DataArray) -> float:
        options = {"ddof": 0} if name in ("var", "std") else {}
        groups = getattr(pd.Series(x.values).groupby(KEYS), name)(**options)
        return float((np.asarray(groups)[some] ** 2).sum())

    assert_gradient((result**2).sum(), V, {V: values}, oracle=oracle)


ERRORS = {
    "takes a tensor of labels, one for each element along a dim": lambda: V.groupby("obs"),
    "the labels of groupby have one dim": lambda: dt.tensor("y", dims=BATCH).groupby(KEY),
    "its values are not\\s*known yet": lambda: V.groupby(dt.tensor("n", dims=OBS, dtype="int64")),
}


@pytest.mark.parametrize("message", ERRORS)
def test_what_cannot_be_grouped(message: str):
    with pytest.raises((dt.LabelError, dt.DimError), match=message):
        ERRORS[message]()


def test_a_label_that_is_no_category_raises():
    with pytest.raises(dt.LabelError, match="'nobody'"):
        V.groupby(dt.data(["u", "nobody"], dims=OBS, categories=GROUPS))


# -- several labels --------------------------------------------------------------------------------

SEX = dt.Dim("sex", coords=["m", "f"])
SEXES = np.array(["f", "m", "f", "f", "f", "m", "m"])
BY_SEX = dt.data(SEXES, dims=OBS, categories=SEX)


@pytest.mark.parametrize("labels", [[KEY, BY_SEX], [BY_SEX, KEY]])
@pytest.mark.parametrize("name", [*REDUCTIONS, "prod", "quantile"])
def test_several_labels_as_in_pandas(name: str, labels: list[dt.DimTensor]) -> None:
    x = array(np.random.default_rng(3), nans=True)
    method, options = name.split()[0], dict(REDUCTIONS.get(name, {}))
    if method in ("var", "std"):
        options.setdefault("ddof", 0)
    if method == "quantile":
        options["q"] = 0.3
    skipna = {} if method == "count" else {"skipna": True}
    found = getattr(X.groupby(labels), method)(**options, **skipna).eval({X: x})
    assert set(found.dims) == {"batch", "key", "sex"}
    for row in ["p", "q"]:
        frame = pd.DataFrame({"key": KEYS, "sex": SEXES, "x": x.sel(batch=row).values})
        grouped = getattr(frame.groupby(["key", "sex"])["x"], method)(**options)
        index = pd.MultiIndex.from_product([ORDER, ["m", "f"]], names=["key", "sex"])
        nothing = {"sum": 0, "count": 0, "prod": 1}.get(method, np.nan)
        expected = grouped.reindex(index, fill_value=nothing)
        got = found.sel(batch=row).transpose("key", "sex").to_series()
        np.testing.assert_allclose(got.loc[index], expected, rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_labels_of_late_dims(backend: str) -> None:
    kind, shop = dt.Dim("kind"), dt.Dim("shop")
    of = [dt.tensor(f"of {dim.name}", dims=OBS, categories=dim) for dim in (shop, kind)]
    names = dt.tensor("names", dims=[kind, shop])
    f = dt.function([V, *of, names], V.groupby(of).sum() + 0 * names, backend=backend)
    v = np.arange(7.0)
    shops, kinds = np.array(list("abaabba")), np.array([3, 1, 3, 2, 1, 1, 2])
    table = xr.DataArray(
        np.zeros((3, 2)), dims=["kind", "shop"], coords={"kind": [1, 2, 3], "shop": ["a", "b"]}
    )
    found = f(
        xr.DataArray(v, dims="obs"), *(xr.DataArray(x, dims="obs") for x in (shops, kinds)), table
    )
    frame = pd.DataFrame({"kind": kinds, "shop": shops, "v": v})
    expected = frame.groupby(["kind", "shop"])["v"].sum().unstack(fill_value=0)
    np.testing.assert_array_equal(found.transpose("kind", "shop"), expected)


def test_results_of_several_labels_go_back_to_the_elements() -> None:
    v = np.arange(7.0) ** 2
    frame = pd.DataFrame({"key": KEYS, "sex": SEXES, "v": v})
    expected = frame.groupby(["key", "sex"])["v"].transform("mean")
    by = V.groupby([KEY, BY_SEX])
    values = {V: xr.DataArray(v, dims="obs")}
    np.testing.assert_allclose(by.map("mean").eval(values), expected, rtol=1e-12)
    np.testing.assert_allclose((by - by.mean()).eval(values), v - expected, rtol=1e-12)


def test_positions_of_extremes_by_several_labels() -> None:
    v = np.array([3.0, 1, 4, 1, 5, 9, 2])
    frame = pd.DataFrame({"key": KEYS, "sex": SEXES, "v": v})
    expected = frame.groupby(["key", "sex"])["v"].idxmax()
    found = V.groupby([KEY, BY_SEX]).idxmax(fill_value=-1).eval({V: xr.DataArray(v, dims="obs")})
    index = pd.MultiIndex.from_product([ORDER, ["m", "f"]], names=["key", "sex"])
    got = found.transpose("key", "sex").to_series().loc[index]
    np.testing.assert_array_equal(got, expected.reindex(index, fill_value=-1))


def test_several_labels_and_further_dims() -> None:
    x = array(np.random.default_rng(4))
    found = X.groupby([KEY, BY_SEX]).var(...).eval({X: x})
    frame = pd.DataFrame({"key": [*KEYS, *KEYS], "sex": [*SEXES, *SEXES], "x": x.values.ravel()})
    expected = frame.groupby(["key", "sex"])["x"].var(ddof=0)
    got = found.transpose("key", "sex").to_series().dropna()
    np.testing.assert_allclose(got.loc[expected.index], expected, rtol=1e-12)
    with pytest.raises(dt.DimError, match="map brings a result on dim 'key' and dim 'sex' back"):
        V.groupby([KEY, BY_SEX]).map(lambda groups: groups.mean().mean("sex"))


def test_one_label_in_a_list_is_that_label() -> None:
    assert V.groupby([KEY]).mean() is V.groupby(KEY).mean()


def test_one_dim_of_labels_twice() -> None:
    with pytest.raises(dt.DimError, match=r"the factors of a ProductDim have .* twice"):
        V.groupby([KEY, KEY])


@pytest.mark.parametrize("categories", [[GROUPS], [GROUPS, SEX, SEX]])
def test_categories_of_several_labels_are_as_many(categories: list[dt.Dim]) -> None:
    with pytest.raises(dt.DimError, match=rf"2 tensors of labels, {len(categories)} categories"):
        V.groupby([KEY, BY_SEX], categories)


def test_gradient_through_several_labels() -> None:
    values = np.linspace(-1, 1, 7)
    cubes = (V.groupby([KEY, BY_SEX]).mean() ** 3).sum(skipna=True)  # no man has the key v
    assert_gradient(cubes, V, {V: values})
