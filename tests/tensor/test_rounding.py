"""Rounding to decimals, against NumPy and Python's integers."""

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import LONG_JAX

NUMBERS = np.array([2.675, -0.05, 1.005, 0.15, 0.5, 1.5, -0.001, 12345.678, -1250.0, 1350.0,
                    np.inf, -np.inf, np.nan])  # fmt: skip
K = dt.Dim("k", length=len(NUMBERS))


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_floats_are_rounded_as_by_numpy(dtype, backend):
    values = NUMBERS.astype(dtype)
    places = [0, 1, 2, 5, -1, -2, -3]
    found = dt.evaluate([dt.round(dt.data(values, dims=K), d) for d in places], backend=backend)
    for d, result in zip(places, found, strict=True):
        assert result.dtype == dtype
        np.testing.assert_array_equal(result.values, np.round(values, d), str(d))


@pytest.mark.parametrize("backend", LONG_JAX)
def test_inputs_are_rounded_as_by_numpy(backend):
    x = dt.tensor("x", dims=dt.Dim("n"))
    values = np.random.default_rng(1).normal(0.0, 100.0, 1000)
    values[:4] = [0.125, np.nan, -np.inf, -0.0]
    places = (2, 5, -1)
    f = dt.function([x], [dt.round(x, d) for d in places], backend=backend)
    for d, result in zip(places, f(values), strict=True):
        expected = np.round(values, d)
        np.testing.assert_array_equal(result.values, expected, str(d))
        np.testing.assert_array_equal(np.signbit(result.values), np.signbit(expected), str(d))


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "uint64", "bool"])
def test_integers_are_rounded_to_tens_and_hundreds(dtype):
    values = np.array([0, 1, 5, 14, 15, 25, 35, 45, 99, 104, 115, 150, 151, 250]).astype(dtype)
    if dtype.startswith("int"):
        values = np.concatenate([values, -values])
    x = dt.data(values, dims=dt.Dim("n"))
    for d in (0, 2, -1, -2, -3, -30):
        result = dt.round(x, d)
        expected = [int(v) if dtype == "bool" else round(int(v), d) for v in values]
        assert result.dtype == dtype
        np.testing.assert_array_equal(result.values, expected, err_msg=str(d))


def test_huge_numbers_are_whole():
    values = np.array([1e300, 1e307, -1e307, np.inf])  # scaled, some are infinite
    x = dt.data(values, dims=dt.Dim("n"))
    for d in (2, 20, 308, 400):
        np.testing.assert_array_equal(dt.round(x, d).values, values)
    assert dt.round(x[:3], -400).values.tolist() == [0.0, 0.0, 0.0]


def test_pythons_round_and_the_gradient():
    x = dt.tensor("x", dims=K)
    assert round(dt.data([1.25, 13.37], dims=dt.Dim("n")), 1).values.tolist() == [1.2, 13.4]
    slope = dt.grad(dt.round(x, 1).sum(), x).eval({x: NUMBERS})
    assert slope.values.tolist() == [0.0] * len(NUMBERS)
    with pytest.raises(dt.OptionError, match=r"round: decimals are an integer, not 1\.5"):
        dt.round(x, 1.5)
    with pytest.raises(dt.DtypeError, match="complex128"):
        dt.round(x.astype("complex128"), 1)
