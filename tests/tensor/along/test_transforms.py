"""Fourier transforms and convolutions against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.signal

import dimtensor as dt
from tests.backend_names import BACKENDS, LONG_JAX

LENGTHS = (1, 2, 3, 8, 12, 17, 64, 100)


def numeric_gradient(function, x):
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = 1e-6
        found[at] = (function(x + step) - function(x - step)) / 2e-6
    return found


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("n", LENGTHS)
def test_transforms_and_inverses_are_numpys(n, norm, rng):
    t = dt.Dim("t", length=n)
    values = rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))
    z = dt.data((("b", "t"), values), dims=[dt.Dim("b"), t])
    x = z.real
    for found, expected in [
        (dt.fft.fft(z, "t", norm=norm), np.fft.fft(values, norm=norm)),
        (dt.fft.rfft(x, "t", norm=norm), np.fft.rfft(values.real, norm=norm)),
        (dt.fft.ifft(z, "t", norm=norm), np.fft.ifft(values, norm=norm)),
        (dt.fft.irfft(z, "t", to=dt.Dim("s", length=max(2 * n - 1, 1)), norm=norm),
         np.fft.irfft(values, max(2 * n - 1, 1), norm=norm)),
    ]:  # fmt: skip
        assert found.dtype == expected.dtype.name
        np.testing.assert_allclose(found.eval().transpose("b", ...), expected, atol=1e-12)


def test_single_precision_stays_single():
    x = dt.data(np.ones(4, dtype="float32"), dims=dt.Dim("t"))
    assert dt.fft.rfft(x).dtype == "complex64"
    assert dt.fft.irfft(dt.fft.rfft(x)).dtype == "float32"
    assert dt.fft.irfft(dt.fft.rfft(x)).values.tolist() == [1.0] * 4


def test_labels_are_frequencies():
    hours = pd.date_range("2021-01-01", periods=8, freq="3h")
    x = dt.data(np.arange(8.0), dims=dt.Dim("hour", coords=hours))
    (dim,) = dt.fft.rfft(x, datetime_unit="D").dims
    assert dim.name == "rfreq_hour"
    np.testing.assert_allclose(dim.coords, np.fft.rfftfreq(8, 1 / 8))
    (dim,) = dt.fft.fft(x, datetime_unit="h").dims
    np.testing.assert_allclose(dim.coords, np.fft.fftfreq(8, 3.0))


@pytest.mark.parametrize("backend", LONG_JAX)
def test_filters_of_lengths_that_come_late_and_their_gradients(backend, rng):
    t = dt.Dim("t")
    x, decay = dt.tensor("x", dims=t), dt.scalar("decay")
    z = dt.fft.rfft(x)
    damped = z * dt.exp(-decay * dt.arange(z.dims[0]))
    low = dt.fft.irfft(damped)
    loss = (low**2).sum() + (dt.abs(z) ** 2).sum() + dt.angle(damped * (2 + 1j)).sum()
    loss = loss + dt.fft.ifft(dt.fft.fft(low) * 1j).real[0]
    f = dt.function([x, decay], [low, *dt.grad(loss, [x, decay])], backend=backend)

    def by_numpy(values, decay):
        spectrum = np.fft.rfft(values)
        damped = spectrum * np.exp(-decay * np.arange(len(spectrum)))
        low = np.fft.irfft(damped)
        turned = np.fft.ifft(np.fft.fft(low) * 1j)[0].real
        total = (low**2).sum() + (abs(spectrum) ** 2).sum() + np.angle(damped * (2 + 1j)).sum()
        return total + turned, low

    for n in (6, 8):
        values = rng.normal(size=n)
        low, by_x, by_decay = f(x=values, decay=0.3)
        np.testing.assert_allclose(low.values, by_numpy(values, 0.3)[1], atol=1e-12)
        expected = numeric_gradient(lambda v: by_numpy(v, 0.3)[0], values)
        np.testing.assert_allclose(by_x.values, expected, rtol=1e-6, atol=1e-7)
        expected = numeric_gradient(lambda d: by_numpy(values, d)[0], np.array(0.3))  # noqa: B023
        np.testing.assert_allclose(by_decay.values, expected, rtol=1e-6)


@pytest.mark.compiled
def test_transforms_of_machine_code(rng):
    t, row = dt.Dim("t"), dt.Dim("row")
    x = dt.tensor("x", dims=[row, t])
    z = dt.fft.rfft(x, t)
    f = dt.function([x], [z.real, z.imag], backend="numba")
    for n in LENGTHS:
        values = rng.normal(size=(2, n))
        re, im = (part.transpose("row", ...).values for part in f((("row", "t"), values)))
        np.testing.assert_allclose(re + 1j * im, np.fft.rfft(values), atol=1e-13 * n)
    assert f.path == "machine code"


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_are_scipys(mode, backend, rng):
    t, row, lag = dt.Dim("t"), dt.Dim("row"), dt.Dim("lag")
    x, weights = dt.tensor("x", dims=[row, t]), dt.tensor("weights", dims=lag)
    y = dt.convolve(x, weights, "t", mode=mode)
    loss = (y**2).sum()
    f = dt.function([x, weights], [y, *dt.grad(loss, [x, weights])], backend=backend)

    def by_scipy(values, w):
        return np.stack([scipy.signal.convolve(v, w, mode=mode) for v in values])

    for n, k in ((5, 2), (4, 4), (7, 1), (9, 4), (1, 1)):
        values, w = rng.normal(size=(2, n)), rng.normal(size=k)
        found, by_x, by_weights = f((("row", "t"), values), w)
        np.testing.assert_allclose(found.transpose("row", ...), by_scipy(values, w), atol=1e-12)
        expected = numeric_gradient(lambda v: (by_scipy(v, w) ** 2).sum(), values)  # noqa: B023
        np.testing.assert_allclose(by_x.transpose("row", "t"), expected, rtol=1e-6, atol=1e-7)
        expected = numeric_gradient(lambda u: (by_scipy(values, u) ** 2).sum(), w)  # noqa: B023
        np.testing.assert_allclose(by_weights, expected, rtol=1e-6, atol=1e-7)


def sums_one_by_one(v, w, mode):
    """The definition: zeros where there is nothing to add up."""
    n, k = len(v), len(w)
    full = np.zeros(max(n + k - 1, 0))
    for i, j in np.ndindex(n, k):
        full[i + j] += v[i] * w[j]
    start, length = {
        "full": (0, len(full)),
        "same": ((k - 1) // 2, n),
        "valid": (k - 1, n - k + 1),
    }[mode]
    found = np.zeros(max(length, 0))
    part = full[max(start, 0) :][: len(found)]
    found[: len(part)] = part
    return found


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_nothing_and_of_little(mode, backend, rng):
    t, row, lag = dt.Dim("t"), dt.Dim("row"), dt.Dim("lag")
    x, weights = dt.tensor("x", dims=[row, t]), dt.tensor("weights", dims=lag)
    y = dt.convolve(x, weights, "t", mode=mode)
    f = dt.function([x, weights], [y, *dt.grad((y**2).sum(), [x, weights])], backend=backend)
    for n, k in ((0, 3), (1, 4), (2, 3), (0, 1), *(((0, 0), (2, 0)) if mode != "same" else ())):
        values, w = rng.normal(size=(2, n)), rng.normal(size=k)
        found, by_x, by_weights = f((("row", "t"), values), w)
        expected = np.stack([sums_one_by_one(v, w, mode) for v in values])
        np.testing.assert_allclose(found.transpose("row", ...), expected, atol=1e-12)

        def total(values, w):
            return sum((sums_one_by_one(v, w, mode) ** 2).sum() for v in values)

        expected = numeric_gradient(lambda v: total(v, w), values)  # noqa: B023
        np.testing.assert_allclose(by_x.transpose("row", "t"), expected, atol=1e-7)
        expected = numeric_gradient(lambda u: total(values, u), w)  # noqa: B023
        np.testing.assert_allclose(by_weights, expected, atol=1e-7)


@pytest.mark.parametrize("backend", BACKENDS)
def test_missing_values_stay_in_their_own_convolution(backend):
    row, t, lag = dt.Dim("row"), dt.Dim("t"), dt.Dim("lag")
    x, weights = dt.tensor("x", dims=[row, t]), dt.tensor("weights", dims=[row, lag])
    modes = ["full", "valid"]
    outputs = [dt.convolve(x, weights, ["t", "lag"], mode=mode) for mode in modes]
    values = np.array([[1.0, np.nan, 2.0, 3.0], [np.inf, 1.0, 2.0, 4.0], [1.0, 2.0, 3.0, 4.0]])
    w = np.array([[1.0, 2.0, np.nan], [1.0, 0.5, 0.0], [1.0, 0.5, 0.25]])
    results = dt.function([x, weights], outputs, backend)(
        (("row", "t"), values), (("row", "lag"), w)
    )
    for mode, found in zip(modes, results, strict=True):
        with np.errstate(invalid="ignore"):
            expected = [np.convolve(*each, mode=mode) for each in zip(values, w, strict=True)]
        np.testing.assert_allclose(found.transpose("row", ...), expected, rtol=1e-15)


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms_of_lengths_that_come_late(norm, backend, rng):
    t, row, to = dt.Dim("t"), dt.Dim("row"), dt.Dim("s")
    x, like = dt.tensor("x", dims=[row, t]), dt.tensor("like", dims=to)
    z = dt.fft.rfft(x, t, norm=norm)
    (freq,) = (dim for dim in z.dims if dim is not row)
    back = dt.fft.irfft(z, freq, to=to, norm=norm)
    whole = dt.fft.ifft(dt.fft.fft(x, t, norm=norm), "freq_t", to=t, norm=norm)
    f = dt.function([x, like], [z.real, z.imag, whole.real, (back * like).sum(to)], backend=backend)
    for n in (0, 1, 2, 3, 8):
        values = rng.normal(size=(2, n))
        re, im, same, product = (
            each.transpose("row", ...).values
            for each in f((("row", "t"), values), np.arange(n) + 1.0)
        )
        expected = np.fft.rfft(values, norm=norm) if n else np.zeros((2, 1))
        np.testing.assert_allclose(re + 1j * im, expected, atol=1e-12)
        np.testing.assert_allclose(same, values, atol=1e-12)
        np.testing.assert_allclose(product, values @ (np.arange(n) + 1.0), atol=1e-12)
    with pytest.raises((dt.CheckError, dt.DimError), match=r"irfft: dim 's' (has|differs)"):
        f((("row", "t"), rng.normal(size=(2, 4))), np.ones(6))


def test_labels_of_convolutions():
    x = dt.data([1.0, 2.0, 4.0], dims=dt.Dim("t", coords=[10, 20, 30]))
    weights = dt.data([1.0, 0.5], dims=dt.Dim("lag", length=2))
    assert dt.convolve(x, weights, mode="same").dims == x.dims
    assert dt.convolve(x, weights, mode="valid").dims[0].coords.tolist() == [20, 30]
    full = dt.convolve(x, weights).dims[0].coords
    np.testing.assert_array_equal(full, [10, 20, 30, np.nan])
    # the weights of each site
    site = dt.Dim("site", length=2)
    many = dt.data((("site", "lag"), np.eye(2)), dims=[site, weights.dims[0]])
    found = dt.convolve(x, many, ["t", "lag"], mode="same").eval()
    expected = [np.convolve([1.0, 2.0, 4.0], w)[:3] for w in np.eye(2)]
    np.testing.assert_allclose(found.transpose("site", "t"), expected)


T = dt.Dim("t", coords=[0, 1, 5])
X, W = dt.tensor("x", dims=T), dt.tensor("w", dims=dt.Dim("lag", length=4))
C = dt.tensor("c", dims=T, dtype="complex128")
TABLE = dt.tensor("table", dims=[dt.Dim("a"), dt.Dim("b")])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: dt.fft.fft(X), "the labels of dim 't' are not evenly spaced"),
        (lambda: dt.fft.rfft(C), "rfft is of real numbers"),
        (lambda: dt.fft.ifft(TABLE), r"ifft: name one of the dims \['a', 'b'\]"),
        (lambda: dt.fft.ifft(C, norm="orto"), "there is no norm 'orto'"),
        (lambda: dt.fft.irfft(C, to=dt.Dim("s", length=8)), "of length 8 has 5 frequencies"),
        (lambda: dt.convolve(X, W, mode="valid"), "4 weights do not lie inside of the 3 positions"),
        (lambda: dt.convolve(X, W[:0], mode="same"), "there are no weights"),
        (lambda: dt.fft.rfft(X[:0]), "has no positions"),
        (lambda: dt.convolve(X, W, mode="some"), "there is no mode 'some'"),
        (lambda: dt.convolve(X, TABLE), "it cannot be told along which dim the weights are"),
        (lambda: dt.convolve(C, W), "complex numbers are convolved part by part"),
        (lambda: dt.grad(dt.abs(C * X).sum(), X), "the derivative through multiply"),
    ],
)
def test_what_is_refused(ask, message):
    with pytest.raises(dt.DimtensorError, match=message):
        ask()


def test_parts_of_what_has_none_are_computed_from_it(rng):
    values = rng.normal(size=3) + 1j * rng.normal(size=3)
    k = dt.Dim("k", length=3)
    z = dt.tensor("z", dims=k, dtype="complex128")
    f = dt.function([z], [(z * z).real, dt.abs(z + 1), dt.angle(-z)], backend="python")
    for found, expected in zip(
        f(values), [(values**2).real, abs(values + 1), np.angle(-values)], strict=True
    ):
        np.testing.assert_allclose(found.values, expected)
