"""Random programs with checks: the same values, failures found, and nothing left once dropped."""

from __future__ import annotations

import pytest
from hypothesis import given

import dimtensor as dt
from dimtensor.graph.checking.checks import without_checks
from dimtensor.testing.comparing import assert_same
from tests.effort import a_third
from tests.random_programs.programs import RandomProgram
from tests.random_programs.strategies import programs


def checked(program: RandomProgram, condition: dt.DimTensor) -> list[dt.DimTensor]:
    """All values of a program whose inputs are checked."""
    return program.tensors([dt.check(condition, "as asked", i.tensor) for i in program.inputs])


@a_third
@given(programs())
def test_checks_are_apart_from_values(program: RandomProgram) -> None:
    fine = dt.bool("fine")
    plain, guarded = program.tensors(), checked(program, fine)
    assert without_checks([x.node for x in guarded]) == [x.node for x in plain]
    f = dt.function([fine, *program.symbolic], guarded, backend="python")
    for at, (one, other) in enumerate(zip(f(True, *program.given), program.arrays(), strict=True)):
        assert_same(one, other, f"v{at}", 1e-9)
    with pytest.raises(dt.CheckError, match=r"^as asked$"):
        f(False, *program.given)


def test_checks_within_a_mask_whose_dim_gets_other_names() -> None:
    b, fine = dt.Dim("b", length=2), dt.bool("fine")
    x = dt.tensor("x", dims=b)

    def built(guard):
        renamed = guard(x).rename(b="b'")
        return guard(renamed.isel({"b'": guard(renamed) > 0})).rename({"b'": "b''"})

    guarded = built(lambda value: dt.check(fine, "not fine", value))
    plain = built(lambda value: value)
    assert guarded.node is not plain.node
    assert without_checks([guarded.node]) == [plain.node]
