"""Caches of the process, and how to clear them."""

from __future__ import annotations

import operator
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_clear: list[Callable[[], None]] = []


def clears(clear: Callable[[], None]) -> Callable[[], None]:
    """Register a function that clears a cache, for :func:`clear_caches`."""
    _clear.append(clear)
    return clear


def bounded(maxsize: int) -> Callable[[Function], Function]:
    """Cache the results of a function for the most recent arguments.

    Parameters
    ----------
    maxsize : int
        Number of cached results.
    """

    def decorate(function: Function) -> Function:
        kept = lru_cache(maxsize)(function)
        clears(kept.cache_clear)
        return kept  # type: ignore[return-value]

    return decorate


class Recent[K, V]:
    """Cache of the most recent values, with a limit on their number and their bytes of data.

    Thread-safe: each step is one operation of a dict.

    Parameters
    ----------
    count : int
    nbytes : int
        Larger values are not cached.

    Examples
    --------
    >>> recent = Recent[str, int](2, 100)
    >>> recent.put("a", 1), recent.put("b", 2, 60), recent.put("c", 3, 60), recent.put("d", 4, 200)
    (1, 2, 3, 4)
    >>> [recent.get(key) for key in "abcd"]
    [None, None, 3, None]
    """

    __slots__ = ("_count", "_kept", "_nbytes")

    def __init__(self, count: int, nbytes: int) -> None:
        self._count, self._nbytes = count, nbytes
        self._kept: dict[K, tuple[V, int]] = {}
        clears(self._kept.clear)

    def get(self, key: K) -> V | None:
        """Return the value of a key, None if there is none (any more)."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def put(self, key: K, value: V, nbytes: int = 0) -> V:
        """Cache a value, and return the one in the cache."""
        if nbytes > self._nbytes:
            return value
        first, _ = self._kept.setdefault(key, (value, nbytes))
        while not self._fits(list(self._kept.values())):
            for oldest in list(self._kept)[:1]:
                self._kept.pop(oldest, None)
        return first

    def _fits(self, kept: list[tuple[V, int]]) -> bool:
        return len(kept) <= self._count and sum(n for _, n in kept) <= self._nbytes


# -- weak tables -----------------------------------------------------------------------------------
#
# Objects die at any point, also during garbage collection, where Python drops exceptions, and a
# KeyboardInterrupt is raised in any Python code. The callbacks of these tables are therefore C
# functions, which lose no interrupt, unlike those of ``weakref``.


class _Reference(weakref.ref):
    """Weak reference with the function to call when its object is gone."""

    __slots__ = ("forget",)

    forget: Callable[[], object]


_forget = operator.methodcaller("forget")
_watched: dict[int, _Reference] = {}


def when_gone(x: object, *calls: Callable[[], object]) -> None:
    """Call functions when an object is gone; C functions lose no interrupt.

    Examples
    --------
    >>> gone = []
    >>> key = {1, 2}
    >>> when_gone(key, partial(gone.append, "key"))
    >>> del key
    >>> gone
    ['key']
    """
    reference = _Reference(x, _forget)
    forget = partial(_watched.pop, id(reference), None)
    call: Callable[[Any], object] = operator.call
    reference.forget = partial(deque, map(call, (*calls, forget)), 0)
    _watched[id(reference)] = reference


class WeakIds[K, V]:
    """Table of values by the identity of objects that need not be hashable.

    Examples
    --------
    >>> table, key = WeakIds(), {1, 2}
    >>> table.put(key, "a")
    'a'
    >>> table.get(key), table.get({1, 2})
    ('a', None)
    >>> del key
    >>> len(table)
    0
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[int, tuple[_Reference, V]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[K]:
        alive = (reference() for reference, _ in list(self._kept.values()))
        return (key for key in alive if key is not None)

    def get(self, key: K) -> V | None:
        """Return the value of an object, None without one."""
        found = self._kept.get(id(key))
        return found[1] if found is not None and found[0]() is key else None

    def put(self, key: K, value: V) -> V:
        """Store a value for the lifetime of its object, and return it."""
        reference = _Reference(key, _forget)
        reference.forget = partial(self._kept.pop, id(key), None)
        self._kept[id(key)] = (reference, value)
        return value

    def clear(self) -> None:
        """Remove all values."""
        self._kept.clear()


def clear_caches() -> None:
    """Clear the caches of this process: compiled code, evaluated expressions, plans, labels.

    Existing functions continue to work. Nothing on disk is removed; ``python -m dimtensor cache
    clear`` does that. The caches are bounded, so that most programs need not call this; it is for
    tests that measure compilation, and for notebooks with large data.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.clear_caches()
    """
    for clear in _clear:
        clear()
