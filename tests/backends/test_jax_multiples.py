"""Sums of logarithms of multiples of one variable, which XLA confuses from 4096 elements on."""

import numpy as np
import pytest

import dimtensor as dt
from tests.optional import jax

pytestmark = pytest.mark.compiled

ROWS = dt.Dim("row")
# two terms of x in dimtensor or NumPy, and the derivative of their sum
PAIRS = {
    "log1p of both signs": (
        lambda m, x: m.log1p(x) - 1.5 * m.log1p(-x),
        lambda x: 1 / (1 + x) + 1.5 / (1 - x),
    ),
    "log of the double": (
        lambda m, x: m.log(x) + 2 * x * m.log(2 * x),
        lambda x: 1 / x + 2 * np.log(2 * x) + 2,
    ),
    "log2 and log10": (
        lambda m, x: m.log2(3 * x) - 5 * m.log10(x / 7),
        lambda x: (1 / np.log(2) - 5 / np.log(10)) / x,
    ),
    "expm1": (
        lambda m, x: m.expm1(x / 2) - 3 * m.expm1(-x),
        lambda x: np.exp(x / 2) / 2 + 3 * np.exp(-x),
    ),
    "of an expression": (
        lambda m, x: m.log1p(0.3 * (x + 0.1)) - m.log1p(0.7 * (x + 0.1)) * 1.5,
        lambda x: 0.3 / (1.03 + 0.3 * x) - 1.05 / (1.07 + 0.7 * x),
    ),
    "three": (
        lambda m, x: m.log1p(x) + m.log1p(-x) + 2 * m.log1p(x / 3),
        lambda x: 1 / (1 + x) - 1 / (1 - x) + 2 / (3 + x),
    ),
}


def value_and_gradient(terms):
    x = dt.tensor("x", dims=ROWS)
    total = terms(dt, x).sum()
    return dt.function([x], [total, *dt.grad(total, [x])], backend="jax")


@pytest.mark.parametrize(("terms", "slope"), PAIRS.values(), ids=PAIRS)
def test_sums_of_multiples_are_right(terms, slope):
    f = value_and_gradient(terms)
    for n in (1_000, 5_000, 100_000):
        x = np.random.default_rng(n).uniform(0.1, 0.9, n)
        value, gradient = (found.values for found in f(x))
        np.testing.assert_allclose(value, terms(np, x).sum(), rtol=1e-11)
        np.testing.assert_allclose(gradient, slope(x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize(("terms", "slope"), PAIRS.values(), ids=PAIRS)
def test_the_pure_function_is_right_under_the_users_jit(terms, slope, bits):
    x = np.random.default_rng(0).uniform(0.1, 0.9, 10_000).astype(f"float{bits}")
    f = value_and_gradient(terms).positional

    def total(x):
        return f.raw(x, *f.fixed)[0]

    with jax.enable_x64(bits == 64):
        value, gradient = jax.jit(jax.value_and_grad(total))(x)
        both = jax.jit(jax.vmap(total))(np.stack([x, x / 2]))
    assert value.dtype == gradient.dtype == f"float{bits}"
    exact = x.astype("float64")
    rtol = 1e-11 if bits == 64 else 1e-4
    np.testing.assert_allclose(value, terms(np, exact).sum(), rtol=rtol)
    np.testing.assert_allclose(gradient, slope(exact), rtol=rtol, atol=rtol / 10)
    np.testing.assert_allclose(both, [terms(np, z).sum() for z in (exact, exact / 2)], rtol=rtol)


@pytest.mark.parametrize(
    ("terms", "guarded"),
    [
        (lambda x: dt.log1p(x) + dt.log1p(-x), True),
        (lambda x: dt.log1p(x) + dt.log1p(x * x), False),
        (lambda x: dt.log1p(x) + dt.expm1(-x), False),
        (lambda x: dt.log(x + 1) + dt.log(x + 2), False),
        (lambda x: dt.exp(x) + dt.exp(-x), False),
    ],
)
def test_only_multiples_are_guarded(terms, guarded):
    x = dt.tensor("x", dims=ROWS)
    f = dt.function([x], terms(x).sum(), backend="jax").positional
    trace = str(jax.make_jaxpr(f.raw)(np.ones(8), *f.fixed))
    assert ("optimization_barrier" in trace) == guarded
