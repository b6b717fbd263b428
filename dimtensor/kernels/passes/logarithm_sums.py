"""Sums of logarithms: one logarithm of the product of eight numbers.

A loop leaves the numbers of a block in an array, and what it rounds away in their products is
carried along (fused multiply-add gives it exactly, see T. J. Dekker, A floating-point technique for
extending the available precision, 1971), so that logarithms near 0 lose no digits. Where a number
of the block is so large or small that a product might overflow or vanish, or has no logarithm, all
of the block have theirs taken one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dimtensor.kernels.ir.make import integer, number, op, select
from dimtensor.kernels.ir.nodes import (
    NOTHING,
    Accumulate,
    Allocate,
    Array,
    Assign,
    Const,
    Expression,
    For,
    If,
    Load,
    Names,
    Op,
    Statement,
    Store,
    Var,
)
from dimtensor.kernels.passes.strip_mining import Line
from dimtensor.kernels.passes.totals import BLOCK, Blocks

AT_ONCE = 8
# shorter loops are not worth it
FEWEST = 64
# the product of eight numbers from here to there, and what it rounds away, are normal
_LEAST, _MOST = 2.0**-100, 2.0**100
_WIDE = "float64"


class Split(NamedTuple):
    """A sum of a logarithm and other things.

    Attributes
    ----------
    number : Expression
        What the logarithm is of.
    rest : Expression or None
        What else there is.
    names : set of str
        Temporaries that are not needed any more, if nothing else reads them.
    """

    number: Expression
    rest: Expression | None
    names: frozenset[str]


def split(value: Expression, defined: Mapping[str, Expression]) -> Split | None:
    """A value as a logarithm and what is added to it; None if it has none.

    The rest stays together: its terms might cancel each other.

    Parameters
    ----------
    value : Expression
    defined : mapping of str to Expression
        What temporaries are.
    """
    names: set[str] = set()
    whole = _opened(value, defined, names)
    terms = [value]
    if isinstance(whole, Op) and whole.op == "+" and whole.dtype == _WIDE:
        terms = list(whole.operands)
    for at, term in enumerate(terms):
        own = set(names)
        found = _logarithm_of(_opened(term, defined, own), defined, own)
        if found is not None:
            rest = terms[:at] + terms[at + 1 :]
            left = None if not rest else rest[0] if len(rest) == 1 else op("+", *rest)
            return Split(found, left, frozenset(own))
    return None


def _logarithm_of(
    value: Expression, defined: Mapping[str, Expression], names: set[str]
) -> Expression | None:
    """What a logarithm is of; also of one that is minus infinity where the number is 0."""
    if not isinstance(value, Op) or value.dtype != _WIDE:
        return None
    if value.op == "log":
        return value.operands[0] if value.operands[0].dtype == _WIDE else None
    if value.op != "select" or not _is_number(value.operands[1], -math.inf):
        return None
    test, _, usual = value.operands
    log, tested = _opened(usual, defined, names), _opened(test, defined)
    if not isinstance(log, Op) or log.op != "log" or not isinstance(tested, Op):
        return None
    stand_in = _opened(log.operands[0], defined)
    if not isinstance(stand_in, Op) or stand_in.op != "select" or stand_in.operands[0] != test:
        return None
    _, one, number_of = stand_in.operands
    pairs = (tested.operands, tested.operands[::-1]) if tested.op == "==" else ()
    is_zero = any(_is_number(x, 0.0) and y == number_of for x, y in pairs)
    fits = _is_number(one, 1.0) and number_of.dtype == _WIDE
    return number_of if is_zero and fits else None


def _opened(
    value: Expression, defined: Mapping[str, Expression], names: set[str] | None = None
) -> Expression:
    """What a temporary is; its name is noted."""
    while isinstance(value, Var) and value.name in defined:
        if names is not None:
            names.add(value.name)
        value = defined[value.name]
    return value


def _is_number(value: Expression, wanted: float) -> bool:
    return isinstance(value, Const) and value.value == wanted


def definitions(lines: Iterable[Line]) -> dict[str, Expression]:
    """What the temporaries of a loop are."""
    found = (line.statement for line in lines)
    return {each.target.name: each.value for each in found if isinstance(each, Assign)}


class Opened:
    """Sums of a loop that logarithms are taken out of.

    Attributes
    ----------
    defined : dict of str to Expression
        The temporaries of the loop, if its sums are opened.
    numbers, arrays : list of Statement
        What keeps numbers in the loop, and what makes the arrays that they are kept in.
    gone : set of str
        Temporaries that nothing needs any more.
    """

    def __init__(self, blocks: Blocks, fresh: Callable[[str], str]):
        self.defined: dict[str, Expression] = {}
        self.numbers: list[Statement] = []
        self.arrays: list[Statement] = []
        self.gone: Names = NOTHING
        self._blocks = blocks
        self._fresh = fresh

    def added(self, part: Var, value: Expression, others: Iterable[Names]) -> Statement | None:
        """A term of a sum; of a logarithm the number is kept, and what is beside it is added.

        Parameters
        ----------
        part : Var
        value : Expression
        others : iterable of set of str
            What else is read of the temporaries.
        """
        found = split(value, self.defined) if self.defined else None
        readers = [x.uses for name, x in self.defined.items() if found and name not in found.names]
        if found is None or not all(map(found.names.isdisjoint, (*readers, *others))):
            return Accumulate("+", part, value)
        blocks, fresh = self._blocks, self._fresh
        if blocks.at is None:
            blocks.at = Var(fresh("k"), "int64")
        buffer = Array(fresh("b"), _WIDE, 1)
        self.arrays.append(Allocate(buffer, (integer(BLOCK),)))
        self.numbers.append(Store(Load(buffer, (blocks.at,)), found.number))
        self.gone |= found.names
        sums = Logarithms(buffer, part)
        blocks.last.append(lambda count: sums.added(count, fresh))
        return None if found.rest is None else Accumulate("+", part, found.rest)


@dataclass(frozen=True)
class Logarithms:
    """Numbers of a block whose logarithms a total is of.

    Attributes
    ----------
    buffer : Array
        Where they lie.
    part : Var
        What is added up in the block.
    """

    buffer: Array
    part: Var

    def added(self, count: Expression, fresh: Callable[[str], str]) -> list[Statement]:
        """The sum of the logarithms of so many numbers, added to the part."""
        number_of, rows = (Var(fresh("m"), "int64") for _ in range(2))
        fine, total = Var(fresh("a"), "bool"), Var(fresh("a"), _WIDE)
        at, row, single = (Var(fresh("k"), "int64") for _ in range(3))
        eight = integer(AT_ONCE)
        whole = op("//", op("+", number_of, integer(AT_ONCE - 1)), eight)
        are_many = op(">=", number_of, integer(2 * AT_ONCE))
        alone = op("log", Load(self.buffer, (single,)))
        return [
            Assign(number_of, count),
            Assign(fine, are_many),
            Assign(rows, select(fine, whole, integer(0))),
            # the logarithm of 1 is nothing
            For(at, op("*", eight, rows), (self._set(at, 1.0),), number_of),
            Assign(total, number(0.0, _WIDE)),
            For(row, rows, tuple(self._row(row, rows, fine, total, fresh))),
            If(
                fine,
                (Accumulate("+", self.part, total),),
                (For(single, number_of, (Accumulate("+", self.part, alone),)),),
            ),
        ]

    def _set(self, at: Var, value: float) -> Store:
        return Store(Load(self.buffer, (at,)), number(value, _WIDE))

    def _row(
        self, row: Var, rows: Var, fine: Var, total: Var, fresh: Callable[[str], str]
    ) -> list[Statement]:
        lines: list[Statement] = []

        def let(value: Expression) -> Var:
            name = Var(fresh("t"), value.dtype)
            lines.append(Assign(name, value))
            return name

        places = [op("+", row, op("*", integer(k), rows)) if k else row for k in range(AT_ONCE)]
        numbers = [let(Load(self.buffer, (place,))) for place in places]
        least = _pairwise(lambda a, b: let(select(op("<", a, b), a, b)), numbers)
        most = _pairwise(lambda a, b: let(select(op(">", a, b), a, b)), numbers)

        def times(one: tuple[Var, Var | None], two: tuple[Var, Var | None]) -> tuple[Var, Var]:
            (a, lost_a), (b, lost_b) = one, two
            both = let(op("*", a, b))
            # Rounded once, since what is added is no product: a difference of two would be 0.
            lost = let(op("+", op("*", a, b), op("neg", both)))
            if lost_a is not None and lost_b is not None:
                lost = let(op("+", op("*", a, lost_b), lost))
                lost = let(op("+", op("*", b, lost_a), lost))
            return both, lost

        leaves: list[tuple[Var, Var | None]] = [(x, None) for x in numbers]
        all_of_them, lost = _pairwise(times, leaves)
        assert lost is not None
        # nan may be within, since its comparisons are false: it makes the product nan
        above = let(op(">", least, number(_LEAST, _WIDE)))
        below = let(op("<", most, number(_MOST, _WIDE)))
        within = let(op("&", above, below))
        lines.append(Accumulate("&", fine, within))
        log = let(op("log", all_of_them))
        lines.append(Accumulate("+", total, let(op("+", log, op("/", lost, all_of_them)))))
        return lines


def _pairwise[T](combine: Callable[[T, T], T], values: Sequence[T]) -> T:
    """Values combined two by two."""
    while len(values) > 1:
        values = [combine(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]
