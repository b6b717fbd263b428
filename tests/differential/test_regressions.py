"""Results that were wrong once, one by one, with values from outside of dimtensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import COMPILED, LONG_JAX, LONG_JAX_COMPILED

NUMBA = [pytest.param("numba", marks=pytest.mark.compiled)]
LONG = ["python", *(pytest.param(*p.values, marks=[*p.marks, pytest.mark.slow]) for p in COMPILED)]
K = dt.Dim("k", length=3)
T = dt.Dim("t", length=4)
x, y, s, r = (dt.scalar(name) for name in "xysr")
v = dt.tensor("v", dims=K)


def value(expression: Any, point: dict[Any, Any], backend: str = "python") -> np.ndarray:
    """An expression at a point, as an array."""
    known = set(dt.inputs_of(expression))
    given = {tensor: number for tensor, number in point.items() if tensor in known}
    return dt.evaluate(expression, given, backend=backend).values


# -- gradients by what a loop captures -------------------------------------------------------------


def loss_of_slice(length: int) -> tuple[Any, Any, Any]:
    """Minus the squares of the last state of a loop that adds a captured slice in three steps."""
    c = dt.Dim("c", length=length)
    flat = dt.tensor("x", dims=dt.Dim("flat", length=2 * length))
    part = flat.isel(flat=slice(0, length))
    captured = part.relabel(*part.dims, c)
    day = dt.Dim("day", length=3)
    last = dt.reduce(lambda s, _: 0.5 * s + captured, dt.zeros(c), dim=day)
    return -(last**2).sum(), captured, flat


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("length", [1, 8, 9, 40])
def test_gradient_by_a_slice_that_a_loop_captures(length: int, backend: str) -> None:
    """The last state is 1.75 times the slice, so the gradient is -2 * 1.75**2 times it."""
    loss, captured, flat = loss_of_slice(length)
    point = np.linspace(-0.5, 0.5, 2 * length)
    found = value(dt.grad(loss, captured), {flat: point}, backend)
    np.testing.assert_allclose(found, -6.125 * point[:length], rtol=1e-12)
    by_flat = value(dt.grad(loss, flat), {flat: point}, backend)
    expected = np.append(-6.125 * point[:length], np.zeros(length))
    np.testing.assert_allclose(by_flat, expected, rtol=1e-12)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradient_by_an_intermediate_over_a_late_dim(backend: str) -> None:
    late = dt.Dim("late")
    given = dt.tensor("given", dims=late)
    captured = given.isel(late=slice(None, None, -1)).relabel("late", late)
    day = dt.Dim("day", length=3)
    last = dt.reduce(lambda s, _: 0.5 * s + captured, dt.zeros_like(given), dim=day)
    point = np.linspace(-0.5, 0.5, 11)
    found = value(dt.grad(-(last**2).sum(), captured), {given: point}, backend)
    np.testing.assert_allclose(found, -6.125 * point[::-1], rtol=1e-12)


# -- conditionals ----------------------------------------------------------------------------------


def _square_and_sine(a: Any) -> Any:
    q = a * a
    return q, dt.sin(q)


def _ancestors(a: Any) -> Any:
    return a, dt.sin(a)


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize(
    ("arm", "slope"),
    [
        (_square_and_sine, lambda a: 2 * a + np.cos(a * a) * 2 * a),
        (_ancestors, lambda a: 1 + np.cos(a)),
    ],
)
def test_an_output_of_an_arm_is_an_ancestor_of_another(arm: Any, slope: Any, backend: str) -> None:
    u, w = dt.if_else(x > 0, arm, lambda a: (a, a), x)
    found = value(dt.grad(u + w, x), {x: 0.9}, backend)
    np.testing.assert_allclose(found, slope(0.9), rtol=1e-12)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_hessian_of_a_conditional(backend: str) -> None:
    found = dt.if_else(x > 0, lambda a: a**3, lambda a: a, x)
    np.testing.assert_allclose(value(dt.hessian(found, x), {x: 0.9}, backend), 5.4, rtol=1e-12)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_forward_mode_of_a_loop_with_a_conditional(backend: str) -> None:
    """Four steps of s -> s**2 + s * v while s < 2, else s / 2."""

    def step(state: Any, _: Any) -> Any:
        return dt.if_else(state < 2, lambda a: a * a + a * y, lambda a: a / 2, state)

    def slope(a: float, b: float, da: float, db: float) -> float:
        for _ in range(4):
            if a < 2:
                a, da = a * a + a * b, 2 * a * da + da * b + a * db
            else:
                a, da = a / 2, da / 2
        return da

    last = dt.reduce(step, x, dim=T)
    found = value(dt.jvp(last, [x, y], [1.0, 0.5]), {x: 0.8, y: 0.7}, backend)
    np.testing.assert_allclose(found, slope(0.8, 0.7, 1.0, 0.5), rtol=1e-12)


# -- forward mode ----------------------------------------------------------------------------------

_ALIASES: dict[str, tuple[Callable[[], Any], float]] = {
    "sum": (lambda: dt.jvp(s + r, [s, r], [1.0, 1.0]), 2.0),
    "difference": (lambda: dt.jvp(s - r, [s, r], [s, s]), 0.0),
    "product by themselves": (lambda: dt.jvp(s * r, [s, r], [s, r]), 2 * 1.3 * 0.4),
    "same tangent": (lambda: dt.jvp(s * r, [s, r], [s, s]), 1.3 * 0.4 + 1.3 * 1.3),
    "swapped": (lambda: dt.jvp(s * r + dt.sin(s), [s, r], [r, s]),
                0.4**2 + 1.3**2 + np.cos(1.3) * 0.4),
    "ancestor": (lambda: dt.jvp(s * r + s, [s, r], [s * r, s]), 0.52 * 0.4 + 1.3 * 1.3 + 0.52),
    "quotient": (lambda: dt.jvp(s / r, [s, r], [s, r]), 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", _ALIASES)
def test_tangents_that_equal_one_another(name: str) -> None:
    build, expected = _ALIASES[name]
    found = value(build(), {s: 1.3, r: 0.4})
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_equal_tangents_compiled(backend: str) -> None:
    assert value(dt.jvp(s + r, [s, r], [1.0, 1.0]), {s: 1.3, r: 0.4}, backend) == 2.0


def test_forward_mode_of_an_update_in_a_loop() -> None:
    """After n steps the first element is (n + 1) s, the others are s."""
    given = dt.tensor("given", dims=T)
    last = dt.reduce(lambda p, e: p.isel(k=0).inc(s), dt.ones(K) * s, given, dim=T)
    found = value(dt.jvp(last, s, 1.0), {s: 0.3, given: np.zeros(4)})
    np.testing.assert_allclose(found, [5.0, 1.0, 1.0])


# -- late dims -------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", LONG_JAX)
def test_every_second_of_a_late_dim_from_the_end(backend: str) -> None:
    late = dt.Dim("late")
    given = dt.tensor("given", dims=late)
    total = given.isel({late: slice(None, None, -2)}).sum()
    assert value(total, {given: [1.0, 3.0]}, backend) == 3.0


# -- bound variables -------------------------------------------------------------------------------


def test_a_replacement_that_is_another_node_of_a_derivative() -> None:
    """The derivative of x * y by x is y, whatever x is."""
    found = dt.substitute(dt.grad(x * y, x), {x: y})
    assert value(found, {x: 3.0, y: 3.0}) == 3.0


def test_a_literal_that_is_in_a_derivative_already() -> None:
    found = dt.substitute(dt.grad(dt.log(1.0 + dt.exp(x)), x), {x: 1.0})
    np.testing.assert_allclose(value(found, {}), 1 / (1 + np.exp(-1.0)), rtol=1e-12)


@pytest.mark.parametrize("kind", ["vjp", "jvp", "jacobian", "hessian"])
def test_replacements_in_every_derivative(kind: str) -> None:
    """Of x**2 * y by x, where x becomes y: 2 y**2, and 2 y for the second."""
    of = x**2 * y
    built = {
        "vjp": lambda: dt.vjp(of, x, y),
        "jvp": lambda: dt.jvp(of, x, y),
        "jacobian": lambda: dt.jacobian(of, x),
        "hessian": lambda: dt.hessian(of, x),
    }[kind]()
    expected = {"vjp": 54.0, "jvp": 54.0, "jacobian": 18.0, "hessian": 6.0}[kind]
    np.testing.assert_allclose(value(dt.substitute(built, {x: y}), {y: 3.0}), expected)


def test_gradients_in_an_arm_whose_arguments_coincide() -> None:
    """The gradient of a * b by a is b, where both are x."""
    found = dt.if_else(x > 0, lambda a, b: dt.grad(a * b, a), lambda a, b: a, x, x)
    assert value(found, {x: 3.0}) == 3.0


# -- second derivatives ----------------------------------------------------------------------------


def _cumprod_hessian(point: np.ndarray) -> np.ndarray:
    """Of the sum of v0 + v0 v1 + v0 v1 v2."""
    a, b, c = point
    return np.array([[0, 1 + c, b], [1 + c, 0, a], [b, a, 0]])


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("point", [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [2.0, 1.5, -0.5]])
def test_hessian_of_cumprod(point: list[float], backend: str) -> None:
    found = value(dt.hessian(v.cumprod("k").sum(), v), {v: point}, backend)
    np.testing.assert_allclose(found, _cumprod_hessian(np.array(point)), atol=1e-12)


def test_hessian_of_eigenvalues() -> None:
    """Of the eigenvalues of [[x, y], [y, 0]]: (x ± sqrt(x**2 + 4 y**2)) / 2."""
    two = dt.Dim("two", length=2)
    corner = dt.data([[1.0, 0.0], [0.0, 0.0]], dims=[two, two.rename()])
    beside = dt.data([[0.0, 1.0], [1.0, 0.0]], dims=[two, two.rename()])
    largest = dt.linalg.eigh(corner * x + beside * y, dim="e").eigenvalues.isel(e=1)
    a, b = 1.2, 0.7
    root = np.sqrt(a * a + 4 * b * b)
    assert np.isclose(value(largest, {x: a, y: b}), (a + root) / 2)
    found = value(dt.hessian(largest, x), {x: a, y: b})
    np.testing.assert_allclose(found, 2 * b * b / root**3, rtol=1e-9)


@pytest.mark.parametrize("kind", ["jvp", "hessian"])
def test_second_derivatives_of_a_product(kind: str) -> None:
    point = np.array([2.0, 3.0, 0.0])
    if kind == "jvp":
        assert value(dt.jvp(v.prod(), v, v), {v: point}) == 0.0
        return
    a, b, c = point
    found = value(dt.hessian(v.prod(), v), {v: point})
    np.testing.assert_allclose(found, [[0, c, b], [c, 0, a], [b, a, 0]], atol=1e-12)


# -- derivatives where something underflows --------------------------------------------------------


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradient_of_a_root_of_what_underflows(backend: str) -> None:
    """sqrt(2 exp(-x)) is sqrt(2) exp(-x / 2), whose derivative at 2000 is 0 within rounding."""
    found = value(dt.grad(dt.sqrt(2.0 * dt.exp(-x)), x), {x: 2000.0}, backend)
    assert found == 0.0


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradient_of_a_selection_beside_an_infinity(backend: str) -> None:
    found = dt.grad(dt.where(x > 0, dt.log(x), 2.0 * x), x)
    assert value(found, {x: 0.0}, backend) == 2.0


# -- arithmetic ------------------------------------------------------------------------------------

_FOLDED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "equal": lambda lib, a, b: a == a,
    "unequal": lambda lib, a, b: a != a,
    "minus": lambda lib, a, b: a - a,
    "over": lambda lib, a, b: a / a,
    "times zero": lambda lib, a, b: a * 0,
    "zero over": lambda lib, a, b: 0 / a,
    "plus and minus": lambda lib, a, b: (a + b) - b,
    "of exponentials": lambda lib, a, b: lib.exp(a) * lib.exp(-a),
}


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("name", _FOLDED)
def test_nothing_is_folded_away(name: str, backend: str) -> None:
    one = np.array([np.nan, np.inf, 0.0, 1.0, -np.inf, 1e300])
    other = np.array([1.0, 1e300, 0.1, 1e300, np.inf, 1.0])
    n = dt.Dim("n", length=6)
    a, b = dt.tensor("a", dims=n), dt.tensor("b", dims=n)
    with np.errstate(all="ignore"):
        expected = _FOLDED[name](np, one, other)
    found = value(_FOLDED[name](dt, a, b), {a: one, b: other}, backend)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_kahans_sum_keeps_its_correction(backend: str) -> None:
    n = dt.Dim("n", length=1000)
    given = dt.tensor("given", dims=n)

    def step(state: Any, e: Any) -> Any:
        total, lost = state
        more = e - lost
        after = total + more
        return after, (after - total) - more

    total, _ = dt.reduce(step, (1e16, 0.0), given, dim=n)
    assert float(value(total, {given: np.ones(1000)}, backend)) == 1e16 + 1000


@pytest.mark.parametrize("backend", LONG_JAX)
def test_factors_of_a_late_square_matrix_are_square(backend: str) -> None:
    """The dim of the columns of Q is as long as the late dim: R is solved and factored again."""
    late = dt.Dim("late")
    z = dt.tensor("z", dims=late)
    matrix = 2.0 * dt.eye(late) + z * z.rename_dim(late)
    Q, R = dt.linalg.qr(matrix, [late, late.rename()], dim="r")
    beside = dt.dot(Q, z, dim=[late])
    solved = dt.linalg.solve_triangular(R, beside, ["r", late.rename()], lower=False)
    again = dt.linalg.qr(R, ["r", late.rename()], dim="again")
    size = dt.abs(dt.linalg.det(dt.dot(again.Q, again.R, dim=["again"]), ["r", late.rename()]))
    p = np.array([0.3, -0.5, 0.9, 0.2])
    wanted = 2.0 * np.eye(4) + np.outer(p, p)
    found = dt.evaluate([solved, size], {z: p}, backend=backend)
    np.testing.assert_allclose(found[0].values, np.linalg.solve(wanted, p), rtol=1e-12)
    np.testing.assert_allclose(found[1].values, np.linalg.det(wanted), rtol=1e-12)


# -- second derivatives at zero --------------------------------------------------------------------


@pytest.mark.parametrize("backend", LONG_JAX)
def test_hessian_of_a_variance_of_equal_numbers(backend: str) -> None:
    """Two over n, without what the mean takes away."""
    equal = {v: np.full(3, -0.5)}
    expected = 2 / 3 * (np.eye(3) - 1 / 3)
    np.testing.assert_allclose(value(dt.hessian(v.var(), v), equal, backend), expected, atol=1e-15)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_second_derivatives_by_way_of_a_cotangent_that_cancels(backend: str) -> None:
    """The middle of three equal numbers has the gradient 0, and not so where one of them moves.

    With differences d of squared logarithms the loss is the sum of sin(d); at equal numbers z its
    second derivatives are those of log(z)**2, at the ends, and nothing else for d is 0.
    """
    squares = dt.log(v) ** 2
    loss = dt.sin(squares.diff("k") + 0.3).sum()
    z = 1.7
    first = 2 * np.log(z) / z
    second = 2 * (1 - np.log(z)) / z**2
    steps = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    expected = -np.sin(0.3) * first**2 * steps.T @ steps
    expected += np.cos(0.3) * second * np.diag([-1.0, 0.0, 1.0])
    found = value(dt.hessian(loss, v), {v: np.full(3, z)}, backend)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_mixed_derivative_of_a_power_at_exponent_zero(backend: str) -> None:
    """Of x**y it is x**(y - 1) (1 + y log(x))."""
    point = {x: 2.0, y: 0.0}
    for mixed in (dt.grad(dt.grad(x**y, x), y), dt.grad(dt.grad(x**y, y), x)):
        assert float(value(mixed, point, backend)) == 0.5


# -- conditionals by element -----------------------------------------------------------------------


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("how", ["inc", "set"])
def test_updates_by_a_captured_value_where_a_condition_has_dims(how: str, backend: str) -> None:
    """The value is guarded by the condition and so gets its dim, which what is updated lacks."""
    two, wide = dt.Dim("two", length=2), dt.Dim("wide", length=3)
    given, z = dt.tensor("given", dims=K), dt.tensor("z", dims=two)
    at = dt.data(np.array([0, 2]), dims=two)
    put = getattr(dt.zeros(wide).isel(wide=at), how)
    found = dt.if_else(given > 0, lambda: put(z), lambda: z.mean())
    weights = np.arange(9.0).reshape(3, 3)
    loss = (dt.data(weights, dims=[K, wide]) * found).sum()
    point = {given: np.array([1.0, -1.0, 2.0]), z: np.array([0.3, 0.5])}
    rows = np.array([[0.3, 0, 0.5], [0.4, 0.4, 0.4], [0.3, 0, 0.5]])
    np.testing.assert_allclose(value(loss, point, backend), (weights * rows).sum(), rtol=1e-14)
    slopes = weights[0, ::2] + weights[2, ::2] + weights[1].sum() / 2
    np.testing.assert_allclose(value(dt.grad(loss, z), point, backend), slopes, rtol=1e-14)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_hessians_beside_infinities_that_are_not_used(backend: str) -> None:
    """Of x² log(x) at one element, where others are zero or negative: 2 log(x) + 3 there."""
    element = (v * dt.log(v) * v).isel(k=1)
    point = {v: np.array([0.0, 1.3, -1.0])}
    slope = dt.grad(element, v)
    rows = [dt.grad(slope.isel(k=at), v) for at in range(3)]
    expected = np.zeros((3, 3))
    expected[1, 1] = 2 * np.log(1.3) + 3
    hessian, *found = dt.evaluate([dt.hessian(element, v), *rows], point, backend=backend)
    np.testing.assert_allclose(hessian.values, expected, rtol=1e-12)
    np.testing.assert_allclose([row.values for row in found], expected, rtol=1e-12)


# -- lengths ---------------------------------------------------------------------------------------


T2 = dt.Dim("t", length=2)


def _powers(v: Any) -> tuple[Any, Any]:
    """The third power of the logarithm: a state that becomes infinite as it starts so."""
    last = dt.reduce(lambda s, e: s * e, dt.log(v), dt.log(v) * dt.ones(T2), dim=T2)
    return last, lambda p: np.log(p) ** 3


def _traced(v: Any) -> tuple[Any, Any]:
    """Products with a captured vector that is infinite, traced: sums of powers of log(v)."""
    logs = dt.log(v)
    trace = dt.cumulate(lambda s, _: s * logs + 1.0, dt.ones(K), dim=T2)
    return trace.sum(T2), lambda p: 2 + 2 * np.log(p) + np.log(p) ** 2


def _conditional(v: Any) -> tuple[Any, Any]:
    squared = dt.if_else(v.sum() > 0, lambda a: a * a, lambda a: a, dt.log(v))
    return squared, lambda p: np.log(p) ** 2


def _divided(v: Any) -> tuple[Any, Any]:
    """A state that becomes infinite by a division of its own."""
    return dt.reduce(lambda s, _: s * s / v, dt.ones(K), dim=T2), lambda p: p**-3


def _matrices(v: Any) -> tuple[Any, Any]:
    m, n = dt.Dim("m", length=2), dt.Dim("n", length=2)
    logs, ones = dt.log(v) * dt.ones(m), v.isel(k=1) * dt.ones([m, n])
    return dt.dot(logs, ones, dim=m).isel(n=0), lambda p: 2 * p * np.log(p)


def _batches(v: Any) -> tuple[Any, Any]:
    """Products of matrices, of which only one is used, summed up by a loop."""
    m, n = dt.Dim("m", length=2), dt.Dim("n", length=2)
    logs, ones = dt.log(v) * dt.ones(m), v.isel(k=1) * dt.ones([m, n])
    rows = logs * dt.ones(dt.Dim("r", length=2))
    start = dt.zeros([K, dt.Dim("r", length=2), n])
    total = dt.reduce(lambda s, _: s + dt.dot(rows, ones, dim=m), start, dim=T2)
    return total.isel(r=0, n=0), lambda p: 4 * p * np.log(p)


def _numbers(v: Any) -> tuple[Any, Any]:
    """A recursion of numbers whose last ones are infinite and not used."""
    later = dt.log(v.isel(k=slice(1, None)))
    trace = dt.cumulate(lambda s, e: s * e, dt.full([], 1.0), later, dim="k")
    return trace.isel(k=0) * v, lambda p: p * np.log(p)


@pytest.mark.parametrize("backend", LONG)
@pytest.mark.parametrize(
    "made", [_powers, _traced, _divided, _matrices, _batches, _numbers, _conditional]
)
def test_derivatives_beside_infinities_in_loops_that_are_not_used(made: Any, backend: str) -> None:
    state, function = made(v)
    cost = dt.sin(state).isel(k=1)
    at, h = 1.3, 1e-4
    near = [np.sin(function(np.longdouble(at) + k * h)) for k in (-2, -1, 0, 1, 2)]
    slope = (near[0] - 8 * near[1] + 8 * near[3] - near[4]) / (12 * h)
    curve = (-near[0] + 16 * near[1] - 30 * near[2] + 16 * near[3] - near[4]) / (12 * h * h)
    wanted = np.array([0.0, 1.0, 0.0])
    asked = [dt.grad(cost, v), dt.jvp(cost, v, dt.ones(K)), dt.hessian(cost, v)]
    found = dt.evaluate(asked, {v: np.array([0.0, at, 0.0])}, backend=backend)
    np.testing.assert_allclose(found[0].values, float(slope) * wanted, rtol=1e-9)
    np.testing.assert_allclose(found[1].values, float(slope), rtol=1e-9)
    hessian = float(curve) * np.outer(wanted, wanted)
    np.testing.assert_allclose(found[2].values, hessian, rtol=1e-6)


@pytest.mark.parametrize(
    "inverted",
    [
        False,
        pytest.param(
            True,
            marks=pytest.mark.xfail(
                strict=True,
                raises=AssertionError,
                reason="the gradient is NaN: matrices that are inverted are not looked at",
            ),
        ),
    ],
)
def test_gradients_beside_a_matrix_of_a_batch_that_is_infinite_and_not_used(inverted: bool) -> None:
    """Of v at one element, and of the inverse of its inverse, where others are 0."""
    row, column = dt.Dim("row", length=2), dt.Dim("column", length=2)
    matrices = dt.eye(row, column) / v
    if inverted:
        found = dt.linalg.inv(matrices, [row, column]).isel(k=1, column=0, row=0)
        expected = [0.0, 1.0, 0.0]
    else:
        found = matrices.isel(k=1, column=0, row=0)
        expected = [0.0, -0.25, 0.0]
    slope = value(dt.grad(found, v), {v: np.array([0.0, 2.0, 0.0])}, "python")
    np.testing.assert_allclose(slope, expected)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradients_by_slices_of_length_one(backend: str) -> None:
    """Of a vector whose gradient is asked for besides."""
    flat, one, nine = dt.Dim("flat", length=19), dt.Dim("one", length=1), dt.Dim("nine", length=9)
    z = dt.tensor("z", dims=flat)
    table = z.isel(flat=slice(0, 9)).relabel("flat", dt.ProductDim([one, nine])).unravel()
    first = z.isel(flat=slice(9, 10)).relabel("flat", one)
    row = z.isel(flat=slice(10, 19)).relabel("flat", nine)
    both = dt.concat([first, table], [one, one], name="j")
    loss = dt.sin(dt.dot(row, both, both, dim="j")).sum()
    point = np.linspace(-1.0, 1.2, 19)
    t, f, r = point[:9], point[9], point[10:]
    slope = np.cos(r * (f**2 + t**2))
    by_first = [(slope * r * 2 * f).sum()]
    by_flat = np.concatenate([slope * r * 2 * t, by_first, slope * (f**2 + t**2)])
    found = dt.evaluate(dt.grad(loss, [z, table, first, row]), {z: point}, backend=backend)
    expected = [by_flat, by_flat[:9], np.array(by_first), by_flat[10:]]
    for result, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(result.values.reshape(wanted.shape), wanted, rtol=1e-12)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_hessians_of_products_over_no_elements(backend: str) -> None:
    a, two = dt.Dim("a"), dt.Dim("two", length=2)
    given, z = dt.tensor("given", dims=a), dt.tensor("z", dims=two)
    loss = dt.if_else(x > 0, lambda: z.sum(), lambda: (given * z).prod())
    point = {given: np.zeros(0), z: np.array([0.7, 2.0]), x: -1.0}
    found = value(dt.hessian(loss, z), point, backend)
    np.testing.assert_array_equal(found, np.zeros((2, 2)))


# -- integers and sums -----------------------------------------------------------------------------


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_smallest_integers(dtype: str, backend: str) -> None:
    least = np.iinfo(dtype).min
    given = np.array([least, -7, 5], dtype)
    z = dt.tensor("z", dims=K, dtype=dtype)
    assert value(z.min(), {z: given}, backend) == least
    assert value(z.argmin("k"), {z: given}, backend) == 0
    with np.errstate(over="ignore"):
        expected = given.max() - given.min()
    assert value(z.max() - z.min(), {z: given}, backend) == expected


@pytest.mark.usefixtures("optimized_code")
@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_float32_sums_are_as_accurate_as_those_of_numpy(kind: str, backend: str) -> None:
    n = dt.Dim("n", length=10**7)
    z = dt.tensor("z", dims=n, dtype="float32")
    array = np.full(10**7, 0.1, "float32")
    found = value(getattr(z, kind)(), {z: array}, backend)
    np.testing.assert_allclose(found, getattr(np, kind)(array), rtol=2e-6)
