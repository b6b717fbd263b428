"""What holds for every random program."""

from __future__ import annotations

import dimtensor as dt
from dimtensor.testing.comparing import assert_same
from tests.random_programs.programs import RandomProgram, Refusal


def check_refusals(program: RandomProgram) -> None:
    """What xarray does not align does not build, and dimtensor refuses little else."""
    for refusal in program.refused:
        if refusal.tensor_error is None:
            raise AssertionError(f"{refusal.step} builds; xarray says {refusal.array_error!r}")
        if refusal.array_error is None and not _is_stricter(refusal):
            raise AssertionError(f"{refusal.step} is refused: {refusal.tensor_error!r}")


def _is_stricter(refusal: Refusal) -> bool:
    """Whether dimtensor knows better: positions of one dim that are others, a mask to come."""
    text = str(refusal.tensor_error)
    return any(
        reason in text
        for reason in (
            "two different dims",
            "two dims",
            " already",
            "is known when its mask is computed",
        )
    )


def run(program: RandomProgram, backend: str = "python") -> list:
    """All values of a program, through one compiled function."""
    return dt.function(program.symbolic, program.tensors(), backend=backend)(*program.given)


def check_values(program: RandomProgram, backend: str = "python", rtol: float = 1e-9) -> None:
    """Values, dims, labels and kinds of dtypes are those that xarray has."""
    found = run(program, backend)
    for at, (one, other) in enumerate(zip(found, program.arrays(), strict=True)):
        assert_same(one, other, f"v{at}", rtol)
