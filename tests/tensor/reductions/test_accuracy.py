"""Reductions of many numbers with a large mean are as accurate as NumPy's sums in pairs."""

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt
from tests.backend_names import COMPILED

N = 1_000_000
HALF = N // 2
EVEN, ODD, LAST = slice(0, None, 2), slice(1, None, 2), slice(HALF, None)
MEAN = 300.0

rng = np.random.default_rng(1)
NOISE = rng.normal(size=N)
WEIGHTS = rng.uniform(0.5, 1.5, N)

obs, key = dt.Dim("obs", length=N), dt.Dim("key", coords=["a", "b"])
minute = dt.Dim("minute", coords=pd.date_range("2000-01-01", periods=N, freq="min"))
group = dt.data(np.array(["a", "b"])[np.arange(N) % 2], dims=obs, categories=key)


def numbers(dtype):
    if dtype.startswith("complex"):
        return (MEAN + 5 * NOISE + 1j * (MEAN / 3 + NOISE[::-1])).astype(dtype)
    return (MEAN + 5 * NOISE).astype(dtype)


def near_one(dtype):
    """Numbers whose product does not overflow; those of single precision are given."""
    return (1 + NOISE / 1000).astype("float32").astype(dtype)


def faded(v, span):
    return (v[::-1] * (1 - 2 / (span + 1)) ** np.arange(len(v))).sum()


def variance(v):
    return (np.abs(v - v.mean()) ** 2).mean()


def weighted_variance(v):
    weights = OF_WEIGHTS.values.astype(float)
    return (weights * (v - np.average(v, weights=weights)) ** 2).sum() / weights.sum()


def data(x, dims=obs):
    return dt.data(x, dims=dims)


def folded(x):
    """The numbers beside each other, so that a sum is not along the last axis in memory."""
    return dt.data(x.reshape(HALF, 2), dims=[dt.Dim("row", length=HALF), dt.Dim("side", length=2)])


def grouped(x):
    return data(x).groupby(group)


def window(x, **options):
    return data(x).rolling(obs=HALF, **options)


def fading(x):
    return data(x).rolling_exp(obs=HALF)


OF_WEIGHTS = data(WEIGHTS.astype("float32"))
IN_BINS = data(np.where(np.arange(N) % 2, 0.75, 0.25))
YEAR = slice(0, 366 * 24 * 60)

