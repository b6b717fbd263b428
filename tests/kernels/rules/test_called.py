"""What is written into kernels as loops of its own, against NumPy and SciPy.

Positional graphs, so that every case meets lengths that are known and lengths that are not.
"""

import numpy as np
import pytensor.tensor as pt
import pytest
import scipy.linalg
from pytensor.tensor.basic import Split
from pytensor.tensor.linalg import cholesky
from pytensor.tensor.sort import argsort, sort

import dimtensor as dt
from dimtensor.backends import native as native_backend
from dimtensor.ops.along import RunningProduct
from dimtensor.ops.linalg import det, inverse, slogdet, solve, solve_triangular
from dimtensor.ops.positions import GroupPosition

pytestmark = pytest.mark.compiled

rng = np.random.default_rng(3)
SHAPES = [(5, 3), (1, 4), (4, 1), (0, 3), (3, 0), (40, 2)]


def run(build, *arrays, static=False):
    """What a kernel gives for arrays."""
    inputs = [
        pt.tensor(dtype=a.dtype, shape=a.shape if static else (None,) * a.ndim)
        for a in map(np.asarray, arrays)
    ]
    outputs = build(*inputs)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    call = native_backend.compile_positional(inputs, outputs).call
    return [np.asarray(v) for v in call(*map(np.asarray, arrays))]


def same(found, expected, rtol=1e-10):
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        e = np.asarray(e)
        assert f.shape == e.shape
        np.testing.assert_allclose(f, e, rtol=rtol, atol=rtol)


# -- running sums, sorts, positions ----------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("static", [True, False])
def test_loops_along_an_axis(shape, static):
    x = np.round(rng.normal(size=shape), 1)
    x[::4] = np.nan if x.size > 20 else 0.5

    def build(v):
        along = [op for axis in (0, 1) for op in (
            pt.cumsum(v, axis), RunningProduct(axis)(v), sort(v, axis), argsort(v, axis, "stable")
        )]  # fmt: skip
        return [*along, pt.cumsum(v), v.nonzero()[0], v.nonzero()[1]]

    expected = []
    for axis in (0, 1):
        expected += [np.cumsum(x, axis), np.cumprod(x, axis), np.sort(x, axis)]
        expected.append(np.argsort(x, axis, kind="stable"))
    same(run(build, x, static=static), [*expected, np.cumsum(x), *np.nonzero(x)])


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "bool"])
def test_dtypes_are_kept(dtype):
    x = (rng.normal(size=(20, 3)) * 5).astype(dtype)
    cumulated = [] if dtype == "bool" else [lambda v: pt.cumsum(v, 0), lambda v: pt.cumsum(v, 1)]

    def build(v):
        return [sort(v, 0), argsort(v, 1, "stable"), pt.argmax(v, 0), pt.concatenate([v, v], 1),
                v.reshape((3, 20)), *(c(v) for c in cumulated)]  # fmt: skip

    expected = [np.sort(x, 0), np.argsort(x, 1, kind="stable"), x.argmax(0), np.hstack([x, x]),
                x.reshape(3, 20)]  # fmt: skip
    if cumulated:
        expected += [np.cumsum(x, 0, dtype=dtype), np.cumsum(x, 1, dtype=dtype)]
    found = run(build, x)
    same(found, expected, rtol=1e-5)
    assert [f.dtype for f in found] == [e.dtype for e in expected]


