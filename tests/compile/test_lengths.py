"""Lengths that come with the data, told by any input of a function."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.dims import RenamedDim
from dimtensor.errors import GraphError
from tests.backend_names import BACKENDS, COMPILED

T, Q = dt.Dim("t"), dt.Dim("q")
X = dt.scalar("x")
OF = dt.tensor("of", dims=T)
RENAMED = dt.tensor("renamed", dims=RenamedDim(T, "u"))
OTHER = dt.tensor("other", dims=Q)
STEPS = np.arange(4.0)
NOTHING = r"nothing in the expression determines the length of Dim\('t'\)"

CASES = {  # at x = 2 and 4 positions along t
    "elements": (lambda: X * dt.arange(T), 2 * STEPS),
    "a sum": (lambda: (X * dt.arange(T)).sum(), 12.0),
    "the length": (lambda: X * dt.length(T), 8.0),
    "another name": (lambda: (X * dt.arange(RenamedDim(T, "w"))).sum(), 12.0),
    "lag": (lambda: (X * dt.arange(T)).shift({T: 1}, fill_value=9.0), [9.0, 0.0, 2.0, 4.0]),
    "scan": (lambda: dt.reduce(lambda s, e: s + e * X, 0.0, 1.0 * dt.arange(T), T), 12.0),
    "step": (
        lambda: dt.fori_loop(0, 3, lambda i, s: s + (dt.arange(T) * X).sum(), 0.0), 36.0
    ),
    "a lag in a step": (
        lambda: dt.fori_loop(
            0, 2, lambda i, s: s + (s * dt.arange(T)).shift({T: 1}, fill_value=0.0).sum(), X
        ),
        32.0,
    ),
    "arm": (lambda: dt.if_else(X > 0, lambda: (X * dt.arange(T)).sum(), lambda: X), 12.0),
    "gradient": (lambda: dt.grad((X**2 * dt.arange(T)).sum(), X), 24.0),
    "jacobian": (lambda: dt.jacobian(X**2 * dt.arange(T), X), 4 * STEPS),
    "jvp": (lambda: dt.jvp(X**2 * dt.arange(T), X, 1.0), 4 * STEPS),
    "gradient of a step": (
        lambda: dt.grad(dt.fori_loop(0, 2, lambda i, s: s + (s * dt.arange(T)).sum(), X), X), 49.0
    ),
}  # fmt: skip


@pytest.mark.parametrize("source", [OF, RENAMED], ids=["the dim", "the dim by another name"])
@pytest.mark.parametrize("case", CASES)
def test_an_input_that_nothing_needs_tells_a_length(case, source):
    make, expected = CASES[case]
    f = dt.function([X, source], make(), backend="python")
    np.testing.assert_allclose(f(2.0, STEPS), expected)


@pytest.mark.parametrize("case", CASES)
def test_a_length_that_nothing_tells_is_an_error(case):
    with pytest.raises(GraphError, match=NOTHING):
        dt.function([X], CASES[case][0](), backend="python")(2.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_lag_of_positions(backend):
    lagged = (1.0 * dt.arange(T)).shift({T: 1})
    with pytest.raises(GraphError, match=NOTHING):
        lagged.eval(backend=backend)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
def test_an_input_tells_a_length_to_compiled_code(backend):
    f = dt.function([X, OF], (X * dt.arange(T)).shift({T: 1}, fill_value=9.0), backend=backend)
    np.testing.assert_allclose(f(2.0, STEPS), [9.0, 0.0, 2.0, 4.0])
    np.testing.assert_allclose(f(2.0, STEPS[:2]), [9.0, 0.0])


@pytest.mark.parametrize(("old", "new"), [(T, Q), (Q, T)])
def test_dims_that_take_the_place_of_each_other_are_as_long(old, new):
    """Whichever of them an input has."""
    told = dt.tensor("told", dims=new)
    x = dt.arange(old).relabel(old, new) * told
    steps = dt.fori_loop(0, 2, lambda i, s: s + x.sum(), 0.0)
    found = dt.function([told], [x, steps], backend="python")(STEPS)
    np.testing.assert_allclose(found[0], STEPS**2)
    assert found[1].item() == 28.0
    back = told.relabel(new, old).sum() * dt.arange(old)
    np.testing.assert_allclose(dt.function([told], back, backend="python")(STEPS), 6 * STEPS)


@pytest.mark.parametrize("ends", [(20, None), (None, 30), (20, 30), (-30, -20), (40, 60)], ids=str)
def test_long_slices_of_a_length_that_only_plain_arrays_tell(ends):
    t = dt.Dim("t")
    x = dt.tensor("x", dims=t)
    f = dt.function([x], x.isel(t=slice(*ends)).sum(), backend="python")
    values = np.arange(50.0)
    assert f.positional(values)[0] == values[slice(*ends)].sum()
