"""Linear algebra in canonical forms, in machine code: tests run strict."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.linalg import Eigh, cho_solve

import dimtensor as dt
from dimtensor.backends.native import NATIVE
from dimtensor.kernels.compiler import compile_kernel
from dimtensor.ops.derivatives import pull
from dimtensor.ops.derivatives.matrix_functions import funm
from dimtensor.optimize.canonical_forms import inline_graphs
from dimtensor.optimize.pipeline import optimize

pytestmark = pytest.mark.compiled
A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.25], [0.5, -0.25, 2.0]])
NOTHING = 77.0  # in the triangle that is not read


def run(inputs, outputs, values):
    kernel = compile_kernel(inputs, outputs)
    assert kernel.left_to_numba is None
    return kernel.native.bind()(*values, *kernel.constants)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("b_ndim", [1, 2])
def test_one_triangle_is_read(lower, b_ndim):
    a, b = pt.matrix("a"), pt.tensor("b", shape=(None,) * b_ndim)
    given = np.tril(A) + NOTHING * np.triu(np.ones((3, 3)), 1)
    given = given if lower else np.ascontiguousarray(given.T)
    right = np.arange(1.0, 1.0 + 3**b_ndim).reshape((3,) * b_ndim)
    factor = np.linalg.cholesky(A)
    factor = factor if lower else np.ascontiguousarray(factor.T)
    solved = pt.linalg.solve(a, b, assume_a="pos", lower=lower, b_ndim=b_ndim)
    (found,) = run([a, b], [solved], (given, right))
    np.testing.assert_allclose(found, np.linalg.solve(A, right), rtol=1e-12)
    (found,) = run([a, b], [cho_solve((a, lower), b, b_ndim=b_ndim)], (factor, right))
    np.testing.assert_allclose(found, np.linalg.solve(A, right), rtol=1e-12)


def test_solutions_in_batches_and_their_gradients():
    row, batch = dt.Dim("row", length=12), dt.Dim("batch")
    a = dt.tensor("a", dims=(row, row.rename("column")))
    b = dt.tensor("b", dims=(row, batch))
    solved = dt.linalg.solve(a, b, assume_a="pos")
    f = dt.function([a, b], [solved, dt.grad(solved.sum(), b)], backend="numba")
    rng = np.random.default_rng(3)
    m = rng.normal(size=(12, 12))
    matrix, right = m @ m.T + np.eye(12), rng.normal(size=(12, 5))
    found, slope = f((("row", "column"), matrix), (("row", "batch"), right))
    inverse = np.linalg.inv(matrix)
    (other,) = set(found.dims) - {"batch"}
    np.testing.assert_allclose(found.transpose(other, "batch").values, inverse @ right, rtol=1e-9)
    expected = np.repeat(inverse.sum(0)[:, None], 5, axis=1)
    np.testing.assert_allclose(slope.transpose("row", "batch").values, expected, rtol=1e-9)


def test_a_matrix_function_and_its_gradient_share_one_decomposition():
    x = pt.tensor("x", shape=(3, 3), dtype="float64")
    root = funm(x, "sqrt")
    (slope,) = pull([root.sum()], [pt.constant(1.0)], [x])
    graph = FunctionGraph([x], [root, slope], clone=True)
    optimize(graph, NATIVE)
    cores = [getattr(node.op, "core_op", node.op) for node in graph.apply_nodes]
    assert sum(isinstance(core, Eigh) for core in cores) == 1
    assert not any(isinstance(core, OpFromGraph) for core in cores)


@pytest.mark.parametrize(
    ("rows", "is_inlined"), [((None, None), True), ((1, None), False), ((1, 4), False)]
)
def test_graphs_over_batches_are_inlined_where_outputs_have_the_whole_batch(rows, is_inlined):
    a, b = pt.dvector("a"), pt.dvector("b")
    operation = OpFromGraph([a, b], [pt.exp(a), a + b])
    x, y = (pt.tensor(shape=(n, 3), dtype="float64") for n in rows)
    # the first output depends on x alone, and is repeated along the batch of y
    outputs = Blockwise(operation, signature="(i),(i)->(i),(i)")(x, y, return_list=True)
    graph = FunctionGraph([x, y], outputs, clone=False)
    inline_graphs(graph)
    assert any(isinstance(node.op, Blockwise) for node in graph.apply_nodes) is not is_inlined
    values = np.ones((rows[0] or 4, 3)), np.arange(12.0).reshape(4, 3)
    found = pytensor.function([x, y], graph.outputs, mode="FAST_COMPILE")(*values)
    np.testing.assert_allclose(found[0], np.full((4, 3), np.e))
    np.testing.assert_allclose(found[1], values[1] + 1.0)
