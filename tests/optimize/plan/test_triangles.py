"""Matrices of which the lower triangle is enough, and those that are read whole."""

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph

import dimtensor as dt
from dimtensor.backends import python as python_backend
from dimtensor.kernels.rules import blockwise
from dimtensor.optimize.plan.triangles import Triangles
from tests.kernels import interpret

BELOW = " | 7) + 1, "
rng = np.random.default_rng(51)


# -- graphs ----------------------------------------------------------------------------------------

x, y = pt.dmatrices("xy")
v = pt.dvector("v")
root = pt.linalg.cholesky
READS = {
    "factor": (lambda m: [root(m)], True),
    "product": (lambda m: [root(3 * m * x)], True),
    "batch": (lambda m: [root(m[None] + pt.dtensor3())], True),
    "rows": (lambda m: [root(m + v[:, None])], True),
    "result": (lambda m: [root(m), m], False),
    "transposed": (lambda m: [root(m.T + m)], False),
    "upper": (lambda m: [pt.linalg.cholesky(m, lower=False)], False),
    "trace": (lambda m: [root(m), pt.diagonal(m)], False),
    "sum": (lambda m: [root(m), m.sum()], False),
    "solved": (lambda m: [root(m), pt.linalg.solve(m, v)], False),
    "chosen": (lambda m: [root(m[:, ::2])], False),
    "complex": (lambda m: [root(m + 0j)], False),
}
ROW, NUMBER = pt.TensorType("float64", (1, None)), pt.TensorType("float64", (1, 1))


def triangles_of(outputs):
    graph = FunctionGraph(outputs=outputs, clone=False)
    return Triangles(graph, graph.toposort())


@pytest.mark.parametrize("kind", READS)
def test_what_is_read(kind):
    outputs, is_below = READS[kind]
    matrix = pt.exp(x)
    assert triangles_of(outputs(matrix)).is_read_below(matrix) is is_below


def test_rows_are_no_matrices():
    for row in (pt.exp(ROW()), pt.exp(NUMBER()), pt.exp(v)):
        assert not triangles_of([root(row * x)]).is_read_below(row)


@pytest.mark.parametrize(("order", "is_below"), [((1, 0, 2), False), ((0, 1, 2), True)])
def test_other_axes_are_other_matrices(order, is_below):
    batch = pt.exp(pt.dtensor3())
    found = triangles_of([root(batch.dimshuffle(*order) + 1.0)])
    assert found.is_read_below(batch) is is_below


ZEROS = {
    "itself": (lambda g: g, True),
    "times": (lambda g: -(g * pt.exp(x)) / y, True),
    "squared": (lambda g: pt.sqr(g) + abs(g), True),
    "used": (lambda g: pt.switch(pt.neq(g, 0), g * x, 0.0), True),
    "any": (lambda g: pt.or_(pt.neq(g, 0), pt.and_(pt.neq(g, 0), pt.gt(x, 0))), True),
    "chosen": (lambda g: pt.switch(pt.neq(g, 0), y, 0.0), True),
    "added": (lambda g: g + x, False),
    "divided": (lambda g: x / g, False),
    "exponential": (lambda g: pt.exp(g), False),
    "not_zero": (lambda g: pt.neq(g, x), False),
    "otherwise": (lambda g: pt.switch(pt.neq(g, 0), g, x), False),
    "otherwise_zero": (lambda g: pt.switch(pt.gt(x, 0), x, g), False),
    "transposed": (lambda g: g.T * x, False),
}


def slope_of_factor(factor, cotangent):
    from dimtensor.ops.linalg import CholeskyGradient

    return CholeskyGradient()(factor, cotangent)


@pytest.mark.parametrize("kind", ZEROS)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_what_is_added(kind, axis):
    make, is_below = ZEROS[kind]
    terms = make(slope_of_factor(pt.dmatrix(), pt.dmatrix()))
    total = pt.any(terms, axis) if terms.dtype == "bool" else pt.sum(terms, axis)
    assert triangles_of([total]).is_added_below(total.owner) is is_below


def test_a_number_is_no_triangle():
    terms = slope_of_factor(NUMBER(), NUMBER()) * x
    assert not triangles_of([total := terms.sum()]).is_added_below(total.owner)


def test_other_reductions_take_all():
    slope = slope_of_factor(pt.dmatrix(), pt.dmatrix())
    for total in (pt.prod(slope), pt.max(slope), pt.all(pt.neq(slope, 0))):
        assert not triangles_of([total]).is_added_below(total.owner)


# -- loops -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_sums_end_at_the_diagonal(axis):
    factor, cotangent = pt.dmatrices("factor", "cotangent")
    total = (slope_of_factor(factor, cotangent) * x).sum(axis)
    assert BELOW in interpret.interpreted([factor, cotangent, x], [total]).source


def test_rows_come_before_columns(monkeypatch):
    """Also where what is read lies the other way round."""
    monkeypatch.setattr(blockwise, "LOOPED_MATRIX_ROWS", 64)  # LAPACK cannot be called from Python
    square = pt.TensorType("float64", (20, 20))
    a, b = square("a"), square("b")
    run = interpret.interpreted([a, b], [root(a.T * b.T)])
    assert BELOW in run.source
    values = rng.normal(size=(2, 20, 20))
    one, other = (each @ each.T for each in values)
    one, other = np.tril(one) + np.triu(one * np.nan, 1), np.tril(other)
    (found,) = run(one.T.copy(), other.T.copy())
    expected = np.linalg.cholesky((values[0] @ values[0].T) * (values[1] @ values[1].T))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


# -- models ----------------------------------------------------------------------------------------

NOISE = 0.6


