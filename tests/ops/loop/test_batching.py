"""A loop over a batch gives what loops over its elements give."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.replace import vectorize_graph

from dimtensor.ops.interpret import Interpreter
from dimtensor.ops.loop import Scan, scan, while_loop
from tests.ops.loop.runs import evaluate

x, v = pt.dvector("x"), pt.dvector("v")
a, s = pt.dscalar("a"), pt.dscalar("s")
n = pt.lscalar("n")
generator = pt.random.type.random_generator_type("generator")


def assert_as_looped(inputs, outputs, batched, values):
    """Three elements at a time and one by one; of the inputs some have a first axis of three."""
    single = Interpreter(inputs, outputs)
    wide = [
        pt.tensor(dtype=y.type.dtype, shape=(None, *y.type.shape)) if k in batched else y
        for k, y in enumerate(inputs)
    ]
    replace = {inputs[k]: wide[k] for k in batched}
    found = evaluate(wide, vectorize_graph(outputs, replace), *values)
    for element in range(3):
        here = [y[element] if k in batched else y for k, y in enumerate(values)]
        for result, wanted, output in zip(
            found, single(*map(np.asarray, here)), outputs, strict=True
        ):
            result = np.asarray(result)
            if result.ndim > output.type.ndim:
                result = result[element]
            np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("batched", [{0}, {1}, {2}, {3}, {0, 2}, {0, 1, 2, 3}])
@pytest.mark.parametrize("reverse", [False, True])
def test_values_and_gradients(reverse, batched, rng):
    def step(st, e):
        after = [pt.tanh(st[0] * a + e[0]) + st[1].sum(), pt.tanh(st[1]) * e[0]]
        return after, [st[0] * e[0], st[1] * 2, a * 3]

    result = scan(step, [s, v], [x], reverse=reverse)
    cost = result.states[0] + pt.sqr(result.states[1]).sum() + pt.sqr(result.traces[0]).sum()
    inputs = [s, v, x, a]
    outputs = [*result.states, *result.traces, *pytensor.grad(cost, inputs)]
    shapes = [(), (4,), (5,), ()]
    values = [rng.normal(size=(3, *y) if k in batched else y) for k, y in enumerate(shapes)]
    assert_as_looped(inputs, outputs, batched, values)


def test_batches_of_several_axes(rng):
    result = scan(lambda st, e: ([st[0] * a + e[0]], [st[0]]), [s], [x])
    many = {s: pt.dtensor3("many"), x: pt.dmatrix("rows"), a: pt.tensor("row", shape=(1, None))}
    outputs = vectorize_graph([*result.states, *result.traces], many)
    values = rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 5)), rng.normal(size=(1, 4))
    state, trace = evaluate(list(many.values()), outputs, *values)
    wanted = values[0]
    traced = []
    for t in range(5):
        traced.append(wanted)
        wanted = wanted * values[2] + values[1][:, t]
    np.testing.assert_allclose(state, wanted)
    np.testing.assert_allclose(trace, np.moveaxis(traced, 0, -1))


def test_a_jacobian(rng):
    result = scan(lambda st, e: ([pt.sin(st[0]) * e[0]], [st[0]]), [s], [x])
    jacobian = pytensor.gradient.jacobian(result.traces[0], x, vectorize=True)
    values = rng.normal(size=4)
    found = evaluate([s, x], [jacobian], 0.5, values)[0]
    for k in range(4):
        ends = []
        for move in (1e-6, -1e-6):
            moved = values.copy()
            moved[k] += move
            ends.append(evaluate([s, x], result.traces, 0.5, moved)[0])
        np.testing.assert_allclose(found[:, k], (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-9)


def test_each_element_stops_on_its_own():
    root = while_loop(
        lambda st: abs(st[0] * st[0] - a) > 1e-10 * a,
        lambda st: [(st[0] + a / st[0]) / 2],
        [a],
        max_steps=40,
    )
    outputs = [root.states[0], root.n_done, root.finished, pytensor.grad(root.states[0], a)]
    assert_as_looped([a], outputs, {0}, [np.array([1.0, 2.0, 3e6])])


@pytest.mark.parametrize("batched", [{0}, {1}])
def test_loops_without_bound(batched):
    result = while_loop(lambda st: st[0] < 5, lambda st: [st[0] * a + 1, st[1] + 1], [s, 0])
    values = [[6.0, 2.0, 0.3], [1.3, 6.0, 2.0]]
    values = [np.array(y) if k in batched else y[2] for k, y in enumerate(values)]
    assert_as_looped([s, a], result.states, batched, values)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("batched", [{0, 2}, {1}])
def test_loops_that_stop(reverse, batched, rng):
    def step(st, e):
        return [st[0] * e[0] + a], [st[0] * e[0], e[0]], pt.lt(st[0], 1.0)

    result = scan(step, [s], [x], stops=True, reverse=reverse)
    cost = pt.sqr(result.states[0]) + pt.sin(result.traces[0]).sum()
    outputs = [result.n_done, *result.traces, *pytensor.grad(cost, [s, x, a])]
    shapes = [(), (5,), ()]
    values = [rng.uniform(size=(3, *y) if k in batched else y) for k, y in enumerate(shapes)]
    assert_as_looped([s, x, a], outputs, batched, values)


def test_an_inverse_stays():
    result = while_loop(
        lambda st: st[1] < 5, lambda st: [st[0] * a + 1, st[1] + 1], [s, 0],
        inverse=lambda st: [(st[0] - 1) / a, st[1] - 1],
    )  # fmt: skip
    many = vectorize_graph(result.states[0], {s: v})
    found = evaluate([v, a], [pytensor.grad(many.sum(), v)], np.array([1.0, 2.0]), 1.3)
    np.testing.assert_allclose(found[0], 1.3**5)


def test_a_batch_of_draws():
    def step(st, e):
        following, drawn = pt.random.normal(st[1], 1, rng=st[0], return_next_rng=True)
        return [following, drawn], []

    result = scan(step, [generator, s], n_steps=3)
    many = vectorize_graph(result.states[1], {s: v})
    found = evaluate([generator, v], [many], np.random.default_rng(1), np.array([0.0, 100.0]))
    oracle, wanted = np.random.default_rng(1), np.array([0.0, 100.0])
    for _ in range(3):
        wanted = oracle.normal(wanted, 1)
    np.testing.assert_allclose(found[0], wanted)


def test_the_number_of_steps_is_one_for_a_batch():
    result = scan(lambda st, e: ([st[0] * 2], []), [s], n_steps=n)
    counts = pt.lvector("counts")
    (state,) = vectorize_graph(result.states, {n: counts})
    assert isinstance(result.states[0].owner.op, Scan)
    assert evaluate([s, counts], [state], 1.0, np.array([3, 3]))[0] == 8
    with pytest.raises(ValueError, match="the same for a whole batch"):
        evaluate([s, counts], [state], 1.0, np.array([3, 2]))
