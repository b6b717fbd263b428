"""Random choices for the steps of programs: draws of hypothesis, or of a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from dimtensor.caches import bounded
from dimtensor.testing.programs import Trial

T = TypeVar("T")
Accepts = Callable[[Any, Any], bool]

MAX_SIZE = 200
MAX_DIMS = 4


@bounded(1024)
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


class Choose:
    """Choices that shrink towards the first option."""

    def __init__(self, draw: Callable[[st.SearchStrategy], Any]):
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return self.draw(_integers(low, high))

    def one(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def flag(self, one_in: int = 2) -> bool:
        """Return True with a probability of 1 / `one_in`."""
        return self.integer(1, one_in) == one_in

    def some(self, options: Sequence[T], at_least: int = 0, at_most: int | None = None) -> list[T]:
        """Choose some of the options, in any order."""
        remaining = list(options)
        high = len(remaining) if at_most is None else min(at_most, len(remaining))
        count = self.integer(min(at_least, high), high)
        return [remaining.pop(self.integer(0, len(remaining) - 1)) for _ in range(count)]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        return self.some(options, at_least=len(options))

    def integers(self, low: int, high: int, count: int) -> list[int]:
        return [self.integer(low, high) for _ in range(count)]


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
