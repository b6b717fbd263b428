"""Gradients that store few states: the same numbers, and the costs that the schedule says."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

import dimtensor as dt
from dimtensor.errors import GraphError, OptionError
from dimtensor.graph.checkpoints import checkpoint_levels, checkpoint_states
from dimtensor.ops.interpret import Interpreter
from dimtensor.ops.loop import scan
from dimtensor.ops.loop.derivatives.checkpoint import SegmentSchedule, levels_within, schedule
from tests.ops.loop.runs import assert_close, evaluate, rewritten

x, v = pt.dvector("x"), pt.dvector("v")
a, s = pt.dscalar("a"), pt.dscalar("s")


@pytest.mark.parametrize(
    ("steps", "depth", "lengths", "stored", "run"),
    [
        (1_000, 1, (), 1_000, 1_000),
        (1_000, 2, (32,), 71, 1_992),
        (1_000, 3, (10, 100), 30, 3_000),
        (1_000, 4, (6, 36, 216), 33, 3_832),
        (10_000, 2, (100,), 200, 20_000),
        (10_000, 3, (22, 484), 90, 29_668),
        (1_000_000, 2, (1_000,), 2_000, 2_000_000),
        (1_000_000, 3, (100, 10_000), 300, 3_000_000),
        (1_000_000, 4, (32, 1_024, 32_768), 160, 3_982_464),
    ],
)
def test_the_schedule(steps, depth, lengths, stored, run):
    """Of Chen et al. (2016): √n states and each step twice, and so on for more levels."""
    assert schedule(steps, checkpoint_levels(depth)) == SegmentSchedule(lengths, stored, run)


def test_levels_for_a_memory():
    assert [levels_within(1_000_000, k) for k in (1_000_000, 10_000, 1_000, 200)] == [1, 2, 3, 4]
    with pytest.raises(GraphError, match=r"stores .* states or more, not 3"):
        levels_within(1_000_000, 3)


class Counted(Op):
    """The identity, which counts how often it runs."""

    __props__ = ()
    count = 0

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        Counted.count += 1
        output_storage[0][0] = inputs[0]

    def pullback(self, inputs, outputs, cotangents):
        return [cotangents[0]]


@pytest.mark.parametrize(
    ("steps", "checkpoint"),
    [
        (16, checkpoint_levels(1)),
        (16, checkpoint_levels(2)),
        (20, checkpoint_levels(2)),
        (30, checkpoint_levels(3)),
        (20, [3, 6]),
        (100, checkpoint_states(20)),
    ],
)
def test_steps_run_as_often_as_the_schedule_says(steps, checkpoint):
    result = scan(
        lambda st, e: ([pt.sin(Counted()(st[0] * a))], []),
        [s], n_steps=steps, checkpoint=checkpoint,
    )  # fmt: skip
    graph = rewritten([s, a], [result.states[0], pytensor.grad(result.states[0], s)])
    Counted.count = 0
    Interpreter(graph.inputs, graph.outputs)(np.asarray(0.5), np.asarray(0.9))
    # what the derivative of a step needs is traced when the step runs last
    assert Counted.count == schedule(steps, checkpoint).steps


def build(checkpoint, reverse, stops):
    def step(st, e):
        after = [pt.tanh(st[0] * a + e[0]) + st[1].sum(), pt.tanh(st[1]) * e[0]]
        traced = [st[0] * e[0], st[1] * 2]
        return (after, traced, pt.lt(after[1][0], 0.35)) if stops else (after, traced)

    result = scan(step, [s, v], [x], reverse=reverse, stops=stops, checkpoint=checkpoint)
    cost = result.states[0] ** 2 + result.states[1].sum() + pt.sin(result.traces[0]).sum()
    cost = cost + (result.traces[1] ** 2).sum()
    done = [result.n_done] if stops else []
    return [*done, *result.states, *result.traces, *pytensor.grad(cost, [s, v, x, a])]


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_checkpoints_change_nothing_but_costs(reverse, stops, rng):
    inputs = [s, v, x, a]
    functions = [
        Interpreter(inputs, build(checkpoint, reverse, stops))
        for checkpoint in (None, checkpoint_levels(2), checkpoint_levels(3), [2], [2, 4])
    ]
    stopped = []
    for length in (0, 1, 2, 7, 16):
        values = [rng.normal(), rng.uniform(0.3, 0.5, 2), rng.uniform(0.5, 1.1, length), 0.3]
        wanted, *others = [function(*map(np.asarray, values)) for function in functions]
        stopped.append(stops and wanted[0] < length)
        for found in others:
            assert_close(found, wanted)
    assert any(stopped) == stops


def test_second_derivatives_through_checkpoints(rng):
    values = [0.5, rng.normal(size=9), 0.4]
    found = []
    for checkpoint in (None, checkpoint_levels(2)):
        result = scan(
            lambda st, e: ([pt.sin(st[0] * a) + e[0]], []), [s], [x], checkpoint=checkpoint
        )
        gradient = pytensor.grad(result.states[0], a)
        found.append(evaluate([s, x, a], pytensor.grad(gradient, [s, x, a]), *values))
    assert_close(found[1], found[0])


def test_what_does_not_go_together():
    def step(st, e):
        return [st[0] + 1.0], []

    with pytest.raises(GraphError, match="neither truncated nor"):
        scan(step, [s], n_steps=4, checkpoint=checkpoint_levels(2), truncate=2)
    with pytest.raises(GraphError, match="neither truncated nor"):
        scan(
            step, [s], n_steps=4, checkpoint=checkpoint_levels(2), inverse=lambda st, e: [st[0] - 1]
        )
    with pytest.raises(OptionError, match=r"segments fit into the next longer.*\[2, 5\]"):
        scan(step, [s], n_steps=4, checkpoint=[2, 5])
    with pytest.raises(OptionError, match=r"1 to 6 levels of segments, not 0"):
        scan(step, [s], n_steps=4, checkpoint=checkpoint_levels(0))
    with pytest.raises(GraphError, match="needs a known number of steps"):
        scan(step, [s], n_steps=pt.lscalar(), checkpoint=checkpoint_states(10))


@pytest.mark.parametrize("name", ["scan", "fori_loop"])
def test_a_checkpoint_is_not_a_number_alone(name):
    time = dt.Dim("time", length=8)
    q = dt.scalar("q")
    late = dt.Dim("late")

    def loop(checkpoint, over=time):
        if name == "scan":
            xs = dt.tensor("xs", dims=over)
            return dt.scan(lambda s, x: (s * q + x, None), 1.0, xs, over, checkpoint=checkpoint)
        stop = dt.scalar("n", dtype="int64") if over is late else 8
        return dt.fori_loop(0, stop, lambda i, s: s * q, 1.0, checkpoint=checkpoint)

    with pytest.raises(
        OptionError, match=r"(?s)checkpoint=3 does not say of what.*dt\.checkpoint_levels\(3\)"
    ):
        loop(3)
    with pytest.raises(OptionError, match=r"segments fit into the next longer .*\[3, 2\]"):
        loop([3, 2])
    with pytest.raises(OptionError, match=r"1 to 6 levels of segments, not 7"):
        loop(dt.checkpoint_levels(7))
    with pytest.raises(OptionError, match=r"a positive number of states, not 0"):
        loop(dt.checkpoint_states(0))
    with pytest.raises(GraphError, match=r"8 steps stores \d states or more, not 1"):
        loop(dt.checkpoint_states(1))
    with pytest.raises(
        OptionError, match=r"(?s)needs a known number of steps.*dt\.checkpoint_levels\(2\)"
    ):
        loop(dt.checkpoint_states(100), late)
    with pytest.raises(OptionError, match=r"checkpoint is dt\.checkpoint_levels.*not 'all'"):
        loop("all")
    with pytest.raises(OptionError, match=r"1 to 5 lengths of segments, not \[\]"):
        loop([])


@pytest.mark.parametrize(
    "checkpoint",
    [[10], [2, 4], checkpoint_levels(2), checkpoint_levels(3), checkpoint_states(5)],
    ids=lambda c: str(c),
)
def test_a_range_that_ends_before_it_starts_has_no_step(checkpoint):
    def body(i, state):
        return state + q * (i + 1)

    q, n = dt.scalar("q"), dt.scalar("n", dtype="int64")
    loops = {3: dt.fori_loop(3, 1, body, 0.5, checkpoint=checkpoint)}
    if checkpoint != checkpoint_states(5):
        late = dt.fori_loop(0, n, body, 0.5, checkpoint=checkpoint)
        loops |= {length: dt.substitute(late, {n: length}) for length in (-1, -2, -7)}
        f = dt.function([q, n], [late, dt.grad(late, q)], backend="python")
        for length, total in ((-1, 0), (-2, 0), (-7, 0), (3, 6)):
            np.testing.assert_allclose(f(0.5, length), [0.5 + 0.5 * total, total])
    for loop in loops.values():
        assert dt.evaluate([loop, dt.grad(loop, q)], {q: 0.5}) == [0.5, 0.0]


def peak(steps, **options):
    """States' worth of memory that a gradient takes at most."""
    size = 2_000
    start = pt.vector("start", shape=(size,))

    def step(st, e):
        position, momentum = st
        momentum = momentum - 0.01 * pt.sin(position)
        return [position + 0.01 * momentum, momentum], []

    def back(st, e):
        position, momentum = st
        position = position - 0.01 * momentum
        return [position, momentum + 0.01 * pt.sin(position)]

    if options.get("inverse"):
        options["inverse"] = back
    result = scan(step, [start, start], n_steps=steps, **options)
    graph = rewritten([start], pytensor.grad(result.states[0].sum(), [start]))
    run = Interpreter(graph.inputs, graph.outputs)
    tracemalloc.start()
    try:
        (gradient,) = run(np.linspace(0, 1, size))
        return gradient, tracemalloc.get_traced_memory()[1] / (8 * size)
    finally:
        tracemalloc.stop()


