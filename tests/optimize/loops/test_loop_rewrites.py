"""Rewrites of loops: what is left of them, and that they compute the same."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.conditional.op import ifelse
from pytensor.graph.traversal import ancestors
from pytensor.raise_op import Assert

from dimtensor.ops.interpret import Interpreter
from dimtensor.ops.loop import Scan, scan, while_loop
from dimtensor.ops.loop.node import ScanGraph
from dimtensor.optimize.loops import driver
from dimtensor.optimize.loops.driver import _join_inputs, rewrite_loops
from dimtensor.optimize.loops.hoisting import hoist
from tests.ops.loop.runs import assert_close, evaluate, loops_of, rewritten

x, v = pt.dvector("x"), pt.dvector("v")
a, s = pt.dscalar("a"), pt.dscalar("s")
n = pt.lscalar("n")
X = np.array([0.5, 1.5, -0.3, 0.8])


def left(inputs, outputs, *values):
    """Loops that are left after the rewrites, which change no value."""
    graph = rewritten(inputs, outputs)
    found = Interpreter(graph.inputs, graph.outputs)(*map(np.asarray, values))
    assert_close(found, evaluate(inputs, outputs, *values))
    return loops_of(graph)


def names(op):
    return sorted(
        type(getattr(node.op, "scalar_op", node.op)).__name__ for node in op.body.toposort()
    )


def counts(op):
    return op.n_states, op.n_sequences, op.n_traces, op.n_captured


def test_what_is_not_used_vanishes():
    def step(st, e):
        after = [st[0] * e[0], st[1] * pt.sin(st[1]) * a, st[0] * st[1] * e[1]]
        return after, [st[0], st[2]]

    result = scan(step, [s, s, s], [x, v])
    assert [counts(op) for op in left([s, a, x, v], result.states[:1], 0.5, 0.1, X, X)] == [
        (1, 1, 0, 0)
    ]
    assert [counts(op) for op in left([s, a, x, v], result.states[1:2], 0.5, 0.1, X, X)] == [
        (1, 0, 0, 1)
    ]
    (op,) = left([s, a, x, v], result.traces[1:], 0.5, 0.1, X, X)
    assert counts(op) == (3, 2, 1, 1)


def test_of_a_loop_without_bound_too():
    result = while_loop(
        lambda st: st[0] < 5, lambda st: [st[0] * a + 1, st[1] * st[0], st[2] * a], [s, s, s]
    )
    (op,) = left([s, a], result.states[:2], 0.5, 1.3)
    assert op.n_states == 2


def test_equal_loops_states_and_traces_are_one():
    def loop():
        return scan(
            lambda st, e: ([st[0] * e[0], st[1] * e[0]], [st[0] * 2, st[1] * 2]), [s, s], [x]
        )

    one, other = loop(), loop()
    (op,) = left([s, x], [*one.states, *other.states, *one.traces, *other.traces], 0.5, X)
    assert counts(op) == (1, 1, 1, 0)


def test_states_that_become_equal_with_operands_exchanged_are_one():
    def step(st, e):
        one, two = a * st[0] + e[0], e[0] + st[1] * a
        return [one, two], [st[0] * e[0], e[0] * st[1]]

    result = scan(step, [s, s], [x])
    (op,) = left([s, a, x], [*result.states, *result.traces], 0.5, 0.9, X)
    assert counts(op) == (1, 1, 1, 1)


def test_states_that_become_different_are_two():
    result = scan(lambda st, e: ([st[1] + e[0], st[0] * 2, st[2] * 2], []), [s, s, s], [x])
    (op,) = left([s, x], result.states, 0.5, X)
    assert op.n_states == 3


def test_states_that_no_step_changes_are_captured():
    result = scan(lambda st, e: ([st[0], st[1] * st[0]], [st[0] + st[1]]), [a, s], [x])
    (op,) = left([s, a, x], [*result.states, *result.traces], 0.5, 0.1, X)
    assert (op.n_states, op.n_captured) == (1, 1)


def test_a_state_that_no_step_changes_has_the_derivative_of_what_is_captured():
    """Its derivative is a sum over the steps, which needs no state of the reverse pass."""
    m, start = pt.dmatrix("m"), pt.dvector("start")

    def gradients_of(result):
        value = (result.traces[0] ** 2).sum() + result.states[-1].sum()
        return [value, *pytensor.grad(value, [m, start])]

    carried = scan(
        lambda st, e: ([st[0], pt.tanh(st[0] @ st[1]) + e[0]], [st[1].sum()]), [m, start], [x]
    )
    captured = scan(lambda st, e: ([pt.tanh(m @ st[0]) + e[0]], [st[0].sum()]), [start], [x])
    matrix = np.array([[0.5, -0.2], [0.3, 0.1]])
    given = matrix, np.array([0.4, -1.0]), X
    loops = [left([m, start, x], gradients_of(result), *given) for result in (carried, captured)]
    assert loops[0] == loops[1]
    found = evaluate([m, start, x], gradients_of(carried), *given)

    def value_of(matrix, state):
        total = 0.0
        for number in X:
            total += state.sum() ** 2
            state = np.tanh(matrix @ state) + number
        return total + state.sum()

    step = 1e-6
    slopes = np.empty((2, 2))
    for at in np.ndindex(2, 2):
        change = np.zeros((2, 2))
        change[at] = step
        above, below = (value_of(matrix + sign * change, given[1]) for sign in (1, -1))
        slopes[at] = (above - below) / (2 * step)
    np.testing.assert_allclose(found[0], value_of(matrix, given[1]), rtol=1e-12)
    np.testing.assert_allclose(found[1], slopes, rtol=1e-7)


def test_final_states_are_in_order_where_some_do_not_change():
    result = scan(
        lambda st, e: ([st[0] + e[0], st[1], st[2] * st[1]], [st[1]]), [s, a, 2.0], [x], n_steps=4
    )
    found = evaluate([s, a, x], [*result.states, result.traces[0]], 0.5, 3.0, X)
    expected = [0.5 + X.sum(), 3.0, 2.0 * 3.0**4, np.full(4, 3.0)]
    for value, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, reference, rtol=1e-14)


def test_scalar_constants_move_in():
    two = pt.dscalar("two")
    result = scan(lambda st, e: ([st[0] * two + e[0]], []), [s], [x])
    (state,) = pytensor.graph.replace.clone_replace(
        result.states, {two: pt.constant(np.float64(2))}
    )
    (op,) = left([s, x], [state], 0.5, X)
    assert counts(op) == (1, 1, 0, 0)


@pytest.mark.parametrize(("lengths", "captured"), [((2, 2), 0), ((n, 2), 1)])
def test_arrays_that_repeat_a_constant_move_in(lengths, captured):
    """What is added to zeros in a step is put where it belongs, and not added to an array."""
    zeros = pt.alloc(np.float64(0.0), *lengths)

    def step(states, elements):
        first = pt.inc_subtensor(zeros[0], elements[0] * states[0])
        second = pt.inc_subtensor(zeros[1], elements[0] - states[0])
        return [(first + second).sum(axis=0)], []

    result = scan(step, [pt.zeros(2)], [x])
    (op,) = left([x, n], result.states, X, 2)
    assert op.n_captured == captured
    assert ("Alloc" in names(op)) == (captured == 0)


def test_arrays_that_move_in_stay_what_they_are_outside():
    """Rewriting the step changes nodes, which would be those of the graph around it."""
    zeros = pt.alloc(np.float64(0.0), 2, 2)
    result = scan(lambda st, e: ([st[0] + (zeros * e[0]).sum(axis=0)], []), [pt.zeros(2)], [x])
    parts = ScanGraph(result.states[0].owner)
    assert _join_inputs(parts)
    (own,) = (v for v in ancestors(parts.outputs) if v.owner and v.owner.op == zeros.owner.op)
    assert own.owner is not zeros.owner


@pytest.mark.parametrize("reverse", [False, True])
def test_the_last_of_a_trace_is_the_final_state(reverse):
    known = pt.vector("known", shape=(4,))
    last = 0 if reverse else -1
    for sequence, traces in ((known, 0), (x, 1)):  # without a step the look-up is an error
        result = scan(
            lambda st, e: ([st[0] * a + e[0]], [st[0] * a + e[0]]), [s], [sequence], reverse=reverse
        )
        (op,) = left([s, a, sequence], [result.traces[0][last]], 0.5, 0.3, X)
        assert op.n_traces == traces


def test_a_loop_without_states_becomes_operations_on_arrays():
    result = scan(lambda st, e: ([], [pt.exp(e[0]) * a, pt.sin(a) * v.sum(), e[0]]), [], [x])
    for data in (X, X[:0]):
        assert left([x, a, v], result.traces, data, 0.4, X) == []


def test_but_not_what_is_no_elementwise_operation():
    result = scan(lambda st, e: ([], [Assert("negative")(e[0], e[0] > -1)]), [], [x])
    (op,) = left([x], result.traces, X)
    assert op.n_traces == 1


def test_loops_of_the_same_steps_are_one():
    one = scan(lambda st, e: ([st[0] * e[0]], []), [s], [x])
    other = scan(lambda st, e: ([st[0] * a - e[0]], [st[0]]), [s], [x])
    (op,) = left([s, a, x], [*one.states, *other.states, *other.traces], 0.5, 0.1, X)
    assert counts(op) == (2, 1, 1, 1)


def test_but_not_where_one_needs_the_other_or_runs_the_other_way():
    one = scan(lambda st, e: ([st[0] * e[0]], []), [s], [x])
    after = scan(lambda st, e: ([st[0] * a - e[0]], []), one.states, [x])
    back = scan(lambda st, e: ([st[0] * a - e[0]], []), [s], [x], reverse=True)
    ops = left([s, a, x], [*after.states, *back.states], 0.5, 0.1, X)
    assert sorted(op.reverse for op in ops) == [False, False, True]


def test_loops_of_two_branches_stay_apart():
    one = scan(lambda st, e: ([st[0] * e[0]], []), [s], [x])
    other = scan(lambda st, e: ([st[0] * a - e[0]], []), [s], [x])
    either = ifelse(a > 0, one.states[0], other.states[0])
    ops = left([s, a, x], [either], 0.5, 0.1, X)
    assert [op.n_states for op in ops] == [1, 1]


def test_what_one_branch_needs_stays_in_the_step():
    def step(st, e):
        return [ifelse(e[0] > 0, st[0], st[0] + pt.exp(pt.second(st[0], v[0])))], []

    result = scan(step, [s], [x], n_steps=4)
    (op,) = left([s, v, x], result.states, 0.5, X, X)
    assert "Exp" in names(op)


def test_invariant_code_moves_out():
    """Of a body that got it through a rewrite: the front door captures it whole."""

    def step(st, e):
        inner = scan(lambda t, f: ([t[0] * pt.exp(a) * f[0] + pt.log(e[0])], []), [st[0]], [v])
        return inner.states, []

    result = scan(step, [s], [x])
    (op,) = left([s, a, x, v], result.states, 0.5, 0.1, X**2, X)
    (inner,) = (node.op for node in op.body.toposort() if hasattr(node.op, "n_states"))
    assert "Exp" not in names(op)
    assert "Log" in names(op)
    assert set(names(inner)) == {"Add", "Mul"}


@pytest.mark.parametrize(("steps", "inside"), [(n, True), (pt.constant(4), False)])
def test_arrays_move_out_where_a_step_is_known_to_run(steps, inside):
    start, other = (pt.tensor(name, dtype="float64", shape=(4,)) for name in ("start", "other"))
    # only the rewrites see that what is broadcast to the shape of the state does not depend on it
    result = scan(
        lambda st, e: ([pt.sin(st[0] * pt.exp(pt.second(st[0], other)))], []),
        [start],
        n_steps=steps,
    )
    (op,) = left([start, other, n], result.states, X, X, 4)
    assert ("Exp" in names(op)) == inside


def test_a_check_stays_inside():
    result = scan(
        lambda st, e: ([st[0] + Assert("a is negative")(st[1], st[1] >= 0), st[1]], []),
        [s, a],
        n_steps=n,
    )
    graph = rewritten([s, a, n], result.states[:1])
    run = Interpreter(graph.inputs, graph.outputs)
    assert run(np.asarray(0.5), np.asarray(-1.0), np.asarray(0))[0] == 0.5
    with pytest.raises(AssertionError, match="a is negative"):
        run(np.asarray(0.5), np.asarray(-1.0), np.asarray(1))


def test_garch():
    """A log likelihood and its gradient are one loop each way, with the recursion's operations."""
    omega, alpha, beta = (pt.dscalar(name) for name in ("omega", "alpha", "beta"))
    result = scan(lambda st, e: ([omega + alpha * e[0] ** 2 + beta * st[0]], [st[0]]), [1.0], [x])
    variance = result.traces[0]
    likelihood = -(pt.log(variance) + x**2 / variance).sum() / 2
    gradient = pytensor.grad(likelihood, [omega, alpha, beta])
    forward, back = left([x, omega, alpha, beta], [likelihood, *gradient], X, 0.1, 0.2, 0.3)
    assert counts(forward)[:1] == (1,)
    assert forward.n_traces == 1
    assert back.reverse
    assert set(names(forward)) == {"Add", "Mul", "Sqr"}
    assert set(names(back)) <= {"Add", "Mul", "Sqr"}


