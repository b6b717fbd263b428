"""Strips of steps: what is computed from the traces of a loop, by turns with the loop.

A step of a scan waits for the one before it, and the processor has time for other things. So loops
over all steps that follow a scan of numbers, and compute elements from its traces at the same
position, run in strips: some steps, then the elements of these steps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from dimtensor.kernels.ir.make import ONE, ZERO, integer, known, op
from dimtensor.kernels.ir.nodes import (
    Allocate,
    Array,
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
from dimtensor.kernels.ir.walk import parts_of

STEPS = 64


class _Scan(NamedTuple):
    """A scan, and the loops that go along with it so far.

    Attributes
    ----------
    loop : For
    forward : bool
        Whether a step stores at its number, or else at how many steps there are after it.
    uses : frozenset of str
        All names in these loops.
    defined : frozenset of str
        Variables that are given a value in them.
    written : frozenset of str
        Arrays that they store to, each at the position of the step.
    """

    loop: For
    forward: bool
    uses: Names
    defined: Names
    written: Names


def in_strips(statements: Sequence[Statement], fresh: Callable[[str], str]) -> list[Statement]:
    """Statements of a function, with scans and the loops that go along with them put together.

    Parameters
    ----------
    statements : sequence of Statement
    fresh : callable
        Gives a name that begins as it is told to.
    """
    found: list[Statement] = []
    at = 0
    while at < len(statements):
        each = statements[at]
        at += 1
        scan = _scan_of(each)
        if scan is not None:
            before, loops, count = _followers(scan, statements[at:])
            at += count
            if loops:
                found += before
                each = _put_together(scan, loops, fresh)
        found.append(each)
    return found


def _scan_of(statement: Statement) -> _Scan | None:
    """A scan of numbers all of whose traces are stored in one direction."""
    if not isinstance(statement, For) or not statement.is_scan or statement.step != 1:
        return None
    body, length = statement.body, known(statement.stop)
    is_short = length is not None and length <= STEPS
    if is_short or not all(isinstance(each, (Assign, Carry, Store)) for each in body):
        return None
    stored = {each.target.index[0] for each in body if isinstance(each, Store)}
    last = op("-", op("-", statement.stop, ONE), statement.counter)
    if stored != {statement.counter} and stored != {last}:
        return None
    return _Scan(
        statement, stored != {last}, statement.uses, _defined(body), _written(body)
    )  # fmt: skip


def _followers(scan: _Scan, after: Sequence[Statement]) -> tuple[list[Statement], list[For], int]:
    """Definitions that have to stand before a scan, loops that go along, and how many these are."""
    before: list[Statement] = []
    loops: list[For] = []
    count = 0
    waiting: list[Assign | Allocate] = []
    made: set[str] = set()
    for number, each in enumerate(after, start=1):
        if isinstance(each, (Assign, Allocate)):
            if each.uses & (scan.defined | scan.written):
                break
            waiting.append(each)
            made.add(each.defines)
        elif isinstance(each, For) and _goes_along(each, scan, made):
            before += waiting
            loops.append(each)
            waiting, count = [], number
            scan = scan._replace(
                uses=scan.uses | each.uses,
                defined=scan.defined | _defined(each.body),
                written=scan.written | _written(each.body),
            )
        else:
            break
    return before, loops, count


def _goes_along(loop: For, scan: _Scan, made: Collection[str]) -> bool:
    """Whether each round needs only what is done when the step of its number is.

    It stores to arrays that were made after the scan: no other array is a view of these.
    """
    if loop.is_scan or loop.is_wide or loop.step != 1 or loop.start != ZERO:
        return False
    if loop.stop != scan.loop.stop or loop.uses & scan.defined:
        return False
    for each in loop.body:
        if not isinstance(each, (Assign, Store)):
            return False
        if isinstance(each, Store):
            name = each.target.array.name
            is_new = name in made and name not in scan.uses
            if not is_new or each.target.index[0] != loop.counter:
                return False
        if not all(_is_at(read, loop.counter, scan.written) for read in each.reads):
            return False
    return True


def _is_at(expression: Expression, counter: Var, arrays: Names) -> bool:
    """Whether some arrays are read at a position only, and none as a whole."""
    if isinstance(expression, Load):
        if expression.array.name in arrays and expression.index[0] != counter:
            return False
        return all(_is_at(each, counter, arrays) for each in expression.index)
    if isinstance(expression, Array):
        return expression.name not in arrays
    return all(_is_at(each, counter, arrays) for each in parts_of(expression))


def _defined(body: Body) -> Names:
    return frozenset(each.defines for each in body if each.defines is not None)


def _written(body: Body) -> Names:
    return frozenset(each.target.array.name for each in body if isinstance(each, Store))


def _put_together(scan: _Scan, loops: Sequence[For], fresh: Callable[[str], str]) -> For:
    """A loop over strips: some steps, and the rounds of the other loops at their positions."""
    n, start, stop = scan.loop.stop, Var(fresh("j"), "int64"), Var(fresh("m"), "int64")
    low, high = (start, stop) if scan.forward else (op("-", n, stop), op("-", n, start))
    body = (
        Assign(stop, op("min", op("+", start, integer(STEPS)), n)),
        For(scan.loop.counter, stop, scan.loop.body, start, is_scan=True),
        *(For(loop.counter, high, loop.body, low) for loop in loops),
    )
    return For(start, n, body, step=STEPS)
