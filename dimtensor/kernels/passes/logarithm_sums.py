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
    Call,
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
_ZERO, _ONE = number(0.0, _WIDE), number(1.0, _WIDE)
# the number whose logarithm is 0
_NEUTRAL = {"log": 1.0, "log1p": 0.0, "log1p_unit": 0.0}


class Split(NamedTuple):
    """A sum of a logarithm and other things.

    Attributes
    ----------
    form : {"log", "log1p", "log1p_unit"}
        Whether the logarithm is that of a number, of 1 and a number, or of 1 and one from 0 to 1.
    number : Expression
    rest : Expression or None
        What else there is.
    names : set of str
        Temporaries that are not needed any more, if nothing else reads them.
    is_taken_away : bool
        Whether the logarithm is subtracted.
    """

    form: str
    number: Expression
    rest: Expression | None = None
    names: Names = NOTHING
    is_taken_away: bool = False


@dataclass(frozen=True)
class Terms:
    """What the terms of sums in a loop are.

    Attributes
    ----------
    defined : mapping of str to Expression
        What temporaries are.
    functions : mapping of str to str
        What scalar operations are that the loop calls by name.
    """

    defined: Mapping[str, Expression]
    functions: Mapping[str, str]

    def split(self, value: Expression) -> Split | None:
        """A value as a logarithm and what is added to it; None if it has none.

        The rest stays together: its terms might cancel each other.
        """
        whole, names = self._opened(value)
        if not isinstance(whole, (Op, Call)):
            return None
        found = self._logarithm(whole)
        if found is None and whole.op in ("+", "-"):
            found = self._in_sum(whole)
        elif found is None and whole.op == "select":
            found = self._in_selection(*whole.operands)
        elif found is None and whole.op == "neg":
            found = self._negative(*whole.operands)
        return None if found is None else found._replace(names=found.names | names)

    def _opened(self, value: Expression) -> tuple[Expression, Names]:
        """What a temporary is, and its name."""
        names: set[str] = set()
        while isinstance(value, Var) and value.name in self.defined:
            names.add(value.name)
            value = self.defined[value.name]
        return value, frozenset(names)

    def _logarithm(self, value: Op | Call) -> Split | None:
        """A logarithm; also one that is minus infinity where the number is 0."""
        if value.op == "select":
            return self._of_positive(*value.operands)
        x = value.operands[0]
        if x.dtype != _WIDE:
            return None
        if isinstance(value, Op):
            return Split(value.op, x) if value.op in ("log", "log1p") else None
        name = self.functions.get(value.op)
        if name == "Softplus":  # max(x, 0) + log(1 + exp(-|x|)); |x| is that of -x
            inner, _ = self._opened(x)
            size = inner.operands[0] if isinstance(inner, Op) and inner.op == "neg" else x
            small = op("exp", op("neg", op("abs", size)))
            return Split("log1p_unit", small, select(op(">", x, _ZERO), x, _ZERO))
        return Split("log1p_unit", x) if name == "Log1pUnit" else None

    def _of_positive(self, test: Expression, limit: Expression, usual: Expression) -> Split | None:
        """The logarithm of what is positive where it is not 0, in place of which 1 stands."""
        (log, names), (tested, _) = self._opened(usual), self._opened(test)
        if not _is_number(limit, -math.inf) or not isinstance(log, Op) or log.op != "log":
            return None
        stand_in, _ = self._opened(log.operands[0])
        if not isinstance(stand_in, Op) or stand_in.op != "select":
            return None
        if stand_in.operands[0] != test or not isinstance(tested, Op):
            return None
        _, one, number_of = stand_in.operands
        pairs = (tested.operands, tested.operands[::-1]) if tested.op == "==" else ()
        is_zero = any(_is_number(x, 0.0) and y == number_of for x, y in pairs)
        fits = _is_number(one, 1.0) and number_of.dtype == _WIDE
        return Split("log", number_of, names=names) if is_zero and fits else None

    def _negative(self, value: Expression) -> Split | None:
        found = self.split(value)
        if found is None:
            return None
        rest = None if found.rest is None else op("neg", found.rest)
        return found._replace(rest=rest, is_taken_away=not found.is_taken_away)

    def _in_sum(self, whole: Op | Call) -> Split | None:
        """The first logarithm of a sum or a difference, with all other terms.

        A sum of differences may be much smaller than the sums of what they are of, so only what is
        from 0 to log(2) is taken out of differences.
        """
        terms = whole.operands
        for at, term in enumerate(terms):
            found = self.split(term)
            if found is None:
                continue
            if found.form != "log1p_unit" and (whole.op == "-" or found.is_taken_away):
                continue
            rest = () if found.rest is None else (found.rest,)
            left = (*terms[:at], *rest, *terms[at + 1 :])
            if whole.op == "+":
                return found._replace(rest=op("+", *left) if len(left) > 1 else left[0])
            if at == 1:
                found = found._replace(is_taken_away=not found.is_taken_away)
            if len(left) == 2:
                return found._replace(rest=op("-", *left))
            return found._replace(rest=left[0] if at == 1 else op("neg", left[0]))
        return None

    def _in_selection(self, test: Expression, one: Expression, other: Expression) -> Split | None:
        """A selection of logarithms: the logarithm of a selection, which may be that of 1."""
        found = self.split(one), self.split(other)
        first = found[0] or found[1]
        if first is None:
            return None
        neutral = number(_NEUTRAL[first.form], _WIDE)
        numbers: list[Expression] = []
        rests: list[Expression | None] = []
        names = NOTHING
        for arm, each in zip((one, other), found, strict=True):
            if each is None or each.form != first.form or each.is_taken_away != first.is_taken_away:
                numbers.append(neutral)
                rests.append(arm)
            else:
                numbers.append(each.number)
                rests.append(each.rest)
                names |= each.names
        of = numbers[0] if numbers[0] == numbers[1] else select(test, *numbers)
        rest = None
        if rests != [None, None]:
            rest = select(test, *(_ZERO if each is None else each for each in rests))
        return first._replace(number=of, rest=rest, names=names)


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
    terms : Terms or None
        What is known of the loop, if its sums are opened.
    numbers, arrays : list of Statement
        What keeps numbers in the loop, and what makes the arrays that they are kept in.
    gone : set of str
        Temporaries that nothing needs any more.
    """

    def __init__(self, blocks: Blocks, fresh: Callable[[str], str]):
        self.terms: Terms | None = None
        self.numbers: list[Statement] = []
        self.arrays: list[Statement] = []
        self.gone: Names = NOTHING
        self._blocks = blocks
        self._fresh = fresh

    def added(self, part: Var, value: Expression, others: Sequence[Names]) -> Statement | None:
        """A term of a sum; of logarithms the numbers are kept, and what is beside them is added.

        Parameters
        ----------
        part : Var
        value : Expression
        others : sequence of set of str
            What else is read of the temporaries.
        """
        found: list[Split] = []
        left: Expression | None = value
        while left is not None and (one := self._taken_out(left, found, others)) is not None:
            found.append(one)
            left = one.rest
        if len({each.is_taken_away for each in found}) > 1:
            return Accumulate("+", part, value)  # their difference may be small
        alike: dict[str, list[Expression]] = {}
        for each in found:
            alike.setdefault(each.form, []).append(each.number)
            self.gone |= each.names
        for form, numbers in alike.items():
            self._keep(form, numbers, part, found[0].is_taken_away)
        return None if left is None else Accumulate("+", part, left)

    def _taken_out(
        self, value: Expression, before: Sequence[Split], others: Sequence[Names]
    ) -> Split | None:
        """A logarithm of a value, after others of it, unless something reads what it is made of."""
        found = None if self.terms is None else self.terms.split(value)
        if self.terms is None or found is None:
            return None
        gone = found.names.union(*(each.names for each in before))
        stay = [x.uses for name, x in self.terms.defined.items() if name not in gone]
        kept = [each.number.uses for each in (*before, found)]
        rest = NOTHING if found.rest is None else found.rest.uses
        return found if all(map(gone.isdisjoint, (*stay, *kept, rest, *others))) else None

    def _keep(
        self, form: str, numbers: Sequence[Expression], part: Var, are_taken_away: bool
    ) -> None:
        """Leave numbers for the end of the block."""
        blocks, fresh = self._blocks, self._fresh
        if blocks.at is None:
            blocks.at = Var(fresh("k"), "int64")
        several = len(numbers) > 1
        buffer = Array(fresh("b"), _WIDE, 1 + several)
        length = integer(BLOCK)
        shape = (integer(len(numbers)), length) if several else (length,)
        self.arrays.append(Allocate(buffer, shape))
        for which, each in enumerate(numbers):
            place = (integer(which), blocks.at) if several else (blocks.at,)
            self.numbers.append(Store(Load(buffer, place), each))
        sums = Logarithms(form, buffer, len(numbers), part, are_taken_away)
        blocks.last.append(lambda count: sums.added(count, fresh))


@dataclass(frozen=True)
class Logarithms:
    """Numbers of a block whose logarithms a total is of.

    Attributes
    ----------
    form : {"log", "log1p", "log1p_unit"}
    buffer : Array
        Where they lie, in rows if there are several.
    times : int
        How many there are in each round of the block.
    part : Var
        What is added up in the block.
    are_taken_away : bool
        Whether they are subtracted.
    """

    form: str
    buffer: Array
    times: int
    part: Var
    are_taken_away: bool

    def added(self, count: Expression, fresh: Callable[[str], str]) -> list[Statement]:
        """The sum of the logarithms of the numbers of so many rounds, added to the part."""
        number_of, rows = (Var(fresh("m"), "int64") for _ in range(2))
        fine, total = Var(fresh("a"), "bool"), Var(fresh("a"), _WIDE)
        at, row, single, which = (Var(fresh("k"), "int64") for _ in range(4))
        eight = integer(AT_ONCE)
        whole = op("//", op("+", number_of, integer(AT_ONCE - 1)), eight)

        def of_each(*statements: Statement) -> Sequence[Statement]:
            several = self.times > 1
            return (For(which, integer(self.times), statements),) if several else statements

        def place(position: Expression) -> Load:
            return Load(self.buffer, (which, position) if self.times > 1 else (position,))

        # the logarithm of 1 is nothing
        neutral = Store(place(at), number(_NEUTRAL[self.form], _WIDE))
        filled = For(at, op("*", eight, rows), (neutral,), number_of)
        products = For(row, rows, tuple(self._row(place, row, rows, fine, total, fresh)))
        start: list[Statement] = [Assign(number_of, count), Assign(total, number(0.0, _WIDE))]
        into_part = self._taken_in(total)
        if self.form == "log1p_unit":  # products are from 1 to 256
            return [*start, Assign(rows, whole), *of_each(filled, products), into_part]
        are_many = op(">=", number_of, integer(2 * AT_ONCE))
        start += [Assign(fine, are_many), Assign(rows, select(fine, whole, integer(0)))]
        alone = self._taken_in(op(self.form, place(single)))
        one_by_one = of_each(For(single, number_of, (alone,)))
        return [*start, *of_each(filled, products), If(fine, (into_part,), tuple(one_by_one))]

    def _taken_in(self, value: Expression) -> Statement:
        return Accumulate("+", self.part, op("neg", value) if self.are_taken_away else value)

    def _row(
        self,
        place: Callable[[Expression], Load],
        row: Var,
        rows: Var,
        fine: Var,
        total: Var,
        fresh: Callable[[str], str],
    ) -> list[Statement]:
        lines: list[Statement] = []

        def let(value: Expression) -> Var:
            name = Var(fresh("t"), value.dtype)
            lines.append(Assign(name, value))
            return name

        places = [op("+", row, op("*", integer(k), rows)) if k else row for k in range(AT_ONCE)]
        leaves = [self._leaf(let(place(at)), let) for at in places]

        def times(one: tuple[Var, Var | None], two: tuple[Var, Var | None]) -> tuple[Var, Var]:
            (a, lost_a), (b, lost_b) = one, two
            both = let(op("*", a, b))
            # Rounded once, since what is added is no product: a difference of two would be 0.
            lost = let(op("+", op("*", a, b), op("neg", both)))
            if lost_a is not None and lost_b is not None:
                lost = let(op("+", op("*", a, lost_b), lost))
                lost = let(op("+", op("*", b, lost_a), lost))
            return both, lost

        if self.form != "log1p_unit":
            numbers = [each for each, _ in leaves]
            least = _pairwise(lambda a, b: let(select(op("<", a, b), a, b)), numbers)
            most = _pairwise(lambda a, b: let(select(op(">", a, b), a, b)), numbers)
        all_of_them, lost = _pairwise(times, leaves)
        assert lost is not None
        if self.form != "log1p_unit":
            # nan may be within, since its comparisons are false: it makes the product nan
            above = let(op(">", least, number(_LEAST, _WIDE)))
            below = let(op("<", most, number(_MOST, _WIDE)))
            within = let(op("&", above, below))
            lines.append(Accumulate("&", fine, within))
        log = let(op("log", all_of_them))
        lines.append(Accumulate("+", total, let(op("+", log, op("/", lost, all_of_them)))))
        return lines

    def _leaf(self, x: Var, let: Callable[[Expression], Var]) -> tuple[Var, Var | None]:
        """What a logarithm is of, and what is lost in it: of 1 + x the sum rounds."""
        if self.form == "log":
            return x, None
        both = let(op("+", _ONE, x))
        # of x above 1 it may be wrong by a last digit, of which the logarithm feels nothing
        return both, let(op("-", x, let(op("-", both, _ONE))))


def _pairwise[T](combine: Callable[[T, T], T], values: Sequence[T]) -> T:
    """Values combined two by two."""
    while len(values) > 1:
        values = [combine(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]