# name: (a reduction of numbers, the same of double precision by NumPy)
SUMS = {
    "sum": (lambda x: data(x).sum(), np.sum),
    "mean": (lambda x: data(x).mean(), np.mean),
    "beside": (lambda x: folded(x).sum("row").isel(side=1), lambda v: v[ODD].sum()),
    "grouped sum": (lambda x: grouped(x).sum().sel(key="a"), lambda v: v[EVEN].sum()),
    "grouped mean": (lambda x: grouped(x).mean().sel(key="b"), lambda v: v[ODD].mean()),
    "added": (
        lambda x: dt.data(x[:2], dims=key).sel(key=group).inc(data(x)).sel(key="b"),
        lambda v: v[1] + v[1::2].sum(),
    ),
    "cumsum": (lambda x: data(x).cumsum().isel(obs=-1), np.sum),
    "cumsum beside": (
        lambda x: folded(x).cumsum("row").isel(row=-1, side=0),
        lambda v: v[EVEN].sum(),
    ),
    "cumulative mean": (lambda x: data(x).cumulative("obs").mean().isel(obs=-1), np.mean),
    "coarsened mean": (
        lambda x: data(x).coarsen(obs=HALF).mean().isel(obs=1),
        lambda v: v[LAST].mean(),
    ),
    "weighted sum": (
        lambda x: data(x).weighted(OF_WEIGHTS).sum(),
        lambda v: (v * OF_WEIGHTS.values.astype(float)).sum(),
    ),
    "weighted mean": (
        lambda x: data(x).weighted(OF_WEIGHTS).mean(),
        lambda v: np.average(v, weights=OF_WEIGHTS.values.astype(float)),
    ),
    "by bins": (
        lambda x: data(x).groupby_bins(IN_BINS, [0.0, 0.5, 1.0]).mean().isel(group_bins=0),
        lambda v: v[EVEN].mean(),
    ),
    "resampled": (
        lambda x: data(x, minute).resample(minute="YE").mean().isel(minute=0),
        lambda v: v[YEAR].mean(),
    ),
}  # fmt: skip
OF_REALS = {
    "var": (lambda x: data(x).var(), variance),
    "grouped var": (lambda x: grouped(x).var().sel(key="a"), lambda v: v[EVEN].var()),
    "weighted var": (lambda x: data(x).weighted(OF_WEIGHTS).var(), weighted_variance),
    "resampled std": (
        lambda x: data(x, minute).resample(minute="YE").std().isel(minute=0),
        lambda v: v[YEAR].std(),
    ),
}
PRODUCTS = {
    "prod": (lambda x: data(x).prod(), np.prod),
    "cumprod": (lambda x: data(x).cumprod().isel(obs=-1), np.prod),
    "cumprod beside": (
        lambda x: folded(x).cumprod("row").isel(row=-1, side=0),
        lambda v: v[EVEN].prod(),
    ),
}
# loops over all elements, and windows: too long without a compiler
LOOPS = {
    "running group sum": (lambda x: grouped(x).cumsum().isel(obs=-1), lambda v: v[ODD].sum()),
    "cumulative var": (lambda x: data(x).cumulative("obs").var().isel(obs=-1), variance),
    "window sum": (lambda x: window(x).sum().isel(obs=-1), lambda v: v[LAST].sum()),
    "window mean": (
        lambda x: window(x, min_periods=1).mean().isel(obs=-1),
        lambda v: v[LAST].mean(),
    ),
    "window var": (lambda x: window(x).var().isel(obs=-1), lambda v: v[LAST].var()),
    "fading sum": (lambda x: fading(x).sum().isel(obs=-1), lambda v: faded(v, HALF)),
    "fading mean": (
        lambda x: fading(x).mean().isel(obs=-1),
        lambda v: faded(v, HALF) / faded(np.ones(N), HALF),
    ),
}  # fmt: skip
GROUP_PRODUCT = {
    "group product": (
        lambda x: grouped(x).prod().sel(key="a"),
        lambda v: v[EVEN].prod(),
    ),
}

INTERPRETED = [(name, "float32") for name in (*SUMS, *OF_REALS, *PRODUCTS)]
OTHERS = [(name, dtype) for name in SUMS for dtype in ("complex64", "int32")]
COMPILED_TOO = [(name, "float32") for name in (*LOOPS, *GROUP_PRODUCT)]
CASES = SUMS | OF_REALS | PRODUCTS | LOOPS | GROUP_PRODUCT


def is_accurate(name, dtype, backend):
    reduce, oracle = CASES[name]
    x = (near_one if name in PRODUCTS | GROUP_PRODUCT else numbers)(dtype)
    found = reduce(x).eval(backend=backend).values
    if dtype in ("float32", "complex64"):
        assert found.dtype == dtype
    wide = {"float32": "float64", "complex64": "complex128"}.get(dtype, dtype)
    rtol = np.log2(N) / 2 * np.finfo("float32").eps
    np.testing.assert_allclose(found, oracle(x.astype(wide)), rtol=rtol)


@pytest.mark.parametrize(("name", "dtype"), INTERPRETED)
def test_of_the_interpreter(name, dtype):
    is_accurate(name, dtype, "python")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype"), OTHERS)
def test_of_the_interpreter_for_other_dtypes(name, dtype):
    is_accurate(name, dtype, "python")


@pytest.mark.slow
@pytest.mark.parametrize("backend", COMPILED)
@pytest.mark.parametrize(("name", "dtype"), INTERPRETED + OTHERS + COMPILED_TOO)
def test_of_compiled_code(name, dtype, backend, monkeypatch):
    if dtype.startswith("complex"):  # loops over complex numbers are compiled by numba
        monkeypatch.setenv("DIMTENSOR_NATIVE", "0")
    is_accurate(name, dtype, backend)
