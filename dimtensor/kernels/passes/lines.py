"""The statements of an innermost loop, with what passes over nests have to know of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from dimtensor.kernels.ir.make import ZERO
from dimtensor.kernels.ir.nodes import (
    Accumulate,
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
from dimtensor.kernels.ir.walk import statements_in, with_blocks
from dimtensor.kernels.native.functions.library import has_vectors
from dimtensor.ops.facts import facts_named
from dimtensor.tuning import VECTORIZED_OPERATIONS


@dataclass
class Line:
    """A statement in the innermost loop.

    Attributes
    ----------
    statement : Statement
    is_serial : bool
        Whether it keeps LLVM from vectorizing.
    is_load : bool
        Whether it only reads an element at the loop's position, or negates a number, which may be
        done again.
    name : str or None
        The temporary that it assigns.
    uses : frozenset of str
        Other names in it.
    """

    statement: Statement
    is_serial: bool = False
    is_load: bool = False
    name: str | None = field(init=False)
    uses: Names = field(init=False)

    def __post_init__(self) -> None:
        is_temporary = isinstance(self.statement, Assign)
        self.name = self.statement.defines if is_temporary else None
        self.uses = self.statement.uses


def is_innermost(statement: Statement) -> TypeGuard[For]:
    """Return whether a statement is a parallel loop without inner loops, as nests have it first."""
    if not isinstance(statement, For) or not statement.is_parallel:
        return False
    is_plain = statement.step == 1 and statement.start == ZERO and not statement.is_jammed
    return is_plain and not any(each.blocks for each in statement.body)


def innermost_loops(statements: Sequence[Statement]) -> Iterator[For]:
    """Yield the innermost loops of nests."""
    return (each for each in statements_in(statements) if is_innermost(each))


def with_loops(
    statements: Sequence[Statement], change: Callable[[For], Sequence[Statement]]
) -> list[Statement]:
    """Replace the loops of nests, inner ones first."""
    found: list[Statement] = []
    for each in statements:
        new = with_blocks(each, lambda inside: with_loops(inside, change))
        found += change(new) if isinstance(new, For) and new.is_parallel else [new]
    return found


def lines_of(loop: For) -> list[Line]:
    """Return the lines of an innermost loop: temporaries, each before its uses, then results."""
    made = frozenset(each.target.name for each in loop.body if isinstance(each, Assign))
    changed = made | written(loop)
    lines = []
    for each in loop.body:
        line = Line(each)
        if isinstance(each, Assign):
            line.is_serial = is_serial(each.value)
            line.is_load = _is_negative(each.value) or (
                _is_load(each.value) and each.uses.isdisjoint(changed)
            )
        elif isinstance(each, (Store, Accumulate)):
            line.is_serial = is_scattered(each.target, made)
        lines.append(line)
    return lines


def has_serial(loop: For) -> bool:
    """Return whether an innermost loop has serial statements."""
    made = frozenset(each.target.name for each in loop.body if isinstance(each, Assign))
    return any(
        is_serial(each.value)
        if isinstance(each, Assign)
        else isinstance(each, (Store, Accumulate)) and is_scattered(each.target, made)
        for each in loop.body
    )


def written(loop: For) -> Names:
    """Return the arrays that an innermost loop stores or adds to."""
    results = (each for each in loop.body if isinstance(each, (Store, Accumulate)))
    return frozenset(each.target.array.name for each in results if isinstance(each.target, Load))


def is_scattered(target: Expression, made: Names) -> bool:
    """Return whether an element may be visited twice, because its position is computed."""
    return isinstance(target, Load) and any(not made.isdisjoint(at.uses) for at in target.index)


def is_serial(value: Expression) -> bool:
    """Return whether a value is a call that keeps LLVM from vectorizing the loop around it."""
    if not isinstance(value, Call):
        return False
    facts = facts_named(value.function)
    if facts is None:
        return True
    return not (facts.is_cheap or facts.vectorizes or has_vectors(facts.library))


def is_long(loop: For) -> bool:
    """Return whether an innermost loop is too long for the cost model of LLVM's vectorizer."""
    return len(loop.body) > VECTORIZED_OPERATIONS and are_long(lines_of(loop))


def are_long(lines: Sequence[Line]) -> bool:
    """Return whether lines are too many for the cost model of LLVM's vectorizer."""
    return sum(not line.is_load for line in lines) > VECTORIZED_OPERATIONS


def _is_negative(value: Expression) -> bool:
    """Return whether a value is the negative of another temporary."""
    return isinstance(value, Op) and value.op == "neg" and isinstance(value.operands[0], Var)


def _is_load(value: Expression) -> bool:
    """Return whether a value is an element of an array, or of a tuple of numbers."""
    return isinstance(value, Load) or (isinstance(value, Op) and value.op == "choice")
