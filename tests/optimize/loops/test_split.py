"""What leaves a loop: traces and sums that no later step needs."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.traversal import ancestors

from dimtensor.backends import python as interpreter
from dimtensor.ops.loop import Scan, scan
from dimtensor.testing.differences import gradient_by_differences

Y = pt.dvector("y")
A = pt.dscalar("a")
ZERO = pt.as_tensor(np.float64(0.0))


def run(outputs, *arrays):
    return interpreter.compile_positional([Y, A], outputs).call(*arrays)


def scans(outputs):
    nodes = dict.fromkeys(v.owner for v in ancestors(outputs) if v.owner is not None)
    return [node.op for node in nodes if isinstance(node.op, Scan)]


def likelihood(style):
    """A recursion of a variance; the log likelihood is traced, or added up in a state."""

    def step(states, xs):
        (y,) = xs
        variance, *total = states
        new = A + 0.3 * variance + 0.1 * pt.sqr(y)
        term = -0.5 * (pt.log(new) + pt.sqr(y) / new)
        return ([new, total[0] + term], []) if total else ([new], [term])

    if style == "traced":
        result = scan(step, [ZERO + 1.0], [Y])
        return result.states[0], result.traces[0].sum()
    result = scan(step, [ZERO + 1.0, ZERO], [Y])
    return tuple(result.states)


def expected(y, a):
    variance, total = 1.0, 0.0
    for x in y:
        variance = a + 0.3 * variance + 0.1 * x * x
        total += -0.5 * (np.log(variance) + x * x / variance)
    return variance, total


@pytest.mark.parametrize("style", ["traced", "summed"])
@pytest.mark.parametrize("n", [0, 1, 2, 20])
def test_a_likelihood_leaves_the_loop(style, n, rng):
    last, total = likelihood(style)
    slopes = pytensor.grad(total + last, [A, Y])
    y = rng.normal(size=n)
    found = run([last, total, *slopes], y, np.asarray(0.4))
    np.testing.assert_allclose(found[:2], expected(y, 0.4), rtol=1e-12)
    by_a = gradient_by_differences(lambda a: sum(expected(y, float(a))), np.asarray(0.4))
    by_y = gradient_by_differences(lambda v: sum(expected(v, 0.4)), y)
    np.testing.assert_allclose(found[2], by_a, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found[3], by_y, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("style", ["traced", "summed"])
def test_the_loop_that_is_left_has_no_logarithm(style):
    _, total = likelihood(style)
    (op,) = scans([total])
    assert op.n_states == 1
    names = {type(getattr(n.op, "scalar_op", n.op)).__name__ for n in op.body.apply_nodes}
    assert "Log" not in names
    assert "TrueDiv" not in names


def test_what_is_computed_for_a_state_is_not_computed_again_for_what_leaves():
    def step(states, xs):
        share = xs[0] / (A + states[0])
        return [share + 0.5 * states[0]], [pt.log(share)]

    result = scan(step, [ZERO + 1.0], [Y])
    (op,) = scans(result.traces)
    inside = {type(getattr(n.op, "scalar_op", n.op)).__name__ for n in op.body.apply_nodes}
    assert "Log" not in inside
    outside = {v.owner.op for v in ancestors(result.traces) if v.owner is not None}
    assert "TrueDiv" not in {type(getattr(op, "scalar_op", op)).__name__ for op in outside}
    y, s, expected = np.array([0.5, 2.0, 1.5]), 1.0, []
    for x in y:
        expected.append(np.log(x / (0.4 + s)))
        s = x / (0.4 + s) + 0.5 * s
    found = run([*result.states, *result.traces], y, np.asarray(0.4))
    np.testing.assert_allclose(found[0], s, rtol=1e-15)
    np.testing.assert_allclose(found[1], expected, rtol=1e-15)


def test_what_a_later_step_needs_stays():
    def step(states, xs):
        s, total = states
        new = pt.exp(-s) + xs[0]
        return [new, total + pt.log(new)], [total * 1.0, pt.exp(total)]

    result = scan(step, [ZERO, ZERO], [Y])
    y = np.array([1.0, 2.0, 0.5])
    s = total = 0.0
    before, grown = [], []
    for x in y:
        before.append(total)
        grown.append(np.exp(total))
        s = np.exp(-s) + x
        total += np.log(s)
    found = run([*result.states, *result.traces], y, np.asarray(0.0))
    for one, other in zip(found, [s, total, before, grown], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_sums_in_reverse_and_of_constants():
    def step(states, xs):
        s, count, total = states
        return [0.5 * s + xs[0], count + 1.0, total + pt.exp(s)], [pt.exp(xs[0]), pt.exp(A)]

    result = scan(step, [ZERO, ZERO, ZERO + 2.0], [Y], reverse=True)
    y = np.array([0.3, -0.2, 0.9, 0.1])
    s, total = 0.0, 2.0
    for x in y[::-1]:
        total += np.exp(s)
        s = 0.5 * s + x
    found = run([*result.states, *result.traces], y, np.asarray(0.4))
    wanted = [s, 4.0, total, np.exp(y), np.full(4, np.exp(0.4))]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_gradients_of_weights_are_products_of_traces_outside_of_the_loop(rng):
    """Lengths are unknown: those of the gates follow from sums and pieces of them."""
    weights, known = pt.dtensor3("weights"), pt.dtensor3("known")

    def step(states, xs):
        (hidden,) = states
        total = xs[0] + (weights * hidden[None, :, None]).sum(axis=1)
        new = pt.sigmoid(total[0]) * pt.tanh(total[1])
        return [new], [new]

    result = scan(step, [pt.zeros(known.shape[2:])], [known])
    loss = pt.sqr(result.traces[0]).sum()
    slope = pytensor.grad(loss, weights)
    assert max(out.type.ndim for op in scans([slope]) for out in op.body.outputs) == 2

    def expected_loss(w):
        hidden, found = np.zeros(3), 0.0
        for x in arrays[1]:
            total = x + np.einsum("gij,i->gj", w, hidden)
            hidden = np.tanh(total[1]) / (1 + np.exp(-total[0]))
            found += (hidden**2).sum()
        return found

    arrays = rng.normal(size=(2, 3, 3)), rng.normal(size=(4, 2, 3))
    found = interpreter.compile_positional([weights, known], [loss, slope]).call(*arrays)
    np.testing.assert_allclose(found[0], expected_loss(arrays[0]), rtol=1e-12)
    by_weights = gradient_by_differences(expected_loss, arrays[0])
    np.testing.assert_allclose(found[1], by_weights, rtol=1e-6, atol=1e-8)
