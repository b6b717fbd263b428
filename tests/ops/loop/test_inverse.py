"""Inverses of loops, tried."""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest

from dimtensor.errors import GraphError
from dimtensor.ops.loop import scan
from dimtensor.ops.loop.inverse import inverse_error
from tests.ops.loop.runs import evaluate

x, v = pt.dvector("x"), pt.dvector("v")
a, s = pt.dscalar("a"), pt.dscalar("s")


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
