"""The softplus as JAX computes it, against NumPy and SciPy."""

import numpy as np
import pytensor.tensor as pt
import pytest
from scipy.special import expit

from dimtensor.backends.jax import compile_positional
from tests.optional import jax

pytestmark = pytest.mark.compiled


def executable(length, make=pt.softplus):
    x = pt.vector("x", shape=(length,))
    return compile_positional([x], [make(x)])


def test_values():
    ends = [0.0, -0.0, 1e-300, -1e-300, -1e-17, 18.0, 33.3, 709.0, 1e300, np.inf, -np.inf, np.nan]
    x = np.concatenate([ends, np.linspace(-700.0, 700.0, 5001), np.linspace(-3.0, 3.0, 1001)])
    (found,) = executable(len(x)).call(x)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(found, np.logaddexp(0.0, x), rtol=1e-14)
    (found,) = executable(3, lambda x: pt.softplus(pt.cast(x, "int64"))).call(np.arange(-1.0, 2.0))
    np.testing.assert_allclose(found, np.logaddexp(0.0, [-1, 0, 1]), rtol=1e-14)


def test_derivatives():
    x = np.array([0.0, -0.0, 1.0, -1.0, 40.0, -40.0, 800.0, -800.0])
    with jax.enable_x64(True):
        raw = executable(len(x)).raw
        slope = jax.grad(lambda x: raw(x)[0].sum())
        bend = jax.grad(lambda x: slope(x).sum())
        found, bent = slope(x), bend(x)
    np.testing.assert_allclose(found, expit(x), rtol=1e-14)
    np.testing.assert_allclose(bent, expit(x) * expit(-x), rtol=1e-13, atol=1e-16)


def test_sums_of_softplus_of_multiples():
    x = np.linspace(-4.0, 4.0, 5000)
    made = executable(len(x), lambda x: pt.softplus(x) + pt.softplus(2 * x) - pt.softplus(-3 * x))
    total = executable(len(x), lambda x: (pt.softplus(x) - 3 * pt.softplus(2 * x)).sum())
    expected = np.logaddexp(0, x) + np.logaddexp(0, 2 * x) - np.logaddexp(0, -3 * x)
    np.testing.assert_allclose(made.call(x)[0], expected, rtol=1e-13, atol=1e-13)
    whole = (np.logaddexp(0, x) - 3 * np.logaddexp(0, 2 * x)).sum()
    np.testing.assert_allclose(total.call(x)[0], whole, rtol=1e-12)
