"""Strip-mine a scan together with the elementwise loops over its traces.

The latency of a scan's loop-carried path leaves execution units idle. Loops after a scan of scalars
that read its traces at their own position only are fused with it in strips: some steps of the scan,
then the iterations of the other loops for these steps. Sums in blocks over such elements are fused,
too. Arrays that only these loops use are shortened to a strip.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeGuard

from dimtensor.kernels.ir.make import ONE, ZERO, integer, known, op
from dimtensor.kernels.ir.nodes import (
    Accumulate,
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
from dimtensor.kernels.ir.walk import of_changed, of_parts, parts_of
from dimtensor.tuning import SCAN_STRIP_STEPS

Definition = Assign | Allocate


class _Scan(NamedTuple):
    """A scan, and the loops fused with it so far.

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


def in_strips(
    statements: Sequence[Statement], results: Sequence[Expression], fresh: Callable[[str], str]
) -> list[Statement]:
    """Fuse scans with the loops over their traces in the statements of a function.

    Parameters
    ----------
    statements : sequence of Statement
    results : sequence of Expression
        Results of the function.
    fresh : callable
        Returns a new name with a given prefix.
    """
    found: list[Statement] = []
    at = 0
    while at < len(statements):
        each = statements[at]
        at += 1
        scan = _scan_of(each)
        if scan is not None:
            before, loops, count, scan = _followers(scan, statements[at:])
            more, block, further = _sums(scan, statements[at + count :])
            at += count + further
            if loops or block is not None:
                found += [*before, *more]
                each, start = _put_together(scan, loops, block, fresh)
                if scan.forward:
                    later = frozenset().union(
                        *(one.uses for one in statements[at:]), *(one.uses for one in results)
                    )
                    found, each = _shortened(found, each, scan, start, later)
        found.append(each)
    return found


def _scan_of(statement: Statement) -> _Scan | None:
    """Return a scan of numbers whose traces are all stored in one direction."""
    if not isinstance(statement, For) or not statement.is_scan or statement.step != 1:
        return None
    if statement.start != ZERO:
        return None
    body, length = statement.body, known(statement.stop)
    is_short = length is not None and length <= SCAN_STRIP_STEPS
    if is_short or not all(isinstance(each, (Assign, Carry, Store)) for each in body):
        return None
    stored = {each.target.index[0] for each in body if isinstance(each, Store)}
    last = op("-", op("-", statement.stop, ONE), statement.counter)
    if stored != {statement.counter} and stored != {last}:
        return None
    return _Scan(
        statement, stored != {last}, statement.uses, _defined(body), _written(body)
    )  # fmt: skip


def _next_loop(scan: _Scan, after: Sequence[Statement]) -> tuple[list[Definition], For] | None:
    """Return the next loop, and the definitions before it that may precede the scan."""
    before: list[Definition] = []
    for each in after:
        if isinstance(each, For):
            return before, each
        if not isinstance(each, (Assign, Allocate)) or each.uses & (scan.defined | scan.written):
            return None
        before.append(each)
    return None


def _followers(
    scan: _Scan, after: Sequence[Statement]
) -> tuple[list[Definition], list[For], int, _Scan]:
    """Return definitions to move before a scan, loops to fuse with it, and the count of both."""
    before: list[Definition] = []
    loops: list[For] = []
    made: set[str] = set()
    while (found := _next_loop(scan, after[len(before) + len(loops) :])) is not None:
        definitions, loop = found
        made.update(each.defines for each in definitions)
        if not _goes_along(loop, scan, made):
            break
        before += definitions
        loops.append(loop)
        scan = scan._replace(
            uses=scan.uses | loop.uses,
            defined=scan.defined | _defined(loop.body),
            written=scan.written | _written(loop.body),
        )
    return before, loops, len(before) + len(loops), scan


def _sums(scan: _Scan, after: Sequence[Statement]) -> tuple[list[Definition], For | None, int]:
    """Return the next loop over blocks, whose sums go into totals, in the same form."""
    found = _next_loop(scan, after) if scan.forward else None
    if found is not None:
        before, loop = found
        if _is_in_blocks(loop, scan, {each.defines for each in before}):
            return before, loop, len(before) + 1
    return [], None, 0


