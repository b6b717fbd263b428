"""PyTensor's gradients of real expressions whose parts are complex, against differences."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import dimtensor as dt

T = dt.Dim("t", length=6)
X = np.array([0.3, -1.0, 2.0, 0.7, 1.1, -0.4])


def slopes(f, x, step=1e-6):
    return [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))]


@pytest.mark.parametrize("power", [2, 3])
def test_spectra_in_an_expression_of_pytensor(power):
    x, a = pt.vector("x", shape=(6,)), pt.scalar("a")
    spectrum = dt.fft.rfft(dt.from_shaped(x, dims=[T]) * dt.from_shaped(a, dims=[]), T)
    filtered = dt.fft.irfft(spectrum**power).to_shaped([T])
    cost = (filtered**2).sum() + a * filtered[0]
    # what stands around the complex part is PyTensor's
    f = pytensor.function([x, a], [cost, *pytensor.grad(cost, [x, a])], mode="FAST_COMPILE")
    value, by_x, by_a = f(X, 0.4)
    expected = np.fft.irfft(np.fft.rfft(0.4 * X) ** power, 6)
    np.testing.assert_allclose(value, (expected**2).sum() + 0.4 * expected[0])
    np.testing.assert_allclose(by_x, slopes(lambda v: f(v, 0.4)[0], X), rtol=1e-6, atol=1e-7)
    (slope,) = slopes(lambda v: f(X, v[0])[0], np.array([0.4]))
    np.testing.assert_allclose(by_a, slope, rtol=1e-6)


def test_powers_of_complex_numbers_have_derivatives():
    x = dt.tensor("x", dims=T)
    for power in (2, 3):
        cost = (abs(dt.fft.rfft(x, T) ** power) ** 2).sum()
        f = dt.function([x], [cost, dt.grad(cost, x)], backend="python")
        value, slope = f(X)
        np.testing.assert_allclose(float(value), (np.abs(np.fft.rfft(X)) ** (2 * power)).sum())
        np.testing.assert_allclose(slope, slopes(lambda v, f=f: float(f(v)[0]), X), rtol=1e-6)


def test_lengths_that_are_known_when_it_runs():
    """The length is an argument of the complex part, and no derivative is taken by it."""
    x = pt.vector("x")
    t = dt.Dim()
    spectrum = dt.fft.rfft(dt.from_shaped(x, dims=[t]), t)
    cost = (abs(spectrum * spectrum) ** 2).sum().to_shaped([])
    f = pytensor.function([x], [cost, pytensor.grad(cost, x)], mode="FAST_COMPILE")
    for values in (X, X[:5]):
        value, slope = f(values)
        np.testing.assert_allclose(value, (np.abs(np.fft.rfft(values)) ** 4).sum())
        np.testing.assert_allclose(slope, slopes(lambda v: f(v)[0], values), rtol=1e-6)
