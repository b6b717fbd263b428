"""Substitution in expressions and statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dimtensor.kernels.ir.nodes import (
    NOTHING,
    Accumulate,
    Allocate,
    Assign,
    Bind,
    Call,
    Carry,
    Expression,
    Fill,
    For,
    Foreign,
    If,
    Load,
    Names,
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


def uses_of(statements: Iterable[Statement]) -> Names:
    """Names that statements read or store to."""
    return NOTHING.union(*(each.uses for each in statements))


def substituted(
    expression: Expression, values: Values, positions: Values | None = None
) -> Expression:
    """An expression with values in the place of variables.

    Parameters
    ----------
    expression : Expression
    values : mapping of str to Expression
        By the names of variables.
    positions : mapping of str to Expression, optional
        Values of variables where they are positions in arrays by themselves.
    """
    if expression.uses.isdisjoint(values):
        return expression

    def again(each: Expression) -> Expression:
        return substituted(each, values, positions)

    def at(each: Expression) -> Expression:
        if positions is not None and isinstance(each, Var) and each.name in positions:
            return positions[each.name]
        return again(each)

    match expression:
        case Var():
            return values[expression.name]
        case Op(op, operands, dtype):
            return Op(op, tuple(map(again, operands)), dtype)
        case Call(function, operands, dtype):
            return Call(function, tuple(map(again, operands)), dtype)
        case Load(array, index):
            return Load(array, tuple(map(at, index)))
        case Part(array, index):
            return Part(array, tuple(map(at, index)))
        case Reshaped(source, shape):
            return Reshaped(again(source), tuple(map(again, shape)))
        case Wrapped(how, source):
            return Wrapped(how, again(source))
    return expression


def replaced(statement: Statement, values: Values, positions: Values | None = None) -> Statement:
    """A statement with values in the place of variables, also of those that it defines."""

    def new[T: Expression](each: T) -> T:
        return substituted(each, values, positions)  # type: ignore[return-value]

    def block(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(replaced(each, values, positions) for each in statements)

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
        case Bind(array, value):
            return Bind(array, new(value))
        case For(counter, stop, body, start, step, is_scan):
            return For(new(counter), new(stop), block(body), new(start), step, is_scan)
        case While(test, body):
            return While(new(test), block(body))
        case If(test, body, orelse):
            return If(new(test), block(body), block(orelse))
        case Foreign(results, function, operands):
            return Foreign(results, function, every(operands))
    return statement
