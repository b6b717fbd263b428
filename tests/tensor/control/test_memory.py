"""What gradients of loops store, measured by the benchmark of it in processes of their own."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from pytensor import grad
from pytensor import tensor as pt
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors

import dimtensor as dt
from dimtensor.backends import compile_positional
from dimtensor.compile.program import build_program
from dimtensor.graph.checkpoints import checkpoint_levels
from dimtensor.lower.context import LoweringOptions
from dimtensor.ops.loop import scan
from dimtensor.ops.loop.op import Scan
from dimtensor.optimize.target import Target

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


@pytest.mark.parametrize("how", ["stored", "inverse", "truncate"])
@pytest.mark.parametrize("most", [99, 150])
def test_loops_in_steps_are_cut_into_segments(most, how):
    """Where room is cleared, as on JAX: of many steps that may run, and seldom do."""
    over = dt.Dim("over", length=3)
    rate, ends = dt.scalar("rate"), dt.tensor("ends", dims=over)

    options = {"inverse": {"inverse": lambda s: (s[0] - 1, s[1] / rate)}, "truncate": {how: 149}}

    def step(state, end):
        def after(s):
            return s[0] + 1, rate * s[1]

        return dt.while_loop(lambda s: s[0] < end, after, state, most, **options.get(how, {}))

    inputs = [rate, ends]
    path = dt.scan(lambda s, end: (step(s, end), step(s, end)[1]), (0, 2.0), ends, dim=over)[1]
    results = [path.sum(), dt.grad(path.sum(), rate)]
    values = [np.array(1.01), np.array([7.0, 20.0, 90.0])]
    steps = values[1]
    expected = [2 * (1.01**steps).sum(), 2 * (steps * 1.01 ** (steps - 1)).sum()]
    for segments in (False, True):
        nodes = [x.node for x in inputs], [x.node for x in results]
        target = Target(clears_room=segments)
        program = build_program(*nodes, options=LoweringOptions(target))
        lengths = {int(x.data) for x in _constants(program.outputs) if x.data.ndim == 0}
        is_cut = segments and most == 150 and how == "stored"
        assert (13 in lengths) == is_cut  # 13 segments of 13 steps
        run = compile_positional("python", program.inputs, program.outputs)
        for one, other in zip(run.call(*values), expected, strict=False):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def _constants(outputs):
    """Numbers of a graph and of the bodies of its loops."""
    for variable in ancestors(outputs):
        if isinstance(variable, Constant) and variable.type.dtype == "int64":
            yield variable
        if variable.owner is not None and isinstance(variable.owner.op, Scan):
            yield from _constants(variable.owner.op.body.unfreeze().outputs)


def test_gradients_with_three_levels_are_kernels(monkeypatch):
    monkeypatch.setenv("DIMTENSOR_STRICT_KERNELS", "1")
    start, k = pt.vector("start"), pt.dscalar("k")
    last = scan(
        lambda s, e: ([pt.sin(k * s[0])], []),
        [start],
        n_steps=1000,
        checkpoint=checkpoint_levels(3),
    ).states
    compile_positional("numba", [start, k], [grad(last[0].sum(), k)])
