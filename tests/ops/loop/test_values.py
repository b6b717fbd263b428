"""What loops compute, against loops of Python."""

from __future__ import annotations

import pickle

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert

from dimtensor.backends import compile_positional
from dimtensor.errors import DtypeError, GraphError
from dimtensor.ops.loop import build_scan, fori_loop, scan, while_loop
from dimtensor.ops.loop.spec import LoopOptions, StepGraph
from tests.kernels.interpret import interpreted
from tests.ops.loop.runs import assert_close, evaluate

x, v = pt.dvector("x"), pt.dvector("v")
a, s = pt.dscalar("a"), pt.dscalar("s")
n = pt.lscalar("n")
generator = pt.random.type.random_generator_type("generator")


def recursion(start, coefficient, sequence, reverse=False):
    """States before each step, and the last."""
    state, before = float(start), np.zeros(len(sequence))
    order = range(len(sequence))
    for t in reversed(order) if reverse else order:
        before[t] = state
        state = coefficient * state + sequence[t]
    return state, before


@pytest.mark.parametrize("length", [0, 1, 2, 50])
@pytest.mark.parametrize("reverse", [False, True])
def test_states_and_traces(length, reverse, rng):
    result = scan(lambda st, e: ([a * st[0] + e[0]], [st[0]]), [s], [x], reverse=reverse)
    values = rng.normal(size=length)
    found = evaluate([s, a, x], [*result.states, *result.traces], 0.5, 0.9, values)
    assert_close(found, recursion(0.5, 0.9, values, reverse))


def test_states_may_be_of_any_shape_and_depend_on_each_other(rng):
    matrix = pt.dmatrix("matrix")
    result = scan(
        lambda st, e: ([st[1].sum() + e[0], matrix @ st[1] + st[0]], [st[1] * 2]), [s, v], [x]
    )
    m, state, values = rng.normal(size=(3, 3)) / 3, rng.normal(size=3), rng.normal(size=4)
    scalar, vector, traced = 0.5, state, []
    for t in values:
        traced.append(vector * 2)
        scalar, vector = vector.sum() + t, m @ vector + scalar
    found = evaluate([matrix, s, v, x], [*result.states, *result.traces], m, 0.5, state, values)
    assert_close(found, [scalar, vector, traced])


def test_a_loop_without_states_maps():
    result = scan(lambda st, e: ([], [e[0] * a, pt.outer(e[0], e[0])]), sequences=[pt.dmatrix()])
    (rows,) = (y for y in result.traces[0].owner.inputs if y.type.ndim == 2)
    data = np.arange(6.0).reshape(3, 2)
    found = evaluate([rows, a], result.traces, data, 2.0)
    assert_close(found, [data * 2, [np.outer(r, r) for r in data]])


def test_an_empty_loop_gives_its_initial_states_and_empty_traces(rng):
    result = scan(lambda st, e: ([st[0] * e[0]], [pt.outer(st[0], e[0])]), [v], [pt.dmatrix("m")])
    node = result.states[0].owner
    m = node.inputs[2]
    values = rng.normal(size=3)
    state, trace = evaluate([v, m], [*result.states, *result.traces], values, np.zeros((0, 3)))
    assert_close([state], [values])
    assert trace.shape == (0, 3, 3)


def test_the_final_state_is_no_view_of_the_initial_one():
    result = scan(lambda st, e: ([2.0 * st[0]], []), [v], n_steps=n)
    values = np.ones(3)
    (state,) = evaluate([v, n], result.states, values, 0)
    state[0] = 7
    assert values[0] == 1


@pytest.mark.parametrize("steps", [-2, 0, 3])
def test_the_number_of_steps_may_be_a_variable(steps):
    result = scan(lambda st, e: ([st[0] * 2], [st[0]]), [s], n_steps=n)
    state, trace = evaluate([s, n], [*result.states, *result.traces], 1.0, steps)
    assert state == 2 ** max(steps, 0)
    assert_close([trace], [2.0 ** np.arange(max(steps, 0))])


def test_a_trace_of_fewer_steps_than_none_is_empty():
    """Its length is not the number of steps that is asked for."""
    trace = scan(lambda st, e: ([st[0] * 2], [st[0]]), [s], n_steps=n - 3).traces[0]
    run = interpreted([s, n], [trace.shape[0]])
    assert [int(run(np.asarray(1.0), np.asarray(k))[0]) for k in (1, 3, 5)] == [0, 0, 2]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [-1.0, 3.0, 100.0])
