"""Random loops: unrolled, the other way round, rewritten, batched, in both modes."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pytensor.graph.replace import vectorize_graph

from dimtensor.graph.checkpoints import checkpoint_levels as segments
from dimtensor.ops.derivatives import push
from dimtensor.ops.loop import scan
from tests.effort import a_fiftieth, a_tenth
from tests.ops.loop.runs import assert_close, evaluate

# bounded, and smooth where derivatives are compared
UNARY = (pt.tanh, pt.sin, lambda x: pt.exp(-pt.sqr(x)), lambda x: 0.5 * x)
BINARY = (
    lambda x, y: 0.5 * (x + y),
    lambda x, y: x * pt.tanh(y),
    lambda x, y: x - 0.3 * y,
    lambda x, y: pt.switch(pt.gt(x, y), 0.7 * x, y),
)


@st.composite
def loops(draw):
    """A body as a list of operations on what is there so far, and what the loop makes of it."""
    n_states, n_sequences, n_captured = (draw(st.integers(low, 3)) for low in (0, 0, 1))
    n_inputs = n_states + n_sequences + n_captured
    operations = []
    for size in range(n_inputs, n_inputs + draw(st.integers(1, 6))):
        of = st.integers(0, size - 1)
        operations.append((draw(st.integers(0, len(UNARY) + len(BINARY) - 1)), draw(of), draw(of)))
    last = st.integers(0, n_inputs + len(operations) - 1)
    return {
        "counts": (n_states, n_sequences, n_captured),
        "operations": operations,
        "following": [draw(last) for _ in range(n_states)],
        "traced": [draw(last) for _ in range(draw(st.integers(int(n_states == 0), 3)))],
        "reverse": draw(st.booleans()),
        "length": draw(st.sampled_from([0, 1, 2, 3, 17])),
        "vectors": draw(st.booleans()),
        "seed": draw(st.integers(0, 1000)),
    }


def body(loop, states, elements, captured):
    values = [*states, *elements, *captured]
    for kind, left, right in loop["operations"]:
        if kind < len(UNARY):
            values.append(UNARY[kind](values[left]))
        else:
            values.append(BINARY[kind - len(UNARY)](values[left], values[right]))
    return [values[k] for k in loop["following"]], [values[k] for k in loop["traced"]]


def build(loop, **options):
    """Inputs, their values, and the outputs of a loop."""
    n_states, n_sequences, n_captured = loop["counts"]
    shape = (2,) if loop["vectors"] else ()
    whole = (loop["length"], *shape)
    shapes = [shape] * n_states + [whole] * n_sequences + [shape] * n_captured
    inputs = [pt.tensor(dtype="float64", shape=(None,) * len(part)) for part in shapes]
    rng = np.random.default_rng(loop["seed"])
    values = [rng.normal(size=part) for part in shapes]
    states, sequences = inputs[:n_states], inputs[n_states : n_states + n_sequences]
    captured = inputs[n_states + n_sequences :]

    def step(s, e):
        after, traced = body(loop, s, e, captured)
        if not options.get("stops"):
            return after, traced
        return after, traced, pt.lt(abs(sum(y.sum() for y in after)), 0.7)

    result = scan(step, states, sequences, loop["length"], reverse=loop["reverse"], **options)
    done = [result.n_done] if options.get("stops") else []
    return inputs, values, [*result.states, *result.traces, *done]


def unrolled(loop, inputs, n_done=None):
    n_states, n_sequences, _ = loop["counts"]
    states, captured = inputs[:n_states], inputs[n_states + n_sequences :]
    sequences = inputs[n_states : n_states + n_sequences]
    steps = range(loop["length"])
    rows = {}
    for t in list(reversed(steps) if loop["reverse"] else steps)[:n_done]:
        states, rows[t] = body(loop, states, [x[t] for x in sequences], captured)
    if not rows:
        return list(states)
    traces = []
    for k in range(len(loop["traced"])):
        blank = pt.zeros_like(next(iter(rows.values()))[k])
        traces.append(pt.stack([rows[t][k] if t in rows else blank for t in steps]))
    return [*states, *traces]


def total(outputs):
    return sum((pt.sin(y + k).sum() for k, y in enumerate(outputs)), pt.constant(0.0))


def gradients(outputs, inputs):
    return pytensor.grad(total(outputs), inputs, disconnected_inputs="ignore")


@a_tenth
@given(loops())
def test_a_loop_is_its_steps_one_after_the_other(loop):
    inputs, values, outputs = build(loop)
    found = evaluate(inputs, [*outputs, *gradients(outputs, inputs)], *values)
    if not loop["length"]:
        empty = found[len(loop["following"]) : len(outputs)]
        assert all(len(trace) == 0 for trace in empty)
        outputs = outputs[: len(loop["following"])]
        found = evaluate(inputs, [*outputs, *gradients(outputs, inputs)], *values)
    wanted = unrolled(loop, inputs)
    assert_close(found, evaluate(inputs, [*wanted, *gradients(wanted, inputs)], *values))


@a_tenth
@given(loops())
def test_a_loop_that_stops_is_its_first_steps(loop):
    assume(loop["counts"][0] and loop["length"])
    inputs, values, (*outputs, n_done) = build(loop, stops=True)
    found = evaluate(inputs, [n_done, *outputs, *gradients(outputs, inputs)], *values)
    wanted = unrolled(loop, inputs, int(found[0]))
    everything = [*wanted, *gradients(wanted, inputs)]
    assert_close(found[1:], evaluate(inputs, everything, *values))
    if found[0] < loop["length"]:  # the state it stopped at says so
        assert abs(sum(np.sum(y) for y in found[1 : 1 + loop["counts"][0]])) >= 0.7


@a_tenth
@given(loops(), st.booleans())
def test_rewrites_change_no_value(loop, stops):
    assume(loop["counts"][0] or not stops)
    inputs, values, outputs = build(loop, stops=stops)
    everything = [*outputs, *gradients(outputs[: len(outputs) - stops], inputs)]
    wanted = evaluate(inputs, everything, *values)
    assert_close(evaluate(inputs, everything, *values, backend="rewritten"), wanted)


@a_tenth
@given(loops())
def test_forward_mode_is_reverse_mode(loop):
    inputs, values, outputs = build(loop)
    tangents = [y.type() for y in inputs]
    rng = np.random.default_rng(7)
    moves = [rng.normal(size=np.shape(y)) for y in values]
    cost = total(outputs)
    pushed = push([cost], inputs, tangents)
    found = evaluate([*inputs, *tangents], pushed, *values, *moves)
    wanted = evaluate(inputs, gradients(outputs, inputs), *values)
    total_ = sum(np.sum(g * m) for g, m in zip(wanted, moves, strict=True))
    np.testing.assert_allclose(found[0], total_, rtol=1e-8, atol=1e-10)


@a_tenth
@given(loops(), st.integers(2, 3))
def test_checkpoints_change_no_gradient(loop, levels):
    assume(loop["counts"][0])
    inputs, values, outputs = build(loop)
    wanted = evaluate(inputs, [*outputs, *gradients(outputs, inputs)], *values)
    inputs, values, outputs = build(loop, checkpoint=segments(levels))
    assert_close(evaluate(inputs, [*outputs, *gradients(outputs, inputs)], *values), wanted)


@a_tenth
@given(loops(), st.data())
def test_batched_is_looped(loop, data):
    inputs, values, outputs = build(loop)
    batched = data.draw(st.sets(st.integers(0, len(inputs) - 1), min_size=1))
    everything = [*outputs, *gradients(outputs, inputs)]
    wide = [
        pt.tensor(dtype="float64", shape=(None,) * (y.type.ndim + 1)) if k in batched else y
        for k, y in enumerate(inputs)
    ]
    many = vectorize_graph(everything, {inputs[k]: wide[k] for k in batched})
    several = [np.stack([y, y * 0.5, y + 0.1]) if k in batched else y for k, y in enumerate(values)]
    found = evaluate(wide, many, *several)
    for row in range(3):
        here = [y[row] if k in batched else y for k, y in enumerate(several)]
        wanted = evaluate(inputs, everything, *here)
        rows = [
            np.asarray(y)[row] if np.ndim(y) > np.ndim(w) else y
            for y, w in zip(found, wanted, strict=True)
        ]
        assert_close(rows, wanted)


@pytest.mark.compiled
@a_fiftieth
@given(loops())
def test_on_jax(loop):
    inputs, values, outputs = build(loop)
    everything = [*outputs, *gradients(outputs, inputs)]
    assert_close(
        evaluate(inputs, everything, *values, backend="jax"), evaluate(inputs, everything, *values)
    )
