"""Gradients of every differentiable operand of every row, against differences of the oracle."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.graph.optable import OpRow
from tests.graph.optable.cases import case_of, given, wanted_gradient
from tests.graph.optable.table import DIMS, ELEMWISE, PATTERN, function_of, operand_dtypes

K = dt.Dim("k", length=5)


def tensor_dims(at: int) -> list[dt.Dim]:
    return [DIMS[axis] for axis in PATTERN[at]]


def inputs_of(row: OpRow) -> list[dt.DimTensor]:
    dtypes = operand_dtypes(row, "float64")
    return [dt.tensor(n, dims=K, dtype=d) for n, d in zip(row.names, dtypes, strict=True)]


def floats(row: OpRow) -> bool:
    """Whether the row makes floats of floats."""
    try:
        return function_of(row)(*inputs_of(row)).dtype == "float64"
    except dt.DtypeError:
        return False


SMOOTH = [
    pytest.param(row, at, id=f"{row.name}-{row.names[at]}")
    for row in ELEMWISE
    if floats(row) and row.name not in ("stop_gradient", "where")
    for at in row.differentiable
]
UNKNOWN = [
    pytest.param(row, at, id=f"{row.name}-{row.names[at]}")
    for row in ELEMWISE
    if floats(row)
    for at in range(row.arity)
    if at not in row.differentiable and operand_dtypes(row, "float64")[at] == "float64"
]


@pytest.mark.parametrize(("row", "at"), SMOOTH)
def test_gradient(row: OpRow, at: int, rng: np.random.Generator):
    case = case_of(row, rng)
    gradient = case.gradients[at]
    assert set(gradient.dims) == set(case.inputs[at].dims)
    found = gradient.eval(given(case, gradient)).transpose(*[d.name for d in tensor_dims(at)])
    np.testing.assert_allclose(found.values, wanted_gradient(case, at), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("row", "at"), UNKNOWN)
def test_an_unknown_derivative_names_the_op(row: OpRow, at: int):
    inputs = inputs_of(row)
    y = function_of(row)(*inputs).sum()
    message = f"the derivative of {row.name} with respect to {row.names[at]} is not known"
    for derive in (
        lambda: dt.grad(y, inputs[at]),
        lambda: dt.jacobian(y, inputs[at]),
        lambda: dt.jvp(y, inputs[at], inputs[at]),
    ):
        with pytest.raises(dt.GraphError, match=message):
            derive()


def test_what_has_an_unknown_derivative():
    names = {f"{param.values[0].name}-{param.values[1]}" for param in UNKNOWN}
    assert names == {"jv-0", "iv-0", "ive-0", "kv-0", "kve-0"}


def test_unknown_derivatives_elsewhere_in_the_graph_do_not_matter():
    v, x = dt.scalar("v"), dt.scalar("x")
    gradient = dt.grad(dt.special.jv(v, x) + v**2, x)
    assert float(gradient.eval({v: 0.0, x: 0.7})) == pytest.approx(-0.3289957415, rel=1e-9)
    held = dt.grad(dt.special.jv(dt.stop_gradient(v), x) + v**2, v)
    assert float(held.eval({v: 3.0, x: 1.0})) == 6.0


def test_derivatives_through_complex_numbers_are_refused():
    x = dt.scalar("x")
    with pytest.raises(dt.GraphError, match=r"through exp .* of complex128, is not known"):
        dt.grad(dt.abs(dt.exp(dt.complex(x, 1.0))), x)


@pytest.mark.parametrize(
    "row",
    [row for row in ELEMWISE if row.dtype in ("bool", "logical")],
    ids=lambda row: row.name,
)
def test_what_is_a_bool_has_no_gradient(row: OpRow):
    inputs = inputs_of(row)
    y = function_of(row)(*inputs).any()
    with pytest.raises(dt.DtypeError, match=r"the gradient of .* of bool is not defined"):
        dt.grad(y, inputs[0])


def _gradients_at(y: dt.DimTensor, inputs: list[dt.DimTensor], *values: float) -> list[float]:
    f = dt.function(inputs, dt.grad(y, inputs), backend="python")
    return [float(g) for g in f(*values)]


def test_gradients_at_ties_and_bounds():
    x, y = dt.scalar("x"), dt.scalar("y")
    for function in (dt.maximum, dt.minimum):
        assert sorted(_gradients_at(function(x, y), [x, y], 1.0, 1.0)) == [0.0, 1.0]
    assert _gradients_at(dt.abs(x), [x], 0.0) == [0.0]
    assert _gradients_at(dt.clip(x, -1.0, 1.0), [x], 1.5) == [0.0]
    assert _gradients_at(dt.clip(x, -1.0, 1.0), [x], 0.5) == [1.0]


def test_gradients_of_stable_functions_far_out():
    x, y = dt.scalar("x"), dt.scalar("y")
    assert _gradients_at(dt.logaddexp(x, y), [x, y], 1000.0, -1000.0) == [1.0, 0.0]
    assert _gradients_at(dt.logaddexp(x, y), [x, y], -np.inf, 0.0) == [0.0, 1.0]
    assert _gradients_at(dt.softplus(x), [x], 800.0) == [1.0]
    assert _gradients_at(dt.sigmoid(x), [x], -800.0) == [0.0]
    assert _gradients_at(dt.log_sigmoid(x), [x], -800.0) == [1.0]
    np.testing.assert_allclose(_gradients_at(dt.log_sigmoid(x), [x], 40.0), [np.exp(-40.0)])


def test_gradients_of_x_log_y_at_zero():
    x, y = dt.scalar("x"), dt.scalar("y")
    assert _gradients_at(dt.special.xlogy(x, y), [x, y], 0.0, 0.0) == [0.0, 0.0]
    np.testing.assert_allclose(
        _gradients_at(dt.special.xlogy(x, y), [x, y], 0.0, 2.0), [np.log(2), 0.0]
    )
    np.testing.assert_allclose(
        _gradients_at(dt.special.xlog1py(x, y), [x, y], 3.0, 1.0), [np.log(2), 1.5]
    )
    assert _gradients_at(dt.special.xlog1py(x, y), [x, y], 0.0, -1.0) == [0.0, 0.0]


def test_gradients_of_where_and_stop_gradient():
    x, y, condition = (dt.tensor(name, dims=K) for name in "xyc")
    total = (dt.where(condition, x, y) * dt.arange(K)).sum()
    f = dt.function([condition, x, y], dt.grad(total, [condition, x, y]), backend="python")
    for_condition, for_x, for_y = f(np.array([1.0, 0.0, 2.0, 0.0, np.nan]), np.ones(5), np.ones(5))
    assert for_condition.values.tolist() == [0.0] * 5
    assert for_x.values.tolist() == [0.0, 0.0, 2.0, 0.0, 4.0]
    assert for_y.values.tolist() == [0.0, 1.0, 0.0, 3.0, 0.0]
    held = dt.grad((dt.stop_gradient(x) * x).sum(), x)
    assert held.eval({x: np.arange(5.0)}).values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_gradient_of_where_ignores_the_branch_not_taken():
    x = dt.scalar("x")
    safe = dt.where(x > 0, dt.sqrt(dt.where(x > 0, x, 1.0)), 0.0)
    assert _gradients_at(safe, [x], -1.0) == [0.0]
    assert _gradients_at(safe, [x], 4.0) == [0.25]


def test_second_derivatives():
    x = dt.scalar("x")
    for function, at, wanted in [
        (dt.exp, 0.5, np.exp(0.5)),
        (dt.log, 0.5, -4.0),
        (dt.special.gammaln, 2.5, 0.490357756100235),  # trigamma of 2.5
        (dt.sin, 0.5, -np.sin(0.5)),
        (dt.softplus, 0.3, 0.24445831169074586),
        (dt.log1mexp, -0.7, -np.exp(-0.7) / (1 - np.exp(-0.7)) ** 2),
    ]:
        second = float(dt.hessian(function(x), x).eval({x: at}))
        assert second == pytest.approx(wanted, rel=1e-6), function.__name__


def test_equal_operands_of_logaddexp_share_its_derivative():
    x, y = dt.scalar("x"), dt.scalar("y")
    z = dt.logaddexp(x, y)
    found = dt.evaluate([*dt.grad(z, [x, y]), dt.hessian(z, x)], {x: 0.7, y: 0.7}, backend="python")
    assert [float(v) for v in found] == pytest.approx([0.5, 0.5, 0.25])
    low = dt.evaluate([z, *dt.grad(z, [x, y])], {x: -np.inf, y: 0.7}, backend="python")
    assert [float(v) for v in low] == [0.7, 0.0, 1.0]