def test_memory_grows_as_the_schedule_says():
    few, many = 100, 400
    stored = [peak(steps) for steps in (few, many)]
    segments = [peak(steps, checkpoint=checkpoint_levels(2)) for steps in (few, many)]
    inverse = [peak(steps, inverse=True) for steps in (few, many)]
    for found in (segments, inverse):
        assert_close([g for g, _ in found], [g for g, _ in stored], rtol=1e-7)
    assert stored[1][1] - stored[0][1] == pytest.approx(many - few, rel=0.2)
    # twice the states at the starts of segments, and twice those within one
    assert segments[1][1] < segments[0][1] * 2.2
    assert segments[1][1] < stored[1][1] / 3
    assert inverse[1][1] < inverse[0][1] + 3  # 300 more steps, and the odd array


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="Linux tells what it was at most"
)
def test_memory_of_compiled_code():
    """Stored states take what they take; segments and an inverse take next to nothing."""
    found = {}
    for how in (
        "{}",
        "{'checkpoint': checkpoint_levels(2)}",
        "{'checkpoint': checkpoint_levels(3)}",
        "{'inverse': back}",
    ):
        command = [sys.executable, "-c", _MEASURE.replace("OPTIONS", how)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        found[how] = float(done.stdout.splitlines()[-1])
    stored = 100_000 * 3 * 16 * 8  # both states, and the sine, which the way back reads
    assert found.pop("{}") == pytest.approx(stored, rel=0.3)
    assert max(found.values()) < stored / 10


# what the resident memory grows by beyond a call of few steps
_MEASURE = """
import numpy as np, pytensor, pytensor.tensor as pt
from dimtensor.backends import compile_positional
from dimtensor.graph.checkpoints import checkpoint_levels
from dimtensor.ops.loop import scan

start, k, n = pt.vector("start", shape=(16,)), pt.dscalar("k"), pt.lscalar("n")

def step(states, elements):
    position, momentum = states
    momentum = momentum - k * pt.sin(position)
    return [position + k * momentum, momentum], []

def back(states, elements):
    position, momentum = states
    position = position - k * momentum
    return [position, momentum + k * pt.sin(position)]

result = scan(step, [start, start], n_steps=n, **OPTIONS)
outputs = [result.states[0], *pytensor.grad(result.states[0].sum(), [start, k])]
call = compile_positional("numba", [start, k, n], outputs).call
values = np.linspace(0, 1, 16), np.asarray(0.001)
sizes = []
for steps in (10, 100_000):
    call(*values, np.asarray(steps))
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    sizes.append(int(status["VmHWM"].split()[0]) * 1024)
print(sizes[1] - sizes[0])
"""


@pytest.mark.compiled
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("checkpoint", [[2, 4], dt.checkpoint_levels(2)])
def test_checkpoints_on_jax(checkpoint, known):
    """The steps are s -> sin(a s) + x; the derivative by a is taken along."""
    time = dt.Dim("time", length=8) if known else dt.Dim("time")
    q, xs = dt.scalar("q"), dt.tensor("xs", dims=time)
    last = dt.reduce(lambda s, x: dt.sin(s * q) + x, q * 1.0, xs, dim=time, checkpoint=checkpoint)
    values, rate = np.linspace(0.1, 1.0, 8), 0.7
    state, slope = rate, 1.0
    for value in values:
        state, slope = np.sin(state * rate) + value, np.cos(state * rate) * (slope * rate + state)
    found = dt.evaluate(dt.grad(last, q), {q: rate, xs: values}, backend="jax")
    assert float(found) == pytest.approx(slope, rel=1e-12)
