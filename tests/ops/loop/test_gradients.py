"""Derivatives of loops, against JAX's of its own loops, and against loops of Python."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.gradient import DisconnectedInputError, DisconnectedType, NullTypeGradError
from pytensor.gradient import pushforward as push
from pytensor.graph.fg import FunctionGraph
from pytensor.raise_op import Assert

from dimtensor.errors import GraphError
from dimtensor.ops.loop import Scan, build_scan, fori_loop, scan, while_loop
from dimtensor.ops.loop.spec import StepGraph
from tests.ops.loop.runs import assert_close, evaluate, loops_of, rewritten
from tests.optional import jax, jnp

x, v = pt.dvector("x"), pt.dvector("v")
a, s = pt.dscalar("a"), pt.dscalar("s")
matrix = pt.dmatrix("matrix")
n = pt.lscalar("n")
generator = pt.random.type.random_generator_type("generator")
INPUTS = [s, v, x, a, matrix]


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


def model(reverse):
    """A loop whose states, traces and captured inputs all matter."""

    def step(st, e):
        scalar, vector = st
        after = [pt.tanh(scalar * a + e[0]) + vector.sum(), pt.tanh(matrix @ vector) * e[0]]
        return after, [scalar * e[0], vector * 2]

    result = scan(step, [s, v], [x], reverse=reverse)
    (scalar, vector), (first, second) = result.states, result.traces
    cube = vector * vector * vector  # a power's own forward rule is nan where it is negative
    return scalar * scalar + cube.sum() + (first * first).sum() + pt.sin(second).sum()


def oracle(reverse):
    def cost(s, v, x, a, matrix):
        def step(st, e):
            after = (jnp.tanh(st[0] * a + e) + st[1].sum(), jnp.tanh(matrix @ st[1]) * e)
            return after, (st[0] * e, st[1] * 2)

        (scalar, vector), (first, second) = jax.lax.scan(step, (s, v), x, reverse=reverse)
        return scalar**2 + (vector**3).sum() + (first**2).sum() + jnp.sin(second).sum()

    return cost


def values_of(rng, length):
    shapes = [(), (3,), (length,), (), (3, 3)]
    return [np.asarray(rng.normal(size=shape)) / 2 for shape in shapes]


@pytest.mark.parametrize("length", [0, 1, 2, 7])
@pytest.mark.parametrize("reverse", [False, True])
def test_reverse_mode(reverse, length, rng):
    values = values_of(rng, length)
    found = evaluate(INPUTS, pytensor.grad(model(reverse), INPUTS), *values)
    assert_close(found, jax.grad(oracle(reverse), argnums=range(5))(*values))


@pytest.mark.parametrize("reverse", [False, True])
def test_second_derivatives(reverse, rng):
    values = values_of(rng, 4)

    def squares(*inputs):
        return sum((g**2).sum() for g in jax.grad(oracle(reverse), argnums=range(5))(*inputs))

    again = sum((g**2).sum() for g in pytensor.grad(model(reverse), INPUTS))
    found = evaluate(INPUTS, pytensor.grad(again, INPUTS), *values)
    assert_close(found, jax.grad(squares, argnums=range(5))(*values), rtol=1e-7)


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("reverse", [False, True])
def test_forward_mode(reverse, direct, rng):
    values, tangents = values_of(rng, 4), values_of(rng, 4)
    symbols = [variable.type() for variable in INPUTS]
    moved = push([model(reverse)], INPUTS, symbols, use_op_pushforward=direct)
    found = evaluate([*INPUTS, *symbols], moved, *values, *tangents)
    wanted = jax.jvp(oracle(reverse), tuple(map(jnp.asarray, values)), tuple(tangents))[1]
    assert_close(found, [wanted], rtol=1e-8)


def test_forward_over_reverse(rng):
    values, tangents = values_of(rng, 3), values_of(rng, 3)
    symbols = [variable.type() for variable in INPUTS]
    gradients = pytensor.grad(model(False), INPUTS)
    moved = push(gradients, INPUTS, symbols, use_op_pushforward=True)
    found = evaluate([*INPUTS, *symbols], moved, *values, *tangents)
    gradient = jax.grad(oracle(False), argnums=range(5))
    wanted = jax.jvp(gradient, tuple(map(jnp.asarray, values)), tuple(tangents))[1]
    assert_close(found, wanted, rtol=1e-7)


def test_finite_differences(rng):
    values = values_of(rng, 5)
    cost = model(False)
    found = evaluate(INPUTS, pytensor.grad(cost, INPUTS), *values)
    for number, gradient in enumerate(found):
        direction = rng.normal(size=np.shape(gradient))
        ends = []
        for step in (1e-6, -1e-6):
            moved = list(values)
            moved[number] = moved[number] + step * direction
            ends.append(evaluate(INPUTS, [cost], *moved)[0])
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-6, np.sum(gradient * direction), 1e-6)


def test_a_loop_in_a_loop(rng):
    def step(st, e):
        inner = scan(lambda t, f: ([t[0] * f[0] + a * st[0]], []), [st[0] * e[0]], [v])
        return inner.states, []

    result = scan(step, [s], [x])

    def cost(s, x, v, a):
        for e in x:
            t = s * e
            for f in v:
                t = t * f + a * s
            s = t
        return s

    inputs = [s, x, v, a]
    values = [np.asarray(0.5), rng.normal(size=3), rng.normal(size=2), np.asarray(0.3)]
    found = evaluate(inputs, pytensor.grad(result.states[0], inputs), *values)
    assert_close(found, jax.grad(cost, argnums=range(4))(*values))
    again = evaluate(inputs, pytensor.grad(pytensor.grad(result.states[0], a), inputs), *values)
    assert_close(again, jax.grad(jax.grad(cost, argnums=3), argnums=range(4))(*values))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_look_up_in_a_step(reverse, rng):
    """The adjoint of a table is added to where it was read."""
    at = pt.lvector("at")
    result = scan(lambda st, e: ([st[0] * v[e[0]] + v[0]], []), [s], [at], reverse=reverse)
    gradient = pytensor.grad(result.states[0], [s, v])
    values = [np.asarray(0.5), rng.normal(size=4), np.array([3, 1, 1, 2])]

    def cost(s, v):
        for k in values[2][::-1] if reverse else values[2]:
            s = s * v[k] + v[0]
        return s

    assert_close(evaluate([s, v, at], gradient, *values), jax.grad(cost, (0, 1))(*values[:2]))
    bodies = [op.body for op in loops_of(rewritten([s, v, at], gradient)) if op.n_states > 1]
    names = [str(node.op) for node in bodies[0].toposort()]
    assert not any("Alloc" in name for name in names), "a whole table of zeros per step"


def test_a_counter_is_not_stored(rng):
    (state,) = fori_loop(0, n, lambda i, st: [st[0] * x[i] + i], [s])
    gradient = pytensor.grad(state, [s, x])
    values = rng.normal(size=5)

    def cost(s, x):
        for i in range(5):
            s = s * x[i] + i
        return s

    found = evaluate([s, x, n], gradient, 0.5, values, 5)
    assert_close(found, jax.grad(cost, (0, 1))(0.5, jnp.asarray(values)))
    traced = [
        element.type.dtype
        for op in loops_of(rewritten([s, x, n], gradient))
        for element in op.body.outputs[op.n_states : op.n_states + op.n_traces]
    ]
    assert traced == ["float64"]


def test_what_is_behind_a_check_outside_is_captured_whole():
    positive = pt.exp(Assert("a is negative")(a, a >= 0))
    looped = scan(lambda st, e: ([st[0] * positive], []), [1.0], n_steps=3).states[0]
    stopped = while_loop(lambda st: st[0] < 9, lambda st: [st[0] * positive], [1.0], 3).states[0]
    for result in (looped, stopped):
        found = evaluate([a], [result, *pytensor.grad(result, [positive, a])], 0.4)
        assert_close(found, [np.exp(1.2), 3 * np.exp(0.8), 3 * np.exp(1.2)])


# -- loops that stop ---------------------------------------------------------------------------


@pytest.mark.parametrize("truncate", [None, 2])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [-1.0, 1.15, 9.0])
def test_a_loop_that_stops(limit, reverse, truncate, rng):
    def step(st, e):
        return [st[0] * e[0] + a], [st[0] * e[0] * e[0]], pt.lt(st[0], limit)

    result = scan(step, [s], [x], reverse=reverse, stops=True, truncate=truncate)
    cost = result.states[0] ** 2 + pt.sin(result.traces[0]).sum()
    gradient = pytensor.grad(cost, [s, x, a])
    values = [np.asarray(0.5), rng.uniform(0.5, 1.5, size=7), np.asarray(0.6)]
    done, *found = evaluate([s, x, a], [result.n_done, *gradient], *values)
    if limit != 1.15:
        assert done == (1 if limit < 0 else 7)
    oracle = truncated(int(done), reverse, truncate)
    assert_close(found, jax.grad(oracle, argnums=range(3))(*values))
    if truncate is None:
        squares = sum((g**2).sum() for g in gradient)
        again = evaluate([s, x, a], pytensor.grad(squares, [s, x, a]), *values)
        wanted = jax.grad(
            lambda *w: sum((g**2).sum() for g in jax.grad(oracle, argnums=range(3))(*w)),
            argnums=range(3),
        )(*values)
        assert_close(again, wanted)


@pytest.mark.parametrize("reverse", [False, True])
def test_what_a_loop_that_stops_reads_is_outside_of_the_steps_back(reverse):
    """Where the length of a sequence is checked, too."""
    result = scan(
        lambda st, e: ([], [pt.tanh(a) * e[0]], pt.lt(e[0], 3.0)), [], [x], 4,
        stops=True, reverse=reverse,
    )  # fmt: skip
    total = pt.sin(result.traces[0]).sum()
    (tangent,) = push([total], [a], [pt.constant(1.0)])
    values = np.array([2.0, 1.0, 0.5, 3.5])
    ran, slope = values[3:] if reverse else values, 1 - np.tanh(0.4) ** 2
    wanted = (np.cos(np.tanh(0.4) * ran) * ran * slope).sum()
    gradient = pytensor.grad(total, a)
    assert_close(evaluate([a, x], [gradient, tangent], 0.4, values), [wanted, wanted])
    for loop in loops_of(FunctionGraph([a, x], [gradient, tangent], clone=True)):
        assert not any(isinstance(node.op, Scan) for node in loop.body.toposort())


def truncated(steps, reverse, last):
    """The recursion above, its gradient going back over the last steps."""

    def cost(s, x, a):
        traced = 0.0
        for k in range(steps):
            e = x[len(x) - 1 - k if reverse else k]
            if last is not None and k == max(steps - last, 0) and steps > last:
                s = jax.lax.stop_gradient(s)
            term, s = jnp.sin(s * e * e), s * e + a
            if last is not None and k < steps - last:
                term, s = map(jax.lax.stop_gradient, (term, s))
            traced = traced + term
        return s**2 + traced

    return cost


@pytest.mark.parametrize("length", [1, 2, 3, 7])
@pytest.mark.parametrize("reverse", [False, True])
def test_truncated(reverse, length, rng):
    def step(st, e):
        return [st[0] * e[0] + a], [st[0] * e[0] * e[0]]

    result = scan(step, [s], [x], reverse=reverse, truncate=3)
    cost = result.states[0] ** 2 + pt.sin(result.traces[0]).sum()
    values = [np.asarray(0.5), rng.uniform(0.5, 1.5, size=length), np.asarray(0.6)]
    found = evaluate([s, x, a], pytensor.grad(cost, [s, x, a]), *values)
    assert_close(found, jax.grad(truncated(length, reverse, 3), argnums=range(3))(*values))


@pytest.mark.parametrize("square", [1.0, 2.0, 300.0])
def test_newton_with_a_bound(square):
    root = while_loop(
        lambda st: abs(st[0] * st[0] - a) > 1e-10 * a,
        lambda st: [(st[0] + a / st[0]) / 2],
        [a],
        max_steps=40,
    )
    first = pytensor.grad(root.states[0], a)
    found = evaluate([a], [root.states[0], first, pytensor.grad(first, a)], square)
    if square == 1:  # no step runs: the initial value is the result
        assert_close(found, [1, 1, 0])
    else:
        wanted = [square**0.5, 0.5 * square**-0.5, -0.25 * square**-1.5]
        assert_close(found, wanted, rtol=1e-5)


def test_a_loop_without_bound_says_what_its_gradient_needs():
    result = while_loop(lambda st: st[0] < 5, lambda st: [st[0] * a], [s])
    with pytest.raises(GraphError, match=r"number of steps has no bound(?s:.*)give max_steps"):
        pytensor.grad(result.states[0], s)


def test_forward_mode_of_a_loop_without_bound():
    result = while_loop(lambda st: st[0] < 5, lambda st: [st[0] * a + 1], [s])
    (moved,) = push(result.states, [s], [pt.constant(1.0)], use_op_pushforward=True)
    assert_close(evaluate([s, a], [moved], 0.5, 1.3), [1.3**3])


# -- inverses ----------------------------------------------------------------------------------


def leapfrog(st, e):
    position, momentum = st
    momentum = momentum - a * position * e[0]
    return [position + a * momentum, momentum], []


def leapfrog_back(st, e):
    position, momentum = st
    position = position - a * momentum
    return [position, momentum + a * position * e[0]]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 6])
def test_an_inverse_takes_the_place_of_stored_states(length, reverse, rng):
    values = [np.asarray(0.5), rng.normal(size=length), np.asarray(0.1)]
    found = []
    for inverse in (None, leapfrog_back):
        result = scan(leapfrog, [s, 1.0], [x], reverse=reverse, inverse=inverse)
        gradient = pytensor.grad(pt.sin(result.states[0]) * result.states[1], [s, x, a])
        again = pytensor.grad(gradient[2] + gradient[1].sum(), [s, x, a])
        found.append(evaluate([s, x, a], [*gradient, *again], *values))
    assert_close(found[1], found[0], rtol=1e-8)


def test_with_an_inverse_nothing_is_traced():
    result = scan(leapfrog, [s, 1.0], [x], inverse=leapfrog_back)
    assert result.states[0].owner.op.n_traces == 0
    gradient = pytensor.grad(result.states[0], [s, a])
    assert [op.n_traces for op in loops_of(rewritten([s, x, a], gradient))] == [0, 0]


@pytest.mark.parametrize("most", [None, 30])
def test_a_while_loop_with_an_inverse(most):
    result = while_loop(
        lambda st: st[0] < 5,
        lambda st: [st[0] * a + 1],
        [s],
        most,
        inverse=lambda st: [(st[0] - 1) / a],
    )
    found = evaluate([s, a], pytensor.grad(result.states[0], [s, a]), 0.5, 1.3)

    def cost(s, a):
        for _ in range(3):
            s = s * a + 1
        return s

    assert_close(found, jax.grad(cost, (0, 1))(0.5, 1.3))


def test_an_inverse_is_of_all_states():
    with pytest.raises(GraphError, match="2 states went into a step and 1 came out"):
        scan(leapfrog, [s, 1.0], [x], inverse=lambda st, e: [st[0]])
    with pytest.raises(GraphError, match="no tensor has no inverse"):
        scan(lambda st, e: (st, []), [generator], n_steps=2, inverse=lambda st, e: st)


# -- what has no derivative --------------------------------------------------------------------


def test_draws_are_constants_of_a_gradient():
    def step(st, e):
        following, drawn = pt.random.normal(0, 1, rng=st[0], return_next_rng=True)
        return [following, st[1] * a + drawn * st[1]], []

    result = scan(step, [generator, s], n_steps=4)
    gradient = pytensor.grad(result.states[1], [s, a])
    drawn = np.random.default_rng(3).normal(size=4) + 0.6
    wanted = [drawn.prod(), 0.5 * drawn.prod() * (1 / drawn).sum()]
    for backend in (None, "rewritten"):
        values = np.random.default_rng(3), 0.5, 0.6
        assert_close(evaluate([generator, s, a], gradient, *values, backend=backend), wanted)
    graph = rewritten([generator, s, a], [*result.states, *gradient])
    generators = [op for op in loops_of(graph) if op.body.inputs[0].type == generator.type]
    assert len(generators) == 1, "the numbers are drawn twice"


def test_a_gradient_through_a_draw_is_not_known():
    def step(st, e):
        following, drawn = pt.random.normal(a, 1, rng=st[0], return_next_rng=True)
        return [following, st[1] + drawn], []

    result = scan(step, [generator, s], n_steps=4)
    gradient = pytensor.grad(result.states[1], s)
    assert_close(evaluate([generator, s, a], [gradient], np.random.default_rng(3), 0.5, 0.6), [1])
    with pytest.raises(NullTypeGradError, match="No gradient defined for random variables"):
        pytensor.grad(result.states[1], a)


def test_what_is_not_connected():
    result = scan(
        lambda st, e: ([st[0] * e[0], st[1] + e[1], st[1]], [st[2]]), [s, 0, 0], [x, pt.lvector()]
    )
    op, node = result.states[0].owner.op, result.states[0].owner
    assert isinstance(op, Scan)
    rows = op.connection_pattern(node)
    connected = [[i for i, on in enumerate(row) if on] for row in rows]
    # the number of steps, the states, the sequences
    assert connected == [[], [0, 4], [], [], [0, 4], []]
    gradient = pytensor.grad(result.states[0], node.inputs[2], disconnected_inputs="ignore")
    assert evaluate([x, *[y for y in node.inputs if y.type.dtype == "int64" and y.type.ndim]],
                    [gradient], np.ones(2), np.ones(2, int))[0] == 0  # fmt: skip
    with pytest.raises(DisconnectedInputError):
        pytensor.grad(pt.cast(result.states[1], "float64"), s)


def test_an_output_that_is_an_input_or_another_output():
    """The state is returned as it came, and traced twice."""
    inner, other = pt.dscalar(), pt.dscalar()
    step = StepGraph([inner, other], [], [other, inner], [inner, inner, other])
    result = build_scan(3, step, [s, a], [])
    cost = result.states[0] + 2 * result.states[1]
    cost = cost + sum(k * trace.sum() for k, trace in zip((3, 4, 5), result.traces, strict=True))
    # s is the first state before steps 0 and 2, and ends as the second
    assert_close(evaluate([s, a], pytensor.grad(cost, [s, a]), 0.5, 0.3), [21, 18])


def test_a_gradient_of_one_trace_leaves_the_other_states_out():
    result = scan(lambda st, e: ([st[0] * e[0], pt.tanh(st[1])], [st[0]]), [s, a], [x])
    gradient = pytensor.grad(result.traces[0].sum(), [s, a], disconnected_inputs="ignore",
                             return_disconnected="disconnected")  # fmt: skip
    assert isinstance(gradient[1].type, DisconnectedType)
    assert_close(evaluate([s, a, x], gradient[:1], 0.5, 0.1, np.array([2.0, 3.0])), [3.0])
