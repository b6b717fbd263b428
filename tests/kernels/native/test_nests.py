"""Nests in functions of their own, some of which are shared: here in short kernels as well."""

import math

import numpy as np
import pytensor.tensor as pt
import pytest

from dimtensor.kernels.compiler import compile_kernel
from dimtensor.kernels.native import code, nests
from dimtensor.kernels.native.code import NativeKernel
from dimtensor.kernels.native.functions import library
from dimtensor.kernels.native.translate import ArgumentType
from tests.kernels.reading import parsed

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True)
def texts(monkeypatch):
    """What LLVM is given."""
    monkeypatch.setattr(nests, "OUTLINED_LOOPS", 0)
    found = []
    translated = code.translated

    def noted(*given):
        found.append(translated(*given).text)
        return translated(*given)

    monkeypatch.setattr(code, "translated", noted)
    return found


def functions(texts):
    """How many functions there are, and how many calls of them."""
    text = "".join(texts)
    return text.count("define internal void @dimtensor.nest"), text.count(
        "call void @dimtensor.nest"
    )


def called(inputs, outputs, *values):
    kernel = compile_kernel(inputs, outputs)
    assert kernel.native is not None, kernel.left_to_numba
    return kernel.native.bind(kernel.constants)(*map(np.asarray, values))


def draws(rng, *shape):
    return rng.normal(size=shape)