def test_loops_that_stop_share_their_steps():
    result = while_loop(lambda st: st[0] < 5, lambda st: [st[0] * a + 1], [s], 20)
    gradient = pytensor.grad(result.states[0], a)
    forward, back = left([s, a], [result.states[0], result.n_done, gradient], 0.5, 1.3)
    assert counts(forward) == (1, 0, 1, 1)
    assert back.windowed


def test_what_leaves_a_body_twice_is_one_outside():
    result = scan(lambda st, e: ([st[0] * pt.exp(a) + e[0]], []), [s], [x])
    graph = pytensor.graph.fg.FunctionGraph([s, a, x], list(result.states), clone=False)
    parts = ScanGraph(graph.outputs[0].owner)
    parts.traces = []
    (outside,) = [part.variable for part in parts.captured]
    again = [pt.exp(outside + 1.0) * pt.exp(outside + 1.0) + pt.sin(outside) for _ in range(2)]
    parts.set_outputs([parts.states[0].following * again[0] + again[1]])
    assert hoist(parts)
    assert len([part for part in parts.captured if part.variable is not outside]) == 1
    made = parts.build()
    graph.replace(graph.outputs[0], made[graph.outputs[0]], import_missing=True)
    (found,) = Interpreter(graph.inputs, graph.outputs)(np.asarray(0.5), np.asarray(0.2), X)
    factor = np.exp(0.2)
    extra = np.exp(factor + 1.0) ** 2 + np.sin(factor)
    wanted = 0.5
    for element in X:
        wanted = (wanted * factor + element) * extra + extra
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_the_last_element_of_no_steps_is_not_the_final_state():
    result = scan(lambda st, _: ([st[0] * a], [st[0] * a]), [s], [], n_steps=0)
    graph = pytensor.graph.fg.FunctionGraph(
        [s, a], [result.traces[0][-1], result.states[0]], clone=True
    )
    (node,) = [node for node in graph.apply_nodes if isinstance(node.op, Scan)]
    assert int(node.inputs[0].data) == 0
    rewrite_loops(graph)
    last, final = graph.outputs
    assert last is not final
    with pytest.raises(IndexError, match="out of bounds"):
        Interpreter(graph.inputs, graph.outputs)(np.asarray(0.5), np.asarray(2.0))


