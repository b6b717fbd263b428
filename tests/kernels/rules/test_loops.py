"""Loops in kernels against the same loops in Python."""

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph

from dimtensor.kernels.compiler import kernel_of
from dimtensor.kernels.ir.nodes import If
from dimtensor.kernels.ir.walk import statements_in
from dimtensor.ops.loop import scan, while_loop
from dimtensor.ops.loop.conditional import Conditional, Shortcut, conditional
from tests.golden.compare import check_golden

pytestmark = pytest.mark.compiled

X = pt.dmatrix("x")
Y = pt.dvector("y")
A = pt.dscalar("a")
N = pt.lscalar("n")


def kernel(inputs, outputs):
    """The kernel of a graph as it is, without rewrites that could take the loop away."""
    return kernel_of(FunctionGraph(inputs, outputs, clone=True))


def run(inputs, outputs, *arrays):
    made = kernel(inputs, outputs)
    assert made.native is not None, "numba would be woken"
    return made.native.bind(made.constants)(*arrays)


def close(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("kind", [Conditional, Shortcut])
def test_what_runs_where_there_is_no_shortcut_is_rare(kind, rng):
    taken = pt.scalar("taken", dtype="bool")
    outputs = conditional(taken, lambda: [2.0 * X], lambda: [3.0 * X], kind=kind)
    made = kernel([taken, X], outputs)
    (branch,) = (each for each in statements_in(made.loops.body) if isinstance(each, If))
    assert branch.rare == (kind is Shortcut)
    x = rng.normal(size=(3, 4))
    for truth, factor in ((True, 2.0), (False, 3.0)):
        close(made.native.bind(made.constants)(np.asarray(truth), x), [factor * x])


@pytest.mark.parametrize("n", [0, 1, 2, 50])
@pytest.mark.parametrize("reverse", [False, True])
def test_scalars(n, reverse, rng):
    def step(states, xs):
        (s,), (y,) = states, xs
        return [pt.tanh(A * s + y)], [s * y, s]

    result = scan(step, [pt.as_tensor(np.float64(0.3))], [Y], reverse=reverse)
    y = rng.normal(size=n)
    found = run([Y, A], [*result.states, *result.traces], y, np.asarray(0.7))
    s, products, before = 0.3, np.zeros(n), np.zeros(n)
    for t in reversed(range(n)) if reverse else range(n):
        products[t], before[t] = s * y[t], s
        s = np.tanh(0.7 * s + y[t])
    close(found, [s, products, before])


@pytest.mark.parametrize("n", [0, 1, 7])
def test_vectors_and_matrices(n, rng):
    """A state that is a vector, one that is a matrix, rows that are read and written."""
    turn = pt.dmatrix("turn")

    def step(states, xs):
        (v, m), (row,) = states, xs
        new = pt.tanh(turn @ v + row)
        return [new, m + v[:, None] * new[None, :]], [new, (m * m).sum(), row[::-1]]

    start, square = pt.dvector("start"), pt.dmatrix("square")
    result = scan(step, [start, square], [X])
    x, v, t = rng.normal(size=(n, 3)), rng.normal(size=3), rng.normal(size=(3, 3))
    m = rng.normal(size=(3, 3))
    found = run([X, start, square, turn], [*result.states, *result.traces], x, v, m, t)
    rows, sizes, turned = np.zeros((n, 3)), np.zeros(n), np.zeros((n, 3))
    for k in range(n):
        new = np.tanh(t @ v + x[k])
        sizes[k], turned[k], rows[k] = (m * m).sum(), x[k][::-1], new
        v, m = new, m + v[:, None] * new[None, :]
    close(found, [v, m, rows, sizes, turned])


def test_states_that_change_places(rng):
    """Fibonacci's numbers, and two vectors that are swapped at every step."""

    def step(states, xs):
        a, b, v, w = states
        return [b, a + b, w, v], [v]

    p, q = pt.dvector("p"), pt.dvector("q")
    result = scan(step, [pt.constant(0, dtype="int64"), pt.constant(1, dtype="int64"), p, q], [], N)
    v, w = rng.normal(size=4), rng.normal(size=4)
    found = run([p, q, N], [*result.states, *result.traces], v, w, np.asarray(7))
    swapped = np.array([v, w, v, w, v, w, v])
    close(found, [13, 21, w, v, swapped])


def test_a_loop_that_stops(rng):
    def step(states, xs):
        (s,), (y,) = states, xs
        new = s + y
        return [new], [new * 2], pt.lt(new, 1.0)

    result = scan(step, [pt.as_tensor(np.float64(0.0))], [Y], stops=True)
    outputs = [*result.states, *result.traces, result.n_done]
    y = np.full(10, 0.3)
    close(run([Y], outputs, y), [1.2, np.array([0.6, 1.2, 1.8, 2.4] + [0.0] * 6), 4])
    close(run([Y], outputs, y[:2]), [0.6, np.array([0.6, 1.2]), 2])
    close(run([Y], outputs, y[:0]), [0.0, np.zeros(0), 0])


def test_while():
    """Newton's iteration for a square root."""

    def more(states):
        return pt.gt(abs(states[0] ** 2 - A), 1e-12)

    def better(states):
        x, k = states
        return [0.5 * (x + A / x), k + 1]

    result = while_loop(
        more, better, [pt.as_tensor(np.float64(1.0)), pt.constant(0, dtype="int64")]
    )
    root, count = run([A], result.states, np.asarray(2.0))
    np.testing.assert_allclose(root, np.sqrt(2.0), rtol=1e-12)
    assert count == 5
    assert run([A], result.states, np.asarray(1.0)) == (1.0, 0)


@pytest.mark.parametrize("sizes", [(0, 3), (4, 0), (4, 3)])
def test_a_loop_in_a_loop(sizes, rng):
    """For every row a running mean, in a state that is made anew."""
    n, m = sizes

    def outer(states, xs):
        (total,), (row,) = states, xs

        def inner(inner_states, inner_xs):
            (s, v), (x,) = inner_states, inner_xs
            new = 0.5 * s + x * A
            return [new, v * 0.5 + new], [new]

        inside = scan(inner, [total, pt.zeros(2)], [row])
        return [inside.states[0] + inside.states[1].sum()], [inside.traces[0], inside.states[1]]

    result = scan(outer, [pt.as_tensor(np.float64(0.1))], [X])
    x = rng.normal(size=(n, m))
    found = run([X, A], [*result.states, *result.traces], x, np.asarray(1.5))
    total, rows, vectors = 0.1, np.zeros((n, m)), np.zeros((n, 2))
    for i in range(n):
        s, v = total, np.zeros(2)
        for j in range(m):
            s = 0.5 * s + x[i, j] * 1.5
            v = v * 0.5 + s
            rows[i, j] = s
        vectors[i] = v
        total = s + v.sum()
    close(found, [total, rows, vectors])


def test_initial_states_are_not_overwritten(rng):
    start = pt.dvector("start")
    result = scan(lambda s, x: ([s[0] * 2], []), [start], [], 3)
    v = rng.normal(size=4)
    before = v.copy()
    final, same = run([start], [result.states[0], start + 0], v)
    np.testing.assert_array_equal(v, before)
    close([final, same], [8 * v, v])


def test_source_of_a_garch_model():
    """Golden: scalars are variables, nothing is allocated in the loop."""

    def step(states, xs):
        (variance, last), (y,) = states, xs
        new = A + 0.1 * last * last + 0.8 * variance
        return [new, y], [-0.5 * (pt.log(new) + y * y / new)]

    start = pt.as_tensor(np.float64(1.0))
    result = scan(step, [start, pt.as_tensor(np.float64(0.0))], [Y])
    check_golden("kernel_garch.txt", kernel([Y, A], [result.traces[0].sum()]).source)


@pytest.mark.parametrize("n", [1, 4])
def test_a_sequence_that_steps_also_take_as_a_whole(n, rng):
    """Elements that are soon computed are not stored for the sequence, but for the steps."""
    doubled = Y * 2.0

    def step(states, xs):
        (s,), (x,) = states, xs
        return [s * 0.5 + x + doubled[pt.switch(s < 1e9, -1, 0)]], [s]

    result = scan(step, [A], [doubled])
    y = rng.normal(size=n)
    found = run([Y, A], [*result.states, *result.traces], y, np.asarray(0.7))
    s, before = 0.7, np.zeros(n)
    for t in range(n):
        before[t] = s
        s = s * 0.5 + 2 * y[t] + 2 * y[-1]
    close(found, [s, before])
