"""Derivatives bind their variables: what is substituted, batched or coincides stays a value.

Expected values are closed forms in NumPy, or central differences of them.
"""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dimtensor as dt
from dimtensor.graph import toposort
from dimtensor.graph.regions import DERIVATIVES
from dimtensor.graph.walk import with_regions
from tests.effort import a_third

X, Y, Z = dt.scalar("x"), dt.scalar("y"), dt.scalar("z")
DRAW = dt.Dim("draw", length=3)
GROUP = dt.Dim("group", length=2)
POINTS = [0.7, -1.2, 0.4]


def f(x, y, z):
    return x * x * y + dt.sin(y * z) + x * z


# the gradient and the Hessian of f, worked out by hand
FIRST = {
    "x": lambda x, y, z: 2 * x * y + z,
    "y": lambda x, y, z: x * x + z * np.cos(y * z),
    "z": lambda x, y, z: y * np.cos(y * z) + x,
}
SECOND = {
    "xx": lambda x, y, z: 2 * y,
    "xy": lambda x, y, z: 2 * x,
    "xz": lambda x, y, z: 1.0,
    "yy": lambda x, y, z: -z * z * np.sin(y * z),
    "yz": lambda x, y, z: np.cos(y * z) - y * z * np.sin(y * z),
    "zz": lambda x, y, z: -y * y * np.sin(y * z),
}
VARIABLES = {"x": X, "y": Y, "z": Z}


def first(kind, name):
    """The derivative of f by a variable, in several ways."""
    y, x = f(X, Y, Z), VARIABLES[name]
    if kind == "grad":
        return dt.grad(y, x)
    if kind == "all":
        return dt.grad(y, [X, Y, Z])["xyz".index(name)]
    if kind == "vjp":
        return dt.vjp(y, x, dt.ones([]))
    if kind == "jvp":
        return dt.jvp(y, x, 1.0)
    return dt.jacobian(y, x)


def value(x, inputs=()):
    return dt.evaluate(x, dict(inputs)).item()


# -- substitution ----------------------------------------------------------------------------------

# what takes the places of x, y and z, and the values that they then have at x=2, y=3
ARGUMENTS = {
    "one input": ((Y, Y, Y), (3.0, 3.0, 3.0)),
    "x is y": ((Y, Y, Z), (3.0, 3.0, 0.5)),
    "exchanged": ((Y, X, Z), (3.0, 2.0, 0.5)),
    "turned": ((Y, Z, X), (3.0, 0.5, 2.0)),
    "a number": ((1.5, Y, Z), (1.5, 3.0, 0.5)),
    "equal numbers": ((1.5, 1.5, 1.5), (1.5, 1.5, 1.5)),
    "an expression of others": ((X * Y, X, X + Y), (6.0, 2.0, 5.0)),
    "an expression of itself": ((X * X, X, X), (4.0, 2.0, 2.0)),
    "data": ((dt.data(0.25, dims=[]), Y, dt.data(0.25, dims=[])), (0.25, 3.0, 0.25)),
}
INPUTS = {X: 2.0, Y: 3.0, Z: 0.5}


def substituted(expression, arguments):
    return dt.substitute(expression, dict(zip((X, Y, Z), arguments, strict=True)))


def evaluated(expression):
    used = dt.inputs_of(expression)
    return value(expression, {t: v for t, v in INPUTS.items() if any(t is u for u in used)})


@pytest.mark.parametrize("kind", ["grad", "all", "vjp", "jvp", "jacobian"])
@pytest.mark.parametrize("case", ARGUMENTS)
def test_a_derivative_is_taken_before_values_come_in(kind, case):
    arguments, point = ARGUMENTS[case]
    for name, expected in FIRST.items():
        found = evaluated(substituted(first(kind, name), arguments))
        np.testing.assert_allclose(found, expected(*point), rtol=1e-12)


@pytest.mark.parametrize("outer", ["grad", "jacobian"])
@pytest.mark.parametrize("case", ARGUMENTS)
def test_a_second_derivative_is_taken_before_values_come_in(outer, case):
    arguments, point = ARGUMENTS[case]
    for names, expected in SECOND.items():
        by = VARIABLES[names[1]]
        slope = first("grad", names[0])
        twice = dt.grad(slope, by) if outer == "grad" else dt.jacobian(slope, by)
        found = evaluated(substituted(twice, arguments))
        np.testing.assert_allclose(found, expected(*point), rtol=1e-12, atol=1e-12)