def test_loops_that_are_as_they_were_are_passed_over(monkeypatch):
    looked_at = []
    look = driver._rewrite_scan
    monkeypatch.setattr(
        driver, "_rewrite_scan", lambda graph, *rest: looked_at.append(1) or look(graph, *rest)
    )
    result = scan(lambda st, e: ([st[0] * a + e[0]], [st[0] * st[0]]), [s], [x])
    outputs = [result.states[0], result.traces[0] + 1.0]
    graph = pytensor.graph.fg.FunctionGraph([s, a, x], outputs, clone=True)
    settled = {}
    rewrite_loops(graph, settled=settled)
    assert looked_at
    looked_at.clear()
    rewrite_loops(graph, settled=settled)
    assert not looked_at
    # nobody reads the trace any more
    graph.remove_output(1)
    rewrite_loops(graph, settled=settled)
    assert looked_at
    (op,) = loops_of(graph)
    assert counts(op) == (1, 1, 0, 1)
    looked_at.clear()
    # it starts from something else
    (node,) = [node for node in graph.apply_nodes if node.op is op]
    graph.change_node_input(node, 1, pt.constant(0.0), check=False, import_missing=True)
    rewrite_loops(graph, settled=settled)
    assert looked_at


def test_a_graph_without_loops_is_left_alone():
    graph = pytensor.graph.fg.FunctionGraph([s], [pt.sin(s) + pt.sin(s)], clone=True)
    before = len(graph.apply_nodes)
    assert rewrite_loops(graph) is False
    assert len(graph.apply_nodes) == before


@pytest.mark.slow
def test_what_a_gradient_reads_is_found_in_long_bodies():
    """Operands are read twice: a walk along all paths would not end, or be too deep."""

    def long(y):
        for _ in range(400):
            y = pt.tanh(y) * (y + 1.0)
        return y

    result = scan(lambda st, e: ([long(st[0] * a + e[0])], []), [s], [x])
    gradient = pytensor.grad(result.states[0], a)
    graph = rewritten([s, a, x], [result.states[0], gradient])
    forward, back = loops_of(graph)
    # what the steps compute is traced, for it takes longer than to read it
    assert forward.n_traces > 1
    assert back.n_sequences > 1
