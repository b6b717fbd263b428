"""Sums of logarithms: one logarithm of the product of eight numbers.

A loop leaves the numbers of a block in an array, and what is beside their logarithms in another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

from dimtensor.kernels.ir.make import call, integer, number, op, select
from dimtensor.kernels.ir.nodes import (
    NOTHING,
    Accumulate,
    Allocate,
    Array,
    Assign,
    Call,
    Expression,
    For,
    Load,
    Names,
    Op,
    Statement,
    Store,
    Var,
)
from dimtensor.kernels.ir.walk import with_blocks
from dimtensor.kernels.passes.logarithm_products import NEUTRAL, Kept, Logarithms
from dimtensor.tuning import SUM_BLOCK, VECTORIZED_OPERATIONS

Fresh = Callable[[str], str]
_WIDE = "float64"
_ZERO, _ONE = number(0.0, _WIDE), number(1.0, _WIDE)


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
    """Terms of the sums in a loop.

    Attributes
    ----------
    defined : mapping of str to Expression
        Expressions of temporaries.
    """

    defined: Mapping[str, Expression]

    def split(self, value: Expression) -> Split | None:
        """Split a value into a logarithm and its addend; None without a logarithm.

        The addend is kept as one expression: its terms might cancel each other.
        """
        whole, names = self._opened(value)
        found = None
        if isinstance(whole, Call):
            found = self._logarithm(whole)
        elif isinstance(whole, Op) and whole.op in ("+", "-"):
            found = self._in_sum(whole)
        elif isinstance(whole, Op) and whole.op == "select":
            found = self._in_selection(*whole.operands)
        elif isinstance(whole, Op) and whole.op == "neg":
            found = self._negative(*whole.operands)
        return None if found is None else found._replace(names=found.names | names)

    def _opened(self, value: Expression) -> tuple[Expression, Names]:
        """Return the expression of a temporary, and its name."""
        names: set[str] = set()
        while isinstance(value, Var) and value.name in self.defined:
            names.add(value.name)
            value = self.defined[value.name]
        return value, frozenset(names)

    def _logarithm(self, value: Call) -> Split | None:
        """Split a function that is a logarithm, or contains one."""
        x = value.operands[0]
        if x.dtype != _WIDE:
            return None
        if value.function == "softplus":  # max(x, 0) + log(1 + exp(-|x|)); |x| is that of -x
            inner, _ = self._opened(x)
            size = inner.operands[0] if isinstance(inner, Op) and inner.op == "neg" else x
            small = call("exp", op("neg", op("abs", size)))
            return Split("log1p_unit", small, select(op(">", x, _ZERO), x, _ZERO))
        return Split(value.function, x) if value.function in NEUTRAL else None

    def _negative(self, value: Expression) -> Split | None:
        found = self.split(value)
        if found is None:
            return None
        rest = None if found.rest is None else op("neg", found.rest)
        return found._replace(rest=rest, is_taken_away=not found.is_taken_away)

    def _in_sum(self, whole: Op) -> Split | None:
        """Return the first logarithm of a sum or a difference, with all other terms.

        A sum of differences may be much smaller than the sums of their operands, so only logarithms
        from 0 to log(2) are taken out of differences.
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
        """Return a selection of logarithms as the logarithm of a selection, which may be 1."""
        found = self.split(one), self.split(other)
        first = found[0] or found[1]
        if first is None:
            return None
        neutral = number(NEUTRAL[first.form], _WIDE)
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


def in_products(
    statements: Sequence[Statement], results: Sequence[Expression], fresh: Fresh
) -> list[Statement]:
    """Replace sums of logarithms, in loops over blocks, by logarithms of products."""
    found: list[Statement] = []
    for each in statements:
        arrays: list[Statement] = []
        new = _opened(each, arrays, fresh)
        found += [*arrays, new]
    return found


def _opened(statement: Statement, arrays: list[Statement], fresh: Fresh) -> Statement:
    """Transform the blocks of a statement, and collect the arrays that they need."""

    def inside(body: Sequence[Statement]) -> list[Statement]:
        return [_opened(each, arrays, fresh) for each in body]

    if not isinstance(statement, For) or statement.step == 1:
        return with_blocks(statement, inside)
    body: list[Statement] = []
    for each in statement.body:
        if _is_open(each):
            body += _Block(statement, each, fresh, arrays).statements()
        else:
            body.append(_opened(each, arrays, fresh))
    return statement.replace(body=tuple(body))