def test_derivatives_of_substituted_derivatives():
    """d/dy of (df/dx at x = y) has a part by each argument."""
    slope = substituted(first("grad", "x"), (Y, Y, Z))  # 2y² + z
    np.testing.assert_allclose(evaluated(dt.grad(slope, Y)), 12.0)
    np.testing.assert_allclose(evaluated(dt.hessian(slope, Y)), 4.0)
    np.testing.assert_allclose(evaluated(dt.jvp(slope, [Y, Z], [1.0, 2.0])), 14.0)


def test_equal_derivatives_are_one_node_whatever_variables_are_called():
    assert dt.substitute(dt.grad(dt.sin(X) * X, X), {X: Y}) is dt.grad(dt.sin(Y) * Y, Y)
    k = dt.Dim("k", length=2)
    u, v = dt.tensor("u", dims=k), dt.tensor("v", dims=k)
    one, other = (dt.hessian((w**3).sum(), w) for w in (u, v))
    assert one.node.attrs == other.node.attrs
    assert dt.substitute(one, {u: v}) is other


def test_nothing_of_the_variables_is_left():
    found = with_regions(toposort([dt.hessian(X**3, X).node]))
    assert sum(node.kind in DERIVATIVES for node in found) == 2
    regions = [node.attrs.region for node in found if node.kind in DERIVATIVES]
    below = toposort([output for region in regions for output in region.outputs])
    assert {node.kind for node in below} & {"input", "data"} == set()


def test_pickles_are_the_same_nodes():
    for kind, name in itertools.product(["grad", "all", "vjp", "jvp", "jacobian"], "xyz"):
        node = substituted(first(kind, name), (Y, Y, 1.0)).node
        assert pickle.loads(pickle.dumps(node)) is node


numbers = st.integers(-8, 8).map(lambda n: n / 4)
arguments = st.one_of(st.sampled_from(["x", "y", "z", "x+y", "y*y"]), numbers)


@a_third
@given(st.tuples(arguments, arguments, arguments), st.tuples(numbers, numbers, numbers))
def test_substitution_in_a_gradient_is_its_closed_form_there(given_, point):
    symbols = {"x": X, "y": Y, "z": Z, "x+y": X + Y, "y*y": Y * Y}
    x, y, z = point
    reals = {"x": x, "y": y, "z": z, "x+y": x + y, "y*y": y * y}
    replaced = [symbols.get(a, a) if isinstance(a, str) else a for a in given_]
    at = [reals[a] if isinstance(a, str) else a for a in given_]
    found = [substituted(first("all", name), replaced) for name in "xyz"]
    found.append(substituted(dt.grad(first("grad", "y"), Z), replaced))
    used = {t: v for t, v in zip((X, Y, Z), point, strict=True)
            if any(t is u for u in dt.inputs_of(found))}  # fmt: skip
    values = [v.item() for v in dt.evaluate(found, used)]
    expected = [*(FIRST[name](*at) for name in "xyz"), SECOND["yz"](*at)]
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10)


# -- batches ---------------------------------------------------------------------------------------

K = dt.Dim("k", length=4)
V, W = dt.tensor("v", dims=K), dt.tensor("w", dims=K)
RNG = np.random.default_rng(5)
VALUES = {"v": RNG.normal(size=4), "w": RNG.normal(size=4), "x": 0.8}
DRAWS = {"v": RNG.normal(size=(3, 4)), "w": RNG.normal(size=(3, 4)), "x": RNG.normal(size=3)}


def g(v, w, x):
    return (v**2 * w * x + dt.sin(v * x)).sum()


