"""A loop as another loop: without a known number of steps, or with its inverse tried."""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest

from dimtensor.errors import GraphError
from dimtensor.ops.loop import Loop, scan
from dimtensor.ops.loop.convert import inverse_error, scan_to_loop
from tests.ops.loop.runs import assert_close, evaluate

x, v = pt.dvector("x"), pt.dvector("v")
a, s = pt.dscalar("a"), pt.dscalar("s")


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_is_a_loop_with_buffers(reverse, stops, rng):
    def step(st, e):
        after, traced = [pt.tanh(st[0] * a) + e[0], st[1] * st[0]], [st[1] * e[0], st[0]]
        return (after, traced, pt.lt(after[0], 1.2)) if stops else (after, traced)

    result = scan(step, [s, v], [x], reverse=reverse, stops=stops)
    outputs = result.states[0].owner.outputs
    loop = scan_to_loop(result.states[0].owner)
    assert isinstance(loop[0].owner.op, Loop)
    for length in (0, 1, 6):
        values = 0.5, rng.normal(size=2), rng.uniform(size=length), 0.9
        wanted = evaluate([s, v, x, a], outputs, *values)
        assert_close(evaluate([s, v, x, a], loop, *values), wanted)


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("right", [True, False])
def test_how_far_an_inverse_is_off(right, stops):
    def step(st, e):
        after = [st[0] + a * st[1] * e[0], st[1] * 2, st[2] + 1]
        return (after, [], pt.lt(after[2], 3)) if stops else (after, [])

    def back(st, e):
        vector = st[1] / 2
        return [st[0] - a * vector * (e[0] if right else 0.0), vector, st[2] - 1]

    result = scan(step, [v, v, 0], [x], stops=stops, inverse=back)
    error = inverse_error(result)
    found = evaluate([v, a, x], [error], np.array([1.0, 0.5]), 0.5, np.ones(4))[0]
    # the first state moves by a * v * 2**t; it is larger than 1, and that is by what is divided
    wanted = 0 if right else max(0.5 * 2**t / (0.5 * 2**t + 0.5) for t in range(3 if stops else 4))
    assert found == pytest.approx(wanted, abs=1e-12)


def test_a_loop_without_inverse_has_none_to_try():
    with pytest.raises(GraphError, match="not the results of a loop with an inverse"):
        inverse_error(scan(lambda st, e: ([st[0] * a], []), [s], n_steps=2))
