"""Checkpointing of gradients through loops: values of the option ``checkpoint=``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimtensor.errors import OptionError
from dimtensor.tuning import CHECKPOINT_LEVELS


@dataclass(frozen=True)
class Checkpoints:
    """A checkpoint schedule: where a gradient stores states.

    Attributes
    ----------
    how : str
        By ``"levels"``, by ``"states"`` that are stored at most, or by ``"segments"``.
    numbers : tuple of int
        The number of levels or states, or the numbers of steps of segments from the innermost.
    """

    how: str
    numbers: tuple[int, ...]

    def __repr__(self) -> str:
        if self.how == "segments":
            return str(list(self.numbers))
        return f"checkpoint_{self.how}({self.numbers[0]})"

    @property
    def attrs(self) -> tuple[Any, ...]:
        """Attributes of a node for this schedule."""
        return (self.how, *self.numbers)

    @classmethod
    def of_attrs(cls, attrs: tuple[Any, ...] | None) -> Checkpoints | None:
        return None if attrs is None else cls(attrs[0], tuple(attrs[1:]))


def checkpoint_levels(number: int) -> Checkpoints:
    """Levels of segments within segments, for ``checkpoint=`` of loops.

    With 1 the states of all steps are stored. With 2 the steps are cut into about √n segments of
    about √n steps: the states at the starts of segments are stored, and those within a segment
    are computed again when the gradient comes to it. With 3 segments are cut again: ∛n.

    Parameters
    ----------
    number : int
        From 1 to 6. Each level runs the steps once more.

    Returns
    -------
    Checkpoints

    Raises
    ------
    OptionError
        If it is no such number.

    See Also
    --------
    dimtensor.checkpoint_states : as many levels as keep to a number of stored states.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data(np.linspace(0.0, 1.0, 100), dims=dt.Dim("time", length=100))
    >>> a = dt.scalar("a")
    >>> last = dt.reduce(
    ...     lambda s, x: dt.sin(a * s) + x, 0.0, x, dim="time", checkpoint=dt.checkpoint_levels(2)
    ... )
    >>> slope = dt.grad(last, a)  # stores 20 states
    """
    if not _is_whole(number) or not 1 <= number <= CHECKPOINT_LEVELS:
        raise OptionError(
            f"there are 1 to {CHECKPOINT_LEVELS} levels of segments, not {number!r}",
            [("each level", "a loop in a loop, and one more run of all steps")],
            "dt.checkpoint_states(n) gives the fewest levels that store at most n states",
        )
    return Checkpoints("levels", (int(number),))


def checkpoint_states(number: int) -> Checkpoints:
    """How many states a gradient stores at most, for ``checkpoint=`` of loops.

    The fewest levels of segments are taken that keep to it. The loop has a known number of steps.

    Parameters
    ----------
    number : int

    Returns
    -------
    Checkpoints

    Raises
    ------
    OptionError
        If it is no positive integer.

    See Also
    --------
    dimtensor.checkpoint_levels : a number of levels, for any number of steps.

    Examples
    --------
    >>> import dimtensor as dt
    >>> n, a = dt.Dim("time", length=10_000), dt.scalar("a")
    >>> x = dt.tensor("x", dims=n)
    >>> last = dt.reduce(
    ...     lambda s, x: dt.sin(a * s) + x, 0.0, x, dim=n, checkpoint=dt.checkpoint_states(500)
    ... )
    >>> slope = dt.grad(last, a)
    """
    if not _is_whole(number) or number < 1:
        raise OptionError(f"a gradient stores a positive number of states, not {number!r}")
    return Checkpoints("states", (int(number),))


def as_checkpoints(given: Any, what: str) -> Checkpoints | None:
    """Check and convert the argument ``checkpoint=``.

    Raises
    ------
    OptionError
        If it is a single number, or lengths of segments that do not divide each other.
    """
    if given is None or isinstance(given, Checkpoints):
        return given
    if _is_whole(given):
        raise OptionError(
            f"{what}: checkpoint={given} does not say of what",
            [
                (f"dt.checkpoint_levels({given})", "levels of segments within segments"),
                (f"dt.checkpoint_states({given})", "at most so many stored states"),
                (f"[{given}]", "segments of so many steps"),
            ],
            "give one of these",
        )
    if not isinstance(given, Sequence) or isinstance(given, str) or not all(map(_is_whole, given)):
        raise OptionError(
            f"{what}: checkpoint is dt.checkpoint_levels(...), dt.checkpoint_states(...) or "
            f"numbers of steps of segments, not {given!r}"
        )
    numbers = [int(n) for n in given]
    if not numbers or len(numbers) >= CHECKPOINT_LEVELS:
        raise OptionError(
            f"{what}: checkpoint has 1 to {CHECKPOINT_LEVELS - 1} lengths of segments, "
            f"not {numbers}"
        )
    pairs = zip([1, *numbers], numbers, strict=False)
    if any(m < 1 or n % m or n == m for m, n in pairs):
        raise OptionError(
            f"{what}: segments fit into the next longer ones, which those of {numbers} steps "
            "do not",
            [("from the innermost", ", ".join(map(str, numbers)))],
            "each number is a multiple of the one before, as in checkpoint=[10, 100]",
        )
    return Checkpoints("segments", tuple(numbers))


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
