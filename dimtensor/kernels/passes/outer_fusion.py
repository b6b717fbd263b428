"""Outer loop fusion: loops over segments that follow each other become one.

A softmax along a ragged dim is three loops over the parents, with a loop over the positions of each
inside: maxima, sums of exponentials, quotients. Fused they read the positions of a parent while
they are in the cache. An element that one loop writes and another one reads is that of the same
parent, or of a position of the same parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dimtensor.kernels.ir.make import ZERO
from dimtensor.kernels.ir.node import united
from dimtensor.kernels.ir.nodes import (
    NOTHING,
    Accumulate,
    Allocate,
    Assign,
    Body,
    Carry,
    Expression,
    For,
    Load,
    Names,
    Statement,
    Store,
    Var,
)
from dimtensor.kernels.ir.walk import expressions_in, replaced, statements_in, substituted

_OUTER = "outer"


def fused(
    statements: Sequence[Statement], results: Sequence[Expression], fresh: Callable[[str], str]
) -> list[Statement]:
    """Fuse loops over the same segments, and loops over arrays with an element for each segment.

    Inside, loops along the same segment are fused, too.
    """
    if not any(_has_segments(each) for each in statements):
        return list(statements)
    return _run(_Outer(), statements)


def _run(kind: _Outer | _Inner, statements: Sequence[Statement]) -> list[Statement]:
    run = _Run(kind)
    for each in statements:
        run.add(each)
    return run.finished()


class _Run:
    """Loops that are fused into one, with the statements between them before or after it."""

    def __init__(self, kind: _Outer | _Inner) -> None:
        self._kind = kind
        self._done: list[Statement] = []
        self._loop: For | None = None
        self._before: list[Statement] = []
        self._after: list[Statement] = []

    def add(self, statement: Statement) -> None:
        """Add a statement: to the fused loop, before it, after it, or once it is finished."""
        is_loop = isinstance(statement, For) and self._kind.is_loop(statement)
        if self._loop is None:
            if is_loop:
                self._loop = statement  # type: ignore[assignment]
            else:
                self._done.append(statement)
        elif is_loop:
            self._add_loop(statement)  # type: ignore[arg-type]
        elif isinstance(statement, (Assign, Allocate)):
            waits = _made_by(self._loop) | united(map(_made_by, self._after))
            here = self._after if statement.uses & waits else self._before
            here.append(statement)
        else:
            self._close()
            self._done.append(statement)

    def _add_loop(self, loop: For) -> None:
        assert self._loop is not None
        after = united(map(_made_by, self._after))
        joined = None if loop.uses & after else self._kind.joined(self._loop, loop)
        if joined is None:
            self._close()
        self._loop = loop if joined is None else joined

    def _close(self) -> None:
        if self._loop is not None:
            self._done += [*self._before, self._kind.finished(self._loop), *self._after]
        self._loop, self._before, self._after = None, [], []

    def finished(self) -> list[Statement]:
        self._close()
        return self._done


class _Outer:
    """Fusion of loops over segments, or over arrays with an element for each."""

    def is_loop(self, loop: For) -> bool:
        return _is_outer(loop)

    def joined(self, one: For, other: For) -> For | None:
        """Return two loops as one, None where they must not be fused."""
        if one.stop != other.stop or not (_has_segments(one) or _has_segments(other)):
            return None
        # only the counters of loops over segments differ from those of the loops inside
        one = one if _has_segments(one) else _renamed(one, other.counter)
        body = _renamed(other, one.counter).body
        first, second = _limits(one.body), _limits(body)
        # ends of the same segments are read once
        known = {value: name for name, value in first.items()}
        again = {name: known[value] for name, value in second.items() if value in known}
        new: dict[str, Expression] = {name: Var(old, "int64") for name, old in again.items()}
        body = tuple(replaced(each, new) for each in body if each.defines not in again)
        return _together(one, body, frozenset(again.values()))

    def finished(self, loop: For) -> For:
        return loop.replace(body=tuple(_run(_Inner(), loop.body))) if _has_segments(loop) else loop


class _Inner:
    """Fusion of loops along the same segment."""

    def is_loop(self, loop: For) -> bool:
        # states would fix the order of the sums in the same loop
        carries = any(isinstance(each, Carry) for each in statements_in(loop.body))
        return loop.is_parallel and loop.step == 1 and loop.start != ZERO and not carries

    def joined(self, one: For, other: For) -> For | None:
        if (one.start, one.stop) != (other.start, other.stop):
            return None
        return _together(one, _renamed(other, one.counter).body)

    def finished(self, loop: For) -> For:
        return loop


def _has_segments(statement: Statement) -> bool:
    return (
        isinstance(statement, For)
        and _is_outer(statement)
        and any(isinstance(each, For) and each.start != ZERO for each in statement.body)
    )


def _is_outer(loop: For) -> bool:
    return loop.is_parallel and loop.step == 1 and loop.start == ZERO


def _renamed(loop: For, counter: Var) -> For:
    body = tuple(replaced(each, {loop.counter.name: counter}) for each in loop.body)
    return loop.replace(counter=counter, body=body)


def _together(loop: For, body: Body, limits: Names = NOTHING) -> For | None:
    """Return a loop with a further body behind its own; None if an iteration needs another's.

    What one of them writes and the other one uses is an element of the same iteration, or one of
    the limits of a segment.
    """
    changed = united(map(_made_by, loop.body)), united(map(_made_by, body))
    uses = united(each.uses for each in loop.body), united(each.uses for each in body)
    places: dict[str, set[Any]] = {
        name: set() for name in ((changed[0] & uses[1]) | (changed[1] & uses[0])) - limits
    }
    for part in (loop.body, body):
        for access, place in _accesses(part, loop.counter, ()):
            if access in places:
                places[access].add(place)
    # a variable has no place
    if all(len(found) == 1 and None not in found for found in places.values()):
        return loop.replace(body=(*loop.body, *body))
    return None


def _made_by(statement: Statement) -> Names:
    """Return the variables that a statement assigns, and the arrays that it writes to."""
    found = set()
    for each in statements_in((statement,)):
        if each.defines is not None:
            found.add(each.defines)
        if isinstance(each, (Store, Accumulate)) and isinstance(each.target, Load):
            found.add(each.target.array.name)
    return frozenset(found)


def _limits(body: Sequence[Statement]) -> dict[str, Expression]:
    """Return the variables at which inner loops start and stop, with their values."""
    ends = {
        each.name
        for loop in body
        if isinstance(loop, For) and loop.start != ZERO
        for each in (loop.start, loop.stop)
        if isinstance(each, Var)
    }
    values: dict[str, Expression] = {}
    for each in body:
        if isinstance(each, Assign):
            if each.target.name in ends:
                values[each.target.name] = substituted(each.value, values)
    return values


def _accesses(
    body: Sequence[Statement], outer: Var, around: tuple[For, ...]
) -> Iterator[tuple[str, Any]]:
    """Yield the name of each array that is read or written, and what tells its places apart.

    That is the first axis along which they are those of one iteration of the outer loop, and the
    limits of the inner loop that walks the axis; None where there is no such axis.
    """
    for each in body:
        for read in each.reads:
            for part in expressions_in(read):
                if isinstance(part, Load):
                    yield part.array.name, _place(part, outer, around)
        inside = (*around, each) if isinstance(each, For) else around
        for block in each.blocks:
            yield from _accesses(block, outer, inside)


def _place(access: Load, outer: Var, around: tuple[For, ...]) -> Any:
    for axis, at in enumerate(access.index):
        if at == outer:
            return axis, _OUTER
        for loop in around:
            if at == loop.counter and loop.start != ZERO:
                return axis, loop.start, loop.stop
    return None