BATCHED = {  # of every one the closed form for one position
    "grad v": (dt.grad(g(V, W, X), V), lambda v, w, x: 2 * v * w * x + x * np.cos(v * x)),
    "grad x": (dt.grad(g(V, W, X), X), lambda v, w, x: (v**2 * w + v * np.cos(v * x)).sum()),
    "several": (
        dt.grad(g(V, W, X), [V, X])[1], lambda v, w, x: (v**2 * w + v * np.cos(v * x)).sum()
    ),
    "vjp": (
        dt.vjp(V**2 * X, V, dt.sin(W)), lambda v, w, x: 2 * v * x * np.sin(w)
    ),
    "jvp": (
        dt.jvp(V**2 * X, [V, X], [dt.sin(W), W.sum()]),
        lambda v, w, x: 2 * v * x * np.sin(w) + v**2 * w.sum(),
    ),
    "jacobian": (
        dt.jacobian((V * W).cumsum("k") * X, V), lambda v, w, x: np.tril(np.ones((4, 4))) * w * x
    ),
    "hessian": (
        dt.hessian(g(V, W, X), V), lambda v, w, x: np.diag(2 * w * x - x**2 * np.sin(v * x))
    ),
    "mixed": (
        dt.jacobian(dt.grad(g(V, W, X), X), V), lambda v, w, x: 2 * v * w + np.cos(v * x)
        - v * x * np.sin(v * x),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BATCHED)
@pytest.mark.parametrize("names", ["v", "w", "x", "vw", "vx", "vwx"])
def test_a_batch_is_the_derivative_of_each_position(case, names):
    expression, expected = BATCHED[case]
    known = {"v": V, "w": W, "x": X}
    used = [name for name in known if any(known[name] is t for t in dt.inputs_of(expression))]
    names = [name for name in names if name in used]
    if not names:
        return
    grown = {name: dt.tensor(name, dims=[*known[name].dims, DRAW]) for name in names}
    batched = dt.vectorize(expression, {known[name]: t for name, t in grown.items()})
    given_ = {
        grown.get(name, known[name]): (
            (["draw", "k"][: DRAWS[name].ndim], DRAWS[name]) if name in grown else VALUES[name]
        )
        for name in used
    }
    found = batched.eval(given_)
    assert found.dims.count("draw") == 1
    for at in range(3):
        point = {n: DRAWS[n][at] if n in grown else VALUES[n] for n in known}
        one = expected(point["v"], point["w"], point["x"])
        np.testing.assert_allclose(found.isel(draw=at).values, one, rtol=1e-10, atol=1e-12)


def test_a_batch_of_one_tensor_in_two_places():
    """Both variables are the draws now; the derivative is by one of them."""
    grown = dt.tensor("v", dims=[K, DRAW])
    slope = dt.vectorize(dt.grad((V**2 * W).sum(), V), {V: grown, W: grown})
    found = slope.eval({grown: (["draw", "k"], DRAWS["v"])}).transpose("draw", "k")
    np.testing.assert_allclose(found.values, 2 * DRAWS["v"] ** 2)


# -- several variables -----------------------------------------------------------------------------


def test_by_an_input_and_by_what_is_made_of_it():
    """The derivative by an input is the total one, that by an intermediate takes it as given."""
    q = X * X
    r = dt.sin(q)
    y = q * r * X
    x = 0.9
    q0, r0 = x * x, np.sin(x * x)
    total = 3 * x * x * r0 + x**3 * np.cos(q0) * 2 * x
    expected = [total, r0 * x + q0 * x * np.cos(q0), q0 * x]
    for order in itertools.permutations(range(3)):
        wrt = [(X, q, r)[at] for at in order]
        found = [v.item() for v in dt.evaluate(dt.grad(y, wrt), {X: x})]
        np.testing.assert_allclose(found, [expected[at] for at in order])
    tangents = [0.3, -0.7, 2.0]
    forward = dt.jvp(y, [X, q, r], tangents).eval({X: x}).item()
    np.testing.assert_allclose(forward, np.dot(expected, tangents))
    found = [v.item() for v in dt.evaluate(dt.jacobian(y, [X, q, r]), {X: x})]
    np.testing.assert_allclose(found, expected)


def test_a_variable_that_is_given_twice():
    one, other = dt.grad(X**3, [X, X])
    assert one is other
    assert value(dt.jvp(X**3, [X, X], [1.0, 2.0]), {X: 2.0}) == 36.0


def test_an_output_is_a_variable():
    k = dt.Dim("k", length=2)
    v = dt.tensor("v", dims=k)
    point = {v: np.array([3.0, 4.0])}
    assert value(dt.grad(X, X), {X: 5.0}) == 1.0
    assert value(dt.jvp(X, X, 7.0), {X: 5.0}) == 7.0
    np.testing.assert_array_equal(dt.jacobian(v, v).eval(point), np.eye(2))
    np.testing.assert_array_equal(dt.vjp(v, v, v * 2).eval(point), [6.0, 8.0])
    np.testing.assert_array_equal(dt.jacobian(v, X).eval({**point, X: 1.0}), [0.0, 0.0])


# -- control flow ----------------------------------------------------------------------------------


def test_a_gradient_in_an_arm_whose_arguments_are_one():
    def arm(a, b):
        return dt.grad(a * a * b, a)

    for condition in (True, False):
        picked = dt.if_else(X > 0, arm, lambda a, b: dt.grad(a * b, b), Y, Y)
        x = 1.0 if condition else -1.0
        assert value(picked, {X: x, Y: 3.0}) == (18.0 if condition else 3.0)


def test_a_gradient_in_a_step():
    """One step of Newton's method for the root of s**3 = x, the derivative by the state."""

    def step(s):
        slope = dt.grad(s**3 - X, s)
        return s - (s**3 - X) / slope

    root = dt.fori_loop(0, 30, lambda i, s: step(s), X)
    np.testing.assert_allclose(value(root, {X: 5.0}), np.cbrt(5.0))
    # the state is, at first, what the step captures
    np.testing.assert_allclose(value(dt.grad(root, X), {X: 5.0}), 5.0 ** (-2 / 3) / 3, rtol=1e-6)


def test_a_gradient_in_a_step_by_what_it_captures():
    times = dt.Dim("t", length=3)
    e = dt.tensor("e", dims=times)
    total = dt.reduce(lambda s, e: s + dt.grad(X * X * e * s, X), 1.0, e, dim=times)
    values = np.array([0.5, -1.0, 2.0])
    s = 1.0
    for one in values:
        s = s + 2 * 3.0 * one * s
    np.testing.assert_allclose(value(total, {X: 3.0, e: values}), s)


def test_masks_inside_and_outside():
    mask = W > 0
    point = {V: VALUES["v"], W: VALUES["w"]}
    on = VALUES["w"] > 0
    y = (V[mask] ** 2 * W[mask]).sum()
    np.testing.assert_allclose(dt.grad(y, V).eval(point), 2 * VALUES["v"] * VALUES["w"] * on)
    rows = dt.jacobian(V[mask] ** 2, V).eval(point)
    np.testing.assert_allclose(rows, np.diag(2 * VALUES["v"])[on])
    own = dt.jacobian(V[V > 0] ** 2, V).eval({V: VALUES["v"]})
    np.testing.assert_allclose(own, np.diag(2 * VALUES["v"])[VALUES["v"] > 0])
    part = V[mask]
    along = dt.jvp(part**2 * W[mask], part, W[mask]).eval(point)
    np.testing.assert_allclose(along, (2 * VALUES["v"] * VALUES["w"] ** 2)[on])
    swapped = dt.substitute(dt.grad(y, V), {V: W, W: V}).eval(point)
    np.testing.assert_allclose(swapped, 2 * VALUES["v"] * VALUES["w"] * (VALUES["v"] > 0))


def test_a_mask_that_a_step_captures():
    times = dt.Dim("t", length=2)
    mask = W > 0
    x = dt.tensor("e", dims=times)
    total = dt.reduce(lambda s, e: s + (V * e)[mask] * W[mask], dt.zeros(K)[mask], x, dim=times)
    on = VALUES["w"] > 0
    point = {V: VALUES["v"], W: VALUES["w"], x: np.array([2.0, 3.0])}
    np.testing.assert_allclose(total.eval(point), 5 * (VALUES["v"] * VALUES["w"])[on])
    chosen = dt.if_else(X > 0, lambda: V[mask] * W[mask], lambda: W[mask])
    found = chosen.eval({V: VALUES["v"], W: VALUES["w"], X: 1.0})
    np.testing.assert_allclose(found, (VALUES["v"] * VALUES["w"])[on])


def test_stopped_gradients_stay_stopped():
    y = dt.stop_gradient(X * Y) * X
    assert value(dt.grad(y, X), {X: 2.0, Y: 3.0}) == 6.0
    slope = dt.substitute(dt.grad(y, X), {Y: X})
    assert value(slope, {X: 2.0}) == 4.0
    assert value(dt.grad(slope, X), {X: 2.0}) == 0.0


@pytest.mark.parametrize("length", [1, 8, 9, 40, None])
@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.compiled),
                                     pytest.param("jax", marks=pytest.mark.compiled)])  # fmt: skip
