"""One regime of NaN: a result is NaN unless ``skipna=True`` is asked for, in every reduction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

DAYS = pd.date_range("2021-01-01", periods=8)
DAY, KEY = dt.Dim("day", coords=DAYS), dt.Dim("key", coords=["a", "b"])
VALUES = np.array([2.0, -1.0, np.nan, 4.0, 0.5, 3.0, -2.0, 1.5])
OF = ["a", "b", "a", "b", "a", "b", "b", "b"]
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 2.0, 1.0])
FRAME = xr.DataArray(VALUES, {"day": DAYS}, ["day"])
X = dt.data(VALUES, dims=DAY)
OF_DAY = dt.data(OF, dims=DAY, categories=KEY)


# tensor, groups, windows, …: each made of a tensor or of a DataArray
MADE = {
    "tensor": lambda x, key, w: x,
    "groups": lambda x, key, w: x.groupby(key),
    "dates": lambda x, key, w: x.resample(day="4D"),
    "blocks": lambda x, key, w: x.coarsen(day=4),
    "padded": lambda x, key, w: x.coarsen(day=5, boundary="pad"),
    "windows": lambda x, key, w: x.rolling(day=3),
    "short windows": lambda x, key, w: x.rolling(day=3, min_periods=2),
    "growing": lambda x, key, w: x.cumulative("day"),
    "weights": lambda x, key, w: x.weighted(w),
}
NAMES = ["sum", "prod", "mean", "var", "std", "min", "max", "median", "cumsum", "cumprod",
         "first", "last", "sum_of_squares"]  # fmt: skip


def theirs(kind, frame):
    weights = xr.DataArray(WEIGHTS, {"day": DAYS}, ["day"])
    return MADE[kind](frame, xr.DataArray(OF, {"day": DAYS}, ["day"], name="key"), weights)


OURS = {kind: make(X, OF_DAY, dt.data(WEIGHTS, dims=DAY)) for kind, make in MADE.items()}
CASES = [
    (kind, name)
    for kind in MADE
    for name in NAMES
    if hasattr(type(OURS[kind]), name) and hasattr(theirs(kind, FRAME), name)
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of nothing
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_what_depends_on_a_missing_element_is_missing_unless_it_is_skipped(kind, name):
    skipped = getattr(theirs(kind, FRAME), name)().values
    np.testing.assert_allclose(getattr(OURS[kind], name)(skipna=True).eval().values, skipped)
    # what depends on it is what differs with other numbers in its place
    one, two = (getattr(theirs(kind, FRAME.fillna(n)), name)().values for n in (1e3, -1e3))
    expected = np.where(one == two, one, np.nan)
    np.testing.assert_allclose(getattr(OURS[kind], name)().eval().values, expected)


def test_windows_of_fading_weights_skip_on_demand():
    by = X.rolling_exp(day=3)
    for name in ("mean", "var", "std", "cov", "corr"):
        pair = (X * X,) if name in ("cov", "corr") else ()
        by_pandas = getattr(pd.Series(VALUES).ewm(span=3), name)
        expected = by_pandas(*(pd.Series(VALUES**2) for _ in pair)).values
        np.testing.assert_allclose(getattr(by, name)(*pair, skipna=True).values, expected)
        strict = np.where(np.arange(8) < 2, expected, np.nan)
        np.testing.assert_allclose(getattr(by, name)(*pair).values, strict)


def test_quantiles_and_places_of_windows_skip_on_demand():
    by = X.rolling(day=3, min_periods=2)
    rows = FRAME.rolling(day=3).construct("w").values
    gone = np.array([True, False, True, True, True, False, False, False])
    enough = (~np.isnan(rows)).sum(1) >= 2
    wanted = [
        np.nanquantile(row, 0.25) if ok else np.nan for row, ok in zip(rows, enough, strict=True)
    ]
    np.testing.assert_allclose(by.quantile(0.25, skipna=True).values, wanted)
    np.testing.assert_allclose(by.quantile(0.25).values, np.where(gone, np.nan, wanted))
    for name in ("argmin", "argmax"):
        place = getattr(np, f"nan{name}")
        wanted = [place(row) if ok else np.nan for row, ok in zip(rows, enough, strict=True)]
        np.testing.assert_allclose(getattr(by, name)(skipna=True).values, wanted)
        np.testing.assert_allclose(getattr(by, name)().values, np.where(gone, np.nan, wanted))


@pytest.mark.parametrize("name", ["any", "all"])
def test_conditions_of_windows_are_numpys(name):
    rng = np.random.default_rng(3)
    values = rng.random(12) < 0.5
    frame, x = xr.DataArray(values, dims="k"), dt.data(values, dims=dt.Dim("k"))
    function = getattr(np, name)
    for least, center in ((None, False), (1, False), (2, True)):
        spans = frame.rolling(k=3, center=center).construct("w", fill_value=name == "all")
        inside = xr.ones_like(frame).rolling(k=3, center=center).construct("w", fill_value=False)
        expected = function(spans.values, axis=1) & (inside.values.sum(1) >= (least or 3))
        found = getattr(x.rolling(k=3, min_periods=least, center=center), name)()
        assert found.dtype == "bool"
        np.testing.assert_array_equal(found.values, expected)
    growing = getattr(x.cumulative("k"), name)().values
    np.testing.assert_array_equal(growing, [function(values[: at + 1]) for at in range(12)])
    numbers = dt.data([0.0, 2.0, np.nan, 0.0], dims=dt.Dim("n"))  # NaN is not zero
    assert numbers.rolling(n=2, min_periods=1).any().values.tolist() == [False, True, True, True]


def test_windows_have_a_least_number_of_elements_that_are_left():
    by, frame = X.rolling(day=3, min_periods=1), pd.Series(VALUES).rolling(3, min_periods=1)
    expected = frame.sum().where(frame.count() >= 2)
    np.testing.assert_allclose(by.sum(skipna=True, min_count=2).values, expected)
    with pytest.raises(dt.OptionError, match="it goes with skipna=True"):
        by.sum(min_count=2)
