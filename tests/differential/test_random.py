"""Random programs; ``python -m tests.differential`` runs more of them."""

from __future__ import annotations

import pytest

from tests.backend_names import COMPILED
from tests.differential.generate import random_program
from tests.differential.test_systematic import check, marked
from tests.random_programs.choosing import Seeded

KNOWN: dict[int, str] = {}


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=marked(KNOWN, seed)) for seed in range(6)]
)
def test_program(seed: int) -> None:
    check(random_program(Seeded(seed)))


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_many_programs(seed: int) -> None:
    check(random_program(Seeded(seed)))


@pytest.mark.fuzz
@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
@pytest.mark.parametrize("seed", range(2000, 2030))
def test_many_compiled_programs(seed: int, backend: str) -> None:
    check(random_program(Seeded(seed)), backend)
