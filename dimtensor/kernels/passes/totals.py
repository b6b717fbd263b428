"""Totals of sums: their errors grow no faster than those of NumPy's.

NumPy adds up pairs of halves. Here so many elements at a time are added up in a variable of the
innermost loops, which LLVM makes several of, side by side; a total takes that in with what the sum
of both has lost. So the error depends on the number of elements in a block and hardly on how many
blocks there are, see D. E. Knuth, The Art of Computer Programming 2, 4.2.2, theorem B. Totals of
single precision are kept in double precision instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dimtensor.graph.dtypes import accumulator
from dimtensor.kernels.ir.make import cast, integer, known, number, op, select
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Assign,
    Carry,
    Const,
    Expression,
    For,
    If,
    Statement,
    Var,
)
from dimtensor.kernels.ir.walk import replaced
from dimtensor.tuning import SUM_BLOCK

_WIDE = "float64"
NARROW = ("float32", "complex64")
ROUNDED = (_WIDE, *NARROW)


def is_blocked(operation: str, dtype: str) -> bool:
    """Return whether a reduction is a sum that rounds."""
    return operation == "+" and dtype in ROUNDED


def zero(dtype: str) -> Const:
    return number(0.0, dtype)


def levels(lengths: Sequence[Expression]) -> tuple[int, int]:
    """Return the number of loops outside of a block, and the iterations of its last loop.

    A block contains whole loops of known lengths, as far as they fit.
    """
    size, level = 1, len(lengths)
    while (
        level and (length := known(lengths[level - 1])) is not None and size * length <= SUM_BLOCK
    ):
        size *= max(length, 1)
        level -= 1
    return level, SUM_BLOCK // size


@dataclass
class Blocks:
    """Code around the loops of a block: sums in it start from 0, and are added to totals.

    Values for the block epilogue are stored in arrays, at the position in the block (`at`).
    """

    head: list[Statement] = field(default_factory=list)
    tail: list[Statement] = field(default_factory=list)
    first: list[tuple[Statement, Sequence[Statement]]] = field(default_factory=list)
    # each total with the sum of a block, and the statements of the tail that add it up
    totals: list[tuple[Var, Var, Sequence[Statement]]] = field(default_factory=list)
    at: Var | None = None
    last: list[Callable[[Expression], Sequence[Statement]]] = field(default_factory=list)

    def add(self, part: Var) -> None:
        """Register a sum of a block."""
        start = Assign(part, zero(part.dtype))
        if start not in self.head:
            self.head.append(start)

    def at_the_end(self, count: Expression) -> list[Statement]:
        """Write the block epilogue."""
        return [statement for each in self.last for statement in each(count)]

    def into(
        self, name: Var, part: Var, fresh: Callable[[str], str], starts_here: bool
    ) -> tuple[list[Statement], list[Statement]]:
        """Return the prologue and the epilogue of a total of the sums of blocks.

        One that starts just before the loop over blocks is the sum of the first of them: nothing
        is added for sums that are short, as those of a product with a matrix may be.
        """
        wide = accumulator(part.dtype)
        total = Var(fresh("a"), wide)
        if part.dtype != wide:
            self.tail.append(Accumulate("+", total, cast(part, wide)))
            return [Assign(total, zero(wide))], [Assign(name, cast(total, part.dtype))]
        lost, both, back = (Var(fresh(kind), _WIDE) for kind in "att")
        of_total = op("-", total, op("-", both, back))
        taken_in = [
            Assign(both, op("+", total, part)),
            Assign(back, op("-", both, total)),
            Carry(lost, op("+", lost, op("+", of_total, op("-", part, back)))),
            Carry(total, both),
        ]
        self.tail += taken_in
        self.totals.append((total, part, taken_in))
        if starts_here:
            self.first.append((Carry(total, part), taken_in))
        # of an infinite total nothing is lost
        finite = op("==", op("-", lost, lost), zero(_WIDE))
        whole = Carry(total, select(finite, op("+", total, lost), total))
        end = [If(op("!=", lost, zero(_WIDE)), (whole,)), Assign(name, total)]
        return [Assign(total, zero(_WIDE)), Assign(lost, zero(_WIDE))], end

    def taken_in(self, start: Var) -> list[Statement]:
        """Add the sums of the block that starts at a position to the totals."""
        if not self.first:
            return self.tail
        later = [each for _, statements in self.first for each in statements]
        known = set(later)
        others = [each for each in self.tail if each not in known]
        is_first = op("==", start, integer(0))
        return [If(is_first, tuple(each for each, _ in self.first), tuple(later)), *others]


def loop(
    counter: Var,
    length: Expression,
    body: Sequence[Statement],
    blocks: Blocks | None,
    fresh: Callable[[str], str],
    rounds: int = SUM_BLOCK,
    is_wide: bool = False,
) -> For:
    """Write a loop, in blocks if there are sums of blocks."""
    if blocks is None or not blocks.head:
        return For(counter, length, tuple(body), is_wide=is_wide)
    start = Var(fresh("j"), "int64")
    stop = op("min", op("+", start, integer(rounds)), length)
    if blocks.at is not None:
        place = {blocks.at.name: op("-", counter, start)}
        body = [replaced(each, place) for each in body]
    block = For(counter, stop, tuple(body), start, is_wide=is_wide)
    end = blocks.at_the_end(op("-", stop, start))
    inside = (*blocks.head, block, *end, *blocks.taken_in(start))
    return For(start, length, inside, step=rounds)
