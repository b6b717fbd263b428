"""Windows and blocks against xarray and pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import LONG_JAX

DAYS = pd.date_range("2021-01-01", periods=9)
DAY, SITE = dt.Dim("day", coords=DAYS), dt.Dim("site", coords=["a", "b"])


def table(nan: bool = True) -> xr.DataArray:
    values = np.random.default_rng(3).normal(size=(9, 2)).round(2)
    if nan:
        values[2, 0] = values[3, 0] = values[5, 1] = np.nan
    return xr.DataArray(values, coords={"day": DAYS, "site": ["a", "b"]})


def same(found, expected, **tolerances):
    result = found.eval()
    xr.testing.assert_allclose(
        result.drop_attrs().transpose(*expected.dims), expected.rename(None), **tolerances
    )


def skips(name):
    return {} if name == "count" else {"skipna": True}


REDUCTIONS = ["sum", "mean", "prod", "min", "max", "var", "std", "median", "count"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    "options", [{}, {"min_periods": 1}, {"center": True, "min_periods": 2}], ids=str
)
def test_rolling_is_xarrays(name, options):
    frame = table()
    x = dt.data(frame, dims=[DAY, SITE])
    for window in (1, 3, 4):
        if options.get("min_periods", 0) > window:
            continue
        expected = getattr(frame.rolling(day=window, **options), name)()
        same(getattr(x.rolling(day=window, **options), name)(**skips(name)), expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of windows without elements
@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name not in ("median", "count")])
@pytest.mark.parametrize("center", [False, True])
def test_long_windows_are_those_of_numpy(name, center):
    rng = np.random.default_rng(5)
    values = rng.normal(size=60) * 10.0 ** rng.integers(-2, 3, size=60)
    values[[17, 18, 40]] = np.nan
    if name not in ("var", "std"):
        values[[30, 55]] = np.inf, -np.inf
    frame = xr.DataArray(values, dims="k")
    x = dt.data(frame)
    for window in (7, 8, 13, 30):
        rows = frame.rolling(k=window, center=center).construct("w").values
        present = (~np.isnan(rows)).sum(1)
        ones = xr.ones_like(frame).rolling(k=window, center=center)
        inside = ones.construct("w", fill_value=0.0).sum("w").values
        each = getattr(np, f"nan{name}")(rows, axis=1)
        for least in (None, 3):
            windows = x.rolling(k=window, min_periods=least, center=center)
            enough = np.where(present >= (least or window), each, np.nan)
            whole = np.where(present == inside, enough, np.nan)
            for skipna, expected in ((True, enough), (False, whole)):
                found = getattr(windows, name)(skipna=skipna).values
                np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "min", "max", "var", "std"])
@pytest.mark.parametrize("options", [{}, {"min_periods": 2, "center": True}], ids=str)
@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)])
def test_gradients_of_windows(name, options, backend):
    values = np.random.default_rng(6).normal(size=20) + 2
    values[9] = np.nan
    t = dt.Dim("t")
    x = dt.tensor("x", dims=t)
    loss = (getattr(x.rolling(t=5, **options), name)(skipna=bool(options)).fillna(0.0) ** 2).sum()
    f = dt.function([x], [loss, dt.grad(loss, x)], backend=backend)
    gradient = f(values)[1].values

    def by_pandas(v):
        rows = xr.DataArray(v, dims="t").rolling(t=5, center="center" in options).construct("w")
        function = getattr(np, f"nan{name}")
        least = options.get("min_periods", 5)
        return sum(function(r) ** 2 for r in rows.values if np.isfinite(r).sum() >= least)

    for at in range(20):
        step = np.where(np.arange(20) == at, 1e-6, 0.0)
        slope = (by_pandas(values + step) - by_pandas(values - step)) / 2e-6
        assert gradient[at] == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", ["min", "max"])
def test_of_several_extremes_of_a_window_the_first_has_the_gradient(name):
    x = dt.tensor("x", dims=dt.Dim("t", length=7))
    windows = getattr(x.rolling(t=7), name)()
    f = dt.function([x], dt.grad(windows[6], x), backend="python")
    for first in range(6):
        values = np.where(np.arange(7) == first, 0.0, 1.0 if name == "min" else -1.0)
        values[6] = 0.0
        assert f(values).values.tolist() == [float(at == first) for at in range(7)]


def test_sums_of_windows_lose_no_digits():
    values = np.concatenate([[1e16], np.ones(40)])
    windows = dt.data(values, dims=dt.Dim("k")).rolling(k=8).sum().values
    assert windows[8:].tolist() == [8.0] * 33  # a running sum has lost the ones by then


def test_rolling_along_two_dims_and_windows_longer_than_the_dim():
    frame = table()
    x = dt.data(frame, dims=[DAY, SITE])
    expected = frame.rolling(day=3, site=2, min_periods=2).mean()
    same(x.rolling(day=3, site=2, min_periods=2).mean(skipna=True), expected)
    found = x.rolling({DAY: 12}, min_periods=1).sum(skipna=True)
    same(found, frame.rolling(day=12, min_periods=1).sum())


def test_windows_themselves():
    frame = table(nan=False)
    x = dt.data(frame, dims=[DAY, SITE])
    expected = frame.rolling(day=3).construct("lag", fill_value=0.0)
    same(x.rolling(day=3).construct(day=dt.Dim("lag", length=3), fill_value=0.0), expected)
    whole = dt.data(np.arange(4), dims=dt.Dim("k"))
    windows = whole.rolling(k=2).construct(k="back", fill_value=0)
    assert windows.dtype == "int64"
    assert windows.eval().transpose("k", "back").values.tolist() == [[0, 0], [0, 1], [1, 2], [2, 3]]


@pytest.mark.parametrize("backend", LONG_JAX)
def test_rolling_for_lengths_that_come_late_and_its_gradient(backend):
    t = dt.Dim("t")
    x = dt.tensor("x", dims=t)
    loss = (x.rolling(t=3, min_periods=1).mean() ** 2).sum()
    f = dt.function([x], [x.rolling(t=3).mean(), dt.grad(loss, x)], backend=backend)
    for n in (0, 1, 2, 5):
        values = np.random.default_rng(n).normal(size=n)
        mean, gradient = f(x=values)
        expected = pd.Series(values, dtype=float).rolling(3).mean().to_numpy()
        np.testing.assert_allclose(mean.values, expected)
        numeric = np.zeros(n)
        for at in range(n):
            step = np.zeros(n)
            step[at] = 1e-6
            up, down = (
                (pd.Series(values + s, dtype=float).rolling(3, min_periods=1).mean() ** 2).sum()
                for s in (step, -step)
            )
            numeric[at] = (up - down) / 2e-6
        np.testing.assert_allclose(gradient.values, numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("kind", "window"), [("span", 3), ("com", 0.5), ("halflife", 2.0), ("alpha", 0.3)]
)
def test_fading_weights_are_those_of_pandas(kind, window):
    frame = table()
    x = dt.data(frame, dims=[DAY, SITE])
    expected = frame.to_pandas().ewm(**{kind: window}, ignore_na=False).mean()
    found = x.rolling_exp({DAY: window}, window_type=kind).mean(skipna=True).eval()
    np.testing.assert_allclose(found.transpose("day", "site"), expected)
    alpha = {"span": 2 / (window + 1), "com": 1 / (1 + window), "alpha": window,
             "halflife": 1 - 0.5 ** (1 / window)}[kind]  # fmt: skip
    filled, total, rows = np.nan_to_num(frame.values), np.zeros(2), []
    for row in filled:
        total = total * (1 - alpha) + row
        rows.append(total)
    found = x.rolling_exp({DAY: window}, window_type=kind).sum(skipna=True).eval()
    np.testing.assert_allclose(found.transpose("day", "site"), rows)


@pytest.mark.parametrize("name", ["var", "std", "cov", "corr"])
@pytest.mark.parametrize(("kind", "window"), [("span", 3), ("alpha", 0.3)])
def test_fading_moments_are_those_of_pandas(name, kind, window):
    frame = table().to_pandas()
    others = frame["a"].shift(1) * frame["b"] if name in ("cov", "corr") else None
    x = dt.data(frame, dims=[DAY, SITE]).rolling_exp({DAY: window}, window_type=kind)
    by_pandas = frame.ewm(**{kind: window})
    if others is None:
        found, expected = getattr(x, name)(skipna=True), getattr(by_pandas, name)()
    else:
        found = getattr(x, name)(dt.data(others, dims=DAY), skipna=True)
        expected = pd.DataFrame(
            {site: getattr(frame[site].ewm(**{kind: window}), name)(others) for site in "ab"}
        )
    np.testing.assert_allclose(found.eval().transpose("day", "site"), expected, rtol=1e-10)


@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name != "median"])
@pytest.mark.parametrize("least", [1, 3])
def test_growing_windows_are_xarrays(name, least):
    frame = table()
    x = dt.data(frame, dims=[DAY, SITE])
    expected = getattr(frame.cumulative("day", min_periods=least), name)()
    same(getattr(x.cumulative("day", min_periods=least), name)(**skips(name)), expected)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "count"])
def test_growing_windows_along_all_dims(name):
    frame = table()
    expected = getattr(frame.cumulative(["day", "site"]), name)()
    same(getattr(dt.data(frame, dims=[DAY, SITE]).cumulative(), name)(**skips(name)), expected)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    "options",
    [{"day": 3}, {"day": 2, "boundary": "trim"}, {"day": 4, "boundary": "pad"},
     {"day": 4, "boundary": "trim", "side": "right"}, {"day": 3, "site": 2}],
    ids=str,
)  # fmt: skip
def test_blocks_are_xarrays(name, options):
    frame = table()
    x = dt.data(frame, dims=[DAY, SITE])
    expected = getattr(frame.assign_coords(site=[1, 2]).coarsen(**options), name)()
    found = getattr(x.coarsen(**options), name)(**skips(name))
    if "site" in options:
        expected = expected.assign_coords(site=["a"])
    else:
        expected = expected.assign_coords(site=["a", "b"])
    same(found, expected)


def test_blocks_keep_nan_unless_they_are_skipped():
    x = dt.data([1.0, np.nan, 3.0], dims=dt.Dim("k", coords=[1, 2, 3]))
    found = x.coarsen(k=2, boundary="trim").sum()
    assert np.isnan(found.values).tolist() == [True]
    assert x.coarsen(k=2, boundary="pad").sum().values[1] == 3.0


@pytest.mark.parametrize("backend", LONG_JAX)
def test_blocks_of_a_length_that_comes_late(backend):
    t = dt.Dim("t")
    x = dt.tensor("x", dims=t)
    f = dt.function(
        [x],
        [x.coarsen(t=3, boundary="trim", side="right").sum(), x.coarsen(t=3).sum()],
        backend=backend,
    )
    trimmed, exact = f(x=xr.DataArray(np.arange(6.0), coords={"t": np.arange(6) * 10}))
    assert trimmed.values.tolist() == exact.values.tolist() == [3.0, 12.0]
    assert exact.t.values.tolist() == [10.0, 40.0]
    with pytest.raises(dt.DimError, match="dim 't' has 7 positions, which are no multiple of"):
        f(x=np.arange(7.0))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda x: x.rolling(), "rolling takes windows by dim"),
        (lambda x: x.rolling(day=0), "the window along 'day' is an integer of at least 1, not 0"),
        (lambda x: x.rolling(day=2, min_periods=3), "min_periods is 3, and a window has 2"),
        (lambda x: x.rolling(week=2), "week"),
        (lambda x: x.rolling(day=2).construct(), "name the dim of the window along 'day'"),
        (lambda x: x.rolling(day=2).construct(day=dt.Dim("w", length=3)), "has 2 positions"),
        (lambda x: x.rolling_exp(day=3, window_type="spam"), "did you mean 'span'"),
        (lambda x: x.rolling_exp(day=0.5), "span is >= 1, not 0.5"),
        (lambda x: x.rolling_exp(day=2, site=2), "takes one dim, 2 are given"),
        (lambda x: x.cumulative().var(), "cumulative variances are along one dim"),
        (lambda x: x.coarsen(day=2), "9 positions, which are no multiple of blocks of 2"),
        (lambda x: x.coarsen(day=2, boundary="cut"), "there is no boundary 'cut'"),
        (lambda x: x.coarsen(), "takes the length of a block by dim"),
    ],
)
def test_what_is_refused(ask, message):
    with pytest.raises(dt.DimtensorError, match=message):
        ask(dt.tensor("x", dims=[DAY, SITE]))


@pytest.mark.compiled
def test_positions_within_a_dim_are_not_looked_at_again():
    t = dt.Dim("t")
    x, at = dt.tensor("x", dims=t), dt.tensor("at", dims=dt.Dim("k"), dtype="int64")
    f = dt.function([x], x.rolling(t=3).construct(t="lag"), backend="numba")
    assert "True" not in f.source  # where a check of all positions begins
    # what is clipped to another dim, or from another end, is checked
    last = dt.maximum(dt.length(t) - 1, 0)
    for place in (dt.minimum(at, last), dt.minimum(dt.maximum(at, 0), dt.length(t))):
        g = dt.function([x, at], x.isel(t=place), backend="python")
        with pytest.raises(dt.CheckError, match="outside of its length"):
            g(x=[1.0, 2.0], at=[-3, 2])
    longer = dt.Dim("t", length=3)
    y = dt.tensor("y", dims=longer)
    inside = dt.minimum(dt.maximum(at, 0), dt.maximum(dt.length(longer) - 1, 0))
    h = dt.function([y, at], y.isel(t=inside), backend="python")
    assert h(y=[1.0, 2.0, 3.0], at=[-5, 1, 9]).values.tolist() == [1.0, 2.0, 3.0]


OF_BLOCKS = {
    "sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "mean": np.mean, "any": np.any,
    "median": np.median, "var": np.var, "std": np.std, "all": np.all, "count": np.size,
}  # fmt: skip


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "complex128"])
def test_padding_of_blocks_changes_no_reduction(dtype, side):
    values = np.array([0, 0, 3, 2, 5, 0, 0]).astype(dtype)
    starts = [0, 3, 6] if side == "left" else [0, 1, 4]
    parts = np.split(values, starts[1:])
    coarse = dt.data(values, dims=dt.Dim("k")).coarsen(k=3, boundary="pad", side=side)
    ordered = dtype != "complex128"
    names = [name for name in OF_BLOCKS if ordered or name not in ("min", "max", "median")]
    found = dt.evaluate([getattr(coarse, name)() for name in names])
    for name, result in zip(names, found, strict=True):
        expected = np.array([OF_BLOCKS[name](part) for part in parts])
        np.testing.assert_allclose(result.values, expected, rtol=1e-6, err_msg=name)
        if name in ("sum", "prod", "min", "max", "any", "all"):
            assert result.dtype == expected.dtype, name


@pytest.mark.parametrize("boundary", ["pad", "trim"])
def test_a_missing_element_is_no_padding(boundary):
    values = np.array([1.0, np.nan, np.nan, np.nan, 4.0, 2.0, 8.0])
    coarse = dt.data(values, dims=dt.Dim("k")).coarsen(k=2, boundary=boundary)
    parts = np.split(values, [2, 4, 6])[: 4 if boundary == "pad" else 3]
    for name in ("sum", "prod", "min", "max", "mean", "median", "var", "std"):
        found, skipping = getattr(coarse, name)(), getattr(coarse, name)(skipna=True)
        expected = [getattr(np, name)(part) for part in parts]
        np.testing.assert_allclose(found.values, expected, err_msg=name)
        options = {"ddof": 0} if name in ("var", "std") else {}
        expected = [getattr(pd.Series(part), name)(**options) for part in parts]
        np.testing.assert_allclose(skipping.values, expected, err_msg=name)
    for least in (1, 2):
        for name in ("sum", "prod"):
            found = getattr(coarse, name)(skipna=True, min_count=least)
            expected = [getattr(pd.Series(part), name)(min_count=least) for part in parts]
            np.testing.assert_allclose(found.values, expected, err_msg=name)
    with pytest.raises(dt.OptionError, match="min_count counts the elements that are left"):
        coarse.sum(min_count=1)