def process(n, group):
    """Gaussian processes of groups, with an amplitude of its own for each point."""
    point = dt.Dim("point", length=n)
    at = dt.data(np.linspace(0.0, 3.0, n), dims=point, name="at")
    seen = dt.data(np.cos(np.arange(float(n))), dims=point, name="seen")
    amplitude = dt.tensor("amplitude", dims=[*group, point])
    scale = dt.tensor("scale", dims=group)
    apart = (at - at.rename_dim(point)) / scale
    covariance = amplitude * amplitude.rename_dim(point) * dt.exp(-0.5 * apart**2)
    covariance = covariance + NOISE**2 * dt.eye(point)
    factor = dt.linalg.cholesky(covariance, dims=(point, point.rename()))
    solved = dt.linalg.solve_triangular(factor, seen, dims=(point, point.rename()))
    total = -0.5 * (solved**2).sum() - dt.log(dt.diagonal(factor)).sum()
    return [amplitude, scale], total, covariance


def log_density(amplitude, scale):
    """The same by NumPy, without constants."""
    n = amplitude.shape[-1]
    at, seen, total = np.linspace(0.0, 3.0, n), np.cos(np.arange(float(n))), 0.0
    for a, s in zip(amplitude.reshape(np.size(scale), n), np.ravel(scale), strict=True):
        square = ((at[:, None] - at) / s) ** 2
        matrix = np.outer(a, a) * np.exp(-0.5 * square) + NOISE**2 * np.eye(n)
        total -= 0.5 * (seen @ np.linalg.solve(matrix, seen) + np.linalg.slogdet(matrix)[1])
    return total


def differences(function, values, step=1e-5):
    """Derivatives by all elements, by central differences."""
    found = [np.zeros_like(value) for value in values]
    for value, slope in zip(values, found, strict=True):
        for at in np.ndindex(value.shape):
            kept = value[at]
            ends = []
            for sign in (1, -1):
                value[at] = kept + sign * step
                ends.append(function(*values))
            value[at] = kept
            slope[at] = (ends[0] - ends[1]) / (2 * step)
    return found


def values_for(n, groups):
    return rng.uniform(0.5, 1.5, (*groups, n)), rng.uniform(0.5, 1.5, groups)


@pytest.mark.parametrize("groups", [(), (3,)], ids=["one", "groups"])
@pytest.mark.parametrize(
    "n", [0, 1, 8, 17, *(pytest.param(n, marks=pytest.mark.slow) for n in (9, 15, 16, 33, 40))]
)
def test_gradients_of_gaussian_processes(n, groups):
    group = [dt.Dim(f"group{at}", length=size) for at, size in enumerate(groups)]
    inputs, total, _ = process(n, group)
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend="numba")
    values = values_for(n, groups)
    named = [([dim.name for dim in x.dims], value) for x, value in zip(inputs, values, strict=True)]
    value, *slopes = (each.values for each in f(*named))
    np.testing.assert_allclose(value, log_density(*values), rtol=1e-10)
    for slope, expected in zip(slopes, differences(log_density, values), strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-7)
    assert (BELOW in f.source) is (n > 8)  # shorter lengths are known to the code


@pytest.mark.parametrize("also", ["result", "sum", "solved", "slope"])
def test_what_else_is_read_is_computed(also):
    """A covariance that something else reads has all of its elements."""
    n = 21
    inputs, total, covariance = process(n, [])
    point, *_ = inputs[0].dims
    extra = {
        "result": lambda: covariance,
        "sum": lambda: covariance.sum(),
        "solved": lambda: dt.dot(covariance, dt.ones(point.rename()), dim=point.rename()),
        "slope": lambda: dt.grad(total, covariance),
    }[also]()
    outputs = [extra, total, *dt.grad(total + dt.sin(extra).sum(), inputs)]
    numbers = values_for(n, ())
    found = dt.function(inputs, outputs, backend="numba")(*numbers)
    for one, other in zip(
        found, dt.function(inputs, outputs, backend="jax")(*numbers), strict=True
    ):
        np.testing.assert_allclose(one.values, other.transpose(*one.dims).values, rtol=1e-7)


def test_second_derivatives():
    n = 18
    inputs, total, _ = process(n, [])
    slope = dt.grad(total, inputs[1])
    f = dt.function(inputs, dt.grad(slope, inputs), backend="numba")
    values = values_for(n, ())

    def by_scale(*at):
        return differences(log_density, [np.array(each) for each in at], 1e-3)[1]

    for found, expected in zip(f(*values), differences(by_scale, values, 1e-3), strict=True):
        np.testing.assert_allclose(found.values, expected, rtol=1e-3, atol=1e-3)


def test_nothing_reads_what_is_not_computed(monkeypatch):
    """Memory is full of NaN: none comes out."""
    monkeypatch.setattr(blockwise, "LOOPED_MATRIX_ROWS", 64)  # LAPACK cannot be called from Python
    n = 35
    inputs, total, _ = process(n, [])
    outputs = [total, *dt.grad(total, inputs)]
    values = values_for(n, ())
    expected = dt.function(inputs, outputs, backend="python")(*values)
    empty = np.empty
    monkeypatch.setattr(
        np, "empty", lambda *args, **options: np.full_like(empty(*args, **options), np.nan)
    )
    compiled = []

    def compile_positional(inputs, outputs, **options):
        compiled.append(interpret.interpreted(inputs, outputs))
        return interpret.compile_interpreted(inputs, outputs)

    with monkeypatch.context() as context:
        context.setattr(python_backend, "compile_positional", compile_positional)
        found = dt.function(inputs, outputs, backend="python")(*values)
    assert any(BELOW in each.source for each in compiled)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-9)
