"""Products with short matrices: one loop for what is computed of their rows."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from tests.kernels.interpret import interpreted

rng = np.random.default_rng(1)
N = 50
b, y = pt.vector("b", shape=(3,)), pt.dvector("y")
x = pt.matrix("x", shape=(3, None))
columns = pt.matrix("columns", shape=(None, 3))
u, v = pt.dvector("u"), pt.lvector("v")
s = pt.dscalar("s")
joined = pt.join(0, pt.alloc(1.0, 1, u.shape[0]), u[None, :], (u * v)[None, :])
VALUES = {
    b: np.array([0.3, -1.2, 2.0]),
    y: rng.normal(size=N),
    x: rng.normal(size=(3, N)),
    columns: rng.normal(size=(N, 3)),
    u: rng.normal(size=N),
    v: rng.integers(-3, 4, size=N),
    s: np.asarray(1.7),
}
B, Y, X, COLUMNS, U, V, S = VALUES.values()
JOINED = np.stack([np.ones(N), U, U * V])


def run(outputs, **changed):
    inputs = [i for i in VALUES if i in pytensor.graph.traversal.graph_inputs(outputs)]
    function = interpreted(inputs, outputs)
    return function(*(changed.get(i.name, VALUES[i]) for i in inputs)), function.source


def is_nested(source):
    """Whether there are loops in loops, other than those over the blocks of a total."""
    inner = [line for line in source.splitlines() if line.startswith("        ")]
    return any(line.lstrip().startswith("for ") and "min(" not in line for line in inner)


def regression(matrix):
    d = y - (b[:, None] * matrix).sum(axis=0)
    total = (-0.5 * (d / s) ** 2).sum() - y.shape[0] * pt.log(s)
    return [total, *pytensor.grad(total, [b, s])]


@pytest.mark.parametrize(("matrix", "expected"), [(x, X), (joined, JOINED), (columns.T, COLUMNS.T)])
def test_a_regression(matrix, expected):
    (value, slopes, scale), source = run(regression(matrix))
    residual = Y - B @ expected
    squares = residual @ residual
    np.testing.assert_allclose(value, -0.5 * squares / S**2 - N * np.log(S), rtol=1e-13)
    np.testing.assert_allclose(slopes, expected @ residual / S**2, rtol=1e-12)
    np.testing.assert_allclose(scale, squares / S**3 - N / S, rtol=1e-12)
    assert is_nested(source) == (expected is not X and expected is not JOINED)


def test_one_loop_over_the_long_axis_without_divisions():
    _, source = run(regression(joined))
    (loop,) = (part for part in source.split("        for ") if part.startswith("i0 in range(j0"))
    inner = [line for line in loop.splitlines() if line.startswith("            ")]
    assert sum("+=" in line for line in inner) == 4
    assert not any("/" in line for line in inner)


def test_rows_are_what_was_joined():
    _, source = run(regression(joined))
    assert "np.empty((3, " not in source


@pytest.mark.parametrize("empty", [False, True])
def test_sums_beside_a_short_axis(empty):
    product = (y[None, :] * x / s).sum(axis=1)
    (found,), _ = run([product], y=Y[:0], x=X[:, :0]) if empty else run([product])
    expected = np.zeros(3) if empty else X @ Y / S
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_values_that_are_not_finite_stay_in_their_rows():
    values = X.copy()
    values[1, 4], values[2, 7] = np.nan, np.inf
    sums = [(b[:, None] * x).sum(axis=0), (y[None, :] * x).sum(axis=1)]
    (along, beside), _ = run(sums, x=values)
    np.testing.assert_allclose(along, (B[:, None] * values).sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(beside, (Y * values).sum(axis=1), rtol=1e-13)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ((b[:, None] * pt.exp(x)).sum(axis=0), lambda: B @ np.exp(X)),  # would be computed thrice
        ((columns * b).sum(axis=1), lambda: COLUMNS @ B),
        (x.sum(axis=0), lambda: X.sum(axis=0)),
    ],
)
def test_what_is_left_as_it_is(graph, expected):
    (found,), source = run([graph])
    np.testing.assert_allclose(found, expected(), rtol=1e-13)
    assert is_nested(source)


def test_single_precision_is_added_up_in_double_precision():
    small = pt.matrix("small", shape=(4, None), dtype="float32")
    function = interpreted([small], [(small * np.float32(1)).sum(axis=0)])
    values = np.float32([[1e8], [1.0], [-1e8], [1.0]])
    np.testing.assert_array_equal(function(values)[0], np.float32([2.0]))