def _is_in_blocks(loop: For, scan: _Scan, made: Collection[str]) -> bool:
    """Return whether a loop over blocks can be fused with a scan.

    Its prologue and epilogue must not read the scan.
    """
    inside = [each for each in loop.body if _are_rounds(each, loop)]
    if loop.step == 1 or len(inside) != 1 or loop.start != ZERO or loop.is_wide:
        return False
    if loop.stop != scan.loop.stop or loop.uses & scan.defined:
        return False
    (rounds,) = inside
    rest = [each for each in loop.body if each is not rounds]
    until = op("min", op("+", loop.counter, integer(loop.step)), loop.stop)
    if rounds.stop != until or any(each.uses & scan.written for each in rest):
        return False
    at = op("-", rounds.counter, loop.counter)
    return _goes_along(rounds.replace(start=ZERO, stop=loop.stop), scan, made, at)


def _are_rounds(statement: Statement, block: For) -> TypeGuard[For]:
    """Return whether a statement in a loop over blocks is the loop over a block."""
    return isinstance(statement, For) and statement.start == block.counter


def _goes_along(
    loop: For, scan: _Scan, made: Collection[str], at: Expression | None = None
) -> bool:
    """Return whether iteration i depends on steps ≤ i only.

    It stores to arrays that were allocated after the scan, so that no other array is their view.
    """
    if loop.is_scan or loop.is_wide or loop.step != 1 or loop.start != ZERO:
        return False
    if loop.stop != scan.loop.stop or loop.uses & scan.defined:
        return False
    for each in loop.body:
        is_sum = isinstance(each, Accumulate) and isinstance(each.target, Var)
        if not is_sum and not isinstance(each, (Assign, Store)):
            return False
        if isinstance(each, Store):
            name = each.target.array.name
            is_new = name in made and name not in scan.uses
            if not is_new or each.target.index[0] not in (loop.counter, at):
                return False
        if not all(_is_at(read, loop.counter, scan.written) for read in each.reads):
            return False
    return True


def _is_at(expression: Expression, counter: Var, arrays: Names) -> bool:
    """Return whether some arrays are read at one position only."""
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


def _put_together(
    scan: _Scan, loops: Sequence[For], block: For | None, fresh: Callable[[str], str]
) -> tuple[For, Var]:
    """Fuse loops into a loop over strips: some steps, then the others at their positions.

    Also returns the variable of the start of a strip. Strips are parts of blocks.
    """
    n, start, stop = scan.loop.stop, Var(fresh("j"), "int64"), Var(fresh("m"), "int64")
    low, high = (start, stop) if scan.forward else (op("-", n, stop), op("-", n, start))
    steps = For(scan.loop.counter, stop, scan.loop.body, start, is_scan=True)
    along = [For(loop.counter, high, loop.body, low) for loop in loops]
    if block is None:
        until = Assign(stop, op("min", op("+", start, integer(SCAN_STRIP_STEPS)), n))
        return For(start, n, (until, steps, *along), step=SCAN_STRIP_STEPS), start
    end = Var(fresh("m"), "int64")
    body: list[Statement] = []
    for each in block.body:
        if _are_rounds(each, block):
            body.append(Assign(end, each.stop))
            until = Assign(stop, op("min", op("+", start, integer(SCAN_STRIP_STEPS)), end))
            rounds = For(each.counter, stop, each.body, start)
            inside = (until, steps, *along, rounds)
            body.append(For(start, end, inside, block.counter, SCAN_STRIP_STEPS))
        else:
            body.append(each)
    return block.replace(body=tuple(body)), start


def _shortened(
    before: list[Statement], strips: For, scan: _Scan, start: Var, later: Names
) -> tuple[list[Statement], For]:
    """Arrays that nothing else uses as long as a strip, with positions from its start."""
    others = later.union(*(each.uses for each in before if not isinstance(each, Allocate)))
    reads = [each for step in scan.loop.body for each in step.reads]
    short: set[str] = set()
    for each in before:
        if isinstance(each, Allocate) and each.shape == (scan.loop.stop,) and each.start is None:
            name = each.array.name
            alone = frozenset({name})
            if name in scan.written and name not in others:
                if all(_is_at(read, scan.loop.counter, alone) for read in reads):
                    short.add(name)
    if not short:
        return before, strips
    length = (integer(SCAN_STRIP_STEPS),)
    made = [
        each.replace(shape=length)
        if isinstance(each, Allocate) and each.array.name in short
        else each
        for each in before
    ]
    return made, _moved(strips, frozenset(short), start)


def _moved(strips: For, arrays: Names, start: Var) -> For:
    """Return a loop whose reads of some arrays are shifted to a position."""

    def moved(each: Expression) -> Expression:
        if isinstance(each, Load) and each.array.name in arrays:
            return Load(each.array, (op("-", each.index[0], start),))
        return of_parts(each, moved)

    return strips.replace(body=tuple(of_changed(each, moved) for each in strips.body))
