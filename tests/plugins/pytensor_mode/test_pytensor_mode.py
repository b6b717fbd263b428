"""The PyTensor mode against PyTensor's own Python mode and NumPy."""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys

import numpy as np
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
import scipy.linalg
from pytensor import shared
from pytensor.compile.io import In, Out
from pytensor.compile.mode import Mode
from pytensor.conditional import ifelse
from pytensor.gradient import pushforward
from pytensor.tensor.blas import BatchedDot
from pytensor.tensor.linalg import cholesky

import dimtensor as dt
from dimtensor.optimize.plan import UnsupportedGraph
from dimtensor.plugins.pytensor_mode.loop_nests import link_with_pytensor

pytestmark = pytest.mark.compiled

STRICT = dt.pytensor_mode(strict=True)
LOOSE = dt.pytensor_mode()
PYTHON = "FAST_COMPILE"


def nests(function):
    """What a function runs."""
    return function.vm.jit_fn


def agree(inputs, outputs, *argument_lists, mode=STRICT, rtol=1e-10):
    """Compile in both modes and compare the results of every call."""
    ours = pytensor.function(inputs, outputs, mode=mode, on_unused_input="ignore")
    theirs = pytensor.function(inputs, outputs, mode=PYTHON, on_unused_input="ignore")
    for arguments in argument_lists:
        before = [np.array(a) for a in arguments]
        for got, expected in zip(ours(*arguments), theirs(*arguments), strict=True):
            assert isinstance(got, np.ndarray)
            assert got.dtype == expected.dtype
            assert got.shape == expected.shape
            np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-12)
        for argument, old in zip(arguments, before, strict=True):
            np.testing.assert_array_equal(argument, old)
    return ours


def test_elementwise_broadcasts_and_reductions(rng):
    x, m, s = pt.vector("x"), pt.matrix("m"), pt.scalar("s")
    outputs = [
        pt.exp(x) * m - s,
        m.sum(axis=0),
        m.sum(axis=1) / s,
        pt.log1p(x**2).sum(),
        (m > x).sum(),
        pt.switch(m > s, m, x).prod(axis=1),
        x[:, None] - x[None, :],
        m.T,
        pt.sigmoid(m).mean(),
        pt.any(m > 2, axis=1),
    ]
    first = (rng.normal(size=4), rng.normal(size=(3, 4)), np.array(0.7))
    second = (rng.normal(size=1), rng.normal(size=(2, 1)), np.array(-1.3))
    empty = (np.zeros(0), np.zeros((2, 0)), np.array(2.0))
    agree([x, m, s], outputs, first, second, empty)


def test_selections_and_updates(rng):
    x, m, at = pt.vector("x"), pt.matrix("m"), pt.lvector("at")
    i = pt.lscalar("i")
    outputs = [
        x[at],
        m[at],
        m[at, at],
        m[:, at].sum(axis=0),
        x[i],
        x[1:],
        x[::-1],
        m[-1],
        x[1:][at - 1],
        pt.set_subtensor(x[at], 7.0),
        pt.inc_subtensor(m[at], x),
        pt.set_subtensor(m[1:3], 0.5),
        pt.inc_subtensor(x[i], 2.0),
        pt.grad((m[at] ** 2).sum(), m),
    ]
    square = rng.normal(size=(4, 4))
    # FAST_COMPILE looks positions up one after the other, as NumPy does
    agree([x, m, at, i], outputs, (rng.normal(size=4), square, np.array([1, 2, 1]), 3))


def test_negative_positions_count_from_the_end(rng):
    x, at, i = pt.vector("x"), pt.lvector("at"), pt.lscalar("i")
    f = agree(
        [x, at, i], [x[at], x[i], pt.inc_subtensor(x[at], 1.0)], (rng.normal(size=4), [-1, 0], -2)
    )
    assert nests(f).reason is None
    # in a slice numba would count from the end of the whole
    agree([x, at], [x[1:][at]], (rng.normal(size=4), np.array([-1, 0, -3])), mode=LOOSE)


