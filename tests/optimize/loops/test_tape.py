"""Loops that stop trace what the loop that goes back reads, so that it computes nothing again."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from dimtensor.ops.along import LogSumExp
from dimtensor.ops.loop import scan
from dimtensor.testing.differences import gradient_by_differences
from tests.ops.loop.runs import evaluate, loops_of, rewritten

S, A, BOUND, X = pt.dscalar("s"), pt.dscalar("a"), pt.dscalar("bound"), pt.dvector("x")


def slope_of(x, a, sqrt, exp, tanh):
    return tanh(sqrt(a * x * x + 1.0)) / (1.0 + exp(-x))


def growing(reverse):
    """A state that grows by what it reads until it is above a bound."""

    def step(states, elements):
        slope = slope_of(states[0], A, pt.sqrt, pt.exp, pt.tanh)
        after = states[0] + elements[0] * slope * slope
        return [after], [], pt.lt(after, BOUND)

    return scan(step, [S], [X], reverse=reverse, stops=True)


def grown(s, a, bound, x, reverse):
    steps = 0
    for each in x[::-1] if reverse else x:
        slope = slope_of(s, a, np.sqrt, np.exp, np.tanh)
        s, steps = s + each * slope * slope, steps + 1
        if not s < bound:
            break
    return s, steps


def operations(op):
    return [type(getattr(node.op, "scalar_op", node.op)).__name__ for node in op.body.toposort()]


@pytest.mark.parametrize("reverse", [False, True])
def test_what_a_step_back_needs_is_not_computed_again(reverse):
    slopes = pytensor.grad(growing(reverse).states[0], [S, A, X])
    forward, back = loops_of(rewritten([S, A, BOUND, X], slopes))
    assert (forward.derivative, back.derivative) == (False, True)
    assert "Tanh" in operations(forward)
    assert not {"Tanh", "Exp"} & set(operations(back))


def test_a_quotient_is_read_and_not_divided_again():
    def step(states, elements):
        share = elements[0] / (A + states[0])
        return [share * states[0] + share], []

    back = pytensor.grad(scan(step, [S], [X]).states[0], [S, A])
    forward, backward = loops_of(rewritten([S, A, X], back))
    assert operations(forward).count("TrueDiv") == 1
    assert operations(backward).count("TrueDiv") == 1  # of the derivative alone


def test_exponentials_of_a_log_sum_exp_are_not_computed_again():
    start, moves = pt.vector("start", shape=(3,)), pt.matrix("moves", shape=(3, 3))
    result = scan(lambda states, _: ([LogSumExp([1])(states[0] + moves)], []), [start], n_steps=4)
    back = pytensor.grad(result.states[0].sum(), [start, moves])
    forward, backward = loops_of(rewritten([start, moves], back))
    assert operations(forward).count("Exp") == 1
    assert not {"Exp", "LogSumExp", "ScaledSoftmax"} & set(operations(backward))


@pytest.mark.parametrize(
    "backend", [None, "rewritten", "numba", pytest.param("jax", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("reverse", [False, True])
def test_and_the_gradient_is_the_same(backend, reverse, rng):
    result = growing(reverse)
    outputs = [result.states[0], result.n_done, *pytensor.grad(result.states[0], [S, A, X])]
    if backend is None or backend == "rewritten":
        cases = [(0, 2.0), (1, 2.0), (8, 2.0), (9, 2.0), (40, 2.0), (40, 50.0), (9, np.nan)]
    else:
        cases = [(40, 2.0), (9, 50.0), (0, 2.0)]
    for length, bound in cases:
        x = rng.uniform(0.1, 0.4, length)

        def last(s=-0.3, a=0.7, x=x, bound=bound):
            return grown(float(s), float(a), bound, x, reverse)[0]

        values = (np.asarray(-0.3), np.asarray(0.7), np.asarray(bound), x)
        found = evaluate([S, A, BOUND, X], outputs, *values, backend=backend)
        np.testing.assert_allclose(found[0], last(), rtol=1e-12)
        assert found[1] == grown(-0.3, 0.7, bound, x, reverse)[1]
        by_s = gradient_by_differences(lambda s, f=last: f(s=s), np.asarray(-0.3))
        by_a = gradient_by_differences(lambda a, f=last: f(a=a), np.asarray(0.7))
        by_x = gradient_by_differences(lambda x, f=last: f(x=x), x)
        np.testing.assert_allclose(found[2], by_s, rtol=1e-6)
        np.testing.assert_allclose(found[3], by_a, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found[4], by_x, rtol=1e-6, atol=1e-9)


def test_not_numbers_and_infinities_go_back_as_they_came():
    """The derivative of a step at infinity is NaN; what was read is what was computed."""
    result = growing(reverse=False)
    slopes = pytensor.grad(result.states[0], [S, A])
    inputs = [S, A, BOUND, X]
    for start in (np.nan, np.inf, -np.inf):
        values = [np.asarray(start), np.asarray(0.7), np.asarray(5.0), np.full(8, 0.2)]
        plain = evaluate(inputs, [*result.states, *slopes], *values)
        found = evaluate(inputs, [*result.states, *slopes], *values, backend="rewritten")
        np.testing.assert_array_equal(found, plain)


def test_a_loop_that_reads_traces_at_other_steps_computes_what_it_needs(rng):
    """Positions that a user gives may be of steps that did not run: nothing is traced for them."""
    first = scan(
        lambda st, e: ([st[0] + e[0]], [st[0] * 2.0], pt.lt(st[0], BOUND)), [S], [X], stops=True
    )

    def step(states, elements):
        read = first.traces[0][elements[0]]
        return [states[0] + pt.tanh(pt.sqrt(A * read * read + 1.0))], []

    positions = pt.lvector("positions")
    total = scan(step, [S], [positions]).states[0]
    outputs = [total, *pytensor.grad(total, [S, A])]
    values = [np.asarray(0.5), np.asarray(0.7), np.asarray(1.0), np.full(9, 0.2)]
    at = np.array([8, 0, 3, 8, 1])
    inputs = [S, A, BOUND, X, positions]
    plain = evaluate(inputs, outputs, *values, at)
    for backend in ("rewritten", "numba"):
        found = evaluate(inputs, outputs, *values, at, backend=backend)
        np.testing.assert_allclose(found, plain, rtol=1e-12)


def test_what_a_step_has_is_traced_without_axes_that_are_added_to_it(rng):
    """The sum is traced as the number that the loop gives anyway."""

    def step(states, elements):
        after = pt.tanh(states[0]) * elements[0]
        total = after.sum()
        return [after / total], [total]

    start = pt.tensor("start", shape=(3,))
    total = pt.log(scan(step, [start], [X]).traces[0]).sum()
    slopes = pytensor.grad(total, [start])
    forward, _ = loops_of(rewritten([start, X], [total, *slopes]))
    assert {v.type.ndim for v in forward.body.outputs if v.type.shape != (3,)} == {0}
    assert sum(v.type.ndim == 0 for v in forward.body.outputs) == 1
    values = [rng.uniform(0.5, 1.0, 3), rng.uniform(0.5, 1.0, 4)]

    def numbers(start):
        found = 0.0
        for each in values[1]:
            after = np.tanh(start) * each
            found, start = found + np.log(after.sum()), after / after.sum()
        return found

    wanted = gradient_by_differences(numbers, values[0])
    for backend in (None, "rewritten"):
        found = evaluate([start, X], [total, *slopes], *values, backend=backend)
        np.testing.assert_allclose(found[0], numbers(values[0]), rtol=1e-13)
        np.testing.assert_allclose(found[1], wanted, rtol=1e-6)


@pytest.mark.parametrize("exponent", [2.0, np.array([2.0]), pt.constant(2.0).dimshuffle("x")])
def test_constant_numbers_with_an_axis_stay_in_the_step(exponent):
    result = scan(lambda st, e: ([(st[0] * e[0]) ** exponent], []), [X], [X])
    (op,) = loops_of(rewritten([X], result.states))
    assert op.n_captured == 0
    values = np.array([0.5, 1.5, -0.3])
    wanted = values
    for each in values:
        wanted = (wanted * each) ** 2
    found = evaluate([X], result.states, values, backend="numba")
    np.testing.assert_allclose(found[0], wanted, rtol=1e-12)
