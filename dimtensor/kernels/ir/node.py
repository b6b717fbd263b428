"""Base of expressions and statements."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, ClassVar, Self

Names = frozenset[str]
NOTHING: Names = frozenset()


class Node:
    """Immutable node that is equal to others of the same fields.

    Its fields are its arguments, named by ``__match_args__``. These are no dataclasses: to make the
    methods of so many takes 18 ms of each process that compiles something, a twentieth of the first
    gradient of a small model.
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()
    __slots__ = ()
    _values: ClassVar[Any] = staticmethod(lambda node: ())

    def __init_subclass__(cls) -> None:
        if "__match_args__" in cls.__dict__:
            first, *others = cls.__match_args__
            cls._values = attrgetter(first, *others)

    def __eq__(self, other: object) -> bool:
        same = type(other) is type(self)
        return self is other or (same and self._values(self) == self._values(other))

    def __hash__(self) -> int:
        return hash(self._values(self))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({fields})"

    def replace(self, **changes: Any) -> Self:
        """Copy the node with other values of some fields."""
        return type(self)(**{name: getattr(self, name) for name in self.__match_args__} | changes)


def united(sets: Iterable[Names]) -> Names:
    """All names of some sets."""
    several = [each for each in sets if each]
    if not several:
        return NOTHING
    first, *others = several
    others = [each for each in others if each is not first]
    return first.union(*others) if others else first
