"""Elementary and Bessel functions in kernels, against decimals of 40 digits."""

import decimal

import numpy as np
import pytensor.tensor as pt
import pytest
import scipy.special

from dimtensor.kernels.compiler import compile_kernel
from dimtensor.kernels.native.functions import library
from dimtensor.ops.special import i0e, i1e

pytestmark = pytest.mark.compiled

decimal.getcontext().prec = 40
rng = np.random.default_rng(0)
N = 400
WIDE = np.exp(rng.uniform(-740, 709, N))
SPECIAL = np.array(
    [
        np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 710.0, 5e-324, 1e308, 1e-320, -1e300,
        -709.0, -744.5, -745.1, -745.2, -745.99, -746.0, -746.01, -750.0,
    ]
)  # fmt: skip


def log1p(x):
    # of a sum with 1, 40 digits would be too few
    return (1 + x).ln() if abs(x) > 1e-12 else x - x * x / 2 + x * x * x / 3


def tanh(x):
    grown = (2 * x).exp()
    return (grown - 1) / (grown + 1)


def bessel(order):
    """exp(-|x|) I(x) by its power series."""

    def exact(x):
        half = abs(x) / 2
        term = total = half if order else decimal.Decimal(1)
        k = 0
        while term > total * decimal.Decimal("1e-30") or k < half:
            k += 1
            term *= half * half / (k * (k + order))
            total += term
        total *= (-abs(x)).exp()
        return -total if order and x < 0 else total

    return exact


SIZES = np.concatenate([rng.uniform(-12, 12, 200), rng.uniform(-300, 300, 40), [5.0, -5.0, 1e-9]])
CASES = {
    "tanh": (
        pt.tanh,
        tanh,
        np.concatenate([rng.normal(size=N), rng.uniform(-22, 22, N), rng.normal(size=N) / 1e9]),
        2.0,
    ),
    "exp": (
        pt.exp,
        decimal.Decimal.exp,
        np.concatenate([rng.normal(size=N), rng.uniform(-745, 709.7, N), rng.normal(size=N) / 1e9]),
        1.0,
    ),
    "log": (
        pt.log,
        decimal.Decimal.ln,
        np.concatenate([rng.uniform(0.5, 2, N), WIDE, 1 + rng.normal(size=N) / 1e5]),
        1.0,
    ),
    "log1p": (
        pt.log1p,
        log1p,
        np.concatenate([rng.uniform(-1, 3, N), WIDE, rng.normal(size=N) / 1e5, -rng.random(N)]),
        2.0,
    ),
    "i0e": (i0e, bessel(0), SIZES, 3.0),
    "i1e": (i1e, bessel(1), SIZES, 3.0),
}


def function(operation):
    x = pt.dvector("x")
    kernel = compile_kernel([x], [operation(x)])
    assert kernel.native is not None
    return kernel.native.bind()


OF_SCIPY = 8.0  # the largest error of SciPy's functions, which are called without fused arithmetic


@pytest.mark.parametrize("name", CASES)
def test_errors_in_units_of_the_last_place(name):
    operation, exact, values, most = CASES[name]
    if name in ("i0e", "i1e") and not library.has_vectors(name):
        most = OF_SCIPY
    (found,) = function(operation)(values)
    for x, value in zip(values, found, strict=True):
        expected = exact(decimal.Decimal(float(x)))
        unit = decimal.Decimal(float(np.spacing(abs(float(expected)))))
        assert abs(decimal.Decimal(float(value)) - expected) <= decimal.Decimal(most) * unit, x


@pytest.mark.parametrize("name", CASES)
def test_special_numbers(name):
    with np.errstate(all="ignore"):
        expected = getattr(np, name, getattr(scipy.special, name, None))(SPECIAL)
    (found,) = function(CASES[name][0])(SPECIAL)
    rtol, atol = (2e-15, 1e-323) if name in ("i0e", "i1e") else (4e-16, 0)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def softplus(x):
    return log1p(x.exp())


@pytest.mark.parametrize(("operation", "exact"), [(pt.sigmoid, sigmoid), (pt.softplus, softplus)])
def test_functions_made_of_them(operation, exact):
    values = np.concatenate(
        [rng.uniform(-708, 708, N), rng.normal(size=N), rng.normal(size=N) / 1e9]
    )
    (found,) = function(operation)(values)
    for x, value in zip(values, found, strict=True):
        expected = exact(decimal.Decimal(float(x)))
        unit = decimal.Decimal(float(np.spacing(abs(float(expected)))))
        assert abs(decimal.Decimal(float(value)) - expected) <= 2 * unit, x
    values = np.concatenate([SPECIAL, rng.uniform(-800, 800, N)])
    with np.errstate(all="ignore"):
        expected = np.logaddexp(0.0, values)
        if operation is pt.sigmoid:  # that of SciPy is 0 where its exponential overflows
            expected = np.where(values < -40, np.exp(values), scipy.special.expit(values))
    (found,) = function(operation)(values)
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-322)


def test_log1mexp():
    operation = pt.log1mexp
    small, near = 10.0 ** rng.uniform(-323, 0, N), rng.uniform(0.5, 0.8, N)
    values = -np.concatenate([small, near, rng.uniform(0, 45, N), rng.uniform(30, 745, N)])
    values = values[values != 0]
    (found,) = function(operation)(values)
    for x, value in zip(values, found, strict=True):
        negative = -decimal.Decimal(float(x)).exp()
        # 1 - exp(x) by its series where the difference has no digits
        d = decimal.Decimal(float(x))
        less = 1 + negative if x < -1e-8 else -d - d**2 / 2 - d**3 / 6 - d**4 / 24
        expected = less.ln() if x > -40 else log1p(negative)
        unit = decimal.Decimal(float(np.spacing(abs(float(expected)))))
        assert abs(decimal.Decimal(float(value)) - expected) <= 3 * unit, x
    (found,) = function(operation)(np.array([0.0, -0.0, -np.inf, np.nan, 1.0, 800.0, np.inf]))
    np.testing.assert_array_equal(found, [-np.inf, -np.inf, -0.0, *[np.nan] * 4])
    assert np.signbit(found[2])
