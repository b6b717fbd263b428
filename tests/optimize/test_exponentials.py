"""Log-sum-exp and softmax of whole axes and of a few terms."""

import itertools

import numpy as np
import pytensor.tensor as pt
import pytest
from scipy.special import log_softmax, logsumexp, softmax

import dimtensor as dt
from dimtensor.kernels.compiler import compile_kernel
from dimtensor.ops.along import LogSumExp, ScaledSoftmax, Softmax
from dimtensor.ops.derivatives.flow import number

pytestmark = pytest.mark.compiled
ENDS = [-np.inf, -745.5, -1.0, -0.0, 0.0, 1.0, 1e-300, 3.5, 710.0, np.inf, np.nan]


def kernel_of(dtype="float64", rows=2):
    """A kernel of log-sum-exp over the first axis, and of the sum of the softmax times a matrix."""
    x, picked = (pt.tensor(name, dtype=dtype, shape=(rows, None)) for name in ("x", "picked"))
    share = ScaledSoftmax([0])(x, number(3, x))
    return compile_kernel([x, picked], [LogSumExp([0])(x), (share * picked).sum(axis=0)])


def expected(x):
    """Log-sum-exp of SciPy, and the softmax, which is 0 where all exponentials are."""
    with np.errstate(all="ignore"):
        largest = np.max(x, axis=0)
        sizes = np.exp(x - np.where(np.isfinite(largest), largest, 0))
        total = sizes.sum(axis=0)
        return logsumexp(x, axis=0), np.where(total == 0, 0, 3 / total) * sizes


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rows", [2, 3, 9])
def test_ends_of_the_range(dtype, rows):
    kernel = kernel_of(dtype, rows)
    if dtype == "float64":  # the other has names of ours
        assert kernel.source.count("exp(") == {2: 1, 3: 3, 9: 1}[rows]
    pairs = np.array(list(itertools.product(ENDS, ENDS)), dtype).T
    x = np.concatenate([pairs, np.full((rows - 2, pairs.shape[1]), -np.inf, dtype)])
    rtol = 1e-15 if dtype == "float64" else 1e-6
    total, shares = expected(x)
    call = kernel.native.bind(kernel.constants)
    for row in range(rows):
        picked = np.zeros(x.shape, dtype)
        picked[row] = 1
        found, share = call(np.ascontiguousarray(x), picked)
        np.testing.assert_allclose(found, total, rtol=rtol)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(share, (shares * picked).sum(axis=0), rtol=4 * rtol)


@pytest.mark.parametrize("rows", [2, 3, 9])
@pytest.mark.parametrize("log", [False, True])
def test_softmax_at_the_ends(rows, log):
    """As in SciPy; next to an infinite element, others have the share 0 unless it overflows."""
    x, picked = (pt.tensor(name, dtype="float64", shape=(rows, None)) for name in ("x", "picked"))
    found = Softmax([0], log)(x)
    one = pt.switch(picked > 0, found, 0).sum(axis=0)
    kernel = compile_kernel([x, picked], [found, one])
    parts = compile_kernel([x, picked], [one])  # of short axes, without the whole array
    unrolled = parts.native.bind(parts.constants)
    pairs = np.array(list(itertools.product(ENDS, ENDS))).T
    values = np.concatenate([pairs, np.full((rows - 2, pairs.shape[1]), -np.inf)])
    with np.errstate(all="ignore"):
        beside = values - np.inf if log else np.exp(values) / np.inf
        is_infinite = np.max(values, axis=0) == np.inf
        expected = (log_softmax if log else softmax)(values, axis=0)
        expected = np.where(is_infinite, beside, expected)
    call = kernel.native.bind(kernel.constants)
    for row in range(rows):
        chosen = np.zeros(values.shape)
        chosen[row] = 1
        (alone,) = unrolled(np.ascontiguousarray(values), chosen)
        whole, one = call(np.ascontiguousarray(values), chosen)
        np.testing.assert_allclose(alone, expected[row], rtol=1e-14, atol=1e-16)
        np.testing.assert_allclose(whole, expected, rtol=1e-14, atol=1e-16)
        np.testing.assert_allclose(one, expected[row], rtol=1e-14, atol=1e-16)


