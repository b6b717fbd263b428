"""Elements are what IEEE's arithmetic gives; the order of additions is free in reductions only."""

import math

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph

import dimtensor as dt
from dimtensor.kernels.compiler import kernel_of

pytestmark = pytest.mark.compiled

SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 0.1, 3.0, -7.25, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310,
    2.2250738585072014e-308, 1.7976931348623157e308, -1e308, 1e16, 1.0 + 2.0**-52, 1e-200, 1e200,
    0.5, 49.0, 1e-16, -1e16,
]  # fmt: skip
X, Y = (grid.ravel() for grid in np.meshgrid(SPECIAL, SPECIAL))

# each is called with PyTensor's variables and with NumPy's arrays
EXPRESSIONS = {
    "there and back": lambda x, y: (x + y) - y,
    "back and there": lambda x, y: (x - y) + y,
    "nothing": lambda x, y: (x - x) + y * 0.0,
    "product by zero": lambda x, y: x * 0.0,
    "ratio to itself": lambda x, y: x / x,
    "quotient": lambda x, y: x / y,
    "quotient by a number": lambda x, y: x / 49.0,
    "quotient of a negative": lambda x, y: (-x) / y - x / y,
    "quotients by the same": lambda x, y: (x / y) * (y / 3.0) / y,
    "there and back by a factor": lambda x, y: (x * y) / y,
    "difference of products": lambda x, y: x * y - x * y,
    "difference of turned products": lambda x, y: x * y - y * x,
    "what a product is rounded to": lambda x, y: (x * y) - np.floor(x * y),
    "negative zero": lambda x, y: 0.0 - x,
    "sign of zero": lambda x, y: 1.0 / (x * y),
    "sum of zeros": lambda x, y: 1.0 / (x + y),
    "root of a square": lambda x, y: np.sqrt(x * x),
    "root": lambda x, y: np.sqrt(x) / y,
    "minus a negative": lambda x, y: -(0.0 - x) - (y - x),
    "what is left of it": lambda x, y: (x + y) - x,
}


def compiled(inputs, outputs):
    """Machine code of a graph as it is, without rewrites."""
    kernel = kernel_of(FunctionGraph(list(inputs), list(outputs), clone=True))
    assert kernel.native is not None
    return kernel.native.bind(kernel.constants)


def same(found, expected):
    """Where two arrays have the same numbers, or both nan; 0 and -0 are not the same."""
    equal = (found == expected) & (np.signbit(found) == np.signbit(expected))
    return equal | (np.isnan(found) & np.isnan(expected))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_elements_are_those_of_ieee_arithmetic(dtype):
    x, y = pt.vector("x", dtype=dtype), pt.vector("y", dtype=dtype)
    call = compiled([x, y], [make(x, y).astype(dtype) for make in EXPRESSIONS.values()])
    with np.errstate(all="ignore"):
        a, b = X.astype(dtype), Y.astype(dtype)
    for (name, make), found in zip(EXPRESSIONS.items(), call(a, b), strict=True):
        with np.errstate(all="ignore"):
            expected = make(a, b).astype(dtype)
        others = ~same(found, expected)
        assert not others.any(), (name, a[others], b[others], found[others], expected[others])


@pytest.mark.parametrize("exponent", [3, 4, 7, 16, 30, 64, 65, 200, -1, -3, -4, -7, -30])
def test_whole_powers(exponent):
    """By squaring up to 64: the error is at most the exponent in units of the last place."""
    x = pt.dvector("x")
    call = compiled([x], [x**exponent, x ** float(exponent)])
    special = np.array([*SPECIAL, 1e103, -1e103, 1e-103, 1e-60])
    near = np.random.default_rng(0).uniform(-2, 2, 1000)
    for data in (special, near):
        with np.errstate(all="ignore"):
            expected = data ** float(exponent)
            exact = data.astype(np.longdouble) ** exponent
        for found in call(data):
            np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
            usual = np.isfinite(expected) & (abs(expected) > 1e-300)
            assert np.all(same(found, expected) | usual | (abs(expected) <= 1e-300))
            error = abs(found[usual] - exact[usual]) / abs(exact[usual])
            # half a unit for each product, and for each factor that is a reciprocal
            assert error.max() <= abs(exponent) * 2.0**-53 * (2 if exponent < -1 else 1)
            np.testing.assert_allclose(found[~usual], expected[~usual], rtol=1e-13, atol=1e-320)
            np.testing.assert_array_equal(np.signbit(found[usual]), np.signbit(expected[usual]))


@pytest.mark.parametrize("exponent", [1.5, -1.5, 2.5, -2.5, 4.5, -4.5, 5.5])
def test_powers_with_a_square_root(exponent):
    """Up to 4.5 by a square root: as precise as its factors, and with the C library's limits."""
    x = pt.dvector("x")
    call = compiled([x], [x ** np.float32(exponent)])
    special = np.array([*SPECIAL, 1e60, 1e-60])
    for data in (special, np.random.default_rng(0).uniform(0, 3, 1000)):
        with np.errstate(all="ignore"):
            expected = np.float_power(data, exponent)
            exact = data.astype(np.longdouble) ** exponent
        (found,) = call(data)
        usual = np.isfinite(expected) & (abs(expected) > 1e-300)
        np.testing.assert_allclose(found[~usual], expected[~usual], atol=1e-300)
        np.testing.assert_array_equal(np.signbit(found[~usual & ~np.isnan(expected)]), False)
        error = abs(found[usual] - exact[usual]) / abs(exact[usual])
        assert error.max() <= (abs(exponent) + 1) * 2.0**-52


