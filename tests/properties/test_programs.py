"""Random programs against xarray, on the interpreter: values, dims, labels, refusals."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.properties.checks import check_refusals, check_values
from tests.random_programs.programs import RandomProgram
from tests.random_programs.strategies import DEFAULT_KINDS, programs

INDEXING = ("isel", "sel", "update", "mask", "best", "concat", "along", "binary", "expand")
SHAPES = ("ravel", "unravel", "rename", "stack", "concat", "expand", "squeeze", "binary", "reduce")


def check(program: RandomProgram) -> None:
    check_refusals(program)
    check_values(program)


@given(programs())
def test_programs(program: RandomProgram) -> None:
    check(program)


@given(programs(kinds=INDEXING))
def test_programs_of_selections(program: RandomProgram) -> None:
    check(program)


@given(programs(kinds=SHAPES))
def test_programs_of_shapes(program: RandomProgram) -> None:
    check(program)


@pytest.mark.fuzz
@pytest.mark.parametrize("kinds", [DEFAULT_KINDS, INDEXING, SHAPES], ids=["all", "sel", "shape"])
def test_many_programs(kinds: tuple[str, ...]) -> None:
    @given(programs(kinds=kinds, max_steps=12))
    def run(program: RandomProgram) -> None:
        check(program)

    run()
