"""Scans that run by turns with what is computed from their traces."""

import itertools

import numpy as np
import pytensor.tensor as pt
import pytest

from dimtensor.kernels.compiler import compile_kernel
from dimtensor.kernels.ir.nodes import For
from dimtensor.kernels.ir.python import printed
from dimtensor.kernels.passes.strips_of_steps import in_strips
from dimtensor.ops.loop import scan
from dimtensor.tuning import SCAN_STRIP_STEPS, SUM_BLOCK
from tests.kernels.interpret import interpreted
from tests.kernels.reading import parsed

Y, A = pt.dvector("y"), pt.dscalar("a")
STRIPS = f", {SCAN_STRIP_STEPS})"


def recurrence(reverse=False, n=Y):
    """The last state, and the states before all steps."""

    def step(states, xs):
        (s,), (y,) = states, xs
        return [pt.tanh(A * s + y)], [s]

    result = scan(step, [pt.as_tensor(np.float64(0.3))], [n], reverse=reverse)
    return result.states[0], result.traces[0]


def by_steps(y, a, reverse=False):
    s, before = 0.3, np.zeros(len(y))
    for t in reversed(range(len(y))) if reverse else range(len(y)):
        before[t] = s
        s = np.tanh(a * s + y[t])
    return s, before


@pytest.mark.parametrize("reverse", [False, True])
def test_elements_of_traces(reverse, rng):
    """One loop that reads the trace, and one that reads what this one has stored."""
    last, before = recurrence(reverse)
    quotient = before / (A + Y[::-1])
    call = interpreted([Y, A], [last, quotient, before])
    assert STRIPS in call.source
    for n in (
        0,
        1,
        SCAN_STRIP_STEPS - 1,
        SCAN_STRIP_STEPS,
        SCAN_STRIP_STEPS + 1,
        3 * SCAN_STRIP_STEPS + 5,
    ):
        y = rng.normal(size=n)
        s, expected = by_steps(y, 0.7, reverse)
        found = call(y, np.asarray(0.7))
        for one, other in zip(found, [s, expected / (0.7 + y[::-1]), expected], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("reverse", [False, True])
def test_what_needs_other_steps_waits_for_the_last(reverse, rng):
    """Other positions, a sum, the last state and one element are known after the loop only."""
    last, before = recurrence(reverse)
    cases = [
        (before[::-1] / A, lambda s, b: b[::-1] / 0.7),
        (before[1:] / before[:-1], lambda s, b: b[1:] / b[:-1]),
        (before / last, lambda s, b: b / s),
        (before / before.sum(), lambda s, b: b / b.sum()),
        (before / before[0], lambda s, b: b / b[0]),
        (pt.tanh(before + last), lambda s, b: np.tanh(b + s)),
        (pt.tanh(before + last).sum(), lambda s, b: np.tanh(b + s).sum()),
        (pt.tanh(before + pt.exp(last)).sum(), lambda s, b: np.tanh(b + np.exp(s)).sum()),
    ]
    y = rng.normal(size=2 * SCAN_STRIP_STEPS + 3)
    for output, expected in cases:
        for outputs in ([output], [output, before]):  # in place of the trace, and beside it
            call = interpreted([Y, A], outputs)
            assert STRIPS not in call.source
            found = call(y, np.asarray(0.7))[0]
            np.testing.assert_allclose(found, expected(*by_steps(y, 0.7, reverse)), rtol=1e-12)


def test_few_steps_are_left_alone():
    few = pt.tensor("few", dtype="float64", shape=(SCAN_STRIP_STEPS,))
    _, before = recurrence(n=few)
    assert STRIPS not in interpreted([few, A], [before / A]).source


@pytest.mark.compiled
def test_machine_code_gives_the_same_bits_as_the_loops_one_after_the_other(rng):
    """A second reader, at other positions, does not change what is computed at the same ones."""
    _, before = recurrence()
    y, a = rng.normal(size=5 * SCAN_STRIP_STEPS + 7), np.asarray(0.7)
    found = []
    for output in (before / (A + Y), (before / (A + Y))[::-1]):
        kernel = compile_kernel([Y, A], [output])
        assert kernel.native is not None
        found.append(kernel.native.bind(kernel.constants)(y, a)[0])
    np.testing.assert_array_equal(found[0], found[1][::-1])


@pytest.mark.parametrize("known", [False, True])
def test_sums_go_along(known, rng):
    """Sums of what is computed of a trace are taken strip by strip, in blocks and without them."""
    n = pt.tensor("known", dtype="float64", shape=(3 * SCAN_STRIP_STEPS + 5,)) if known else Y
    _, before = recurrence(n=n)
    sums = [pt.log(2.0 + before).sum(), (before / (A + n)).sum()]
    call = interpreted([n, A], sums)
    assert STRIPS in call.source
    for length in (
        [3 * SCAN_STRIP_STEPS + 5]
        if known
        else [0, 1, SCAN_STRIP_STEPS + 1, SUM_BLOCK, SUM_BLOCK + SCAN_STRIP_STEPS + 1]
    ):
        y = rng.normal(size=length)
        _, expected = by_steps(y, 0.7)
        wanted = [np.log(2.0 + expected).sum(), (expected / (0.7 + y)).sum()]
        np.testing.assert_allclose(call(y, np.asarray(0.7)), wanted, rtol=1e-11)


def test_arrays_of_a_strip(rng):
    """What nothing else reads is as long as a strip; a trace that is returned has all steps."""
    _, before = recurrence()
    call = interpreted([Y, A], [pt.log(2.0 + before).sum()])
    assert call.source.count(f"np.empty(({SCAN_STRIP_STEPS},)") == 1
    assert "np.empty((n0,)" not in call.source
    others = {
        "returned": before,
        "read from the end": (before[::-1] * Y).sum(),
        "read by one": before[1],
    }
    y = rng.normal(size=2 * SCAN_STRIP_STEPS + 3)
    _, s = by_steps(y, 0.7)
    expected = [s, (s[::-1] * y).sum(), s[1]]
    for other, wanted in zip(others.values(), expected, strict=True):
        call = interpreted([Y, A], [pt.log(2.0 + before).sum(), other])
        assert f"np.empty(({SCAN_STRIP_STEPS},)" not in call.source
        total, found = call(y, np.asarray(0.7))
        np.testing.assert_allclose(total, np.log(2.0 + s).sum(), rtol=1e-12)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_totals_go_along_backwards(rng):
    """A sum by blocks of positions waits for steps from the end; its result is the same."""
    _, before = recurrence(reverse=True)
    call = interpreted([Y, A], [pt.log(2.0 + before).sum()])
    y = rng.normal(size=SUM_BLOCK + 7)
    _, s = by_steps(y, 0.7, reverse=True)
    np.testing.assert_allclose(call(y, np.asarray(0.7)), [np.log(2.0 + s).sum()], rtol=1e-12)


STEPS_AND_SUM = """
def kernel(x):
    n0 = x.shape[0]
    v = np.empty((n0,), dtype=np.float64)
    s = 0.5
    total = 0.0
    for step0 in range(n0):
        t0 = x[step0]
        v[step0] = s * t0
        s = s * t0 + {read}
    for j0 in range(0, n0, 1024):
        part = {start}
        for i0 in range(j0, min(j0 + 1024, n0)):
            part += v[i0] * v[i0]
        total += part
    return (total, s, )
"""


@pytest.mark.parametrize(
    ("read", "start", "length"),
    [
        ("0.1", "0.0", str(SCAN_STRIP_STEPS)),
        ("v[step0]", "0.0", str(SCAN_STRIP_STEPS)),
        ("v[0]", "0.0", "n0"),
        ("0.1", "v[n0 - 1]", None),
        ("0.1", "s", None),
    ],
    ids=["nothing", "its position", "another position", "the block another", "the block the state"],
)
def test_steps_and_blocks_that_read_the_trace(read, start, length, rng):
    """What a step reads elsewhere needs the whole trace; what a block reads, steps after it."""
    function = parsed(STEPS_AND_SUM.format(read=read, start=start), [("float64", 1)], {})
    names = itertools.count()
    body = [
        each.replace(is_scan=True) if isinstance(each, For) and each.step == 1 else each
        for each in function.body
    ]
    made = in_strips(body, function.results, lambda start: f"{start}{next(names)}_")
    source = printed(function.replace(body=tuple(made)))
    assert (STRIPS in source) == (length is not None)
    assert f"np.empty(({length or 'n0'},)" in source
    found, wanted = {"np": np}, {"np": np}
    exec(source, found)
    exec(printed(function), wanted)
    x = rng.uniform(-1, 1, size=2 * SUM_BLOCK + SCAN_STRIP_STEPS + 5)
    np.testing.assert_allclose(found["kernel"](x), wanted["kernel"](x), rtol=1e-13)