def test_division_with_a_remainder():
    x, y = pt.dvectors("x", "y")
    found = compiled([x, y], [x // y, x % y])(X, Y)
    with np.errstate(all="ignore"):
        expected = X // Y, X % Y
    for one, other in zip(found, expected, strict=True):
        others = ~same(one, other)
        assert not others.any(), (X[others], Y[others], one[others], other[others])


def test_exponentials_are_not_combined():
    x = pt.dvector("x")
    (found,) = compiled([x], [pt.exp(x) * pt.exp(-x)])(np.array([800.0, -800.0, 0.0]))
    np.testing.assert_array_equal(found, [np.nan, np.nan, 1.0])


def test_a_product_and_a_sum_are_rounded_once_at_most():
    """A product that is used once may be rounded with what it is added to, and nothing more."""
    x, y, z = pt.dvectors("x", "y", "z")
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(3, 1000))
    (found,) = compiled([x, y, z], [x * y + z])(a, b, c)
    exact = [math.fsum([*_two_products(p, q), r]) for p, q, r in zip(a, b, c, strict=True)]
    plain = a * b + c
    assert np.all((found == plain) | (found == exact))


def _two_products(a, b):
    """A product without rounding, by Dekker and Veltkamp."""
    product = a * b
    parts = []
    for number in (a, b):
        scaled = 134217729.0 * number
        high = scaled - (scaled - number)
        parts.append((high, number - high))
    (ah, al), (bh, bl) = parts
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def test_a_compensated_sum_in_a_scan():
    """W. Kahan, Further Remarks on Reducing Truncation Errors, 1965."""
    t = dt.Dim("t")
    v = dt.tensor("v", dims=t)

    def step(state, x):
        total, lost = state
        y = x - lost
        both = total + y
        return both, (both - total) - y

    total, _ = dt.reduce(step, (0.0, 0.0), v, dim=t)
    values = np.full(100_000, 0.1)
    assert float(dt.function([v], total)(values)) == math.fsum(values)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(1_000_000,), (3, 400_000), (400_000, 3)])
def test_sums_are_as_accurate_as_numpys(dtype, shape):
    """Of numbers of one sign; NumPy adds up pairs of halves along the last axis."""
    x = pt.tensor("x", dtype=dtype, shape=(None,) * len(shape))
    rng = np.random.default_rng(0)
    outputs = [pt.sum(x, dtype=dtype), pt.mean(x, dtype=dtype), pt.sum(x * x, dtype=dtype)]
    outputs += [pt.sum(x, axis=axis, dtype=dtype) for axis in range(len(shape))]
    call = compiled([x], outputs)
    epsilon = np.finfo(dtype).eps
    for data in (np.full(shape, 0.1, dtype), rng.random(shape).astype(dtype)):
        total, mean, squares, *sums = call(data)
        exact = math.fsum(data.ravel().astype(float))
        assert abs(total - exact) <= 24 * epsilon * exact
        assert abs(mean - exact / data.size) <= 25 * epsilon * exact / data.size
        exact = math.fsum((data.astype(float) ** 2).ravel())
        assert abs(squares - exact) <= 25 * epsilon * exact
        for axis, found in enumerate(sums):
            many = dtype == "float64" and data.shape[axis] > 3 and axis != data.ndim - 1
            if many:  # NumPy adds up rows one after the other as well
                np.testing.assert_allclose(found, data.sum(axis), rtol=1e-9)
                continue
            exact = np.sum(data.astype(np.longdouble), axis=axis)
            assert np.all(abs(found - exact) <= 24 * epsilon * exact)


def test_sums_of_groups_in_single_precision():
    x, codes = pt.fvector("x"), pt.lvector("codes")
    call = compiled([x, codes], [pt.inc_subtensor(pt.zeros(3, dtype="float32")[codes], x)])
    data, at = np.full(300_000, 0.1, "float32"), np.arange(300_000) % 3
    np.testing.assert_allclose(call(data, at)[0], np.full(3, 1e4), rtol=1e-6)


def test_infinite_sums():
    x = pt.dvector("x")
    call = compiled([x], [x.sum()])
    many = np.ones(10_000)
    for special, expected in [
        ([np.inf], np.inf), ([-np.inf], -np.inf), ([np.inf, -np.inf], np.nan), ([np.nan], np.nan),
        ([1.7e308, 1.7e308], np.inf),
    ]:  # fmt: skip
        for place in (0, 5000, 9990):
            data = many.copy()
            data[place : place + len(special)] = special
            np.testing.assert_equal(float(call(data)[0]), expected)


@pytest.mark.falls_back  # complex numbers
@pytest.mark.parametrize(
    "value", [complex(-0.0, 2.0), complex(3.0, -0.0), complex(np.nan, np.inf), complex(-np.inf, 1)]
)
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_complex_numbers_keep_their_zeros_and_infinities(value, dtype):
    b = dt.Dim("b", length=2)
    number = np.asarray(value, dtype=dtype)
    f = dt.function([], dt.full(b, number), backend="numba")
    np.testing.assert_array_equal(f().values.view("u1"), np.full(2, number).view("u1"))
