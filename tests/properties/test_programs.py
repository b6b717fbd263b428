"""Random programs against xarray, on the interpreter: values, dims, labels, refusals."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from dimtensor.testing.programs import Program
from dimtensor.testing.strategies import DEFAULT_KINDS, programs
from tests.properties.checks import check_refusals, check_values

INDEXING = ("isel", "sel", "update", "mask", "best", "concat", "along", "binary", "expand")
SHAPES = ("ravel", "unravel", "rename", "stack", "concat", "expand", "squeeze", "binary", "reduce")

every_run = settings(
    max_examples=900,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def check(program: Program) -> None:
    check_refusals(program)
    check_values(program)


@every_run
@given(programs())
def test_programs(program: Program) -> None:
    check(program)


@settings(every_run, max_examples=500)
@given(programs(kinds=INDEXING))
def test_programs_of_selections(program: Program) -> None:
    check(program)


@settings(every_run, max_examples=350)
@given(programs(kinds=SHAPES))
def test_programs_of_shapes(program: Program) -> None:
    check(program)


@pytest.mark.fuzz
@pytest.mark.parametrize("kinds", [DEFAULT_KINDS, INDEXING, SHAPES], ids=["all", "sel", "shape"])
def test_many_programs(kinds: tuple[str, ...]) -> None:
    @settings(
        settings.get_profile("thorough"),
        max_examples=3_000,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(kinds=kinds, max_steps=12))
    def run(program: Program) -> None:
        check(program)

    run()