def test_updates_that_ignore_duplicates_add_once():
    x, m, at, y = pt.vector("x"), pt.matrix("m"), pt.lvector("at"), pt.vector("y")
    outputs = [
        pt.inc_subtensor(x[at], y, ignore_duplicates=True),
        pt.inc_subtensor(pt.exp(x)[at], y, ignore_duplicates=True),
        pt.inc_subtensor(m[:, at], y, ignore_duplicates=True),
        pt.inc_subtensor(m[at, at], 1.0, ignore_duplicates=True),
    ]
    f = pytensor.function([x, m, at, y], outputs, mode=STRICT)
    a, b, positions, value = np.arange(3.0), np.ones((3, 3)), np.array([1, -2, 2]), [1.0, 5.0, 7.0]
    expected = [a.copy(), np.exp(a), b.copy(), b.copy()]
    expected[0][positions] += value
    expected[1][positions] += value
    expected[2][:, positions] += value
    expected[3][positions, positions] += 1.0
    for got, wanted in zip(f(a, b, positions, value), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.falls_back  # updates where a mask is true
def test_updates_where_a_mask_is_true():
    x, mask = pt.vector("x"), pt.vector("mask", dtype=bool)
    output = pt.inc_subtensor(x[mask], 2.0, ignore_duplicates=True)
    f = pytensor.function([x, mask], output, mode=LOOSE)
    np.testing.assert_array_equal(f(np.arange(3.0), [True, False, True]), [2.0, 1.0, 4.0])


def test_upper_cholesky_factors(rng):
    """Only the upper triangle is read."""
    m, batch = pt.matrix("m"), pt.tensor3("batch")
    outputs = [cholesky(m, lower=False), cholesky(batch, lower=False)]
    f = pytensor.function([m, batch], outputs, mode=STRICT)
    for n in (1, 3, 12):
        roots = rng.normal(size=(4, n, n + 2))
        whole = roots @ roots.mT
        given = np.triu(whole) + np.tril(rng.normal(size=(n, n)), -1)
        one, all_of_them = f(given[0], given)
        factors = np.array([scipy.linalg.cholesky(each, lower=False) for each in whole])
        np.testing.assert_allclose(one, factors[0], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(all_of_them, factors, rtol=1e-11, atol=1e-12)


def test_shapes_of_scalars():
    s, x = pt.scalar("s"), pt.vector("x")
    outputs = [s.shape, s.shape.shape, s.size, pt.concatenate([s.shape, x.shape])]
    f = pytensor.function([s, x], outputs, mode=STRICT)
    got = f(1.0, np.ones(3))
    assert [r.tolist() for r in got] == [[], [0], 1, [3]]
    assert all(r.dtype == "int64" for r in got)


@pytest.mark.parametrize(
    ("size", "asked"),
    [
        (6, (-1, 2)), (6, (3, -1)), (6, (2, 3)), (0, (0, 4)), (0, (3, -1)), (1, (1, -1)),
        (6, (4, -1)), (6, (-1, -1)), (1, (-1, -1)), (6, (-2, -3)), (0, (0, -1)), (6, (2, 2)),
        (6, (-1, 0)), (6, (-6, -1)),
    ],
)  # fmt: skip
def test_a_reshape_is_numpys(size, asked):
    """Lengths that are known when it is called; one of them may be -1."""
    f = _reshaping()
    values = np.arange(float(size))
    try:
        expected = values.reshape(asked)
    except ValueError:
        with pytest.raises(ValueError, match="keeps the number of elements"):
            f(values, asked)
    else:
        got = f(values, asked)
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)


@functools.cache
def _reshaping():
    x, lengths = pt.vector("x"), pt.lvector("lengths")
    return pytensor.function([x, lengths], x.reshape(lengths, ndim=2), mode=STRICT)


def test_a_reshape_to_lengths_of_fewer_bytes():
    """One that is -1 becomes a quotient of lengths, which has eight."""
    x, lengths = pt.matrix("x"), pt.ivector("lengths")
    f = pytensor.function([x, lengths], x.reshape(lengths, ndim=2), mode=STRICT)
    values = np.arange(12.0).reshape(3, 4)
    for asked in [(2, -1), (-1, 6), (12, 1)]:
        found = f(values, np.array(asked, "int32"))
        np.testing.assert_array_equal(found, values.reshape(asked))
    with pytest.raises(ValueError, match="keeps the number of elements"):
        f(values, np.array([-1, 5], "int32"))


def test_a_reshape_to_four_lengths_of_run_time():
    x, lengths = pt.vector("x"), [pt.lscalar(name) for name in "abcd"]
    f = pytensor.function([x, *lengths], x.reshape(lengths) * 2, mode=STRICT)
    values = np.arange(24.0)
    for asked in [(2, 2, 3, 2), (2, -1, 3, 2), (-1, 1, 1, 1)]:
        np.testing.assert_array_equal(f(values, *asked), values.reshape(asked) * 2)
    with pytest.raises(ValueError, match="keeps the number of elements"):
        f(values, 2, -1, -1, 2)


def test_reshapes_to_and_from_numbers():
    s, x, n = pt.scalar("s"), pt.vector("x"), pt.lvector("n")
    t = pt.tensor3("t")
    f = pytensor.function(
        [s, x, n, t],
        [s.reshape(n, ndim=2) + 1, x.reshape((n[0], -1)), pt.join_dims(t, 1, 2), pt.join_dims(s)],
        mode=STRICT,
    )
    cube = np.arange(24.0).reshape(2, 3, 4)
    number, row, joined, alone = f(2.0, np.arange(3.0), [1, 1], cube)
    assert (number.tolist(), row.tolist(), alone.tolist()) == ([[3.0]], [[0.0, 1.0, 2.0]], [2.0])
    np.testing.assert_array_equal(joined, cube.reshape(2, 12))
    g = pytensor.function([x, n], pt.split_dims(x, (n[0], n[1])), mode=STRICT)
    np.testing.assert_array_equal(g(np.arange(6.0), [3, 2]), np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize(
    "dtype",
    ["float32", "int8", "int32", "uint8", "bool",
     pytest.param("complex128", marks=pytest.mark.falls_back)],
)  # fmt: skip
def test_dtypes(rng, dtype):
    x, s = pt.vector("x", dtype=dtype), pt.scalar("s", dtype=dtype)
    outputs = [
        x * s,
        x.sum(),
        x[::-1],
        pt.eq(x, s),
        x.astype("float64") + 0.5 if dtype != "complex128" else x.real,
        s,
    ]
    values = rng.integers(0, 2, size=5).astype(dtype)
    agree([x, s], outputs, (values, values[1]), rtol=1e-6)
    batch = pt.tensor("batch", shape=(None, None, None), dtype=dtype)
    f = pytensor.function([batch], pt.matmul(batch, batch), mode=dt.pytensor_mode())
    for length in (0, 2):
        cubes = rng.integers(0, 2, size=(length, 3, 3)).astype(dtype)
        np.testing.assert_array_equal(f(cubes), np.matmul(cubes, cubes))


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_of_two_bounds_in_the_wrong_order_the_lower_one_decides(dtype):
    x, low, high = pt.vector("x", dtype=dtype), pt.scalar(dtype=dtype), pt.scalar(dtype=dtype)
    f = pytensor.function([x, low, high], pt.clip(x, low, high), mode=STRICT)
    given = np.array([-5, 0, 1, 2, 5], dtype=dtype)
    np.testing.assert_array_equal(f(given, 2, -1), [2, 2, 2, -1, -1])
    np.testing.assert_array_equal(f(given, -1, 2), [-1, 0, 1, 2, 2])


def test_scalar_operations_on_scalars():
    """Those of PyTensor's graphs that are no elementwise operations, as it puts into lengths."""
    x = pt.dvector("x")
    number = pt.scalar_from_tensor(x.sum())
    length = pt.scalar_from_tensor(x.shape[0])
    result = pt.tensor_from_scalar(ps.exp(number) + length * 0.5)
    f = pytensor.function([x], result + x, mode=STRICT)
    np.testing.assert_allclose(f([0.5, -0.25]), np.exp(0.25) + 1.0 + np.array([0.5, -0.25]))


def test_gradient_of_a_cholesky_factor():
    """Of the sum of the elements: by finite differences that are symmetric."""
    x = pt.dmatrix("x")
    f = pytensor.function([x], pt.grad(cholesky(x).sum(), x), mode=STRICT)
    given = np.array([[4.0, 1.0, 0.2], [1.0, 3.0, -0.5], [0.2, -0.5, 2.0]])
    found = f(given)
    for i, j in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[i, j] += 5e-6
        step[j, i] += 5e-6
        ends = [np.linalg.cholesky(given + by * step).sum() for by in (1.0, -1.0)]
        np.testing.assert_allclose(found[i, j] + found[j, i], (ends[0] - ends[1]) / 1e-5, rtol=1e-6)


def test_unused_constant_repeated_and_returned_inputs(rng):
    x, unused = pt.vector("x"), pt.matrix("unused")
    doubled = x * 2
    constant = pt.constant(np.arange(3.0))
    f = agree(
        [x, unused],
        [x, doubled, doubled, x, constant, pt.constant(2), x.sum(), constant],
        (rng.normal(size=3), np.ones((2, 2))),
    )
    value = np.arange(3.0)
    results = f(value, np.ones((1, 1)))
    arrays = [*results, value]
    for at, one in enumerate(arrays):
        assert not any(np.shares_memory(one, other) for other in arrays[at + 1 :])
    results[4][:] = 9.0
    np.testing.assert_array_equal(f(value, np.ones((1, 1)))[4], np.arange(3.0))


def test_without_inputs_and_without_outputs():
    assert pytensor.function([], pt.arange(4).sum() + 1, mode=STRICT)() == 7
    assert pytensor.function([], [], mode=STRICT)() == []
    count = shared(1.0)
    step = pytensor.function([], updates={count: count * 2}, mode=STRICT)
    step()
    step()
    assert count.get_value() == 4.0
    assert isinstance(count.get_value(borrow=True), np.ndarray)


def test_shared_variables_updates_and_givens(rng):
    x, w = pt.vector("x"), pt.vector("w")
    a, b = shared(np.arange(3.0), name="a"), shared(np.ones(3), name="b")
    loss = ((a * w - b) ** 2).sum()
    f = pytensor.function(
        [x],
        [loss, pt.grad(loss, a)],
        givens={w: x + 1},
        updates={a: b, b: a},
        mode=STRICT,
    )
    value = rng.normal(size=3)
    expected = np.arange(3.0) * (value + 1) - 1
    total, slope = f(value)
    np.testing.assert_allclose(total, (expected**2).sum())
    np.testing.assert_allclose(slope, 2 * expected * (value + 1))
    np.testing.assert_array_equal(a.get_value(), np.ones(3))
    np.testing.assert_array_equal(b.get_value(), np.arange(3.0))
    a.set_value(np.zeros(2))
    b.set_value(np.ones(2))
    assert f(value[:2])[0] == 2.0


def test_default_updates_and_random_generators():
    generator = shared(np.random.default_rng(3))
    after, draws = pt.random.normal(size=4, rng=generator, return_next_rng=True)
    with pytest.warns(DeprecationWarning, match="default_update"):
        generator.default_update = after
    f = pytensor.function([], draws, mode=LOOSE)
    assert "RandomGenerator" in nests(f).reason
    oracle = np.random.default_rng(3)
    np.testing.assert_allclose(f(), oracle.normal(size=4))
    np.testing.assert_allclose(f(), oracle.normal(size=4))
    with pytest.raises(UnsupportedGraph, match="RandomGenerator"):
        pytensor.function([], draws, mode=STRICT)


def test_sparse_matrices_are_pytensors(rng):
    sparse = pytest.importorskip("pytensor.sparse")
    scipy_sparse = pytest.importorskip("scipy.sparse")
    m, x = sparse.csr_matrix("m"), pt.matrix("x")
    f = pytensor.function([m, x], sparse.dot(m, x), mode=LOOSE)
    dense, other = np.diag([1.0, 2.0]), rng.normal(size=(2, 3))
    np.testing.assert_allclose(f(scipy_sparse.csr_matrix(dense), other), dense @ other)
    assert nests(f).source is None


@pytest.mark.slow
def test_scan_runs_inside(rng):
    x, start = pt.vector("x"), pt.scalar("start")
    states = pytensor.scan(
        lambda v, state: state * 0.5 + v, sequences=[x], outputs_info=[start], return_updates=False
    )
    slope = pt.grad(states[-1], start)
    f = agree(
        [x, start], [states, states[-1] * 2, slope], (rng.normal(size=5), np.array(0.3)), mode=LOOSE
    )
    assert nests(f).reason is None


def test_wrapped_graphs_and_what_has_no_rule(rng):
    m, x = pt.matrix("m"), pt.vector("x")
    outputs = [
        m @ x,
        m.T @ m,
        pt.logsumexp(m, axis=1),
        pt.special.log_softmax(m, axis=0),
        pt.concatenate([x, x * 2]),
        pt.stack([x, x]).sum(axis=0),
        m.reshape((-1,)),
        pt.cumsum(x),
        m.max(axis=0),
        pt.argmax(x),
    ]
    f = agree([m, x], outputs, (rng.normal(size=(3, 3)), rng.normal(size=3)), mode=LOOSE)
    assert nests(f).reason is None


@pytest.mark.slow
def test_linear_algebra(rng):
    m, x = pt.matrix("m"), pt.vector("x")
    spd = m @ m.T + 3 * pt.eye(m.shape[0])
    outputs = [
        pt.linalg.cholesky(spd),
        pt.linalg.solve(spd, x),
        pt.linalg.slogdet(spd)[1],
        pt.sort(x),
        pt.grad(pt.linalg.cholesky(spd).sum(), m),
    ]
    f = agree([m, x], outputs, (rng.normal(size=(3, 3)), rng.normal(size=3)), mode=LOOSE, rtol=1e-7)
    assert nests(f).reason is None


def test_lengths_that_differ_are_pytensors_errors():
    x, y, m = pt.vector("x"), pt.vector("y"), pt.matrix("m")
    f = pytensor.function([x, y], x * y, mode=LOOSE)
    with pytest.raises(ValueError, match="incompatible"):
        f(np.ones(3), np.ones(2))
    np.testing.assert_array_equal(f(np.ones(2), np.ones(2)), np.ones(2))
    f = pytensor.function([x, y], x * y, mode=STRICT)
    with pytest.raises(ValueError, match="does not fit"):
        f(np.ones(3), np.ones(1))
    f = pytensor.function([m, x, y], (m @ x)[1:] + pt.zeros(3) + y, mode=STRICT)
    np.testing.assert_array_equal(f(np.ones((4, 2)), np.ones(2), np.ones(3)), np.full(3, 3.0))
    for arguments in [((4, 2), 2, 4), ((5, 2), 2, 3), ((3, 2), 2, 3)]:
        with pytest.raises(ValueError, match="does not fit"):
            f(*map(np.ones, arguments))


def test_lengths_are_checked_where_nobody_reads_the_values():
    x, y = pt.vector("x"), pt.vector("y")
    mode = LOOSE.excluding("shape_unsafe")
    outputs = [
        pt.second(x, y),
        x * y / y,
        (x + y)[0],
        pt.grad((x * y).sum(), x),
        pt.broadcast_arrays(x, y)[0],
        pt.zeros_like(x + y),
    ]
    for output in outputs:
        f = pytensor.function([x, y], output, mode=mode)
        assert np.isfinite(f(np.ones(3), np.ones(3))).all()
        with pytest.raises((ValueError, AssertionError), match=r"incompatible|[Bb]roadcast"):
            f(np.ones(3), np.ones(4))


def test_axes_of_length_1_are_compared_where_nothing_is_repeated():
    def of(*shape):
        return pt.tensor(shape=shape)

    a, b = of(None, None, 1), of(1, None, 1)
    x, row, many = of(None), of(1, None), of(None, None, None)
    one, two = of(1, None, None), pt.matrix("two")
    for inputs, output, fitting, other in [
        ([a, b], pt.join(1, a, b), [(1, 4, 1), (1, 3, 1)], [(2, 4, 1), (1, 3, 1)]),
        ([a, b], pt.join(1, b, a), [(1, 4, 1), (1, 3, 1)], [(2, 4, 1), (1, 3, 1)]),
        ([a, b], pt.join(1, b, a).sum(), [(1, 4, 1), (1, 3, 1)], [(2, 4, 1), (1, 3, 1)]),
        ([one, many], BatchedDot()(one, many), [(1, 2, 3), (1, 3, 2)], [(1, 2, 3), (4, 3, 2)]),
        ([x, two], pt.set_subtensor(two[:1, 0], x), [(1,), (2, 3)], [(2,), (2, 3)]),
        ([x], pt.alloc(x, 1) + 1, [(1,)], [(3,)]),
        ([row], pt.linalg.cholesky(row), [(1, 1)], [(1, 3)]),
    ]:
        ours = pytensor.function(inputs, output, mode=STRICT)
        theirs = pytensor.function(inputs, output, mode=PYTHON)
        arrays = [np.ones(shape) for shape in fitting]
        np.testing.assert_array_equal(ours(*arrays), theirs(*arrays))
        with pytest.raises((ValueError, AssertionError), match=r"does not fit|expected 1"):
            ours(*map(np.ones, other))
    f = pytensor.function([a, b], pt.join(1, a, b), mode=LOOSE)
    with pytest.raises(ValueError, match="must match exactly"):
        f(np.ones((2, 4, 1)), np.ones((1, 3, 1)))


def test_lengths_inside_of_linear_algebra_and_splits_are_checked():
    m, n, x = pt.matrix("m"), pt.matrix("n"), pt.vector("x")
    outputs = [m @ n, pt.linalg.cholesky(n), *pt.split(x, [2, 1])]
    f = pytensor.function([m, n, x], outputs, mode=STRICT)
    square = np.eye(2)
    product, factor, first, second = f(square, square, np.arange(3.0))
    assert product.tolist() == factor.tolist() == square.tolist()
    assert (first.tolist(), second.tolist()) == ([0.0, 1.0], [2.0])
    for arguments in [
        (np.eye(3), square, np.ones(3)),
        (square, np.ones((2, 1)), np.ones(3)),
        (square, square, np.ones(4)),
    ]:
        with pytest.raises(ValueError, match="does not fit"):
            f(*arguments)


def test_an_update_may_be_broadcast_when_it_is_called(rng):
    m, x = pt.matrix("m"), pt.vector("x")
    f = pytensor.function([m, x], pt.inc_subtensor(m[1:], x), mode=LOOSE)
    matrix = rng.normal(size=(3, 2))
    for value in (rng.normal(size=2), rng.normal(size=1)):
        expected = matrix.copy()
        expected[1:] += value
        np.testing.assert_allclose(f(matrix, value), expected)


def test_positions_outside_raise():
    x, at, i = pt.vector("x"), pt.lvector("at"), pt.lscalar("i")
    f = pytensor.function([x, at], [x[at], pt.set_subtensor(x[at], 1.0)], mode=STRICT)
    for positions in ([0, 3], [-4]):
        with pytest.raises(IndexError, match="out of bounds"):
            f(np.ones(3), positions)
    g = pytensor.function([x, i], [x[i] + x[2]], mode=STRICT)
    assert g(np.ones(3), -3) == [2.0]
    for length, position in ((2, 0), (3, 3), (3, -4)):
        with pytest.raises(IndexError, match="out of bounds"):
            g(np.ones(length), position)


def test_slices_whose_ends_are_computed_are_checked():
    x, m, y = pt.vector("x"), pt.matrix("m"), pt.vector("y")
    n, row, step = pt.lscalar("n"), pt.lscalar("row"), pt.lscalar("step")
    outputs = [m[row, :n], pt.set_subtensor(x[:n], y), pt.inc_subtensor(m[row, :n], y), x[::step]]
    f = pytensor.function([x, m, y, n, row, step], outputs, mode=STRICT)
    vector, matrix, value = np.arange(3.0), np.arange(9.0).reshape(3, 3), np.array([5.0, 7.0])
    part, changed, added, turned = f(vector, matrix, value, 2, -1, -2)
    assert (part.tolist(), changed.tolist()) == ([6.0, 7.0], [5.0, 7.0, 2.0])
    assert (added[2].tolist(), turned.tolist()) == ([11.0, 14.0, 8.0], [2.0, 0.0])
    for row_outside in (3, -4):
        with pytest.raises(IndexError, match="out of bounds"):
            f(vector, matrix, value, 2, row_outside, 1)
    for wrong_value, wrong_step in ((np.ones(3), 1), (value, 0)):
        with pytest.raises(ValueError, match="does not fit"):
            f(vector, matrix, wrong_value, 2, 0, wrong_step)


def test_sizes_of_a_split_add_up_to_its_length():
    x, sizes = pt.vector("x"), pt.lvector("sizes")
    f = pytensor.function([x, sizes], pt.split(x, sizes, n_splits=2), mode=STRICT)
    assert [part.tolist() for part in f(np.arange(3.0), [1, 2])] == [[0.0], [1.0, 2.0]]
    for wrong in ([1, 1], [-1, 4], [3, 1]):
        with pytest.raises(ValueError, match="does not fit"):
            f(np.arange(3.0), wrong)


def test_an_axis_that_is_dropped_has_length_1():
    m = pt.matrix("m")
    f = pytensor.function([m], [m.squeeze(1), m.squeeze(1).sum() + 1], mode=STRICT)
    dropped, total = f(np.ones((2, 1)))
    assert (dropped.tolist(), total) == ([1.0, 1.0], 3.0)
    with pytest.raises(ValueError, match="does not fit"):
        f(np.ones((2, 3)))


def test_shapes_that_are_promised_are_checked():
    x = pt.vector("x")
    f = pytensor.function([x], pt.specify_shape(x, 3) * 2, mode=LOOSE)
    np.testing.assert_array_equal(f(np.ones(3)), np.full(3, 2.0))
    with pytest.raises(AssertionError, match="SpecifyShape"):
        f(np.ones(2))


def test_arrays_of_any_layout(rng):
    m, x = pt.matrix("m"), pt.vector("x")
    f = pytensor.function([m, x], [m * x, m.sum(axis=1)], mode=STRICT)
    matrix, vector = rng.normal(size=(3, 4)), rng.normal(size=8)
    frozen = vector[:4].copy()
    frozen.flags.writeable = False
    for a, b in [
        (matrix, vector[:4]),
        (np.asfortranarray(matrix), vector[::2]),
        (matrix[:, ::-1], vector[3::-1]),
        (matrix, frozen),
    ]:
        product, total = f(a, b)
        np.testing.assert_allclose(product, a * b)
        np.testing.assert_allclose(total, a.sum(axis=1))


def test_arrays_of_derived_classes(tmp_path):
    x = pt.vector("x")
    f = pytensor.function([x], (x**2).sum(), mode=STRICT)
    on_disk = np.memmap(tmp_path / "x", dtype="float64", mode="w+", shape=4)
    on_disk[:] = [1.0, 2.0, 3.0, 4.0]
    assert f(on_disk) == 30.0
    assert f(on_disk[::2]) == 10.0


def test_functions_are_copied_pickled_printed_and_profiled(rng):
    x = pt.vector("x")
    total = shared(0.0, name="total")
    f = pytensor.function(
        [x], x.sum() * 2, updates={total: total + x.sum()}, mode=STRICT, profile=True
    )
    assert f(np.ones(3)) == 6.0
    assert f.profile.fct_callcount == 1
    assert "Sum" in f.dprint(file="str")
    other = shared(10.0)
    copied = f.copy(swap={total: other})
    assert copied(np.ones(2)) == 4.0
    assert (total.get_value(), other.get_value()) == (3.0, 12.0)
    assert f.copy(delete_updates=True)(np.ones(2)) == 4.0
    loaded = pickle.loads(pickle.dumps(pytensor.function([x], x * 2, mode=STRICT)))
    np.testing.assert_array_equal(loaded(np.ones(2)), [2.0, 2.0])
    assert nests(loaded).reason is None
    mode = pickle.loads(pickle.dumps(STRICT))
    assert mode.linker.strict
    assert mode.including("fast_run").linker.strict


def test_what_arguments_are_taken():
    x, y = pt.fvector("x"), pt.dscalar("y")
    f = pytensor.function(
        [x, In(y, mutable=True)], Out(x * y, borrow=True), mode=STRICT, allow_input_downcast=True
    )
    np.testing.assert_array_equal(f([1.0, 2.0], 2), [2.0, 4.0])
    np.testing.assert_array_equal(f(np.ones(2), y=3), [3.0, 3.0])
    with pytest.raises(TypeError, match="Wrong number of dimensions"):
        f(np.ones((2, 2)), 1.0)
    f.trust_input = True
    np.testing.assert_array_equal(f(np.ones(2, "float32"), np.array(4.0)), [4.0, 4.0])


def test_scalars_and_named_dims_cross_the_border(rng):
    import pytensor.scalar as ps

    xtensor = pytest.importorskip("pytensor.xtensor")
    s = ps.float64("s")
    a, b = xtensor.xtensor("a", dims=("row", "column")), xtensor.xtensor("b", dims=("column",))
    f = pytensor.function(
        [s, a, b], [pt.tensor_from_scalar(s) * 2, a + b, (a * b).sum("row").values], mode=STRICT
    )
    left, right = rng.normal(size=(2, 3)), rng.normal(size=3)
    doubled, total, summed = f(1.5, left, right)
    assert doubled == 3.0
    np.testing.assert_allclose(total, left + right)
    np.testing.assert_allclose(summed, (left * right).sum(axis=0))


def test_ranges_without_a_step():
    """Of floats, and of integers, whose difference wraps around in NumPy, too."""
    for dtype, ends in [
        ("float32", [(0, 5), (-1.5, 2.25), (3, 1)]),
        ("float64", [(0.2, 5.3), (0, 0)]),
        ("int8", [(-100, 100), (5, 3)]),
        ("uint8", [(2, 200), (5, 3)]),
    ]:
        first, last = pt.scalar("first", dtype=dtype), pt.scalar("last", dtype=dtype)
        f = pytensor.function([first, last], pt.arange(first, last), mode=STRICT)
        for pair in ends:
            expected = np.arange(*[np.asarray(end, dtype) for end in pair])
            np.testing.assert_array_equal(f(*[np.asarray(end, dtype) for end in pair]), expected)


def test_sums_are_accumulated_in_the_dtype_that_is_asked_for():
    """PyTensor's default for single precision is double precision: 1 is not lost beside 1e8."""
    x = pt.fvector("x")
    asked = [x.sum(), x.mean(), x.sum(dtype="float64"), x.prod(), x.sum(acc_dtype="float32")]
    f = pytensor.function([x], asked, mode=STRICT)
    found = f(np.array([1e8, 1, -1e8], "float32"))
    assert [value.dtype.name for value in found] == [
        "float32", "float32", "float64", "float32", "float32",
    ]  # fmt: skip
    np.testing.assert_allclose(found[:4], [1, 1 / 3, 1, -1e16], rtol=1e-6)
    assert found[4] == 0
    counts = pt.vector("counts", dtype="int8")
    summed = pytensor.function([counts], counts.sum(dtype="int16", acc_dtype="int8"), mode=STRICT)
    assert summed(np.array([100, 100], "int8")) == np.int8(-56)


def test_a_grid_of_ranges():
    """Arrays are repeated along axes that others have, one after the other."""
    first, last, step = pt.dscalars("first", "last", "step")
    grid = pt.mgrid[first:1:0.1, 1:last:1.0, 10:100:step]
    found = pytensor.function([first, last, step], list(grid), mode=STRICT)(0, 10, 10.0)
    for result, expected in zip(found, np.mgrid[0:1:0.1, 1:10:1.0, 10:100:10.0], strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.falls_back
@pytest.mark.parametrize(
    ("sizes", "length"), [([5, -1], None), ([5, -1], 6), ([2, 3], 6), ([4, 3], 6)]
)
def test_a_split_that_does_not_fit_has_pytensors_error(sizes, length):
    x = pt.tensor("x", dtype="float64", shape=(length,))
    f = pytensor.function([x], pt.split(x, sizes), mode=LOOSE)
    with pytest.raises(ValueError, match="Split sizes"):
        f(np.arange(6.0))


def test_nothing_is_registered():
    from pytensor.compile.mode import predefined_linkers, predefined_modes

    assert not any(
        "LoopNest" in repr(value)
        for value in [*predefined_modes.values(), *predefined_linkers.values()]
    )
    with pytensor.config.change_flags(mode=STRICT):
        x = pt.vector("x")
        assert nests(pytensor.function([x], x + 1)).source is not None


def test_a_pymc_model_gives_the_same(rng):
    pm = pytest.importorskip("pymc")
    group = rng.integers(0, 3, size=20)
    with pm.Model() as model:
        scale = pm.HalfNormal("scale")
        effect = pm.Normal("effect", 0, scale, shape=3)
        pm.Normal("y", effect[group], 1, observed=rng.normal(size=20))
    point = {name: value + 0.3 for name, value in model.initial_point().items()}
    for compiled in (model.compile_logp, model.compile_dlogp):
        np.testing.assert_allclose(compiled(mode=STRICT)(point), compiled(mode=PYTHON)(point))


def test_a_hierarchical_pymc_model_is_machine_code_without_numba():
    """In a process of its own, because others may have imported numba's compiler."""
    pytest.importorskip("pymc")
    script = """
import numpy as np, pymc as pm
import dimtensor as dt
from numba.core.dispatcher import Dispatcher
rng = np.random.default_rng(1)
group = rng.integers(0, 30, size=400)
with pm.Model() as model:
    mean, scale = pm.Normal("mean", 0, 1), pm.HalfNormal("scale")
    effect = pm.Normal("effect", mean, scale, shape=30)
    pm.Normal("y", effect[group], 1, observed=rng.normal(size=400))
compiled = []
Dispatcher.compile = lambda self, signature: compiled.append(self) or 1 / 0
f = model.logp_dlogp_function(mode=dt.pytensor_mode(), ravel_inputs=True)
f.set_extra_values({})
kernel = f._pytensor_function.vm.jit_fn
assert kernel.native and kernel.reason is None
value, slope = f._pytensor_function(np.linspace(-1, 1, 32))
assert np.isfinite(value) and np.isfinite(slope).all() and not compiled
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_graphs_inside_of_operations_are_opened(rng):
    m, w = pt.matrix("m"), pt.vector("w")
    total = pt.logsumexp(m + pt.special.log_softmax(w), axis=-1).sum()
    f = agree(
        [m, w], [total, *pt.grad(total, [m, w])], [rng.normal(size=(5, 3)), rng.normal(size=3)]
    )
    assert nests(f).native


@pytest.mark.parametrize("exponent", [3.0, -3.0, 5.0])
def test_powers_that_pytensor_fuses_are_written_out(exponent, rng):
    x = pt.vector("x")
    f = agree([x], [x**exponent, pt.sign(x) * pt.sqr(x) ** -1.5], [rng.normal(size=7)])
    assert nests(f).native


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32"])
def test_parts_of_real_numbers(dtype):
    x = pt.matrix("x", dtype=dtype)
    values = np.array([[0, 1, 1], [1, 0, 1]], dtype)
    f = pytensor.function([x], [pt.real(x), pt.imag(x), pt.angle(x)], mode=STRICT)
    real, imaginary, angle = f(values)
    np.testing.assert_array_equal(real, values, strict=True)
    np.testing.assert_array_equal(imaginary, np.zeros_like(values), strict=True)
    np.testing.assert_array_equal(angle, np.angle(values.astype(float)))


@pytest.mark.parametrize("of", [pt.max, pt.argmax])
def test_extremes_of_complex_numbers_are_left_to_pytensor(of):
    x = pt.vector("x", dtype="complex128")
    with pytest.raises(UnsupportedGraph, match="extremes of complex numbers"):
        pytensor.function([x], of(x), mode=STRICT)


def test_known_masks_are_positions(rng):
    x, m = pt.vector("x", shape=(4,)), pt.matrix("m")
    mask, over = np.array([True, False, True, True]), np.array([[True, False], [False, True]])
    chosen = x[mask]
    f = agree(
        [x, m],
        [
            chosen, x[~mask], m[over], m[:, np.array([False, True])],
            pt.grad((chosen**2).sum(), x), x[mask].set(2.0), m[over].inc(m[over] * 3.0),
            x[np.zeros(4, dtype=bool)].sum(),
        ],
        [rng.normal(size=4), rng.normal(size=(2, 2))],
    )  # fmt: skip
    assert nests(f).native
    with pytest.raises(ValueError, match="does not fit the lengths"):
        f(np.zeros(4), np.zeros((3, 2)))


def test_arrays_that_are_filled_later_start_as_zeros():
    x = pt.vector("x")
    whole = pt.empty((x.shape[0] + 1,))
    f = agree([x], [whole[0].set(1.0)[1:].set(x)], [np.array([2.0, 3.0])], [np.zeros(0)])
    assert nests(f).native


def test_arrays_of_negative_lengths_are_pytensors_errors():
    x, k = pt.vector("x"), pt.lscalar("k")

    def step(v, k):
        return pt.ones(k).cumsum().sum() * v

    made = [
        pt.zeros(x.shape[0] - 2)[:1].set(1.0),
        pt.alloc(x.sum(), k, 2),
        pt.eye(k),
        pytensor.scan(step, [x], None, [k], return_updates=False),
    ]
    for each in made:
        f = pytensor.function([x, k], each, mode=STRICT, on_unused_input="ignore")
        f(np.ones(3), 2)
        with pytest.raises(ValueError, match="does not fit the lengths"):
            f(np.ones(1), -3)
    f = pytensor.function([x], made[0], mode=LOOSE)
    with pytest.raises(ValueError, match="negative dimensions"):
        f(np.ones(1))


def test_the_gradient_of_a_look_up_goes_through_its_observations_once(rng):
    """What it adds to, the gradient of a prior, is computed later than the likelihood."""
    x, at = pt.tensor("x", shape=(5,)), pt.tensor("at", shape=(40,), dtype="int64")
    y, spread = rng.normal(size=40), pt.dscalar("spread")
    rest = (y - x[at]) / spread
    value = -0.5 * (rest**2).sum() - 0.5 * ((x - spread) ** 2).sum()
    f = pytensor.function([x, at, spread], [value, *pt.grad(value, [x, spread])], mode=LOOSE)
    # one loop looks at the positions, and one does all else
    assert f.vm.jit_fn.source.count("range(40)") == 2
    values, places = rng.normal(size=5), rng.integers(0, 5, 40)
    found = f(values, places, 1.7)
    rests = (y - values[places]) / 1.7
    slopes = np.bincount(places, rests / 1.7, 5) - (values - 1.7)
    of_spread = (rests**2).sum() / 1.7 + (values - 1.7).sum()
    wanted = [-0.5 * (rests**2).sum() - 0.5 * ((values - 1.7) ** 2).sum(), slopes, of_spread]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    from_the_end = f(values, places - 5, 1.7)  # by PyTensor's function
    np.testing.assert_allclose(from_the_end[1], slopes, rtol=1e-12)
    with pytest.raises(IndexError):
        f(values, places + 5, 1.7)


@pytest.mark.parametrize("linked", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_scans_differentiated_twice_read_the_right_element(linked):
    """Forward mode by two backward passes: the tangent of a product, by its factors."""
    factors, tangent = pt.vector("factors", shape=(4,)), pt.vector("tangent", shape=(4,))
    states = pytensor.scan(
        lambda u, h: h * u,
        sequences=factors,
        outputs_info=pt.constant(3.0, dtype="float64"),
        return_updates=False,
    )
    found = pushforward(states[-1], factors, tangent, use_op_pushforward=False)
    rewritten_as_ours = Mode("py", dt.pytensor_mode().optimizer)  # PyTensor's own code: it is quick
    f = pytensor.function([factors, tangent], found, mode=rewritten_as_ours)
    u, t = np.array([0.5, -1.5, 2.0, 0.7]), np.array([1.0, 0.3, -0.4, 2.0])
    run = link_with_pytensor(f.maker.fgraph) if linked else f
    np.testing.assert_allclose(np.squeeze(run(u, t)), 3 * np.prod(u) * np.sum(t / u))


@pytest.mark.parametrize("flag", [True, False])
def test_branches_of_several_conditionals_have_other_shapes(flag):
    """What they share is needed by one branch: its checks are not those of the other."""
    is_first, x, y = pt.scalar("is_first", dtype="bool"), pt.dvector("x"), pt.dmatrix("y")
    two = pt.specify_shape(x, (2,))
    one = ifelse(is_first, two * 2.0, pt.specify_shape(x, (4,)) + 1.0)
    other = ifelse(is_first, y - two, pt.exp(y))
    f = pytensor.function(
        [is_first, x, y], [one, one.sum() + other.sum()], mode=dt.pytensor_mode(strict=True)
    )
    n = 2 if flag else 4
    a, b = np.arange(n) + 0.5, np.linspace(-1.0, 1.0, n * n).reshape(n, n)
    expected = (2.0 * a).sum() + (b - a).sum() if flag else (a + 1.0).sum() + np.exp(b).sum()
    found, total = f(flag, a, b)
    np.testing.assert_allclose(found, 2.0 * a if flag else a + 1.0, rtol=1e-12)
    np.testing.assert_allclose(total, expected, rtol=1e-12)


@pytest.mark.parametrize("flag", [True, False])
def test_branches_are_written_out(flag):
    """A softmax, a split and a solution by a Cholesky factor in a branch have rules there."""
    is_first, x, y = pt.scalar("is_first", dtype="bool"), pt.dvector("x"), pt.dmatrix("y")
    a, b = pt.split(pt.special.softmax(x), [1, 3], n_splits=2)
    solved = pt.linalg.solve(y, x, assume_a="pos")
    chosen = ifelse(is_first, [a * 2.0, b], [solved, solved[:2]])
    f = pytensor.function([is_first, x, y], chosen, mode=dt.pytensor_mode(strict=True))
    at, matrix = np.array([0.1, -0.5, 1.2, 0.4]), np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5
    soft, by_hand = np.exp(at) / np.exp(at).sum(), np.linalg.solve(matrix, at)
    expected = [2.0 * soft[:1], soft[1:]] if flag else [by_hand, by_hand[:2]]
    for found, value in zip(f(flag, at, matrix), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-12)
