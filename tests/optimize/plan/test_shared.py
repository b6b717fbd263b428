"""What a value and its gradient both need is computed once."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt

OBS, COLUMN = dt.Dim("obs"), dt.Dim("column", length=3)
# operands are in the order of the inputs, those in a derivative have what it is taken by first
X = dt.tensor("x", dims=OBS)
M = dt.tensor("m", dims=[OBS, COLUMN])
A, B = dt.scalar("a"), dt.scalar("b")


@pytest.mark.compiled
@pytest.mark.parametrize(
    "formula",
    [
        dt.exp(A + B * X),
        dt.exp(X * A * B),
        dt.exp(M * A + B) * X,
        dt.where((X > A) & (X != B), dt.exp(A * X + B), X),
    ],
)
def test_what_a_value_and_its_gradient_need_is_computed_once(formula: dt.DimTensor):
    value = formula.sum()
    f = dt.function([X, M, A, B], [value, *dt.grad(value, [A, B])], backend="numba")
    assert f.source.count("math.exp(") == 1


@pytest.mark.compiled
def test_a_recurrence_runs_forward_once():
    def step(level, x):
        following = dt.tanh(A * level + x * B) + level * B
        return following, following * A

    _, levels = dt.scan(step, 0.1, X, dim=OBS)
    value = (levels**2).sum()
    f = dt.function([X, A, B], [value, *dt.grad(value, [A, B])], backend="numba")
    assert f.source.count("tanh(") == 1  # the step of the derivative has the state's
    given = np.array([0.3, -0.2, 0.5])
    found = f(a=0.4, b=0.7, x=given)
    level, total = 0.1, 0.0
    for x in given:
        level = np.tanh(0.4 * level + x * 0.7) + level * 0.7
        total += (level * 0.4) ** 2
    np.testing.assert_allclose(found[0], total, rtol=1e-12)
