"""The same program is the same graph and the same positional code, whatever the hash seed."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dimtensor as dt
from tests.steps import counted_calls

CHILD = """
import pytensor
import dimtensor as dt
from dimtensor.compile.program import build_program
from tests.random_programs.choosing import Seeded
from tests.random_programs.strategies import random_program

for seed in range(12):
    program = random_program(Seeded(seed), attempts=10, anonymous=seed % 3 == 0)
    values = program.tensors()
    print(program)
    for value in values:
        print([dim.name for dim in value.dims], value.dtype)
        print(dt.dprint(value, file="str"))
    loss = sum((v.sum() for v in values if v.dtype == "float64"), dt.zeros())
    wrt = [x for x in program.symbolic if x.dtype == "float64"]
    outputs = [*values, *(dt.grad(loss, wrt) if wrt else [])]
    built = build_program([x.node for x in program.symbolic], [y.node for y in outputs])
    print([[dim.name for dim in slot.dims] for slot in built.slots])
    print([[dim.name for dim in dims] for dims in built.output_dims])
    print(pytensor.dprint(built.outputs, file="str"))
"""


def _text(seed: str) -> str:
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        capture_output=True,
        text=True,
        env={"PYTHONHASHSEED": seed, "PATH": "", "PYTHONPATH": ":".join(sys.path)},
        check=False,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout


@pytest.mark.slow
def test_hash_seed_changes_nothing() -> None:
    one, other = (_text(seed).splitlines() for seed in ("1", "2"))
    assert len(one) > 500
    different = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    assert not different, different[:3]


def test_building_a_thousand_nodes_takes_little() -> None:
    """One inference per node, none for a node that is there; the time is a matter of course."""
    from dimtensor.graph import toposort
    from dimtensor.graph.node import KINDS

    a, b = dt.Dim("a", coords=range(10)), dt.Dim("b", length=4)
    x, y = dt.tensor("thousand_x", dims=[a, b]), dt.tensor("thousand_y", dims=a)
    elemwise = KINDS["elemwise"]
    original = elemwise.infer
    calls = 0

    def counted(*arguments):
        nonlocal calls
        calls += 1
        return original(*arguments)

    def build() -> dt.DimTensor:
        result = y
        for number in range(500):
            result = result * x + float(number)
        return result

    elemwise.infer = counted
    try:
        with counted_calls() as made:
            result = build()
        assert calls == 1000
        assert build() is result
        assert calls == 1000
    finally:
        del elemwise.infer
    assert len(toposort([result.node])) == 2 + 1000 + 500
    assert made.number < 200 * calls
