"""One exponential for two numbers of which the larger is subtracted."""

import itertools

import numpy as np
import pytensor.tensor as pt
import pytest
from scipy.special import logsumexp

import dimtensor as dt
from dimtensor.kernels.compiler import compile_kernel
from dimtensor.ops.constants import number_of

pytestmark = pytest.mark.compiled
ENDS = [-np.inf, -745.5, -1.0, -0.0, 0.0, 1.0, 1e-300, 3.5, 710.0, np.inf, np.nan]


def parts(a, b, dtype="float64"):
    larger = pt.maximum(a, b)
    ends = pt.or_(pt.isnan(larger), pt.isinf(larger))
    shift = pt.switch(ends, pt.constant(0, dtype=dtype), larger)
    return pt.exp(a - shift), pt.exp(b - shift), shift


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_both_are_what_two_exponentials_are(dtype):
    a, b = pt.vector("a", dtype=dtype), pt.vector("b", dtype=dtype)
    of_a, of_b, shift = parts(a, b, dtype)
    kernel = compile_kernel([a, b], [of_a, of_b, pt.log(of_a + of_b) + shift])
    if dtype == "float64":  # the other has names of ours
        assert kernel.source.count("exp(") == 1
    x, y = (np.array(part, dtype) for part in zip(*itertools.product(ENDS, ENDS), strict=True))
    with np.errstate(all="ignore"):
        larger = np.maximum(x, y)
        moved = np.where(np.isfinite(larger), larger, 0)
        expected = np.exp(x - moved), np.exp(y - moved)
    call = kernel.native.bind(kernel.constants)
    one, other, total = call(x, y)
    rtol = 1e-15 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(one, expected[0], rtol=rtol)
    np.testing.assert_allclose(other, expected[1], rtol=rtol)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(total, logsumexp([x, y], axis=0), rtol=rtol)


def test_digits_of_a_small_share_count():
    a, b = pt.dvectors("ab")
    of_a, of_b, _ = parts(a, b)
    kernel = compile_kernel([a, b], [pt.log(of_a + of_b)])
    x = np.array([-1.0, -10.0, -36.0, -45.0, -300.0, -700.0, -np.inf])
    (found,) = kernel.native.bind(kernel.constants)(np.zeros(7), x)
    np.testing.assert_allclose(found, np.log1p(np.exp(x)), rtol=1e-15)


def test_what_is_no_pair_stays(rng):
    a, b, c = pt.dvectors("abc")
    of_a, of_b, shift = parts(a, b)
    more = pt.exp(c - shift), pt.exp(pt.maximum(a, b) - c)
    kernel = compile_kernel([a, b, c], [of_a, of_b, *more])
    assert kernel.source.count("exp(") == 3
    x, y, z = rng.normal(size=(3, 20))
    found = kernel.native.bind(kernel.constants)(x, y, z)
    larger = np.maximum(x, y)
    expected = np.exp([x - larger, y - larger, z - larger, larger - z])
    np.testing.assert_allclose(found, expected, rtol=1e-15)


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


def test_functions_of_numbers_are_other_numbers():
    zero = pt.constant(0.0)
    assert number_of(zero.dimshuffle("x", "x")) == 0
    assert number_of(pt.exp(zero)) is None
    assert number_of(pt.sum(pt.ones(3))) is None
