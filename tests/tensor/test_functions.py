"""Function forms of methods, and evenly spaced numbers, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import BACKENDS

K = dt.Dim("k", length=4)
ARRAY = np.array([3.0, -1.0, 7.0, 2.0])
X = dt.data(ARRAY, dims=K)


@pytest.mark.parametrize("name", ["argmax", "argmin", "argsort", "sort"])
def test_functions_along_a_dim_are_numpys(name):
    expected = getattr(np, name)(ARRAY)
    for found in (getattr(dt, name)(X), getattr(dt, name)(X, dim="k"), getattr(dt, name)(X, K)):
        np.testing.assert_array_equal(found.values, expected)


def test_what_is_missing_is_not_counted():
    x = dt.data([1.0, np.nan, 3.0], dims=dt.Dim("k"))
    assert dt.count(x).item() == 2
    assert dt.argmax(x, skipna=True).item() == 2
    np.testing.assert_array_equal(dt.diff(X, "k", n=2).values, np.diff(ARRAY, n=2))
    assert dt.diff(X, "k", label="lower").dims == (dt.SelDim(K, positions=slice(0, 3)),)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 50])
def test_numbers_are_evenly_spaced_as_in_numpy(n, backend):
    start, stop = dt.scalar("start"), dt.scalar("stop")
    late, k = dt.tensor("late", dims=dt.Dim("late")), dt.Dim("k", length=n)
    known = dt.function([start, stop], dt.linspace(start, stop, k), backend=backend)
    data = dt.function(
        [start, stop, late], dt.linspace(start, stop, late.dims[0]) + 0.0 * late, backend=backend
    )
    for a, b in ((0.0, 1.0), (2.5, -7.0), (3.0, 3.0)):
        expected = np.linspace(a, b, n)
        np.testing.assert_allclose(known(a, b), expected, rtol=0, atol=1e-15)
        np.testing.assert_allclose(data(a, b, np.ones(n)), expected, rtol=0, atol=1e-15)
        assert n == 0 or (known(a, b).values[0], known(a, b).values[-1]) == (a, expected[-1])


def test_numbers_are_spaced_between_tensors_and_have_slopes():
    row = dt.Dim("row", length=2)
    start = dt.tensor("start", dims=row)
    found = dt.linspace(start, 10, dt.Dim("k", length=3))
    assert set(found.dims) == {row, dt.Dim("k", length=3)}
    slope = dt.grad(found.sum(), start)
    np.testing.assert_array_equal(slope.eval({start: np.zeros(2)}), [1.5, 1.5])
    alone = dt.grad(dt.linspace(start, 10, dt.Dim("k", length=1)).sum(), start)
    np.testing.assert_array_equal(alone.eval({start: np.zeros(2)}), [1.0, 1.0])
    late, s = dt.tensor("late", dims=dt.Dim("late")), dt.scalar("s")
    slope = dt.grad((dt.linspace(s, 10, late.dims[0]) * late).sum(), s)
    assert float(slope.eval({s: 2.0, late: np.ones(1)})) == 1.0


@pytest.mark.parametrize("values", [np.arange(4.0), [1.0, 2.0], 3.0])
def test_values_given_for_a_name_are_data(values):
    with pytest.raises(
        dt.ArgumentError, match=r"not .*\nhint: values are dt\.data\(values, dims=\.\.\."
    ):
        dt.tensor(values)
    with pytest.raises(dt.ArgumentError, match=r"a non-empty string, not ''$"):
        dt.tensor("")


def test_einsum_is_dot():
    with pytest.raises(AttributeError, match=r"names(.|\n)*: dt\.dot\(x, beta, dim=predictor\)"):
        _ = dt.einsum