def test_sums_of_rows(texts, rng):
    a, b = pt.dmatrices("a", "b")
    x, y = draws(rng, 3, 5), draws(rng, 4, 2)
    one, two = called([a, b], [pt.exp(a).sum(axis=1), pt.exp(b).sum(axis=1)], x, y)
    assert functions(texts) == (1, 2)
    np.testing.assert_allclose(one, np.exp(x).sum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(two, np.exp(y).sum(axis=1), rtol=1e-14)


def test_totals_that_are_read_after_their_nest(texts, rng):
    a, b = pt.dvectors("a", "b")
    x, y = draws(rng, 3000), draws(rng, 7)
    first, second = pt.exp(a).sum(), pt.exp(b).sum()
    found = called([a, b], [first, second, first * second], x, y)
    assert functions(texts) == (1, 2)
    wanted = np.exp(x).sum(), np.exp(y).sum()
    np.testing.assert_allclose(found, [*wanted, wanted[0] * wanted[1]], rtol=1e-14)


def test_numbers_from_outside(texts, rng):
    a, b, s, t = *pt.dvectors("a", "b"), *pt.dscalars("s", "t")
    x, y = draws(rng, 6), draws(rng, 9)
    one, two = called(
        [a, b, s, t], [pt.tanh(a * pt.exp(s)), pt.tanh(b * pt.exp(t))], x, y, 0.3, -1.0
    )
    assert functions(texts) == (1, 2)
    np.testing.assert_allclose(one, np.tanh(x * np.exp(0.3)), rtol=1e-14)
    np.testing.assert_allclose(two, np.tanh(y * np.exp(-1.0)), rtol=1e-14)


def test_other_types_are_other_functions_and_known_lengths_stay(texts, rng):
    a, b = pt.dvector("a"), pt.fvector("b")
    c = pt.tensor("c", dtype="float64", shape=(3,))
    x, y, z = draws(rng, 6), draws(rng, 9).astype("float32"), draws(rng, 3)
    found = called([a, b, c], [pt.exp(a), pt.exp(b), pt.exp(c)], x, y, z)
    assert functions(texts) == (2, 2)
    for made, given in zip(found, (x, y, z), strict=True):
        np.testing.assert_allclose(made, np.exp(given), rtol=1e-6 if given is y else 1e-14)


@pytest.mark.parametrize(("fewest", "number"), [(3, 0), (2, 2)])
def test_few_loops_stay_in_their_function(texts, monkeypatch, rng, fewest, number):
    monkeypatch.setattr(nests, "OUTLINED_LOOPS", fewest)
    a, b = pt.dvectors("a", "b")
    x, y = draws(rng, 6), draws(rng, 9)
    one, two = called([a, b], [pt.exp(a), pt.tanh(b)], x, y)
    assert functions(texts) == (number, number)
    np.testing.assert_allclose(one, np.exp(x), rtol=1e-14)
    np.testing.assert_allclose(two, np.tanh(y), rtol=1e-14)


def test_which_numbers_are_one_stays_apart(texts, rng):
    """A square matrix whose rows and columns have one length, and another of two lengths."""
    a, b = pt.dmatrix("a"), pt.dmatrix("b")
    x, y = draws(rng, 4, 3), draws(rng, 3, 2)
    outer = a[:, 0][:, None] * a[:, 0][None, :]
    other = a[:, 0][:, None] * b[:, 0][None, :]
    found = called([a, b], [pt.exp(outer), pt.exp(other)], x, y)
    np.testing.assert_allclose(found[0], np.exp(np.outer(x[:, 0], x[:, 0])), rtol=1e-14)
    np.testing.assert_allclose(found[1], np.exp(np.outer(x[:, 0], y[:, 0])), rtol=1e-14)


def test_products_that_are_added_to_in_a_nest(texts, rng):
    """The product is rounded together with a sum, or is not, wherever the loop is."""
    a, b, s, t = *pt.dvectors("a", "b"), *pt.dscalars("s", "t")
    x, y = draws(rng, 6), draws(rng, 9)
    one, two = called([a, b, s, t], [a + s * s, b + t * t], x, y, 0.3, -1.7)
    np.testing.assert_allclose(one, x + 0.3**2, rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(two, y + 1.7**2, rtol=1e-15, atol=5e-16)


ARRAYS = """
def kernel(x, y):
    n0 = x.shape[0]
    v = np.empty((n0,), dtype=np.float64)
    w = np.empty((n0,), dtype=np.float64)
    a = x
    b = y
    for i in range(n0):
        v[i] = math.tanh(x[i] - y[i]) * a[i]
    for i in range(n0):
        w[i] = math.tanh(x[i] - y[i]) * b[i]
    return (v, w, )
"""
STARTS = """
def kernel(x, y):
    n0 = x.shape[0]
    p = 2.0
    total = 0.0
    for i in range(n0):
        if x[i] > 0.0:
            p = x[i]
        total += p
    q = 3.0
    other = 0.0
    for i in range(n0):
        if y[i] > 0.0:
            q = y[i]
        other += q
    return (total, other, )
"""
NUMBERS = """
def kernel(x, y):
    n0 = x.shape[0]
    n1 = y.shape[0]
    m0 = n0
    m1 = n1
    v = np.zeros((n0,), dtype=np.float64)
    w = np.zeros((n0,), dtype=np.float64)
    for i in range(n0):
        for j in range(n1):
            v[i] += x[i] * y[j] * m0
    for i in range(n0):
        for j in range(n1):
            w[i] += x[i] * y[j] * m1
    return (v, w, )
"""


def test_which_names_are_one_number(texts, rng):
    given = [draws(rng, 9), draws(rng, 4)]
    types = [ArgumentType("float64", (None,))] * 2
    kernel = NativeKernel(code.native_code(parsed(NUMBERS, [("float64", 1)] * 2, {}), types))
    one, two = kernel.bind()(*given)
    products = given[0] * given[1].sum()
    np.testing.assert_allclose(one, 9 * products, rtol=1e-13)
    np.testing.assert_allclose(two, 4 * products, rtol=1e-13)
    assert functions(texts) == (2, 2)


@pytest.mark.parametrize(("source", "number"), [(ARRAYS, 2), (STARTS, 1)], ids=["arrays", "starts"])
def test_what_a_function_is_given(texts, rng, source, number):
    """Two names of one array in one nest and of another in the other; a number that goes on."""
    given = [draws(rng, 9), draws(rng, 9)]
    types = [ArgumentType("float64", (9,))] * 2
    kernel = NativeKernel(code.native_code(parsed(source, [("float64", 1)] * 2, {}), types))
    namespace = {"np": np, "math": math}
    exec(source, namespace)
    for found, wanted in zip(kernel.bind()(*given), namespace["kernel"](*given), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert functions(texts) == (number, 2)


@pytest.mark.parametrize("lengths", [(3, 5), (60, 70)])
def test_factors_and_their_gradients(texts, rng, lengths):
    """Templates of linear algebra; gradients against what central differences give."""
    matrices = pt.dmatrices("a", "b")
    values = []
    for n in lengths:
        root = draws(rng, n, n) / n
        values.append(root @ root.T + np.eye(n))
    total = sum(pt.log(pt.diagonal(pt.linalg.cholesky(x))).sum() for x in matrices)
    outputs = [total, *pt.grad(total, list(matrices))]
    value, *slopes = called(list(matrices), outputs, *values)
    made, calls = functions(texts)
    assert 3 <= made < calls
    wanted = sum(np.linalg.slogdet(x)[1] / 2 for x in values)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    for x, slope in zip(values, slopes, strict=True):
        inverse = np.linalg.inv(x) / 2  # of log |x| / 2; the cotangent is that of one triangle
        np.testing.assert_allclose((slope + slope.T) / 2, inverse, rtol=1e-9, atol=1e-12)


def test_a_nest_that_writes_is_no_function_of_numbers(monkeypatch):
    """Of those there is one copy where there are many calls, of which LLVM is told more."""
    monkeypatch.setattr(library, "INLINED_CALLS", 0)
    exp = "define internal double @dimtensor.exp(double %x) {} nounwind {{\n  ret double %x\n}}\n"
    nest = (
        "define internal void @dimtensor.nest0(ptr %p0) alwaysinline nounwind {\n"
        "  %r = call double @dimtensor.exp(double 1.0)\n"
        "  store double %r, ptr %p0\n  ret void\n}\n"
    )
    found = library.with_calls_or_copies(exp.format("alwaysinline") + nest)
    assert nest in found
    assert "noinline memory(none)" in found.partition("\n")[0]
