"""What is kept in memory to be found again, and how to forget it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_clear: list[Callable[[], None]] = []


def clears(clear: Callable[[], None]) -> Callable[[], None]:
    """Register what empties a cache: :func:`clear_caches` calls it."""
    _clear.append(clear)
    return clear


def bounded(maxsize: int) -> Callable[[Function], Function]:
    """Keep what a function gives for the arguments that it was called with last.

    Parameters
    ----------
    maxsize : int
        Of so many calls.
    """

    def decorate(function: Function) -> Function:
        kept = lru_cache(maxsize)(function)
        clears(kept.cache_clear)
        return kept  # type: ignore[return-value]

    return decorate


def clear_caches() -> None:
    """Forget what this process keeps: compiled code, evaluated expressions, plans, labels.

    Functions that you hold go on working. Nothing on disk is removed; ``python -m dimtensor cache
    clear`` does that. What is kept is bounded, so programs need not call this; tests that measure
    compilation do, and notebooks that want large data back.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.clear_caches()
    """
    for clear in _clear:
        clear()
