"""The end of a block of a sum of logarithms: the logarithm of the product of eight numbers.

What products round away is carried along (fused multiply-add gives it exactly, see T. J. Dekker, A
floating-point technique for extending the available precision, 1971), so that logarithms near 0
lose no digits. Where a number of the block is so large or small that a product might overflow or
vanish, or has no logarithm, all of the block have theirs taken one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dimtensor.kernels.ir.make import call, integer, number, op, select
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Allocate,
    Array,
    Assign,
    Expression,
    For,
    If,
    Load,
    Statement,
    Store,
    Var,
)
from dimtensor.tuning import LOGARITHM_FACTORS, SUM_BLOCK

# the product of eight numbers in this range, and its rounding error, are normal
_LEAST, _MOST = 2.0**-100, 2.0**100
_WIDE = "float64"
_ZERO, _ONE = number(0.0, _WIDE), number(1.0, _WIDE)
# the number whose logarithm is 0
NEUTRAL = {"log": 1.0, "log1p": 0.0, "log1p_unit": 0.0}


class Kept(NamedTuple):
    """Numbers of a block whose logarithms are added up.

    Attributes
    ----------
    form : {"log", "log1p", "log1p_unit"}
    buffer : Array
        Where they lie, in rows if there are several.
    times : int
        How many there are in each round of the block.
    """

    form: str
    buffer: Array
    times: int


@dataclass(frozen=True)
class Logarithms:
    """Logarithms of the numbers of a block, and their addends, that a total sums.

    Both are summed for eight iterations at a time: their sum may be much smaller than each.

    Attributes
    ----------
    kinds : tuple of Kept
    beside : Array or None
    part : Var
        Accumulator of the block.
    are_taken_away : bool
        Whether logarithms are subtracted.
    """

    kinds: tuple[Kept, ...]
    beside: Array | None
    part: Var
    are_taken_away: bool

    def added(self, count: Expression, fresh: Callable[[str], str]) -> list[Statement]:
        """Sum a number of iterations, and add the result to the part."""
        return _Rounds(self, fresh).added(count)


class _Rounds:
    """Statements at the end of a block."""

    def __init__(self, sums: Logarithms, fresh: Callable[[str], str]):
        self._sums = sums
        self._fresh = fresh
        self._number_of, self._rows = (Var(fresh("m"), "int64") for _ in range(2))
        self._fine, self._total = Var(fresh("a"), "bool"), Var(fresh("a"), _WIDE)
        # sums of eight rounds, where they are of several arrays
        several = len(sums.kinds) > 1 or sums.kinds[0].times > 1
        self._of_rows = Array(fresh("b"), _WIDE, 1) if several else None
        self._may_be_wide = any(each.form != "log1p_unit" for each in sums.kinds)

    def added(self, count: Expression) -> list[Statement]:
        number_of, rows, fine = self._number_of, self._rows, self._fine
        lines: list[Statement] = [Assign(number_of, count), Assign(self._total, _ZERO)]
        whole = op(
            "//", op("+", number_of, integer(LOGARITHM_FACTORS - 1)), integer(LOGARITHM_FACTORS)
        )
        if self._may_be_wide:
            lines.append(Assign(fine, op(">=", number_of, integer(2 * LOGARITHM_FACTORS))))
            whole = select(fine, whole, integer(0))
        lines.append(Assign(rows, whole))
        if self._of_rows is not None:
            lines += self._rows_of_rests(self._of_rows)
        elif self._sums.beside is not None:
            lines.append(self._filled(self._sums.beside, (), 0.0))
        for each in self._sums.kinds:
            lines += self._products(each)
        if self._of_rows is not None:
            row = self._counter()
            lines.append(For(row, rows, (self._taken_in(Load(self._of_rows, (row,))),)))
        into_part = Accumulate("+", self._sums.part, self._total)
        # of 1 and numbers from 0 to 1 products are from 1 to 256
        return [
            *lines,
            If(fine, (into_part,), (self._one_by_one(),)) if self._may_be_wide else into_part,
        ]

    def _counter(self) -> Var:
        return Var(self._fresh("k"), "int64")

    def _taken_in(self, value: Expression) -> Statement:
        return Accumulate("+", self._total, value)

    def _signed(self, log: Expression) -> Expression:
        return op("neg", log) if self._sums.are_taken_away else log

    def _filled(self, buffer: Array, before: tuple[Expression, ...], neutral: float) -> Statement:
        """Fill up the last row with numbers that add nothing."""
        at = self._counter()
        store = Store(Load(buffer, (*before, at)), number(neutral, _WIDE))
        return For(at, op("*", integer(LOGARITHM_FACTORS), self._rows), (store,), self._number_of)

    def _rests(self, buffer: Array, row: Var) -> Expression:
        rests: list[Expression] = [Load(buffer, (at,)) for at in self._places(row)]
        return _pairwise(lambda a, b: op("+", a, b), rests)

    def _places(self, row: Var) -> list[Expression]:
        rows = self._rows
        return [
            op("+", row, op("*", integer(k), rows)) if k else row for k in range(LOGARITHM_FACTORS)
        ]

    def _rows_of_rests(self, of_rows: Array) -> list[Statement]:
        """Initialize the sums of eight iterations with the addends of their logarithms."""
        row, beside = self._counter(), self._sums.beside
        lines: list[Statement] = [Allocate(of_rows, (integer(SUM_BLOCK // LOGARITHM_FACTORS),))]
        if beside is not None:
            lines.append(self._filled(beside, (), 0.0))
        first = _ZERO if beside is None else self._rests(beside, row)
        return [*lines, For(row, self._rows, (Store(Load(of_rows, (row,)), first),))]

    def _products(self, kept: Kept) -> list[Statement]:
        """Logarithms of products, added to the total or to those of rows."""
        which, row = self._counter(), self._counter()
        before = (which,) if kept.times > 1 else ()
        filled = self._filled(kept.buffer, before, NEUTRAL[kept.form])
        lines, log = self._row(kept, before, row)
        value = self._signed(log)
        if self._of_rows is not None:
            lines.append(Accumulate("+", Load(self._of_rows, (row,)), value))
        else:
            beside = self._sums.beside
            lines.append(
                self._taken_in(
                    value if beside is None else op("+", value, self._rests(beside, row))
                )
            )
        loops = (filled, For(row, self._rows, tuple(lines)))
        return [For(which, integer(kept.times), loops)] if before else list(loops)

    def _one_by_one(self) -> Statement:
        """Sum a block with numbers that are too large, too small, or without a logarithm."""
        single, value = self._counter(), Var(self._fresh("a"), _WIDE)
        beside = self._sums.beside
        lines: list[Statement] = [
            Assign(value, _ZERO if beside is None else Load(beside, (single,)))
        ]
        for each in self._sums.kinds:
            which = self._counter()
            before = (which,) if each.times > 1 else ()
            log = call(each.form.removesuffix("_unit"), Load(each.buffer, (*before, single)))
            taken = Accumulate("+", value, self._signed(log))
            lines.append(For(which, integer(each.times), (taken,)) if before else taken)
        lines.append(Accumulate("+", self._sums.part, value))
        return For(single, self._number_of, tuple(lines))

    def _row(
        self, kept: Kept, before: tuple[Expression, ...], row: Var
    ) -> tuple[list[Statement], Expression]:
        """Return the logarithm of the product of eight numbers."""
        lines: list[Statement] = []

        def let(value: Expression) -> Var:
            name = Var(self._fresh("t"), value.dtype)
            lines.append(Assign(name, value))
            return name

        def times(one: tuple[Var, Var | None], two: tuple[Var, Var | None]) -> tuple[Var, Var]:
            (a, lost_a), (b, lost_b) = one, two
            both = let(op("*", a, b))
            # Rounded once, since the addend is not a product: a difference of two would be 0.
            lost = let(op("+", op("*", a, b), op("neg", both)))
            if lost_a is not None and lost_b is not None:
                lost = let(op("+", op("*", a, lost_b), lost))
                lost = let(op("+", op("*", b, lost_a), lost))
            return both, lost

        numbers = [let(Load(kept.buffer, (*before, at))) for at in self._places(row)]
        leaves = [_leaf(kept.form, each, let) for each in numbers]
        if kept.form != "log1p_unit":
            lines += self._within([each for each, _ in leaves], let)
        all_of_them, lost = _pairwise(times, leaves)
        assert lost is not None
        log = let(call("log", all_of_them))
        return lines, let(op("+", log, op("/", lost, all_of_them)))

    def _within(self, numbers: list[Var], let: Callable[[Expression], Var]) -> list[Statement]:
        """Check that products and their rounding errors are normal numbers."""
        least = _pairwise(lambda a, b: let(select(op("<", a, b), a, b)), numbers)
        most = _pairwise(lambda a, b: let(select(op(">", a, b), a, b)), numbers)
        # nan may be within, since its comparisons are false: it makes the product nan
        above = let(op(">", least, number(_LEAST, _WIDE)))
        below = let(op("<", most, number(_MOST, _WIDE)))
        return [Accumulate("&", self._fine, let(op("&", above, below)))]


def _leaf(form: str, x: Var, let: Callable[[Expression], Var]) -> tuple[Var, Var | None]:
    """Return the operand of a logarithm, and its rounding error for 1 + x."""
    if form == "log":
        return x, None
    both = let(op("+", _ONE, x))
    # of x above 1 it may be wrong by a last digit, of which the logarithm feels nothing
    return both, let(op("-", x, let(op("-", both, _ONE))))


def _pairwise[T](combine: Callable[[T, T], T], values: Sequence[T]) -> T:
    """Values combined two by two."""
    while len(values) > 1:
        values = [combine(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]
