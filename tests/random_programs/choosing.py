"""Random choices for the steps of programs: draws of hypothesis, or of a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from dimtensor.testing.strategies import Choose
from tests.random_programs.programs import Trial

Accepts = Callable[[Any, Any], bool]

MAX_SIZE = 200
MAX_DIMS = 4


class Seeded(Choose):
    """Choices from a seed, for tests that compile and can afford only a few programs."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


def is_numeric(tensor: Any, array: Any) -> bool:
    """Return True for a value of numbers, not of labels or bools."""
    return tensor.categories is None and tensor.dtype != "bool"


def has_dims(tensor: Any, array: Any) -> bool:
    """Return True for a value of numbers or bools with at least one dim."""
    return tensor.categories is None and array.ndim > 0


def pick(choose: Choose, trial: Trial, accepts: Accepts = is_numeric) -> int | None:
    """Choose the index of an accepted value, later ones more often; None if there is none."""
    found = [
        at
        for at, (tensor, array) in enumerate(zip(trial.values, trial.arrays, strict=True))
        if array.size <= MAX_SIZE and array.ndim <= MAX_DIMS and accepts(tensor, array)
    ]
    if not found:
        return None
    return found[-1 - choose.integer(0, len(found) - 1)]


def pick_dim(choose: Choose, array: Any, at_least: int = 0) -> str | None:
    """Choose a dim of an array with a minimal length; None if there is none."""
    found = [name for name in array.dims if array.sizes[name] >= at_least]
    return choose.one(found) if found else None
