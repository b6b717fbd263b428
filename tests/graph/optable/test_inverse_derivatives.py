"""Derivatives of inverse functions keep their digits at every end.

The wanted numbers are those of their formulas by mpmath at 60 digits.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import dimtensor as dt
from dimtensor.tensor import elementwise
from tests.backend_names import BACKENDS

FIRST = {
    "arcsin": lambda x: 1 / mpmath.sqrt(1 - x * x),
    "arccos": lambda x: -1 / mpmath.sqrt(1 - x * x),
    "arctan": lambda x: 1 / (1 + x * x),
    "arcsinh": lambda x: 1 / mpmath.sqrt(1 + x * x),
    "arccosh": lambda x: 1 / mpmath.sqrt(x * x - 1),
    "arctanh": lambda x: 1 / (1 - x * x),
}
SECOND = {
    "arcsin": lambda x: x / mpmath.sqrt(1 - x * x) ** 3,
    "arccos": lambda x: -x / mpmath.sqrt(1 - x * x) ** 3,
    "arctan": lambda x: -2 * x / (1 + x * x) ** 2,
    "arcsinh": lambda x: -x / mpmath.sqrt(1 + x * x) ** 3,
    "arccosh": lambda x: -x / mpmath.sqrt(x * x - 1) ** 3,
    "arctanh": lambda x: 2 * x / (1 - x * x) ** 2,
}
INSIDE = [0.0, 0.3, -0.7, 1 - 1e-3, 1 - 1e-10, -1 + 1e-10, 1 - 2.0**-53, -1 + 2.0**-52]
AT = {
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), INSIDE),
    "arctan": [0.0, -0.3, 2.0, 1e8, -1e100],
    "arcsinh": [0.0, -0.3, 2.0, 1e8, 2.0**30, -(2.0**31), 1e100, -1e200, 1e300],
    "arccosh": [1 + 2.0**-52, 1 + 1e-10, 1.001, 2.0, 1e8, 1e200],
}


def wanted(function, points):
    with mpmath.workdps(60):
        return np.array([float(function(mpmath.mpf(float(x)))) for x in points])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FIRST)
def test_first_derivatives_keep_their_digits(name, backend):
    k = dt.Dim("k", length=len(AT[name]))
    x = dt.tensor("x", dims=k)
    slope = dt.grad(getattr(elementwise, name)(x).sum(), x)
    found = dt.function([x], slope, backend=backend)(np.array(AT[name]))
    np.testing.assert_allclose(found.values, wanted(FIRST[name], AT[name]), rtol=4e-15)


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name):
    points = [x for x in AT[name] if abs(x) < 1e90]
    x = dt.tensor("x", dims=dt.Dim("k", length=len(points)))
    slope = dt.grad(getattr(elementwise, name)(x).sum(), x)
    found = dt.function([x], dt.grad(slope.sum(), x), backend="python")(np.array(points))
    expected = wanted(SECOND[name], points)
    np.testing.assert_allclose(found.values, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_slope_far_outside_is_not_zero_in_single_precision(backend):
    x = dt.scalar("x", dtype="float32")
    slope = dt.function([x], dt.grad(dt.arcsinh(x), x), backend=backend)
    for at in (1.0, 1e6, 1e30, -1e30):
        expected = 1 / np.sqrt(1 + np.float64(at) ** 2)
        np.testing.assert_allclose(float(slope(np.float32(at))), expected, rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_the_normal_quantile_of_a_logarithm(backend):
    """One over the ratio of density and distribution function at the quantile itself."""
    quantiles = [-1e7, -3e3, -40.0, -5.0, -1.0, 0.0, 2.0, 5.0]
    with mpmath.workdps(60):
        cdf = [mpmath.erfc(-mpmath.mpf(z) / mpmath.sqrt(2)) / 2 for z in quantiles]
        points = np.array([float(mpmath.log(p)) for p in cdf])
        slopes = [float(p / mpmath.npdf(z)) for p, z in zip(cdf, quantiles, strict=True)]
    x = dt.tensor("x", dims=dt.Dim("k", length=len(points)))
    f = dt.function([x], dt.grad(dt.special.ndtri_exp(x).sum(), x), backend=backend)
    # SciPy's quantiles have 12 digits, those of JAX more
    np.testing.assert_allclose(f(points).values, slopes, rtol=5e-12)
