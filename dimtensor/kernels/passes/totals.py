"""Totals of sums: their errors grow no faster than those of NumPy's.

NumPy adds up pairs of halves. Here the terms of a block are added up in a variable of the innermost
loops, of which LLVM makes several, side by side; a total takes in the sum of a block together with
the rounding error of that addition. So the error depends on the number of terms in a block and
hardly on the number of blocks, see D. E. Knuth, The Art of Computer Programming 2, 4.2.2, theorem
B. Totals of single precision are kept in double precision instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from dimtensor.graph.dtypes import accumulator
from dimtensor.kernels.ir.make import bound, cast, integer, number, op, select
from dimtensor.kernels.ir.node import united
from dimtensor.kernels.ir.nodes import (
    NOTHING,
    Accumulate,
    Assign,
    Carry,
    Const,
    Expression,
    For,
    If,
    Names,
    Statement,
    Var,
)
from dimtensor.kernels.ir.walk import statements_in, with_blocks
from dimtensor.tuning import SUM_BLOCK

_WIDE = "float64"
NARROW = ("float32", "complex64")
ROUNDED = (_WIDE, *NARROW)
Fresh = Callable[[str], str]


def in_blocks(
    statements: Sequence[Statement], results: Sequence[Expression], fresh: Fresh
) -> list[Statement]:
    """Add up the totals of parallel loops in blocks."""
    return _Blocked(fresh, united(each.uses for each in results)).block(statements, NOTHING)


def is_blocked(operation: str, dtype: str) -> bool:
    """Return whether a reduction is a sum that rounds."""
    return operation == "+" and dtype in ROUNDED


def is_block(outer: Expression, inner: Expression) -> bool:
    """Return whether a block of two loops consists of some iterations of the outer one."""
    length, times = bound(inner), bound(outer)
    return length is not None and length <= SUM_BLOCK < length * (times or SUM_BLOCK + 1)


def terms_at_once(body: Sequence[Statement]) -> int | None:
    """Return the number of iterations inside a loop body; None if no block contains them."""
    size = 1
    for each in body:
        if isinstance(each, For):
            inside = 1 if each.step > 1 else terms_at_once(each.body)
            length = bound(each.stop)
            if inside is None or length is None or inside * length > SUM_BLOCK:
                return None
            size = max(size, inside * length)
    return size


@dataclass
class _Total:
    """A total that the sums of blocks are added to.

    Attributes
    ----------
    total : Var
    lost : Var or None
        Its rounding error; None if it is of a wider dtype than the sums.
    """

    total: Var
    lost: Var | None

    def start(self) -> list[Statement]:
        return [Assign(each, _zero(each.dtype)) for each in (self.total, self.lost) if each]

    def added(self, part: Var, fresh: Fresh) -> list[Statement]:
        """Add the sum of a block."""
        total, lost = self.total, self.lost
        if lost is None:
            return [Accumulate("+", total, cast(part, total.dtype))]
        both, back = Var(fresh("t"), _WIDE), Var(fresh("t"), _WIDE)
        of_total = op("-", total, op("-", both, back))
        return [
            Assign(both, op("+", total, part)),
            Assign(back, op("-", both, total)),
            Carry(lost, op("+", lost, op("+", of_total, op("-", part, back)))),
            Carry(total, both),
        ]

    def end(self, name: Var) -> list[Statement]:
        """Assign the total, with its rounding error, to a variable."""
        total, lost = self.total, self.lost
        if lost is None:
            return [Assign(name, cast(total, name.dtype))]
        # an infinite total has no rounding error
        finite = op("==", op("-", lost, lost), _zero(_WIDE))
        whole = Carry(total, select(finite, op("+", total, lost), total))
        return [If(op("!=", lost, _zero(_WIDE)), (whole,)), Assign(name, total)]


@dataclass
class _Sums:
    """Sums of one block, with the statements that add them to totals.

    Attributes
    ----------
    parts : dict of str to Var
        The variable of the block, by the name of the variable that the loop added to.
    first, later : list of Statement
        Additions to totals that start just before the loop over blocks: in the first block, in
        which the total is the sum of the block, and in all others.
    always : list of Statement
        Other additions to totals.
    """

    parts: dict[str, Var] = field(default_factory=dict)
    first: list[Statement] = field(default_factory=list)
    later: list[Statement] = field(default_factory=list)
    always: list[Statement] = field(default_factory=list)

    def head(self) -> list[Statement]:
        return [Assign(part, _zero(part.dtype)) for part in self.parts.values()]

    def tail(self, is_first: Expression) -> list[Statement]:
        branch = [If(is_first, tuple(self.first), tuple(self.later))] if self.first else []
        return [*branch, *self.always]


class _Blocked:
    """Writes loops in blocks.

    Attributes
    ----------
    fresh : callable
    results : frozenset of str
        Names that the results of the function use.
    totals : dict of str to _Total
        Totals of the loops that have been written, by the names of the variables that they replace.
    """

    def __init__(self, fresh: Fresh, results: Names):
        self.fresh, self.results = fresh, results
        self.totals: dict[str, _Total] = {}

    def block(self, body: Sequence[Statement], around: Names) -> list[Statement]:
        """Write the statements of a block.

        Parameters
        ----------
        body : sequence of Statement
        around : frozenset of str
            Totals that start outside of the parallel loops around the block.
        """
        if not any(each.blocks for each in body):
            return list(body)
        adds, uses = [_added_in(each) for each in body], [each.uses for each in body]
        own = _totals_of(body, adds, uses)
        found: list[list[Statement]] = []
        removed: set[int] = set()
        for at, each in enumerate(body):
            if isinstance(each, For) and each.is_parallel:
                found.append([self._loop(each, at, body, adds, uses, own, around, removed)])
            elif isinstance(each, Accumulate) and at not in removed and _is_total(each, around):
                found.append(self._term(each))
            else:
                found.append([with_blocks(each, lambda inside: self.block(inside, NOTHING))])
        readers: dict[str, list[int]] = {}
        for at, names in enumerate(uses):
            for name in names:
                readers.setdefault(name, []).append(at)
        for name, start in own.items():
            total = self.totals.pop(name, None)
            if total is not None:
                last = max(at for at, names in enumerate(adds) if name in names)
                found[start] = total.start()
                target = body[start]
                assert isinstance(target, Assign)
                found[last] += total.end(target.target)
                into = {name: total.total}  # of loops that are no blocks
                for at in readers.get(name, ()):
                    some = found[at]
                    some[:] = (_renamed(x, into) if name in x.uses else x for x in some)
        return [each for at, some in enumerate(found) if at not in removed for each in some]

    def _loop(
        self,
        loop: For,
        at: int,
        body: Sequence[Statement],
        adds: Sequence[Names],
        uses: Sequence[Names],
        own: dict[str, int],
        around: Names,
        removed: set[int],
    ) -> For:
        """Write a parallel loop, in blocks if it is too long for one and has totals."""
        inside = 1 if loop.step > 1 else terms_at_once(loop.body)
        if inside is None:
            return loop.replace(body=tuple(self.block(loop.body, around | own.keys())))
        length = bound(loop.stop)
        if length is not None and inside * length <= SUM_BLOCK:
            return loop
        sums = _Sums()
        fed: dict[str, list[Var]] = {}
        for target in _accumulated(loop, around | own.keys()):
            if target.name in around:
                sums.parts[target.name] = part = Var(self.fresh("a"), target.dtype)
                fed.setdefault(target.name, []).append(part)
                continue
            readers = [n for n in range(at + 1, len(body)) if target.name in uses[n]]
            to = {n: _fed_by(body[n], target, around) for n in readers}
            # without readers it is a result of the block
            is_result = target.name in self.results or None in to.values() or not to
            part = Var(self.fresh("a"), target.dtype) if is_result else target
            sums.parts[target.name] = part
            if is_result:
                alone = sum(target.name in names for names in adds) == 1
                self._add(target, part, sums, starts_here=alone and loop.step == 1)
            else:
                removed.add(own[target.name])
            for n, fed_one in to.items():
                if fed_one is not None:
                    fed.setdefault(fed_one.name, []).append(part)
                    removed.add(n)
        targets = {each.name: each for each in _targets(loop, body)}
        for name, parts in fed.items():
            if len(parts) > 1 and parts[0].dtype == _WIDE:
                whole = Var(self.fresh("a"), _WIDE)
                sums.always.append(Assign(whole, _pairwise(parts)))
                parts = [whole]
            for part in parts:
                self._add(targets[name], part, sums)
        return self._written(loop, sums, SUM_BLOCK // inside) if sums.parts else loop

    def _term(self, statement: Accumulate) -> list[Statement]:
        """Add a number to a total between loops of unknown length."""
        target, sums = statement.target, _Sums()
        assert isinstance(target, Var)
        part = Var(self.fresh("a"), target.dtype)
        self._add(target, part, sums)
        return [Assign(part, statement.value), *sums.always]

    def _add(self, target: Var, part: Var, sums: _Sums, starts_here: bool = False) -> None:
        """Add the sum of a block to a total.

        A total that starts just before the loop over blocks is the sum of the first of them:
        nothing is added for short sums, as those of a product with a matrix may be.
        """
        total = self.totals.get(target.name)
        if total is None:
            wide = accumulator(target.dtype)
            lost = Var(self.fresh("a"), _WIDE) if wide == target.dtype else None
            total = self.totals[target.name] = _Total(Var(self.fresh("a"), wide), lost)
        added = total.added(part, self.fresh)
        if starts_here and total.lost is not None:
            sums.first.append(Carry(total.total, part))
            sums.later += added
        else:
            sums.always += added

    def _written(self, loop: For, sums: _Sums, rounds: int) -> For:
        body = tuple(_renamed(each, sums.parts) for each in loop.body)
        if loop.step > 1:  # strips are blocks
            before = next(n for n, each in enumerate(body) if isinstance(each, For))
            inside = (*body[:before], *sums.head(), *body[before:], *sums.always)
            return loop.replace(body=inside)
        start = Var(self.fresh("j"), "int64")
        stop = op("min", op("+", start, integer(rounds)), loop.stop)
        block = loop.replace(start=start, stop=stop, body=body)
        inside = (*sums.head(), block, *sums.tail(op("==", start, loop.start)))
        return For(start, loop.stop, inside, loop.start, rounds)


def _zero(dtype: str) -> Const:
    return number(0.0, dtype)


def _totals_of(
    body: Sequence[Statement], adds: Sequence[Names], uses: Sequence[Names]
) -> dict[str, int]:
    """Return the totals that start in a block, with the positions of their starts.

    Until the last loop that adds to them, nothing else reads them.

    Parameters
    ----------
    body : sequence of Statement
    adds, uses : sequence of frozenset of str
        Totals that each statement adds to, and all names in it.
    """
    added = united(adds)
    found: dict[str, int] = {}
    for at, each in enumerate(body):
        if isinstance(each, Assign) and each.target.dtype in ROUNDED:
            name = each.target.name
            if name in added and name not in found and each.value == _zero(each.target.dtype):
                found[name] = at
    for name, start in list(found.items()):
        last = max(at for at, names in enumerate(adds) if name in names)
        between = range(start + 1, last + 1)
        found_in = [n for n in between if name in uses[n] or body[n].defines == name]
        if any(_uses_otherwise(body[n], name) for n in found_in):
            del found[name]
    return found


def _added_in(statement: Statement) -> Names:
    """Return the totals that a parallel loop adds to; none for other statements."""
    if not isinstance(statement, For) or not statement.is_parallel:
        return NOTHING
    return frozenset(each.name for each in _all_accumulated(statement))


def _uses_otherwise(statement: Statement, name: str) -> bool:
    """Return whether a statement does more with a variable than a parallel loop's adding to it."""
    if not isinstance(statement, For) or not statement.is_parallel:
        return True
    for each in statements_in((statement,)):
        reads = each.reads
        if isinstance(each, Accumulate) and isinstance(each.target, Var):
            reads = (each.value,)
            if each.target.name == name and each.op != "+":
                return True
        elif each.defines == name:
            return True
        if any(name in read.uses for read in reads):
            return True
    return False


