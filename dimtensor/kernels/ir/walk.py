"""Substitution in expressions and statements."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from dimtensor.kernels.ir.growth import Grow
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Allocate,
    Array,
    Assign,
    Bind,
    Call,
    Carry,
    Expression,
    Fill,
    For,
    Foreign,
    Function,
    If,
    Length,
    Load,
    Op,
    Part,
    Reshaped,
    Statement,
    Store,
    Var,
    While,
    Wrapped,
)

Values = Mapping[str, Expression]
Change = Callable[[Expression], Expression]


def expressions_in(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all of its parts."""
    yield expression
    for each in parts_of(expression):
        yield from expressions_in(each)


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the operands of an expression, including arrays."""
    match expression:
        case Op() | Call():
            return expression.operands
        case Load() | Part():
            return (expression.array, *expression.index)
        case Length():
            return (expression.array,)
        case Reshaped():
            return (expression.source, *expression.shape)
        case Wrapped():
            return (expression.source,)
    return ()


def statements_in(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Statements and those inside of them."""
    for each in statements:
        yield each
        for block in each.blocks:
            yield from statements_in(block)


class Summary(NamedTuple):
    """Names, dtypes and calls of a function.

    Attributes
    ----------
    reads, writes : Counter of str
        Numbers of reads and of writes of each name.
    dtypes : set of str
    calls : set of str
        Functions and routines that it calls, including foreign ones.
    """

    reads: Counter[str]
    writes: Counter[str]
    dtypes: set[str]
    calls: set[str]


def summary(function: Function) -> Summary:
    """Summarize a function, in one walk over it."""
    found = Summary(Counter(), Counter(), {each.dtype for each in function.arguments}, set())
    reads, writes, dtypes, calls = found
    pending: list[Expression] = list(function.results)
    for each in statements_in(function.body):
        pending += each.reads
        if each.defines is not None:
            writes[each.defines] += 1
        if isinstance(each, Accumulate) and isinstance(each.target, Var):
            reads[each.target.name] -= 1  # what is added to is among what is read
        elif isinstance(each, For):
            writes[each.counter.name] += 1
        elif isinstance(each, (Allocate, Bind)):
            dtypes.add(each.array.dtype)
        elif isinstance(each, Foreign):
            calls.add(each.function)
    while pending:
        expression = pending.pop()
        dtypes.add(expression.dtype)
        if isinstance(expression, (Var, Array)):
            reads[expression.name] += 1
            continue
        if isinstance(expression, Call):
            calls.add(expression.function)
        pending += parts_of(expression)
    return found


def substituted(
    expression: Expression, values: Values, positions: Values | None = None
) -> Expression:
    """Replace variables in an expression by values.

    Parameters
    ----------
    expression : Expression
    values : mapping of str to Expression
        By the names of variables.
    positions : mapping of str to Expression, optional
        Values of variables that are positions in arrays by themselves.
    """
    if expression.uses.isdisjoint(values):
        return expression

    def again(each: Expression) -> Expression:
        return substituted(each, values, positions)

    def at(each: Expression) -> Expression:
        if positions is not None and isinstance(each, Var) and each.name in positions:
            return positions[each.name]
        return again(each)

    if isinstance(expression, Var):
        return values[expression.name]
    return of_parts(expression, again, at)


def of_parts(expression: Expression, new: Change, at: Change | None = None) -> Expression:
    """Change the parts of an expression; positions in arrays may have a change of their own."""
    at = at or new
    match expression:
        case Op(op, operands, dtype):
            return Op(op, tuple(map(new, operands)), dtype)
        case Call(function, operands, dtype):
            return Call(function, tuple(map(new, operands)), dtype)
        case Load(array, index):
            return Load(array, tuple(map(at, index)))
        case Part(array, index):
            return Part(array, tuple(map(at, index)))
        case Reshaped(source, shape):
            return Reshaped(new(source), tuple(map(new, shape)))
        case Wrapped(how, source):
            return Wrapped(how, new(source))
    return expression


def with_blocks(
    statement: Statement, change: Callable[[Sequence[Statement]], Sequence[Statement]]
) -> Statement:
    """Change the blocks of a statement; those without blocks are unchanged."""
    if not statement.blocks:
        return statement
    blocks = [tuple(change(each)) for each in statement.blocks]
    if all(map(_is_same, blocks, statement.blocks)):
        return statement
    match statement:
        case For() | While():
            return statement.replace(body=blocks[0])
        case If():
            return statement.replace(body=blocks[0], orelse=blocks[1])
    return statement


def _is_same(one: Sequence[Statement], other: Sequence[Statement]) -> bool:
    return len(one) == len(other) and all(map(operator.is_, one, other))


def replaced(statement: Statement, values: Values, positions: Values | None = None) -> Statement:
    """Replace variables in a statement by values, including those it defines."""
    return of_changed(statement, lambda each: substituted(each, values, positions))


def of_changed(statement: Statement, change: Change) -> Statement:
    """Change the expressions of a statement, including the target."""

    def new[T: Expression](each: T) -> T:
        return change(each)  # type: ignore[return-value]

    def block(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(of_changed(each, change) for each in statements)

    def every(each: tuple[Expression, ...]) -> tuple[Expression, ...]:
        return tuple(map(new, each))

    match statement:
        case Assign(target, value):
            return Assign(new(target), new(value))
        case Carry(target, value):
            return Carry(new(target), new(value))
        case Store(target, value):
            return Store(new(target), new(value))
        case Accumulate(op, target, value):
            return Accumulate(op, new(target), new(value))
        case Fill(target, value):
            return Fill(new(target), new(value))
        case Allocate(array, shape, start):
            return Allocate(array, every(shape), None if start is None else new(start))
        case Grow(array, shape):
            return Grow(array, every(shape))
        case Bind(array, value):
            return Bind(array, new(value))
        case For(counter, stop, body, start):
            return statement.replace(
                counter=new(counter), stop=new(stop), body=block(body), start=new(start)
            )
        case While(test, body):
            return While(new(test), block(body))
        case If(test, body, orelse, rare):
            return If(new(test), block(body), block(orelse), rare)
        case Foreign(results, function, operands):
            return Foreign(results, function, every(operands))
    return statement