def test_a_loop_that_stops_leaves_zeros(limit, reverse):
    result = scan(
        lambda st, e: ([st[0] + e[0]], [st[0] + e[0]], pt.lt(st[0] + e[0], a)),
        [s], [x], stops=True, reverse=reverse,
    )  # fmt: skip
    values = np.array([2.0, 1.0, 2.0, 3.0])
    state, traced, done = 0.0, np.zeros(4), 0
    for t in reversed(range(4)) if reverse else range(4):
        state += values[t]
        traced[t], done = state, done + 1
        if not state < limit:
            break
    outputs = [*result.states, *result.traces, result.n_done]
    assert_close(evaluate([s, x, a], outputs, 0.0, values, limit), [state, traced, done])


@pytest.mark.parametrize("most", [None, 0, 3, 100])
@pytest.mark.parametrize("start", [0.5, 9.0])
def test_while_loops(most, start):
    result = while_loop(lambda st: st[0] < 5, lambda st: [st[0] * a + 1], [s], most)
    state, done = start, 0
    while state < 5 and (most is None or done < most):
        state, done = state * 1.3 + 1, done + 1
    outputs = [*result.states, *([] if most is None else [result.n_done, result.finished])]
    wanted = [state, *([] if most is None else [done, state >= 5])]
    assert_close(evaluate([s, a], outputs, start, 1.3), wanted)


def test_fori_loops_count():
    (state,) = fori_loop(2, n, lambda i, st: [st[0] * 10 + i], [0])
    assert state.type.dtype == "int64"
    assert [int(evaluate([n], [state], k)[0]) for k in (1, 2, 5)] == [0, 0, 234]


def test_the_stream_is_numpys(rng):
    def step(states, elements):
        following, drawn = pt.random.normal(a, 2.0, rng=states[0], return_next_rng=True)
        return [following, states[1] + drawn], [drawn]

    result = scan(step, [generator, 0.0], n_steps=6)
    given = np.random.default_rng(5)
    outputs = [result.states[0], result.states[1], *result.traces]
    after, total, drawn = evaluate([generator, a], outputs, given, 0.3)
    oracle = np.random.default_rng(5)
    wanted = oracle.normal(0.3, 2.0, size=6)
    assert_close([total, drawn], [wanted.sum(), wanted])
    assert after.normal() == oracle.normal()
    assert given.normal() == np.random.default_rng(5).normal(), "the caller's generator has moved"


def test_a_generator_that_is_not_used_stays_what_it_is():
    result = scan(lambda st, e: ([st[0], st[1] + 1], []), [generator, 0.0], n_steps=2)
    given = np.random.default_rng(5)
    after, _ = evaluate([generator], result.states, given)
    assert after is not given
    assert after.normal() == np.random.default_rng(5).normal()


# -- what is captured --------------------------------------------------------------------------


def test_what_does_not_change_is_captured_whole():
    outside = pt.exp(a) * 2
    result = scan(lambda st, e: ([st[0] * outside + pt.sin(a)], []), [s], n_steps=3)
    node = result.states[0].owner
    captured = node.op.split_inputs(node.inputs).captured
    assert outside in captured
    names = {type(inner.op.scalar_op).__name__ for inner in node.op.body.toposort()}
    assert names == {"Mul", "Add"}
    state = 0.5
    for _ in range(3):
        state = state * np.exp(0.2) * 2 + np.sin(0.2)
    assert_close(evaluate([s, a], result.states, 0.5, 0.2), [state])


def test_a_check_in_a_step_is_made_when_a_step_runs():
    def step(states, elements):
        return [states[0] + Assert("a is negative")(a, a >= 0)], []

    result = scan(step, [s], n_steps=n)
    assert evaluate([s, a, n], result.states, 0.5, -1.0, 0)[0] == 0.5
    with pytest.raises(AssertionError, match="a is negative"):
        evaluate([s, a, n], result.states, 0.5, -1.0, 1)


def test_a_shared_variable_has_its_value_of_the_call():
    shared = pytensor.shared(2.0, "shared")
    result = scan(lambda st, e: ([st[0] * shared], []), [s], n_steps=3)
    assert evaluate([s], result.states, 1.0)[0] == 8
    shared.set_value(3.0)
    assert evaluate([s], result.states, 1.0)[0] == 27


def test_a_step_may_return_what_is_outside():
    result = scan(lambda st, e: ([a], [s, a]), [s], [x])
    found = evaluate([s, a, x], [*result.states, *result.traces], 1.0, 2.0, np.ones(2))
    assert_close(found, [2.0, [1.0, 1.0], [2.0, 2.0]])