@pytest.mark.parametrize("n", [2, 15, 16, 17, 33, 100, 1000])
def test_sorts_of_many_lengths(n):
    x = rng.integers(0, n // 2 + 1, n).astype(float)
    x[rng.random(n) < 0.1] = np.nan
    x[0] = -np.inf
    x[-1] = np.inf
    build = lambda v: [sort(v), argsort(v, kind="stable")]  # noqa: E731
    same(run(build, x), [np.sort(x), np.argsort(x, kind="stable")])


@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
def test_argmax(axis):
    x = np.round(rng.normal(size=(6, 7)), 1)
    x[2, 3] = x[4, 5] = x.max() + 1
    missing = x.copy()
    missing[1, 2] = missing[1, 4] = np.nan
    reference = (lambda v: v.argmax()) if axis in (None, (0, 1)) else (lambda v: v.argmax(axis))
    build = lambda v, w: [pt.argmax(v, axis), pt.argmax(w, axis)]  # noqa: E731
    same(run(build, x, missing), [reference(x), reference(missing)])


def test_the_greatest_of_no_elements_is_an_error():
    with pytest.raises(ValueError, match="the greatest of no elements has no position"):
        run(lambda v: pt.argmax(v), np.zeros(0))


@pytest.mark.parametrize("which", ["first", "min", "max"])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_positions_in_groups(which, batch):
    from pytensor.tensor.blockwise import Blockwise

    x = rng.normal(size=(*batch, 9))
    codes = rng.integers(-1, 4, size=(*batch, 9))
    expected = np.full((*batch, 5), -1)
    for at in np.ndindex(batch):
        for group in range(5):
            of = np.flatnonzero(codes[at] == group)
            if of.size:
                values = x[at][of]
                chosen = {"first": 0, "min": values.argmin(), "max": values.argmax()}[which]
                expected[(*at, group)] = of[chosen]
    op = Blockwise(GroupPosition(which), signature="(n),(n),(k)->(k)")
    same(run(lambda v, c: op(v, c, pt.arange(5)), x, codes), [expected])


# -- joins, shapes, slices -------------------------------------------------------------------------


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_joins_and_splits(n, static):
    x, y = rng.normal(size=(n, 3)), rng.normal(size=(2, 3))

    def build(v, w):
        joined = pt.concatenate([v, w * 2, v.T.T + 1], axis=0)
        sizes = pt.stack([v.shape[0], v.shape[0] + 2])
        first, second = Split(2, axis=0)(joined, sizes)
        return [joined, pt.concatenate([v, v], axis=1), first, second]

    joined = np.concatenate([x, y * 2, x + 1])
    same(run(build, x, y, static=static), [joined, np.hstack([x, x]), joined[:n], joined[n:]])


@pytest.mark.parametrize("static", [True, False])
def test_reshapes(static):
    x = rng.normal(size=(4, 6))

    def build(v):
        n = v.shape[0]
        return [v.ravel(), v.reshape((-1, 3)), (v * 2).reshape((n * 2, 3)).sum(0),
                v.T.reshape((2, -1)), v[:1, :1].reshape(()), v.sum().reshape((1, 1)),
                v.reshape((n, 2, 3)).reshape((-1,)) + 1]  # fmt: skip

    expected = [x.ravel(), x.reshape(-1, 3), (x * 2).reshape(8, 3).sum(0), x.T.reshape(2, -1),
                x[0, 0], x.sum().reshape(1, 1), x.ravel() + 1]  # fmt: skip
    same(run(build, x, static=static), expected)


def test_a_reshape_to_another_number_of_elements_is_an_error():
    with pytest.raises(ValueError, match="a reshape keeps the number of elements"):
        run(lambda v, n: v.reshape((n, 2)), np.zeros(6), np.int64(4))


@pytest.mark.parametrize("length", [0, 1, 5])
def test_slices_with_computed_ends(length):
    x = rng.normal(size=(length, 2))
    ends = [(-9, 9), (1, 4), (-2, 99), (3, 1), (0, -1), (-4, -2)]
    steps = [(4, 0, -1), (-1, -9, -2), (0, 5, 2), (9, -9, -3), (-9, 9, 3), (2, 2, 1)]

    def build(v, *numbers):
        pairs = zip(numbers[:12:2], numbers[1:12:2], strict=True)
        triples = zip(numbers[12::3], numbers[13::3], numbers[14::3], strict=True)
        found = [v[a:b] for a, b in pairs] + [v[a:b:c] for a, b, c in triples]
        a, b = numbers[2:4]
        return [*found, pt.set_subtensor(v[a:b], 7.0), pt.inc_subtensor(v[a:b, 1], v[a:b, 0])]

    numbers = [np.int64(n) for group in (*ends, *steps) for n in group]
    put, added = x.copy(), x.copy()
    put[1:4] = 7.0
    added[1:4, 1] += x[1:4, 0]
    expected = [x[a:b] for a, b in ends] + [x[a:b:c] for a, b, c in steps]
    same(run(build, x, *numbers), [*expected, put, added])


def test_ranges_and_diagonals():
    x, v = rng.normal(size=(4, 6)), rng.normal(size=3)

    def build(m, d, start, stop, step):
        diagonals = [pt.diagonal(m, k) for k in (-5, -2, 0, 3, 9)]
        made = [pt.diag(d), pt.diag(d, 2), pt.diag(d, -1)]
        ranges = [pt.arange(start, stop, step), pt.arange(stop), pt.arange(stop, start, -step)]
        return [*diagonals, *made, *ranges, pt.arange(0.5, stop, 0.75), pt.eye(stop, stop + 1, 1)]

    expected = [np.diagonal(x, k) for k in (-5, -2, 0, 3, 9)]
    expected += [np.diag(v), np.diag(v, 2), np.diag(v, -1)]
    expected += [np.arange(1, 8, 3), np.arange(8), np.arange(8, 1, -3)]
    expected += [np.arange(0.5, 8, 0.75), np.eye(8, 9, 1)]
    same(run(build, x, v, *(np.int64(n) for n in (1, 8, 3))), expected)


@pytest.mark.parametrize("axes", [(2, 3), (1, 2), (3, 0)])
def test_diagonals_of_many_matrices(axes):
    x = rng.uniform(1, 2, size=(2, 3, 4, 5))
    one, other = axes

    def build(t):
        found = pt.diagonal(t, 1, axis1=one, axis2=other)
        return [found, pt.log(found).sum(2)]

    expected = np.diagonal(x, 1, one, other)
    same(run(build, x), [expected, np.log(expected).sum(2)])


# -- linear algebra --------------------------------------------------------------------------------


def positive(n, batch=(), dtype="float64"):
    root = rng.normal(size=(*batch, n, n))
    return (root @ np.swapaxes(root, -1, -2) + n * np.eye(n)).astype(dtype)


def of_each(function, *arrays):
    """A function of matrices, over leading axes."""
    results = [function(*parts) for parts in zip(*arrays, strict=True)]
    return np.array(results)


@pytest.mark.parametrize("n", [0, 1, 2, 4, 9, 30])
@pytest.mark.parametrize("static", [True, False])
def test_linear_algebra(n, static):
    s, b, v = positive(n), rng.normal(size=(n, 3)), rng.normal(size=n)
    a = rng.normal(size=(n, n))

    def build(s, a, b, v):
        L = cholesky(s)
        triangles = [(lower, unit) for lower in (True, False) for unit in (True, False)]
        triangular = [solve_triangular(s, rhs, ndim, lower, unit)
                      for rhs, ndim in ((b, 2), (v, 1)) for lower, unit in triangles]  # fmt: skip
        turned = [solve_triangular(L.mT, rhs, ndim, False, False) for rhs, ndim in ((b, 2), (v, 1))]
        general = [solve(a, b, 2), solve(a, v, 1), inverse(a), det(a), *slogdet(a)]
        return [L, *triangular, *turned, *general, a @ b, a.T @ b, b.T @ a.T]

    def lu(rhs):
        return np.linalg.solve(a, rhs)

    L = np.linalg.cholesky(s)
    expected = [L]
    for rhs in (b, v):
        for lower in (True, False):
            for unit in (True, False):
                expected.append(
                    scipy.linalg.solve_triangular(s, rhs, lower=lower, unit_diagonal=unit)
                    if n else rhs
                )  # fmt: skip
    expected += [np.linalg.solve(L.T, rhs) for rhs in (b, v)]
    expected += [lu(b), lu(v), np.linalg.inv(a), np.linalg.det(a), *np.linalg.slogdet(a)]
    expected += [a @ b, a.T @ b, b.T @ a.T]
    same(run(build, s, a, b, v, static=static), expected, rtol=1e-7)


@pytest.mark.parametrize("n", [3, 12])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_batches_of_matrices(n, dtype):
    s, a = positive(n, (4,), dtype), rng.normal(size=(4, n, n)).astype(dtype)
    b, v = rng.normal(size=(4, n, 2)).astype(dtype), rng.normal(size=(4, n)).astype(dtype)

    def build(s, a, b, v):
        L = cholesky(s)
        triangular = [
            solve_triangular(L, b, 2, True, False),
            solve_triangular(L.mT, v, 1, False, False),
            solve_triangular(L[0][None], b, 2, True, False),
        ]
        general = [solve(a, b, 2), solve(a, v, 1), inverse(a), det(a), *slogdet(a)]
        return [L, *triangular, *general, a @ b, a.mT @ b]

    L = np.linalg.cholesky(s)
    solved = of_each(np.linalg.solve, L, b)
    expected = [
        L,
        solved,
        of_each(lambda m, r: np.linalg.solve(m.T, r), L, v),
        of_each(lambda r: np.linalg.solve(L[0], r), b),
        np.linalg.solve(a, b),
        of_each(np.linalg.solve, a, v),
        np.linalg.inv(a),
        np.linalg.det(a),
        *np.linalg.slogdet(a),
        a @ b,
        np.swapaxes(a, 1, 2) @ b,
    ]
    tolerance = 1e-8 if dtype == "float64" else 2e-3
    for static in (True, False):
        found = run(build, s, a, b, v, static=static)
        assert {f.dtype for f in found} == {np.dtype(dtype)}
        same(found, expected, rtol=tolerance)


@pytest.mark.parametrize("static", [True, False])
def test_what_does_not_exist_is_nan_for_its_own_matrix_only(static):
    good, bad, zero = positive(3), np.diag([1.0, -1.0, 1.0]), np.zeros((3, 3))
    missing = positive(3)
    missing[1, 1] = np.nan
    s = np.stack([good, bad, zero, missing])
    b = np.ones((4, 3))
    results = run(
        lambda s, b: [cholesky(s), solve(s, b, 1), inverse(s), det(s), *slogdet(s),
                      solve_triangular(s, b, 1, True, False)],
        s, b, static=static,
    )  # fmt: skip
    L, x, inverted, determinant, sign, log, triangular = results
    np.testing.assert_allclose(L[0], np.linalg.cholesky(good))
    assert np.isnan(L[1:]).all()
    np.testing.assert_allclose(x[:2], [np.linalg.solve(m, np.ones(3)) for m in (good, bad)])
    assert np.isnan(x[2]).all()
    assert np.isnan(x[3]).any()
    np.testing.assert_allclose(inverted[:2], np.linalg.inv(s[:2]))
    assert np.isnan(inverted[2]).all()
    assert np.isnan(inverted[3]).any()
    np.testing.assert_allclose(determinant[:3], np.linalg.det(s[:3]))
    np.testing.assert_allclose(sign[:3], [1, -1, 0])
    np.testing.assert_allclose(log[:3], np.linalg.slogdet(s[:3])[1])
    assert np.isnan([determinant[3], sign[3], log[3]]).all()
    assert np.isfinite(triangular[:2]).all()
    assert np.isnan(triangular[2]).all()


@pytest.mark.parametrize("length", [3, None])
def test_gradients_against_differences(length):
    p = dt.Dim("p", length=length)
    t, y = dt.tensor("t", dims=p), dt.tensor("y", dims=p)
    covariance = dt.exp(-0.5 * (t - t.rename_dim(p)) ** 2) + 0.3 * dt.eye(p)
    root = dt.linalg.cholesky(covariance)
    white = dt.linalg.solve_triangular(root, y)
    density = -0.5 * (white**2).sum() - dt.log(dt.diagonal(root)).sum()
    sign, log = dt.linalg.slogdet(covariance)
    other = (dt.linalg.solve(covariance, y) ** 2).sum() + log * sign
    values = np.array([0.0, 0.7, 1.9]), np.array([0.4, -1.0, 0.3])
    for scalar in (density, other):
        f = dt.function([t, y], [scalar, *dt.grad(scalar, [t, y])], backend="numba")
        value = dt.function([t, y], scalar, backend="python")
        _, *gradients = f(*values)
        for at, gradient in enumerate(gradients):
            for k in range(3):
                step = np.zeros(3)
                step[k] = 1e-5
                moved = [[v + sign * step if i == at else v for i, v in enumerate(values)]
                         for sign in (1, -1)]  # fmt: skip
                above, below = (float(value(*m).values) for m in moved)
                slope = (above - below) / 2e-5
                np.testing.assert_allclose(gradient.values[k], slope, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("native", ["strict", pytest.param("0", marks=pytest.mark.slow)])
def test_errors_of_other_libraries_are_raised(native, monkeypatch):
    from pytensor.raise_op import Assert, CheckAndRaise

    monkeypatch.setenv("DIMTENSOR_NATIVE", native)

    def build(x, s):
        positive = CheckAndRaise(dt.CheckError, "sizes are positive")(s, s > 0)
        finite = CheckAndRaise(np.linalg.LinAlgError, "not finite")(x, pt.all(pt.lt(pt.abs(x), 9)))
        return [finite * Assert("not one")(positive, pt.neq(s, 1))]

    same(run(build, np.arange(3.0), 2.0), [np.arange(3.0) * 2])
    with pytest.raises(dt.CheckError, match="sizes are positive"):
        run(build, np.arange(3.0), -2.0)
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        run(build, np.array([1.0, np.inf]), 2.0)
    with pytest.raises(AssertionError, match="not one"):
        run(build, np.arange(3.0), 1.0)


def test_a_kernel_with_linear_algebra_needs_no_numba(monkeypatch):
    monkeypatch.setenv("DIMTENSOR_NATIVE", "strict")
    s = positive(12)
    same(run(lambda s: [cholesky(s), sort(s, 0), inverse(s)], s),
         [np.linalg.cholesky(s), np.sort(s, 0), np.linalg.inv(s)])  # fmt: skip


@pytest.mark.slow
def test_numba_compiles_the_same_source(monkeypatch):
    monkeypatch.setenv("DIMTENSOR_NATIVE", "0")
    s, b = positive(12), rng.normal(size=(12, 2))

    def build(s, b):
        L = cholesky(s)
        return [L, solve_triangular(L.mT, b, 2, False, False), solve(s, b, 2), *slogdet(s), s @ b,
                inverse(s), sort(s, 0), argsort(s, 1, "stable"), pt.cumsum(s, 0), s.ravel(),
                pt.concatenate([s, b], axis=1)]  # fmt: skip

    L = np.linalg.cholesky(s)
    expected = [L, np.linalg.solve(L.T, b), np.linalg.solve(s, b), *np.linalg.slogdet(s), s @ b,
                np.linalg.inv(s), np.sort(s, 0), np.argsort(s, 1, kind="stable"),
                np.cumsum(s, 0), s.ravel(), np.hstack([s, b])]  # fmt: skip
    same(run(build, s, b), expected)
