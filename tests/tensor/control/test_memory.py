"""What gradients of loops store, measured by the benchmark of it in processes of their own."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from pytensor import grad
from pytensor import tensor as pt

from dimtensor.backends import compile_positional
from dimtensor.graph.checkpoints import levels
from dimtensor.ops.loop import scan

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def case(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("cases.loop_memory")


def test_all_options_give_the_same_gradient(case):
    options = ["stored", "inverse", *case.LEVELS]
    found = [case.gradient(who, "python")(*case.arguments(30)) for who in options]
    for results in found:
        for one, other in zip(results, found[0], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)
    assert abs(found[0][0] - case.arguments(0)[0].sum()) > 1e-4


@pytest.mark.slow
@pytest.mark.compiled
def test_memory_stays_flat(case):
    grown = {
        (who, n): case.measured(who, n)[0]["peak_mb"]
        for who, n in [
            ("stored", 100_000), ("inverse", 10_000), ("inverse", 1_000_000),
            ("checkpoint-2", 1_000_000),
        ]
    }  # fmt: skip
    assert grown["stored", 100_000] > 20  # two vectors of 16 numbers in each step are 25.6 MB
    assert abs(grown["inverse", 1_000_000] - grown["inverse", 10_000]) < 1
    assert grown["checkpoint-2", 1_000_000] < 3  # 2,000 states are 0.5 MB


def test_gradients_with_three_levels_are_kernels(monkeypatch):
    monkeypatch.setenv("DIMTENSOR_STRICT_KERNELS", "1")
    start, k = pt.vector("start"), pt.dscalar("k")
    last = scan(
        lambda s, e: ([pt.sin(k * s[0])], []), [start], n_steps=1000, checkpoint=levels(3)
    ).states
    compile_positional("numba", [start, k], [grad(last[0].sum(), k)])