def test_digits_of_a_small_share_count():
    kernel = kernel_of()
    x = np.array([-1.0, -10.0, -36.0, -45.0, -300.0, -700.0, -np.inf])
    x = np.stack([np.zeros(7), x])
    found, _ = kernel.native.bind(kernel.constants)(x, x)
    np.testing.assert_allclose(found, np.log1p(np.exp(x[1])), rtol=1e-15)


def test_mixtures_of_two_take_one_exponential(rng):
    obs, kind = dt.Dim("obs"), dt.Dim("kind", length=2)
    x, mu = dt.tensor("x", dims=obs), dt.tensor("mu", dims=kind)
    total = dt.logsumexp(-((x - mu) ** 2), kind).sum()
    f = dt.function([x, mu], [total, dt.grad(total, mu)])
    assert f.source.count("exp(") == 1
    values, at = rng.normal(size=30), np.array([0.3, -1.2])
    terms = -((values[:, None] - at) ** 2)
    found, slope = f(values, at)
    np.testing.assert_allclose(found, logsumexp(terms, axis=1).sum(), rtol=1e-12)
    weights = np.exp(terms - logsumexp(terms, axis=1)[:, None])
    expected = (weights * 2 * (values[:, None] - at)).sum(0)
    np.testing.assert_allclose(slope, expected, rtol=1e-12)


COMPOSITIONS = {
    "sum": lambda x, w, k: x.logsumexp(k).sum(),
    "weighted": lambda x, w, k: (w * x.logsumexp(k)).sum(),
    "masked": lambda x, w, k: dt.where(w > 0, x.logsumexp(k), 0).sum(),
    "selected": lambda x, w, k: x.logsumexp(k).isel(n=[0, 1, 5, 7]).sum(),
    "softmax": lambda x, w, k: (w * x.softmax(k)).sum(),
    "log_softmax": lambda x, w, k: (w * x.log_softmax(k)).sum(),
    "both": lambda x, w, k: (x.softmax(k) * dt.where(w > 0, x.log_softmax(k), 0)).sum(),
    "looked up": lambda x, w, k: (w * x.log_softmax(k).sel({k: (w > 0).astype("int64")})).sum(),
    "softmax in a step": lambda x, w, k: dt.reduce(
        lambda s, row: s + (row.softmax(k) * row).sum(), 0.0, x, dim=w.dims[0]
    ),
    "step": lambda x, w, k: dt.reduce(lambda s, row: s + row.logsumexp(k), 0.0, x, dim=w.dims[0]),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_backends_agree_at_the_ends(name):
    """Value, gradient, and gradient of the gradient, NaN where the interpreter has it."""
    n, k = dt.Dim("n", length=36), dt.Dim("k", length=2)
    x, w = dt.tensor("x", dims=(n, k)), dt.tensor("w", dims=n)
    ends = [-np.inf, -2.0, 0.0, np.inf, np.nan, 800.0]
    values = np.array(list(itertools.product(ends, ends)))
    weights = np.resize([0.0, -1.0, 1.0], 36)
    y = COMPOSITIONS[name](x, w, k)
    slope = dt.grad(y, x)
    again = dt.grad((slope**2 * dt.where(dt.isfinite(x), x, 1.0)).sum(), x)
    results = [
        dt.function([x, w], [y, slope, again], backend=backend)((("n", "k"), values), weights)
        for backend in ("python", "numba")
    ]
    for right, found in zip(*results, strict=True):
        found = found.transpose(*right.dims)
        np.testing.assert_allclose(found.values, right.values, rtol=1e-12)
