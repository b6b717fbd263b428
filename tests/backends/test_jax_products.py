"""Sums of products become products of XLA's library, and sums over short axes sums of terms."""

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.math import Dot

from dimtensor.backends import python as interpreter
from dimtensor.backends.jax import compile_positional
from dimtensor.optimize.library_products import into_products
from dimtensor.tuning import LIBRARY_PRODUCT, LIBRARY_PRODUCT_IN_STEPS
from tests.optional import jax

N, K = 400, 20


def matrix(n=N, k=K, dtype="float64"):
    return pt.tensor("x", dtype=dtype, shape=(n, k))


def vector(n, name="v", dtype="float64"):
    return pt.tensor(name, dtype=dtype, shape=(n,))


def ops_after(inputs, outputs, least=LIBRARY_PRODUCT):
    graph = FunctionGraph(inputs, outputs, clone=True)
    into_products(graph, least)
    return {type(node.op) for node in graph.toposort()}


X, OVER_K, OVER_N = matrix(), vector(K), vector(N)
SUMS = {
    "rows": ([X, OVER_K], (X * OVER_K).sum(1)),
    "rows turned": ([X, OVER_K], (OVER_K * X).sum(axis=-1)),
    "columns": ([X, OVER_N], (X * OVER_N[:, None]).sum(0)),
    "columns turned": ([X, OVER_N], (OVER_N.dimshuffle(0, "x") * X).sum(0)),
}
LEFT = {
    "few": ([matrix(20, 20), OVER_K], lambda x, v: (x * v).sum(1)),
    "unknown": ([matrix(None), OVER_K], lambda x, v: (x * v).sum(1)),
    "column": ([matrix(5000, 1), vector(1)], lambda x, v: (x * v).sum(1)),
    "float32": ([matrix(dtype="float32"), vector(K, dtype="float32")], lambda x, v: (x * v).sum(1)),
    "of rows": ([X, OVER_K], lambda x, v: (x * v).sum(0)),
    "everything": ([X, OVER_K], lambda x, v: (x * v).sum()),
    "quotients": ([X, OVER_K], lambda x, v: (x / v).sum(1)),
    "two matrices": ([X, matrix()], lambda x, y: (x * y).sum(1)),
}


@pytest.mark.parametrize("case", SUMS)
def test_sums_that_are_products(case):
    inputs, total = SUMS[case]
    assert ops_after(inputs, [total]) == {Dot, DimShuffle}


@pytest.mark.parametrize("case", LEFT)
def test_sums_that_stay(case):
    inputs, total = LEFT[case]
    assert Dot not in ops_after(inputs, [total(*inputs)])


CUBE = pt.tensor("cube", shape=(4, 6, 16))
OF_MANY_AXES = {
    "one in the middle": ((1,), (1, 6, 1)),
    "the outer ones": ((0, 2), (4, 1, 16)),
    "the first ones": ((0, 1), (4, 6, 1)),
    "the last ones": ((1, 2), (1, 6, 16)),
}


@pytest.mark.parametrize("case", OF_MANY_AXES)
def test_sums_of_many_axes(case, rng):
    over, shape = OF_MANY_AXES[case]
    factor = pt.tensor("factor", shape=shape)
    total = (factor * CUBE).sum(over)
    assert Dot in ops_after([CUBE, factor], [total], LIBRARY_PRODUCT_IN_STEPS)
    assert Dot not in ops_after([CUBE, factor], [total], 385)  # 384 elements
    graph = FunctionGraph([CUBE, factor], [total], clone=True)
    into_products(graph, LIBRARY_PRODUCT_IN_STEPS)
    cube, values = rng.normal(size=(4, 6, 16)), rng.normal(size=shape)
    (found,) = interpreter.compile_positional(graph.inputs, graph.outputs).call(cube, values)
    np.testing.assert_allclose(found, (cube * values).sum(over), rtol=1e-12, atol=1e-13)


def test_terms_that_are_used_otherwise_stay():
    terms = X * OVER_K
    assert Dot not in ops_after([X, OVER_K], [terms.sum(1), pt.exp(terms)])


