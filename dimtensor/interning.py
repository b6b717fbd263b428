"""Weak tables for several threads: interned objects, and the one object kept under a key.

Two threads that make equal objects get one object, without a lock: a table is changed by single
operations of a dict, which are atomic with the GIL and in free-threaded Python. An entry goes with
its object, and what removes it runs no Python code: a weakref callback written in Python would run
at any line of the program, where it swallows an interruption and may wait for a lock that its own
thread holds.
"""

from __future__ import annotations

# of CPython, whose own weak tables use it: removes an entry whose weak reference is dead
from _weakref import _remove_dead_weakref as remove_if_dead  # type: ignore[attr-defined]
from collections.abc import Hashable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any
from weakref import ref


class _Ref(ref):
    """A weak reference that is equal to the key of its entry, and is looked up as that.

    A callback gets the reference alone. Both properties call methods of the key and of its hash
    that are written in C.
    """

    __slots__ = ("hash", "key")

    key: tuple[Hashable, ...]
    hash: int

    __hash__ = property(attrgetter("hash.__index__"))  # not int.__hash__, which is modulo a prime
    __eq__ = property(attrgetter("key.__eq__"))


class Interned[T]:
    """Table of interned objects by their keys, held weakly.

    Examples
    --------
    >>> class Made: ...
    >>> table = Interned[Made]()
    >>> one = table.add(("a", 1), Made())
    >>> table.add(("a", 1), Made()) is table.get(("a", 1)) is one
    True
    >>> del one
    >>> table.get(("a", 1)) is None, len(table)
    (True, 0)
    """

    __slots__ = ("_forget", "refs")

    def __init__(self) -> None:
        self.refs: dict[tuple[Hashable, ...], Any] = {}
        self._forget = partial(remove_if_dead, self.refs)

    def get(self, key: tuple[Hashable, ...]) -> T | None:
        """Return the object of a key, None if there is none."""
        found = self.refs.get(key)
        return None if found is None else found()

    def add(self, key: tuple[Hashable, ...], made: T) -> T:
        """Return the object of a key: the one given if no other one came before it.

        Parameters
        ----------
        key : tuple
        made : object
            Complete: other threads see it from now on.
        """
        own = _Ref(made, self._forget)
        own.key = key
        own.hash = hash(key)
        return first_alive(self.refs, key, own, made)

    def __len__(self) -> int:
        return len(self.refs)

    def __iter__(self) -> Iterator[T]:
        alive = (each() for each in list(self.refs.values()))
        return (each for each in alive if each is not None)


def first_alive[T](table: dict[Any, Any], key: Hashable, own: ref[Any], made: T) -> T:
    """Return what a weak table holds under a key: the given object if it holds nothing there.

    Parameters
    ----------
    table : dict
        Its values are weak references.
    key : hashable
    own : weak reference
        To `made`.
    made : object
    """
    while True:
        found = table.setdefault(key, own)
        if found is own:
            return made
        first = found()
        if first is not None:
            return first
        remove_if_dead(table, key)
