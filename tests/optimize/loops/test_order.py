"""The order in which steps compute, and what gradients of loops read instead of computing it."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.traversal import ancestors

import dimtensor as dt
from dimtensor.kernels.native.functions import library
from dimtensor.ops.interpret import Interpreter
from dimtensor.ops.loop import scan, while_loop
from dimtensor.ops.loop.frontend import build_scan
from dimtensor.ops.loop.op import Loop
from dimtensor.ops.loop.spec import LoopOptions, StepGraph
from dimtensor.optimize.loops.sum_order import ordered
from tests.ops.loop.runs import assert_close, evaluate, loops_of, rewritten

x, rows = pt.dvector("x"), pt.dmatrix("rows")
a, b, c = pt.dscalar("a"), pt.dscalar("b"), pt.dscalar("c")
X, A, B, C = np.array([0.5, 1.5, -0.3, 0.8]), 0.3, 0.7, -0.4
ROWS = np.random.default_rng(3).normal(size=(5, 3))


def left(outputs):
    """Loops that are left after the rewrites, which change no value."""
    inputs = [x, rows, a, b, c]
    graph = rewritten(inputs, outputs, reassociates=True)
    found = Interpreter(graph.inputs, graph.outputs)(X, ROWS, *map(np.asarray, (A, B, C)))
    assert_close(found, evaluate(inputs, outputs, X, ROWS, A, B, C))
    return loops_of(graph)


def names(op):
    return [type(getattr(node.op, "scalar_op", node.op)).__name__ for node in op.body.toposort()]


def readers(op, number=0):
    """Nodes of a body that read a state."""
    state = op.body.inputs[number]
    return [node for node in op.body.toposort() if state in node.inputs]


def test_the_order_of_a_step_is_that_of_its_formula():
    def step(st, e):
        total, lost = st
        term = e[0] - lost
        following = total + term
        return [following, (following - total) - term], []

    # the sum of Kahan (1965): exact but for the last digit, where plain sums lose all of it
    values = np.array([1e16, 1.0, 1.0, 1.0, 1.0, -1e16])
    result = scan(step, [0.0, 0.0], [x])
    graph = rewritten([x], result.states[:1])
    assert Interpreter(graph.inputs, graph.outputs)(values)[0] == 4.0
    assert values.sum() != 4.0


def test_what_is_read_elsewhere_too_is_multiplied_anew_for_the_state():
    def step(st, e):
        scaled = a * st[0]
        return [b * (e[0] * scaled) + e[0], st[1] + scaled * scaled], []

    (op,) = left(scan(step, [0.5, 0.0], [x]).states)
    state, following = op.body.inputs[0], op.body.outputs[0]

    def operations(variable):
        """The most operations between the state and a variable."""
        if variable is state:
            return 0
        found = [operations(v) for v in (variable.owner.inputs if variable.owner else [])]
        return 1 + max(found, default=-np.inf)

    assert operations(following) == 2  # a product and a sum


@pytest.mark.parametrize("derivative_first", [False, True])
def test_a_loop_of_differentiation_is_not_merged_with_one_of_the_same_formula(derivative_first):
    """Its sums may be reassociated; those of the formula may not, whatever else there is."""
    state, element = pt.dscalars("state", "element")

    def loop(derivative):
        step = StepGraph([state], [element], [(state + element) + a])
        options = LoopOptions(derivative=derivative)
        init = [pt.constant(0.0, dtype="float64")]
        return build_scan(x.shape[0], step, init, [x], options).states[0]

    formula, other = loop(False), loop(True)
    assert formula.owner.op != other.owner.op
    assert hash(formula.owner.op) != hash(other.owner.op)
    both = [other, formula] if derivative_first else [formula, other]
    graph = rewritten([x, a], both)
    assert sorted(op.derivative for op in loops_of(graph)) == [False, True]

    # 1 is lost where it is added to 1e16, and is not where the element and `a` are added first
    values, shift = np.array([1e16, 1.0, 1.0]), np.array(1.0)
    found = dict(zip(both, Interpreter(graph.inputs, graph.outputs)(values, shift), strict=True))
    total = np.float64(0.0)
    for value in values:
        total = (total + value) + shift
    assert found[formula] == total
    assert found[other] == ((values + shift)[0] + (values + shift)[1]) + (values + shift)[2]
    assert found[formula] != found[other]


@pytest.mark.parametrize("reverse", [False, True])
def test_what_waits_for_the_state_is_added_last(reverse):
    result = scan(lambda st, e: ([b * st[0] + a + c * e[0] + 1.0], []), [0.5], [x], reverse=reverse)
    (op,) = left(result.states)
    last = op.body.outputs[0].owner
    assert len(last.inputs) == 2
    product, rest = last.inputs
    assert op.body.inputs[0] in product.owner.inputs
    assert len(product.owner.inputs) == 2
    assert op.body.inputs[0] not in ancestors([rest])


def test_factors_that_are_fixed_meet_first():
    result = scan(lambda st, e: ([1.0 - a * st[0] * b * st[0] * c], []), [0.5], [x])
    (op,) = left(result.states)
    assert names(op).count("Mul") == 2
    assert op.n_captured == 1


def test_a_common_factor_that_waits_is_taken_out():
    result = scan(lambda st, e: ([a * st[0] - st[0] * b * e[0] + c], []), [0.5], [x])
    (op,) = left(result.states)
    assert len(readers(op)) == 1


def test_differences_keep_their_signs():
    def step(st, e):
        s, t = st
        return [e[0] - a - (b * s - t) - s * t, -(s * a) + c * t - e[0] * s], []

    left(scan(step, [0.5, -0.2], [x]).states)


def test_a_factor_of_minus_one_goes_to_what_is_fixed():
    state, e = pt.dscalars("state", "e")
    (after,) = ordered([state, e, a, b], [pt.mul(-1.0, state, a) + e * b], [state], [e])
    (negation,) = (v for v in ancestors([after]) if v.owner and v.owner.op == pt.neg)
    assert negation.owner.inputs == [a]
    found = after.eval({state: 2.0, e: 3.0, a: 5.0, b: 7.0}, mode="FAST_COMPILE")
    assert found == 3.0 * 7.0 - 2.0 * 5.0


def test_a_sum_is_carried_rather_than_its_product():
    def step(st, e):
        after = e[0] - a * st[0]
        return [after], [after]

    (trace,) = scan(step, [0.0], [x]).traces
    ops = left([pytensor.grad((trace**2).sum(), a), pytensor.grad((trace**2).sum(), x)])
    back = next(op for op in ops if op.reverse)
    assert back.n_states == 1
    last = back.body.outputs[0].owner
    assert type(last.op.scalar_op).__name__ == "Add"
    assert readers(back)[0].outputs[0] in last.inputs


def test_gradients_read_what_steps_have_computed():
    result = scan(lambda st, e: ([pt.exp(-st[0] * a) * pt.tanh(e[0] + st[0])], []), [0.5], [x])
    forward, back = left([pytensor.grad(result.states[0], a)])
    assert {"Exp", "Tanh"} <= set(names(forward))
    assert {"Exp", "Tanh"}.isdisjoint(names(back))


def test_gradients_do_not_run_loops_again():
    def step(st, e):
        inner = while_loop(lambda w: w[0] < 3.0, lambda w: [w[0] * 2.0 + 1.0], [abs(st[0])])
        known = pytensor.gradient.disconnected_grad(inner.states[0])
        return [st[0] * a * known / 9.0 + e[0]], []

    result = scan(step, [0.5], [x])
    forward, back = left([pytensor.grad(result.states[0], a)])
    assert "Loop" in names(forward)
    assert not any(isinstance(node.op, Loop) for node in back.body.toposort())


def test_outer_products_are_summed_after_the_loop():
    weights = pt.outer(rows[0], rows[1]) * a
    result = scan(lambda st, e: ([pt.tanh((weights * st[0]).sum(1)) + e[0]], []), [rows[2]], [rows])
    total = result.states[0].sum()
    forward, back = left([pytensor.grad(total, weights)])
    assert (forward.n_states, back.n_states) == (1, 1)


def test_terms_that_are_all_taken_away():
    result = scan(lambda st, e: ([-a * st[0] * b - st[0] * (-c) * -e[0]], []), [0.5], [x])
    left([*result.states, pytensor.grad(result.states[0], a)])


@pytest.mark.compiled
def test_a_product_and_the_state_that_it_is_added_to_are_rounded_once():
    """The product is there before the state."""
    state, time = dt.scalar("state"), dt.Dim("time")
    c, e = dt.scalar("c"), dt.tensor("e", dims=time)
    last = dt.reduce(lambda s, e: dt.minimum(s, 5.0) + c * e, state, e, dim=time)
    f = dt.function([state, c, e], last, backend="numba")
    factor = 1.0 + 2.0**-30
    # its square is 1 + 2**-29 + 2**-60, which has no last term where it is rounded
    lost = 2.0**-60 if library._has_fma() else 0.0
    assert float(f(-(1.0 + 2.0**-29), factor, np.array([factor]))) == lost


def test_a_chain_of_shared_products_grows_linearly():
    """Each is read by the next and by a sum; opened to its end, a chain has quadratic size."""

    def operations(length):
        state, total = pt.dscalars("state", "total")
        shared, added = state, total
        for _ in range(length):
            shared = a * shared
            added = added + pt.sin(shared)
        outputs = ordered([state, total, a], [shared, added], [state, total])
        found = Interpreter([state, total, a], outputs)(*map(np.asarray, (X[0], X[1], A)))
        powers = X[0] * A ** np.arange(1, length + 1)
        np.testing.assert_allclose(found, [powers[-1], X[1] + np.sin(powers).sum()], rtol=1e-13)
        return len({v.owner for v in ancestors(outputs) if v.owner is not None})

    assert operations(200) < 2.5 * operations(100)