@pytest.mark.compiled
def test_values_and_derivatives():
    rng = np.random.default_rng(0)
    x, v, w = rng.normal(size=(N, K)), rng.normal(size=K), rng.normal(size=N)
    x[3, 4], v[4] = np.inf, 0.0
    x[5, 5], x[7, 1] = np.nan, -np.inf
    outputs = [(X * OVER_K).sum(1), (OVER_N[:, None] * X).sum(0)]
    executable = compile_positional([X, OVER_K, OVER_N], outputs)
    found = executable.call(x, v, w)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(found[0], (x * v).sum(1), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found[1], (x * w[:, None]).sum(0), rtol=1e-12, atol=1e-13)
    x = rng.normal(size=(N, K))
    with jax.enable_x64(True):
        slopes = jax.grad(lambda v: executable.raw(x, v, w)[0] @ w)(v)
        many = jax.vmap(lambda v: executable.raw(x, v, w)[0])(np.stack([v, 2 * v]))
    np.testing.assert_allclose(slopes, x.T @ w, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(many, np.stack([x @ v, 2 * x @ v]), rtol=1e-12, atol=1e-13)


LONG, TALL, WIDE = matrix(None, 3), matrix(None, 4), pt.tensor("wide", shape=(3, 50))
OVER_3 = vector(3)
TERMS = {
    "products": ([LONG, OVER_3], lambda lib, x, v: (x * v).sum(1)),
    "elements": ([TALL], lambda lib, x: x.sum(-1)),
    "of rows": ([WIDE], lambda lib, x: (2.0 * x - 1.0).sum(0)),
    "selected": ([LONG, OVER_3], lambda lib, x, v: lib.where(x > 0.0, x * v, 0.0).sum(1)),
    "of what is dear for few": ([LONG, OVER_3], lambda lib, x, v: (x * lib.exp(v)).sum(1)),
}
WHOLE = {
    "over a long axis": ([LONG], lambda x: x.sum(0)),
    "over two axes": ([LONG], lambda x: x.sum((0, 1))),
    "over all": ([LONG], lambda x: x.sum()),
    "dear": ([LONG, OVER_3], lambda x, v: (pt.exp(x) * v).sum(1)),
    "beside a short one": ([matrix(8, 3)], lambda x: x.sum(1)),
    "over nine": ([matrix(50, 9)], lambda x: x.sum(1)),
    "float32": ([matrix(None, 3, "float32")], lambda x: x.sum(1)),
    "maxima": ([LONG], lambda x: x.max(1)),
}


def reductions(function, *values):
    with jax.enable_x64(True):
        return str(jax.make_jaxpr(function)(*values)).count("reduce_")


def problem(inputs, rng):
    x = rng.normal(size=tuple(n or 50 for n in inputs[0].type.shape)).astype(inputs[0].type.dtype)
    return [x, np.array([0.5, -1.5, 2.5])][: len(inputs)]


@pytest.mark.parametrize("case", TERMS)
def test_sums_over_short_axes_are_of_terms(case, rng):
    inputs, total = TERMS[case]
    executable = compile_positional(inputs, [total(pt, *inputs)])
    values = problem(inputs, rng)
    assert reductions(executable.raw, *values) == 0
    x = values[0]
    x[0, 0], x[1, 1], x[2, 2] = np.inf, np.nan, -np.inf
    x[:, 3:] = -0.0
    if case == "elements":
        x[3] = -0.0
    (found,) = executable.call(*values)
    wanted = total(np, *values)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


@pytest.mark.parametrize("case", WHOLE)
def test_sums_that_stay_whole(case, rng):
    inputs, total = WHOLE[case]
    executable = compile_positional(inputs, [total(*inputs)])
    assert reductions(executable.raw, *problem(inputs, rng)) == 1


def test_derivatives_and_batches_of_sums_of_terms(rng):
    pure = compile_positional([LONG, OVER_3], [(LONG * OVER_3).sum(1)]).raw
    x, v, w = rng.normal(size=(50, 3)), rng.normal(size=3), rng.normal(size=50)
    with jax.enable_x64(True):
        slopes = jax.grad(lambda v: pure(x, v)[0] @ w)(v)
        many = jax.vmap(lambda v: pure(x, v)[0])(np.stack([v, 2 * v]))
    np.testing.assert_allclose(slopes, x.T @ w, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(many, np.stack([x @ v, 2 * x @ v]), rtol=1e-12, atol=1e-13)


def dots(function, *values):
    with jax.enable_x64(True):
        return str(jax.make_jaxpr(function)(*values)).count("dot_general")


MATRICES = [
    # rows, what is summed over, columns, dtypes, whether XLA has to multiply
    (4, 4, 4, "float64", "float64", False),
    (1, 12, 3, "float64", "float64", False),
    (100, 2, 100, "float32", "float32", False),
    (0, 3, 2, "float64", "float64", False),
    (3, 13, 3, "float64", "float64", True),
    (101, 2, 100, "float64", "float64", True),
    (3, 0, 2, "float64", "float64", True),
    (4, 4, 4, "float64", "float32", True),
]


@pytest.mark.parametrize(("rows", "short", "columns", "one", "other", "is_dot"), MATRICES)
def test_products_of_small_matrices(rows, short, columns, one, other, is_dot, rng):
    a, b = pt.matrix("a", dtype=one), pt.matrix("b", dtype=other)
    x, y = (
        rng.normal(size=(rows, short)).astype(one),
        rng.normal(size=(short, columns)).astype(other),
    )
    executable = compile_positional([a, b], [pt.dot(a, b)])
    assert bool(dots(executable.raw, x, y)) is is_dot
    tolerance = 1e-5 if "float32" in (one, other) else 1e-12
    for values in (x, np.full_like(x, -0.0), np.where(x > 0.5, np.inf, x)):
        (found,) = executable.call(values, y)
        with np.errstate(invalid="ignore"):
            expected = values @ y
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(np.signbit(found[found == 0]), False)


def test_derivatives_of_products_of_small_matrices(rng):
    a, b = pt.dmatrices("a", "b")
    executable = compile_positional([a, b], [pt.dot(a, b)])
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(5, 4, 2))
    with jax.enable_x64(True):
        many = jax.vmap(lambda y: executable.raw(x, y)[0])(y)
        slopes = jax.grad(lambda x: (executable.raw(x, y[0])[0] ** 2).sum())(x)
    np.testing.assert_allclose(many, x @ y, rtol=1e-12)
    np.testing.assert_allclose(slopes, 2 * (x @ y[0]) @ y[0].T, rtol=1e-12)
