"""Rewrites that are asked for: applied where they are, and nowhere else."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import BACKENDS

T = dt.Dim("t")
X, Y = dt.tensor("x", dims=T), dt.tensor("y", dims=T)
LARGE = 1e16  # to which 1 cannot be added, and 2 can
TOTAL = dt.reduce(lambda s, e: (s + e[0]) + e[1], LARGE, (X, Y), dim=T)
ONES = np.ones(5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_sums_of_a_step_are_in_another_order_where_that_is_asked_for(backend: str) -> None:
    exact = dt.function([X, Y], TOTAL, backend=backend)
    fast = dt.function([X, Y], TOTAL, backend=backend, allow="reassociate")
    again = dt.function([X, Y], TOTAL, backend=backend, allow=[])
    total = grouped = np.float64(LARGE)
    for one in ONES:
        total = (total + one) + one
        grouped = grouped + (one + one)
    assert total != grouped
    assert float(exact(ONES, ONES)) == float(again(ONES, ONES)) == total
    expected = total if backend == "python" else grouped
    for function in (fast, pickle.loads(pickle.dumps(fast))):
        assert float(function(ONES, ONES)) == expected
    many = fast((("chain", "t"), np.ones((2, 5))), ONES)
    assert many.values.tolist() == [expected, expected]


def test_with_state() -> None:
    s = dt.scalar("s")
    f = dt.function([X, Y], TOTAL, "python", updates={s: s + 1.0}, allow=["reassociate"])
    state, total = f.step({"s": 1.0}, ONES, ONES)
    assert (float(state["s"]), float(total)) == (2.0, LARGE)


def test_an_unknown_rewrite_is_refused() -> None:
    with pytest.raises(dt.OptionError, match=r"no rewrite 'reasociate' \(did you mean 'reassoc"):
        dt.function([X, Y], TOTAL, "python", allow="reasociate")
