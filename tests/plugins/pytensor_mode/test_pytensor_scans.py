"""Scans of PyTensor as our loops, against PyTensor's Python mode and finite differences."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.graph.fg import FunctionGraph
from pytensor.scan.utils import until

import dimtensor as dt
from dimtensor.interop.scans.lengths import KnownIntegers

pytestmark = pytest.mark.compiled

LOOPS = dt.pytensor_mode(strict=True)
# nothing is compiled or simplified: each scan steps through its buffers in Python
PYTHON = Mode("py", "minimum_compile")


def scan(*args, **kwargs):
    return pytensor.scan(*args, return_updates=False, **kwargs)


def agree(inputs, outputs, *calls, rtol=1e-10):
    """Compile in both modes and compare every call; our loops are all that runs."""
    ours = pytensor.function(inputs, outputs, mode=LOOPS, on_unused_input="ignore")
    theirs = pytensor.function(inputs, outputs, mode=PYTHON, on_unused_input="ignore")
    for arguments in calls:
        for got, expected in zip(ours(*arguments), theirs(*arguments), strict=True):
            assert got.dtype == expected.dtype
            assert got.shape == expected.shape
            np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-12)
    assert ours.vm.jit_fn.native
    return ours


@pytest.mark.slow
def test_states_sequences_and_traces(rng):
    x, start, a = pt.vector("x"), pt.scalar("start"), pt.scalar("a")
    states, squares = scan(
        lambda v, s, a: (a * s + v, (s - v) ** 2),
        sequences=[x], outputs_info=[start, None], non_sequences=[a],
    )  # fmt: skip
    cost = states[-1] + (squares * states).sum()
    outputs = [states, squares, states[-1], squares[::-1], *pt.grad(cost, [x, start, a])]
    calls = [(rng.normal(size=n), np.array(0.3), np.array(0.8)) for n in (5, 1)]
    f = agree([x, start, a], outputs, *calls)
    values, s, wanted = calls[0][0], 0.3, []
    for v in values:
        s = 0.8 * s + v
        wanted.append(s)
    np.testing.assert_allclose(f(*calls[0])[0], wanted, rtol=1e-13)


@pytest.mark.slow
def test_earlier_elements(rng):
    e, start = pt.vector("e"), pt.vector("start")
    ab = pt.vector("ab")
    xs = scan(
        lambda v, x1, x3, ab: pt.tanh(ab[0] * x1 + ab[1] * x3) + v,
        sequences=[e], outputs_info=[{"initial": start, "taps": [-1, -3]}], non_sequences=[ab],
    )  # fmt: skip
    outputs = [xs, xs[-1], xs[-2:], *pt.grad((xs**2).sum() + xs[-2], [e, start, ab])]
    agree([e, start, ab], outputs, (rng.normal(size=6), rng.normal(size=3), rng.normal(size=2)))


@pytest.mark.slow
def test_earlier_and_later_elements_of_a_sequence(rng):
    e, a = pt.vector("e"), pt.scalar("a")
    ys = scan(
        lambda before, now, after, a: a * before + now * after,
        sequences=[{"input": e, "taps": [-1, 0, 2]}], non_sequences=[a],
    )  # fmt: skip
    agree([e, a], [ys, *pt.grad((ys**2).sum(), [e, a])], (rng.normal(size=7), np.array(0.4)))


@pytest.mark.slow
def test_arrays_as_states(rng):
    e, start, m = pt.matrix("e"), pt.vector("start"), pt.matrix("m")
    xs = scan(
        lambda v, x, m: pt.tanh(m @ x + v), sequences=[e], outputs_info=[start], non_sequences=[m]
    )
    outputs = [xs, xs[-1], xs[:, 0], *pt.grad((xs**2).sum(), [e, start, m])]
    square = rng.normal(size=(3, 3))
    agree([e, start, m], outputs, (rng.normal(size=(4, 3)), rng.normal(size=3), square))


@pytest.mark.slow
def test_a_loop_that_stops(rng):
    a, start = pt.scalar("a"), pt.scalar("start")

    def newton(x, a):
        new = (x + a / x) / 2
        return new, until(abs(new * new - a) < 1e-12)

    xs = scan(newton, outputs_info=[start], non_sequences=[a], n_steps=50)
    outputs = [xs, xs[-1], xs.shape[0], *pt.grad(xs[-1], [a, start])]
    f = agree([a, start], outputs, (np.array(2.0), np.array(900.0)), (np.array(9.0), np.array(3.1)))
    np.testing.assert_allclose(f(2.0, 900.0)[1], np.sqrt(2))
    np.testing.assert_allclose(f(2.0, 900.0)[3], 0.5 / np.sqrt(2))


@pytest.mark.slow
def test_a_loop_in_a_loop(rng):
    x, a = pt.vector("x"), pt.scalar("a")

    def outer(v, s, a):
        inner = scan(
            lambda h, a, v: a * pt.tanh(h) + v, outputs_info=[s], non_sequences=[a, v], n_steps=3
        )
        return inner[-1]

    s = scan(outer, sequences=[x], outputs_info=[pt.zeros(())], non_sequences=[a])
    agree([x, a], [s, *pt.grad((s**2).sum(), [x, a])], (rng.normal(size=4), np.array(0.6)))


@pytest.mark.slow
def test_the_number_of_steps_is_an_argument(rng):
    a, start, n = pt.scalar("a"), pt.scalar("start"), pt.lscalar("n")
    xs = scan(lambda x, a: a * x, outputs_info=[start], non_sequences=[a], n_steps=n)
    final = [xs[-1], pt.grad(xs[-1], a)]
    agree([a, start, n], [xs, *final], *((np.array(0.9), np.array(2.0), k) for k in (4, 1)))
    agree([a, start, n], final, *((np.array(0.9), np.array(2.0), k) for k in (4, 1)))


@pytest.mark.slow
def test_sequences_are_longer_than_the_loop(rng):
    x = pt.vector("x")
    sums = scan(lambda v, s: s + v, sequences=[x], outputs_info=[pt.zeros(())], n_steps=3)
    agree([x], [sums, pt.grad((sums**2).sum(), x)], (rng.normal(size=5),))
    f = pytensor.function([x], sums, mode=LOOPS)
    with pytest.raises(ValueError, match="the kernel does not fit"):
        f(np.ones(2))


@pytest.mark.slow
def test_elements_from_the_end_backwards(rng):
    x, start = pt.vector("x"), pt.scalar("start")
    s = scan(lambda v, s: s * v + 1, sequences=[x], outputs_info=[start], go_backwards=True)
    agree([x, start], [s, *pt.grad(s[-1], [x, start])], (rng.normal(size=4), np.array(1.5)))


@pytest.mark.slow
@pytest.mark.parametrize("length", [6, None])
def test_gradients_of_the_last_steps_alone(rng, length):
    """Buffers are longer than the steps that fill them: what is after these is 0, or stays."""
    x, a, start = pt.vector("x", shape=(length,)), pt.scalar("a"), pt.vector("start", shape=(2,))
    s = scan(
        lambda v, before, last, a: pt.sin(a * last) + a * before + v,
        sequences=[x],
        outputs_info=[{"initial": start, "taps": [-2, -1]}],
        non_sequences=[a],
        truncate_gradient=2,
    )
    sizes = [6] if length else [6, 2, 1]
    calls = [(rng.normal(size=n), np.array(0.7), rng.normal(size=2)) for n in sizes]
    slopes = [v for cost in (s[-1], (s**2).sum()) for v in pt.grad(cost, [x, a, start])]
    agree([x, a, start], [s[-1], *slopes], *calls)


@pytest.mark.slow
def test_derivatives_of_derivatives(rng):
    x, a = pt.vector("x"), pt.scalar("a")
    s = scan(
        lambda v, s, a: pt.sin(a * s) + v,
        sequences=[x],
        outputs_info=[pt.zeros(())],
        non_sequences=[a],
    )
    slope = pt.grad((s**2).sum(), a)
    agree([x, a], [slope, *pt.grad(slope, [x, a])], (rng.normal(size=5), np.array(0.7)), rtol=1e-9)


@pytest.mark.slow
def test_integers_and_truths(rng):
    k, x = pt.lvector("k"), pt.vector("x")
    counts, flags = scan(
        lambda v, e, n, f: (n + v, pt.or_(f, e > 1)),
        sequences=[k, x],
        outputs_info=[pt.constant(0, dtype="int64"), pt.constant(np.array(False))],
    )  # fmt: skip
    agree([k, x], [counts, flags], (np.array([3, -1, 4]), np.array([0.0, 2.0, 0.0])))


def test_without_a_step():
    x, start = pt.vector("x"), pt.scalar("start")
    s = scan(lambda v, s: s * v, sequences=[x], outputs_info=[start])
    f = pytensor.function([x, start], [s, s.sum()], mode=LOOPS)
    found, total = f(np.zeros(0), np.array(2.0))
    assert found.shape == (0,)
    assert total == 0


def test_negative_numbers_of_steps_are_pytensors_errors():
    start, n = pt.scalar("start"), pt.lscalar("n")
    last = scan(lambda x: 0.5 * x, outputs_info=[start], n_steps=n)[-1]
    f = pytensor.function([start, n], last, mode=LOOPS)
    assert f(8.0, 3) == 1.0
    with pytest.raises(ValueError, match="the kernel does not fit"):
        f(8.0, -1)


def test_lengths_that_rewriting_found_count():
    """The type of an output stays where an input is exchanged for one whose length is known."""
    x, one = pt.vector("x"), pt.vector("one", shape=(1,))
    graph = FunctionGraph([x, one], [pt.exp(x)], clone=False)
    graph.replace(x, one)
    assert graph.outputs[0].type.shape == (None,)
    assert KnownIntegers().of(graph.outputs[0]) == {None: 1}


def test_the_step_of_a_model(rng):
    """What PyMC makes of a walk: the last steps of a buffer that is as long as its data."""
    new, rho = pt.vector("new", shape=(20,)), pt.scalar("rho")
    path = scan(
        lambda v, x, rho: rho * x + v,
        sequences=[new],
        outputs_info=[pt.zeros(())],
        non_sequences=[rho],
    )
    cost = -0.5 * ((path - 1) ** 2).sum() - 0.5 * (new**2).sum()
    values = rng.normal(size=20)
    f = agree([new, rho], [cost, *pt.grad(cost, [new, rho])], (values, np.array(0.4)))
    step = 1e-6
    ends = [f(values, np.array(0.4 + h))[0] for h in (step, -step)]
    np.testing.assert_allclose(
        f(values, np.array(0.4))[2], (ends[0] - ends[1]) / (2 * step), rtol=1e-6
    )
