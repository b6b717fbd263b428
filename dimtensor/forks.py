"""Locks at a fork: the child finds them free, and what they guard whole.

A child has one thread, that which forked. A lock that another thread held would stay locked in the
child, with what it guards half changed. So whoever forks waits until nobody holds the locks of the
package, as Python's own logging does.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from dimtensor.caches import WeakIds

# seconds that a fork waits for a lock; a child of one that waited in vain cannot compile
_PATIENCE = 60.0

_taken: list[tuple[int, Any]] = []
_freed: WeakIds[threading.Lock, None] = WeakIds()
_forking = threading.local()


def taken_at_forks[L](lock: L, order: int) -> L:
    """Let whoever forks hold a lock meanwhile.

    Parameters
    ----------
    lock : Lock or RLock
    order : int
        Threads that hold several locks take those of lower numbers first.
    """
    _taken.append((order, lock))
    _taken.sort(key=lambda pair: pair[0])
    return lock


def freed_in_children(lock: threading.Lock) -> threading.Lock:
    """Release a lock in the child of a fork; the state that it guards is consistent there."""
    _freed.put(lock, None)
    return lock


def _before() -> None:
    held = _forking.held = []
    for _, lock in _taken:
        if lock.acquire(timeout=_PATIENCE):
            held.append(lock)


def _in_parent() -> None:
    while _forking.held:
        _forking.held.pop().release()


def _in_child() -> None:
    _in_parent()
    for lock in _freed:
        if lock.locked():
            lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