def test_by_slices_and_intermediates_of_any_length(length, backend):
    """Parts of one vector: captured, carried, a sequence, of a loop and beside it."""
    n = length or 5
    c = dt.Dim("c", length=length)
    days = dt.Dim("day", length=3)
    parts = [dt.tensor(name, dims=c) for name in "ab"]
    a, b = (p * 2 for p in parts)
    rates = dt.data([0.5, -1.0, 2.0], dims=days)
    s = dt.reduce(lambda s, r: r * s + a * b, b, rates, dim=days)
    y = (s**2 * a).sum()
    f = dt.function(parts, [y, *dt.grad(y, [a, b, *parts])], backend=backend)
    rng = np.random.default_rng(n)
    points = [rng.normal(size=n) for _ in parts]
    found = f(*points)

    def loss(a, b):
        s = b
        for r in (0.5, -1.0, 2.0):
            s = r * s + a * b
        return (s**2 * a).sum()

    p, q = (2 * x for x in points)
    np.testing.assert_allclose(found[0].item(), loss(p, q), rtol=1e-10)
    # s = -b + a b (1 + 2 - 2)
    s0 = -q + p * q
    da, db = s0**2 + 2 * s0 * p * q, 2 * s0 * p * (p - 1)
    for got, want in zip(found[1:], [da, db, 2 * da, 2 * db], strict=True):
        np.testing.assert_allclose(got.values, want, rtol=1e-9, atol=1e-9)


