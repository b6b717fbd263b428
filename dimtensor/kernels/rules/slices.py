"""Basic selections: positions, and slices with Python's rules for their ends.

A slice selects a `number` of positions from `low` on, `step` apart. A function may name what is
computed for it; numbers that are known stay numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pytensor.graph.basic import Apply, Variable

from dimtensor.kernels.ir.make import ONE, ZERO, cast, integer, known, op, select
from dimtensor.kernels.ir.nodes import Const, Expression
from dimtensor.ops.constants import integer_of

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter

Naming = Callable[[Expression], Expression]


class Walk(NamedTuple):
    """Positions that a slice selects.

    Attributes
    ----------
    low, step, number : Expression
    """

    low: Expression
    step: Expression
    number: Expression

    def at(self, position: Expression) -> Expression:
        """Return the position in the source of a position along the slice."""
        step = _integer(self.step)
        if step is not None and step < 0:
            return op("-", self.low, op("*", integer(-step), position))
        return op("+", self.low, op("*", self.step, position))


def walk_of(
    e: Emitter, node: Apply, axis: int, entry: slice, first: int = 1, name: Naming | None = None
) -> Walk:
    """Return the walk of a slice along an axis.

    Parameters
    ----------
    e : Emitter
    node : Apply
        A basic selection, or an update of one.
    axis : int
    entry : slice
        Of numbers of inputs.
    first : int
        Number of inputs before those of the selection.
    name : callable, optional
        Names what is computed.
    """
    start, stop, step = (
        None if end is None else _number(e, node.inputs[first + end])
        for end in (entry.start, entry.stop, entry.step)
    )
    length = e.length(node.inputs[0], axis)
    return _walk(e, start, stop, step, length, name or (lambda value: value))


def position_of(e: Emitter, node: Apply, axis: int, entry: int) -> Expression:
    """Return the position of an integer in a selection, counted from the start."""
    position = _number(e, node.inputs[1 + entry])
    if (value := _integer(position)) is not None and value >= 0:
        return position
    return from_the_start(position, e.length(node.inputs[0], axis))


def from_the_start(position: Expression, length: Expression) -> Expression:
    """Normalize a position; a negative one counts from the end."""
    value = _integer(position)
    if value is None:
        return select(op(">=", position, ZERO), position, op("+", position, length))
    return position if value >= 0 else op("-", length, integer(-value))


def _number(e: Emitter, variable: Variable) -> Expression:
    value = integer_of(variable)
    return e.element(variable, (), e.top) if value is None else integer(value)


def _integer(value: Expression) -> int | None:
    """Return the value of a constant, of either sign."""
    return int(value.value) if isinstance(value, Const) else None


def _walk(
    e: Emitter,
    start: Expression | None,
    stop: Expression | None,
    step: Expression | None,
    length: Expression,
    name: Naming,
) -> Walk:
    fixed = [None if each is None else _integer(each) for each in (start, stop, step)]
    by, n = 1 if step is None else fixed[2], known(length)
    if n is not None and fixed.count(None) == (start, stop, step).count(None):
        taken = range(*slice(*fixed).indices(n))
        return Walk(integer(taken[0] if taken else 0), integer(by or 1), integer(len(taken)))
    if by is not None and by < 0 and start is stop is None:
        return Walk(op("-", length, ONE), integer(by), _rounded_up(length, -by))
    if by is not None and by > 0:
        low = ZERO if start is None else _clipped(start, length, ZERO, length, name)
        high = length if stop is None else _clipped(stop, length, ZERO, length, name)
        count = high if low == ZERO else name(op("max", op("-", high, low), ZERO))
        return Walk(low, integer(by), _rounded_up(count, by))
    # forwards ends lie between 0 and the length, backwards between -1 and the length - 1
    assert step is not None
    step = name(cast(step, "int64"))
    e.differ(step, ZERO)
    is_forwards = op(">", step, ZERO)
    least = name(select(is_forwards, ZERO, integer(-1)))
    most = name(op("+", length, least))
    low = name(select(is_forwards, least, most))
    high = name(select(is_forwards, most, least))
    if start is not None:
        low = _clipped(start, length, least, most, name)
    if stop is not None:
        high = _clipped(stop, length, least, most, name)
    up = op("//", op("-", op("+", op("-", high, low), step), ONE), step)
    down = op("//", op("-", op("-", op("-", low, high), step), ONE), op("neg", step))
    return Walk(low, step, name(op("max", select(is_forwards, up, down), ZERO)))


def _clipped(
    end: Expression, length: Expression, least: Expression, most: Expression, name: Naming
) -> Expression:
    """Return the end of a slice as a position within bounds."""
    value = _integer(end)
    if value is not None and (least, most) == (ZERO, length):
        if value >= 0:
            return op("min", end, length) if value else ZERO
        return op("max", op("-", length, integer(-value)), ZERO)
    end = name(cast(end, "int64"))
    end = name(select(op("<", end, ZERO), op("+", end, length), end))
    return name(op("min", op("max", end, least), most))


def _rounded_up(count: Expression, step: int) -> Expression:
    return op("//", op("+", count, integer(step - 1)), integer(step))