def test_equal_loops_are_equal():
    def loop():
        return scan(lambda st, e: ([st[0] * e[0] + a], [st[0]]), [s], [x], n_steps=n)

    one, other = (loop().states[0].owner for _ in range(2))
    assert one.op == other.op
    assert hash(one.op) == hash(other.op)
    assert one.op.body is not None
    assert one.op.body.outputs == other.op.body.outputs
    assert pickle.loads(pickle.dumps(one.op)) == one.op
    reverse = scan(lambda st, e: ([st[0] * e[0] + a], [st[0]]), [s], [x], n_steps=n, reverse=True)
    assert reverse.states[0].owner.op != one.op


def test_a_loop_in_a_loop(rng):
    def step(states, elements):
        inner = scan(lambda st, e: ([st[0] * elements[0] + e[0]], []), [states[0]], [x])
        return inner.states, []

    result = scan(step, [s], [v])
    values, rows = rng.normal(size=3), rng.normal(size=2)
    state = 0.5
    for row in rows:
        for t in values:
            state = state * row + t
    assert_close(evaluate([s, x, v], result.states, 0.5, values, rows), [state])


# -- dtypes and shapes -------------------------------------------------------------------------


def test_an_integer_start_of_a_float_step_is_a_float():
    result = scan(lambda st, e: ([st[0] + e[0]], [st[0]]), [0], [x])
    assert result.states[0].type.dtype == result.traces[0].type.dtype == "float64"
    assert_close(evaluate([x], result.states, np.array([0.5, 1.0])), [1.5])


def test_states_widen_one_after_the_other():
    result = scan(lambda st, e: ([st[1], st[0] * 1.5], []), [1, True], n_steps=3)
    assert [state.type.dtype for state in result.states] == ["float64", "float64"]
    assert_close(evaluate([], result.states), [1.5, 2.25])


def test_numbers_of_python_are_wide():
    result = scan(lambda st, e: ([st[0] + 1], []), [0], n_steps=1000)
    assert evaluate([], result.states)[0] == 1000


def test_static_lengths_are_joined():
    known = pt.vector("known", shape=(3,))
    result = scan(lambda st, e: ([st[0] + known], [st[0]]), [v], n_steps=4)
    assert result.states[0].type.shape == (3,)
    assert result.traces[0].type.shape == (4, 3)


def test_shapes_of_traces_are_known_without_the_loop():
    result = scan(lambda st, e: ([st[0] * 2], [pt.outer(st[0], e[0])]), [v], [pt.dmatrix("m")])
    node = result.traces[0].owner
    m = node.inputs[2]
    shapes = node.op.infer_shape(node, [(), (v.shape[0],), (m.shape[0], m.shape[1])])
    lengths = [x for shape in shapes[:2] for x in shape]
    found = evaluate([v, m], lengths, np.ones(4), np.ones((5, 2)))
    assert [int(k) for k in found] == [4, 5, 4, 2]


# -- mistakes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "error", "match"),
    [
        (lambda st, e: ([pt.cast(st[0], "float32")], []), DtypeError,
         r"state 0 \(s\): its dtype to a narrower one\n  went in: float64 of shape \(\)\n"
         r"  came out: float32"),
        (lambda st, e: ([pt.stack([st[0], st[0]])], []), GraphError,
         r"state 0 \(s\): its number of axes\n  went in: .*\n  came out: float64 of shape \(2\)"),
        (lambda st, e: ([st[0], st[0]], []), GraphError,
         "1 states went into a step and 2 came out"),
        (lambda st, e: [st[0]], GraphError, r"returns \(next states, trace elements\)"),
        (lambda st, e: ([generator], []), GraphError, r"state 0 \(s\): its type"),
    ],
)  # fmt: skip
def test_mistakes_of_steps(step, error, match):
    with pytest.raises(error, match=match):
        scan(step, [s], n_steps=3)


def test_a_state_of_another_static_length():
    three = pt.vector("three", shape=(3,))
    with pytest.raises(GraphError, match=r"its shape\n  went in: .* \(3\)\n  came out: .* \(2\)"):
        scan(lambda st, e: ([st[0][:2]], []), [three], n_steps=3)


@pytest.mark.parametrize("outside", [False, True])
def test_a_generator_that_is_not_returned(outside):
    def step(states, elements):
        given = generator if outside else states[0]
        _, drawn = pt.random.normal(0, 1, rng=given, return_next_rng=True)
        return [states[0], states[1] + drawn], []

    with pytest.raises(
        GraphError, match=r"draws from the generator (generator|state 0) and does not return"
    ):
        scan(step, [generator, s], n_steps=3)