def _is_open(loop: Statement) -> TypeGuard[For]:
    """Return whether a loop is an innermost one of moderate length, neither wide nor jammed."""
    if not isinstance(loop, For) or not loop.is_parallel or loop.is_wide or loop.is_jammed:
        return False
    return len(loop.body) <= VECTORIZED_OPERATIONS and not any(each.blocks for each in loop.body)


class _Block:
    """Sums of a block that logarithms are taken out of.

    Parameters
    ----------
    block, loop : For
        The loop over blocks, and the loop over the iterations of one.
    fresh : callable
    arrays : list of Statement
        Receives the arrays that numbers are stored in.
    """

    def __init__(self, block: For, loop: For, fresh: Fresh, arrays: list[Statement]):
        self._loop = loop
        self._fresh = fresh
        self._arrays = arrays
        starts = (each for each in block.body if isinstance(each, Assign) and each.value == _ZERO)
        self._parts = {each.target.name for each in starts}
        is_strip = loop.start != block.counter
        self._at = loop.counter if is_strip else op("-", loop.counter, block.counter)
        self._count = loop.stop if is_strip else op("-", loop.stop, block.counter)
        found = (each for each in loop.body if isinstance(each, Assign))
        self._terms = Terms({each.target.name: each.value for each in found})

    def statements(self) -> list[Statement]:
        """Return the loop over the iterations, and the block epilogue."""
        body = list(self._loop.body)
        gone: Names = NOTHING
        sums: list[Logarithms] = []
        for each in self._loop.body:
            if isinstance(each, Accumulate) and each.op == "+" and isinstance(each.target, Var):
                if each.target.name in self._parts:
                    at = body.index(each)
                    others = [x.uses for x in body if x is not each and not isinstance(x, Assign)]
                    found, rest = self._logarithms(each.value, others)
                    if found:
                        body[at : at + 1], made = self._stored(found, rest, each.target)
                        gone = gone.union(*(one.names for one in found))
                        sums.append(made)
        if not sums:
            return [self._loop]
        kept = (x for x in body if not isinstance(x, Assign) or x.target.name not in gone)
        loop = self._loop.replace(body=tuple(kept))
        return [loop, *(each for made in sums for each in made.added(self._count, self._fresh))]

    def _logarithms(
        self, value: Expression, others: Sequence[Names]
    ) -> tuple[list[Split], Expression | None]:
        """Return the logarithms of a term, and its other addends.

        Parameters
        ----------
        value : Expression
        others : sequence of set of str
            Further reads of the temporaries.
        """
        found: list[Split] = []
        left: Expression | None = value
        while left is not None and (one := self._taken_out(left, found, others)) is not None:
            found.append(one)
            left = one.rest
        if len({each.is_taken_away for each in found}) > 1:
            return [], value  # their difference may be small
        return found, left

    def _taken_out(
        self, value: Expression, before: Sequence[Split], others: Sequence[Names]
    ) -> Split | None:
        """Return a logarithm of a value, after others, unless its operand has other readers."""
        found = self._terms.split(value)
        if found is None:
            return None
        gone = found.names.union(*(each.names for each in before))
        stay = [x.uses for name, x in self._terms.defined.items() if name not in gone]
        kept = [each.number.uses for each in (*before, found)]
        rest = NOTHING if found.rest is None else found.rest.uses
        return found if all(map(gone.isdisjoint, (*stay, *kept, rest, *others))) else None

    def _stored(
        self, found: Sequence[Split], rest: Expression | None, part: Var
    ) -> tuple[list[Statement], Logarithms]:
        """Store numbers, and the addends of their logarithms, for the end of the block."""
        alike: dict[str, list[Expression]] = {}
        for each in found:
            alike.setdefault(each.form, []).append(each.number)
        stores: list[Statement] = []
        kinds = tuple(
            Kept(form, self._array(numbers, stores), len(numbers))
            for form, numbers in alike.items()
        )
        beside = None if rest is None else self._array([rest], stores)
        return stores, Logarithms(kinds, beside, part, found[0].is_taken_away)

    def _array(self, values: Sequence[Expression], stores: list[Statement]) -> Array:
        """Return the array that stores values of a block, in rows if there are several."""
        several = len(values) > 1
        buffer = Array(self._fresh("b"), _WIDE, 1 + several)
        length = integer(SUM_BLOCK)
        self._arrays.append(
            Allocate(buffer, (integer(len(values)), length) if several else (length,))
        )
        for which, each in enumerate(values):
            place = (integer(which), self._at) if several else (self._at,)
            stores.append(Store(Load(buffer, place), each))
        return buffer