def test_lengths_are_found_where_another_input_tells():
    late = dt.Dim("late")
    x, other = dt.scalar("x"), dt.tensor("other", dims=late)
    y = (x * dt.arange(late)).sum()
    outputs = [dt.grad(y, x), dt.jacobian(x * dt.arange(late) ** 2, x), other]
    values = dt.function([x, other], outputs, backend="python")(2.0, np.zeros(4))
    assert values[0].item() == 6.0
    np.testing.assert_array_equal(values[1], [0.0, 1.0, 4.0, 9.0])


def _plain(x, weights):
    return (dt.expm1(x) * weights).isel(group=1)


def _of_vectors(x, weights):
    many = dt.data([[1.0, 1.0], [2.0, -1.0]], dims=[dt.Dim("row", length=2), GROUP])
    return dt.dot(many, dt.expm1(x) * weights, dim=GROUP).isel(row=1)


def _of_matrices(x, weights):
    many = dt.data([[1.0, 1.0], [2.0, -1.0]], dims=[dt.Dim("row", length=2), GROUP])
    columns = dt.ones(dt.Dim("column", length=3))
    return dt.dot(many, dt.expm1(x) * weights * columns, dim=GROUP).isel(row=1, column=2)


def _of_steps(x, weights):
    steps = dt.cumulate(lambda s, e: s + dt.expm1(e[0]) * e[1], 0.0, (x, weights), dim=GROUP)
    return steps.isel(group=1)


@pytest.mark.parametrize(
    ("make", "factors"),
    [
        (_plain, [0.0, 0.5]),
        (_of_vectors, [1.5 * 2, 0.5 * -1]),
        (_of_matrices, [1.5 * 2, 0.5 * -1]),
        (_of_steps, [1.5, 0.5]),
    ],
)
def test_high_orders_where_a_cotangent_is_zero_by_chance(make, factors):
    """Of F², with F = Σ c (exp(s w) - 1) by s at 0: 2 F'², 6 F' F'', 8 F' F''' + 6 F''²."""
    x = dt.tensor("x", dims=GROUP)
    along = np.array([0.7, -1.3])
    value, found = make(x, dt.data([1.5, 0.5], dims=GROUP)) ** 2, []
    for _ in range(4):
        value = (dt.grad(value, x) * dt.data(along, dims=GROUP)).sum()
        found.append(value)
    one, two, three = (np.dot(factors, along**n) for n in (1, 2, 3))
    expected = [0, 2 * one**2, 6 * one * two, 8 * one * three + 6 * two**2]
    results = dt.function([x], found, backend="python")(np.zeros(2))
    np.testing.assert_allclose([float(v) for v in results], expected, rtol=1e-12)


def test_second_derivatives_are_differentiated_by_pytensor_too():
    """The third derivative of (exp(x) - 1)², of a selected element at 0, is 6."""
    import pytensor
    from pytensor import function

    x = dt.tensor("x", dims=GROUP)
    second = dt.expm1(x).isel(group=1) ** 2
    for _ in range(2):
        second = dt.grad(second, x).sum()
    given = x.to_shaped([GROUP])
    third = pytensor.grad(second.to_shaped([]), given)
    found = function([given], third, mode=pytensor.compile.mode.Mode("py"))(np.zeros(2))
    np.testing.assert_allclose(found, [0, 6], rtol=1e-12)