def test_a_draw_made_outside_is_a_value():
    _, drawn = pt.random.normal(0, 1, rng=generator, return_next_rng=True)
    result = scan(lambda st, e: ([st[0] + drawn], []), [0.0], n_steps=3)
    found = evaluate([generator], result.states, np.random.default_rng(1))
    assert_close(found, [3 * np.random.default_rng(1).normal()])


def test_loops_of_unknown_or_several_lengths():
    with pytest.raises(GraphError, match="needs n_steps"):
        scan(lambda st, e: (st, []), [s])
    two, three = pt.vector(shape=(2,)), pt.vector(shape=(3,))
    with pytest.raises(GraphError, match="several lengths"):
        scan(lambda st, e: (st, []), [s], [two, three])
    with pytest.raises(GraphError, match="is a scalar"):
        scan(lambda st, e: (st, []), [s], [a], n_steps=3)
    with pytest.raises(DtypeError, match="a condition is a bool scalar"):
        while_loop(lambda st: st[0], lambda st: st, [s])
    result = scan(lambda st, e: ([st[0] * a + e[0]], []), [s], [x], n_steps=n)
    with pytest.raises(ValueError, match="sequence 0 is not as long as the loop has steps"):
        evaluate([s, a, x, n], result.states, 0.0, 1.0, np.ones(2), 3)


def test_static_lengths_that_differ():
    two = pt.vector(shape=(2,))
    with pytest.raises(ValueError, match="sequence 0 has 2 elements, the loop 3 steps"):
        scan(lambda st, e: ([st[0] * e[0] + 1], []), [s], [two], n_steps=3)


def test_the_op_refuses_bodies_that_do_not_fit():
    inner = pt.dscalar()
    with pytest.raises(GraphError, match="1 states went into"):
        scan(lambda st, e: ([], []), [s], n_steps=1)
    with pytest.raises(TypeError, match="a trace holds tensors"):
        build_scan(3, StepGraph([generator], [], [generator], [generator]), [generator], [])
    result = build_scan(3, StepGraph([inner], [], [inner * 2]), [s], [])
    op = result.states[0].owner.op
    with pytest.raises(ValueError, match="takes 2 inputs and got 1"):
        op(3)
    with pytest.raises(TypeError, match="number of steps is an integer scalar"):
        op(a, s)


def windowed(reverse):
    """A loop that runs the steps of a window, and gives its state before each."""
    state, element, start, stop = pt.dscalar(), pt.dscalar(), pt.lscalar(), pt.lscalar()
    step = StepGraph([state], [element], [a * state + element], [state])
    options = LoopOptions(reverse, window=(start, stop))
    result = build_scan(x.shape[0], step, [s], [x], options)
    return start, stop, [*result.states, *result.traces]


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["python", "numba", "jax"])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_window_of_steps(reverse, backend, rng):
    """It is the loop over the elements in the window; the trace is zero elsewhere."""
    start, stop, outputs = windowed(reverse)
    call = compile_positional(backend, [s, a, x, start, stop], outputs).call
    values = rng.normal(size=5)
    for window in [(0, 5), (1, 4), (2, 2), (0, 0), (4, 5)]:
        trace, part = np.zeros(5), slice(*window)
        final, trace[part] = recursion(0.5, 0.9, values[part], reverse)
        given = map(np.asarray, (0.5, 0.9, values, *window))
        assert_close(list(call(*given)), [final, trace])


@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_of_a_window_of_steps(reverse, rng):
    """Against JAX, which differentiates a loop of Python."""
    jax = pytest.importorskip("jax")
    start, stop, (final, trace) = windowed(reverse)
    weights, values = rng.normal(size=5), rng.normal(size=5)
    slopes = pytensor.grad(final + (weights * trace**2).sum(), [s, a, x])
    curvatures = pytensor.grad(sum((slope**2).sum() for slope in slopes), [s, a, x])

    def goal(point):
        state, scale, elements = point
        found = 0.0
        for t in (3, 2, 1) if reverse else (1, 2, 3):
            found = found + weights[t] * state**2
            state = scale * state + elements[t]
        return state + found

    first = jax.grad(goal)
    again = jax.grad(lambda point: sum((slope**2).sum() for slope in first(point)))
    with jax.enable_x64(True):
        point = tuple(map(jax.numpy.asarray, (0.5, 0.9, values)))
        wanted = [*first(point), *again(point)]
    given = [0.5, 0.9, values, 1, 4]
    inputs = [s, a, x, start, stop]
    assert_close(evaluate(inputs, [*slopes, *curvatures], *given, backend="rewritten"), wanted)
