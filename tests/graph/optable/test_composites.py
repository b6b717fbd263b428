"""Reductions made of others, order statistics and weights: against xarray, NumPy and SciPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.special
import xarray as xr

import dimtensor as dt
from dimtensor.testing.differences import assert_gradient

LABELS = {"a": ["p", "q"], "b": [10, 20, 30], "c": list("wxyz")}
A, B, C = (dt.Dim(name, coords=labels) for name, labels in LABELS.items())
X = dt.tensor("x", dims=[A, B, C])
OVER = [["a"], ["b", "c"], ["c"], None]


def array(rng: np.random.Generator, nans: int = 0, dtype: str = "float64") -> xr.DataArray:
    """Random values with all dims and labels; axes and labels in an order of their own."""
    values = rng.normal(size=(2, 3, 4))
    if nans:
        values.ravel()[rng.choice(24, nans, replace=False)] = np.nan
        values[:, 1, 2] = np.nan
    whole = xr.DataArray(values.astype(dtype), dims=list("abc"), coords=LABELS)
    return whole.transpose("c", "a", "b").isel(c=[2, 0, 3, 1], b=[1, 2, 0])


def in_our_order(x: xr.DataArray) -> xr.DataArray:
    return x.sel({name: labels for name, labels in LABELS.items() if name in x.dims})


def assert_same(found: xr.DataArray, wanted: xr.DataArray, rtol: float = 1e-12) -> None:
    wanted = in_our_order(wanted.drop_vars([n for n in wanted.coords if n not in wanted.dims]))
    assert set(found.dims) == set(wanted.dims)
    assert found.dtype == wanted.dtype
    xr.testing.assert_allclose(found.transpose(*wanted.dims), wanted, rtol=rtol)


METHODS = {
    "mean": {},
    "sum": {},
    "prod": {},
    "min": {},
    "max": {},
    "std": {},
    "var": {},
    "std with ddof": {"ddof": 1},
    "var with ddof": {"ddof": 1},
    "median": {},
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("skipna", [False, True])
@pytest.mark.parametrize("nans", [0, 5])
def test_reductions_as_in_xarray(name: str, skipna: bool, nans: int, rng: np.random.Generator):
    x = array(rng, nans)
    method = name.split()[0]
    results = [getattr(X, method)(over, skipna=skipna, **METHODS[name]) for over in OVER]
    f = dt.function([X], results, backend="python")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of means of nothing
        for over, found in zip(OVER, f(x), strict=True):
            wanted = getattr(x, method)(over, skipna=skipna, **METHODS[name])
            if skipna and method in ("sum", "prod") and nans:
                assert not found.isnull().any()
            assert_same(found, wanted)


@pytest.mark.parametrize("dtype", ["int32", "bool", "float32"])
def test_means_of_other_dtypes(dtype: str, rng: np.random.Generator):
    x = xr.DataArray(rng.integers(0, 2, (2, 3)).astype(dtype), dims=["a", "b"])
    t = dt.tensor("t", dims=[A, B], dtype=dtype)
    for name in ("mean", "std", "var", "median"):
        found = getattr(t, name)("b").eval({t: (["a", "b"], x.values)})
        wanted = getattr(x.astype("float32" if dtype == "float32" else "float64"), name)("b")
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found.values, wanted.values, rtol=1e-6)


@pytest.mark.parametrize("nans", [0, 6])
def test_count(nans: int, rng: np.random.Generator):
    x = array(rng, nans)
    f = dt.function([X], [X.count(over) for over in OVER], backend="python")
    for over, found in zip(OVER, f(x), strict=True):
        assert_same(found, x.count(over))


def test_count_of_integers_is_the_length():
    t = dt.tensor("t", dims=[A, B], dtype="int64")
    assert t.count("b").eval().values.tolist() == [3, 3]


def test_variance_of_fewer_than_ddof_elements_is_nan():
    t = dt.tensor("t", dims=dt.Dim("k"))
    found = t.var(ddof=1).eval({t: np.array([2.0])})
    assert np.isnan(found)
    assert np.isnan(t.mean().eval({t: np.array([])}))


@pytest.mark.parametrize("skipna", [False, True])
@pytest.mark.parametrize("nans", [0, 4])
@pytest.mark.parametrize("q", [0.0, 0.25, 0.31, 1.0, [0.1, 0.9], [0.5]])
def test_quantiles(q, nans: int, skipna: bool, rng: np.random.Generator):
    x = array(rng, nans)
    results = [X.quantile(q, over, skipna=skipna) for over in OVER]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of quantiles of nothing
        for over, found in zip(OVER, dt.function([X], results, "python")(x), strict=True):
            assert_same(found, x.quantile(q, over, skipna=skipna))


def test_quantiles_at_infinities_and_out_of_range():
    k = dt.Dim("k")
    t = dt.tensor("t", dims=k)
    values = np.array([-np.inf, 1.0, 2.0, np.inf])
    for q, wanted in [(0.0, -np.inf), (0.5, 1.5), (0.9, np.inf), (1.0, np.inf)]:
        assert float(t.quantile(q).eval({t: values})) == wanted
    for q in (-0.1, 1.5, [0.5, 2.0]):
        with pytest.raises(dt.OptionError, match="a quantile is between 0 and 1, not"):
            t.quantile(q)


def test_gradient_of_the_median(rng: np.random.Generator):
    k = dt.Dim("k", length=4)
    t = dt.tensor("t", dims=k)
    found = dt.grad(t.median(), t).eval({t: np.array([4.0, 1.0, 3.0, 2.0])})
    assert found.values.tolist() == [0.0, 0.0, 0.5, 0.5]


@pytest.mark.parametrize("name", ["std", "var", "mean"])
def test_gradients_of_moments(name: str, rng: np.random.Generator):
    x = array(rng)

    def oracle(values: xr.DataArray) -> float:
        return float((getattr(values, name)(["a", "c"]) ** 2).sum())

    assert_gradient((getattr(X, name)(["a", "c"]) ** 2).sum(), X, {X: x}, oracle=oracle)


def test_gradient_of_the_deviation_of_equal_elements_is_zero():
    t = dt.tensor("t", dims=dt.Dim("k", length=3))
    found = dt.grad(t.std(), t).eval({t: np.full(3, 2.0)})
    assert found.values.tolist() == [0.0, 0.0, 0.0]


# -- exponentials ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
@pytest.mark.parametrize("axes", [("b",), ("c", "a"), ("a", "b", "c")])
def test_logsumexp_and_softmax(shift: float, axes: tuple[str, ...], rng: np.random.Generator):
    x = in_our_order(array(rng)) + shift
    numbers = tuple(x.dims.index(name) for name in axes)
    results = [X.logsumexp(axes), X.softmax(axes), X.log_softmax(axes)]
    total, soft, log_soft = dt.evaluate(results, {X: x})
    rest = [name for name in x.dims if name not in axes]
    special = scipy.special
    np.testing.assert_allclose(
        total.transpose(*rest).values, special.logsumexp(x.values, axis=numbers), rtol=1e-13
    )
    np.testing.assert_allclose(
        soft.transpose(*x.dims).values, special.softmax(x.values, axis=numbers), rtol=1e-12
    )
    np.testing.assert_allclose(
        log_soft.transpose(*x.dims).values,
        special.log_softmax(x.values, axis=numbers),
        rtol=1e-12, atol=1e-12,
    )  # fmt: skip


K = dt.Dim("k", length=3)
V = dt.tensor("v", dims=K)
ROWS = [
    [-np.inf, 0.0, 1.0],
    [-np.inf, -np.inf, -np.inf],
    [np.inf, 0.0, 1.0],
    [np.nan, 0.0, 1.0],
    [1000.0, -1000.0, 1000.0],
    [-1e300, -1e300, -1e300],
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_logsumexp_at_infinities(row: list[float]):
    with np.errstate(invalid="ignore"):
        wanted = scipy.special.logsumexp(row)
    np.testing.assert_allclose(V.logsumexp().eval({V: np.array(row)}), wanted, rtol=1e-14)


def test_gradient_of_logsumexp_at_extremes():
    gradient = dt.grad(V.logsumexp(), V)
    for row in ROWS[:1] + ROWS[4:]:
        wanted = scipy.special.softmax(row)
        np.testing.assert_allclose(gradient.eval({V: np.array(row)}), wanted, rtol=1e-13)
    nothing = gradient.eval({V: np.full(3, -np.inf)})
    assert nothing.values.tolist() == [0.0, 0.0, 0.0]


def test_softmax_at_infinities():
    for row in (ROWS[0], ROWS[4]):
        np.testing.assert_allclose(
            V.softmax().eval({V: np.array(row)}), scipy.special.softmax(row), rtol=1e-14
        )
    assert np.isnan(V.softmax().eval({V: np.full(3, -np.inf)})).all()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_gradients_of_softmax(name: str, rng: np.random.Generator):
    weights = rng.normal(size=3)
    values = np.array([0.3, -1.2, 0.8])

    def oracle(x: xr.DataArray) -> float:
        return float((getattr(scipy.special, name)(x.values) * weights).sum())

    y = (getattr(V, name)() * dt.data(weights, dims=K)).sum()
    assert_gradient(y, V, {V: values}, oracle=oracle)
    gradient = dt.grad(y, V).eval({V: values + 1000.0})
    np.testing.assert_allclose(gradient, dt.grad(y, V).eval({V: values}), rtol=1e-10)


# -- positions and order ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["argmax", "argmin", "idxmax", "idxmin"])
@pytest.mark.parametrize("dim", ["a", "b", "c"])
def test_positions_and_labels_of_extremes(name: str, dim: str, rng: np.random.Generator):
    x = in_our_order(array(rng)).round(1)
    found = getattr(X, name)(dim).eval({X: x})
    wanted = getattr(x, name)(dim)
    assert (found.transpose(*wanted.dims).values == wanted.values).all()


def test_positions_over_several_dims(rng: np.random.Generator):
    x = in_our_order(array(rng))
    for dims in (["a", "c"], ["a", "b", "c"]):
        found = dt.evaluate(X.argmin(dims), {X: x})
        wanted = x.argmin(dims)
        assert set(found) == set(wanted)
        for name in dims:
            assert (found[name].transpose(*wanted[name].dims) == wanted[name].values).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "float32"])
def test_positions_of_extremes_of_other_dtypes(dtype: str):
    k = dt.Dim("k")
    t = dt.tensor("t", dims=k, dtype=dtype)
    values = np.array([1, 0, 0, 1]).astype(dtype)
    assert int(t.argmax().eval({t: values})) == 0
    assert int(t.argmin().eval({t: values})) == 1


def test_labels_of_extremes_look_up():
    t = dt.tensor("t", dims=C)
    other = dt.tensor("other", dims=C)
    best = t.idxmax()
    found = other.sel(c=best).eval({t: np.array([1.0, 5.0, 2.0, 0.0]), other: np.arange(4.0)})
    assert float(found) == 1.0


def test_sorting(rng: np.random.Generator):
    x = in_our_order(array(rng))
    for axis, dim in enumerate(x.dims):
        found, order = dt.evaluate([X.sort(dim), X.argsort(dim)], {X: x})
        ranks = next(name for name in found.dims if name not in LABELS or name == dim)
        axes = [ranks if name == dim else name for name in x.dims]
        np.testing.assert_array_equal(found.transpose(*axes).values, np.sort(x.values, axis=axis))
        np.testing.assert_array_equal(
            order.transpose(*axes).values, np.argsort(x.values, axis=axis, kind="stable")
        )


def test_sorting_is_stable_and_puts_nan_last():
    k = dt.Dim("k")
    t = dt.tensor("t", dims=k)
    values = np.array([2.0, np.nan, 1.0, 2.0, 1.0])
    found, order = dt.evaluate([t.sort(), t.argsort()], {t: values})
    np.testing.assert_array_equal(found.values, np.sort(values))
    np.testing.assert_array_equal(order.values, np.argsort(values, kind="stable"))


def test_gradient_of_sort(rng: np.random.Generator):
    k = dt.Dim("k", length=4)
    t = dt.tensor("t", dims=k)
    values = np.array([3.0, 1.0, 4.0, 2.0])
    y = (t.sort() * dt.arange(t.sort().dims[0])).sum()
    assert dt.grad(y, t).eval({t: values}).values.tolist() == [2.0, 0.0, 3.0, 1.0]


# -- weights ---------------------------------------------------------------------------------------

WEIGHTED = ["sum", "mean", "var", "std", "sum_of_weights", "sum_of_squares"]


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("nans", [0, 5])
@pytest.mark.parametrize("on", [["c"], ["a", "c"], ["a", "b", "c"]])
def test_weighted(name: str, nans: int, on: list[str], rng: np.random.Generator):
    x = array(rng, nans)
    w = dt.tensor("w", dims=[{"a": A, "b": B, "c": C}[n] for n in on])
    weights = xr.DataArray(
        rng.uniform(0.1, 2.0, [len(LABELS[n]) for n in on]),
        dims=on, coords={n: LABELS[n] for n in on},
    )  # fmt: skip
    overs = [["c"], ["a", "c"], None]
    skips = {} if name == "sum_of_weights" else {"skipna": True}
    results = [getattr(X.weighted(w), name)(over, **skips) for over in overs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for over, found in zip(
            overs, dt.function([X, w], results, "python")(x, weights), strict=True
        ):
            wanted = getattr(x.weighted(in_our_order(weights)), name)(over)
            assert_same(found, wanted, rtol=1e-10)