def _all_accumulated(loop: For) -> Iterator[Var]:
    for each in statements_in((loop,)):
        if isinstance(each, Accumulate) and each.op == "+" and isinstance(each.target, Var):
            if each.target.dtype in ROUNDED:
                yield each.target


def _accumulated(loop: For, outside: Names) -> list[Var]:
    """Return the totals outside of a loop that it adds to, in order."""
    found = {each.name: each for each in _all_accumulated(loop) if each.name in outside}
    return list(found.values())


def _fed_by(statement: Statement, part: Var, totals: Names) -> Var | None:
    """Return the total that a statement adds a variable to, None for other statements."""
    if isinstance(statement, Accumulate) and statement.op == "+" and statement.value == part:
        if isinstance(statement.target, Var) and statement.target.name in totals:
            return statement.target if statement.target.dtype == part.dtype else None
    return None


def _is_total(statement: Accumulate, totals: Names) -> bool:
    """Return whether a statement adds to a sum that rounds, among some totals."""
    target = statement.target
    is_among = isinstance(target, Var) and target.name in totals
    return is_among and is_blocked(statement.op, target.dtype)


def _targets(loop: For, body: Sequence[Statement]) -> Iterator[Var]:
    yield from _all_accumulated(loop)
    for each in body:
        if isinstance(each, Accumulate) and isinstance(each.target, Var):
            yield each.target


def _renamed(statement: Statement, parts: dict[str, Var]) -> Statement:
    """Let a statement add to the sums of a block."""
    if isinstance(statement, Accumulate) and isinstance(statement.target, Var):
        part = parts.get(statement.target.name)
        return statement if part is None else statement.replace(target=part)
    return with_blocks(statement, lambda inside: [_renamed(each, parts) for each in inside])


def _pairwise(terms: Sequence[Expression]) -> Expression:
    half = len(terms) // 2
    return op("+", _pairwise(terms[:half]), _pairwise(terms[half:])) if half else terms[0]
