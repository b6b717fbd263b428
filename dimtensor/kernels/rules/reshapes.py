"""Arrays of other lengths with the same elements: views, because all arrays are contiguous."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.tensor.shape import Reshape

from dimtensor.kernels.ir.make import ONE, ZERO, integer, op, product, select
from dimtensor.kernels.ir.nodes import (
    Assign,
    Bind,
    Const,
    Expression,
    If,
    Load,
    Raise,
    Reshaped,
    Statement,
    Store,
    Var,
)
from dimtensor.kernels.rules.calls import CallRule, finish, set_length
from dimtensor.kernels.rules.elementwise import Place

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter

_RESHAPED = "a reshape keeps the number of elements"


def _reshape(e: Emitter, node: Apply) -> None:
    """Write a reshape as a view: all arrays are contiguous."""
    (x, shape), (out,) = node.inputs, node.outputs
    total = Var(e.fresh("n"), "int64")
    e.lines.append(Assign(total, product([e.length(x, axis) for axis in range(x.type.ndim)])))
    lengths = _asked_lengths(e, shape, out, total)
    if any(length is None for length in (*x.type.shape, *out.type.shape)):
        e.lines.append(_refusal(op("!=", total, product(lengths))))
    if x.type.ndim == 0 or out.type.ndim == 0:
        _reshape_number(e, x, out)
        return
    made = e.array(out)
    e.lines.append(Bind(made, Reshaped(e.place(x).whole, tuple(lengths))))
    finish(e, out, Place(made, early=False))
    if x in e.owned and x not in e.destinations and len(e.graph.clients[x]) == 1:
        e.owned.add(out)  # nobody else has its memory


def _refusal(condition: Expression) -> Statement:
    return If(condition, (Raise("ValueError", _RESHAPED),))


def _reshape_number(e: Emitter, x: Variable, out: Variable) -> None:
    value = e.element(x, (ZERO,) * x.type.ndim, e.top)
    if out.type.ndim == 0:
        e.scalars[out] = value
        return
    place = e.allocate(out)
    e.lines.append(Store(place.at([ZERO] * out.type.ndim), value))
    finish(e, out, place)


def _asked_lengths(
    e: Emitter, shape: Variable, out: Variable, total: Expression
) -> list[Expression]:
    """Return the lengths of a reshape; -1 is computed from the others."""
    asked = [
        integer(static) if static is not None else _asked(e, shape, axis)
        for axis, static in enumerate(out.type.shape)
    ]
    is_open = [isinstance(each, Const) and each.value == -1 for each in asked]
    unknown = [
        each
        for each, left in zip(asked, is_open, strict=True)
        if not (left or e.is_known_length(each))
    ]
    # A shape that is an input, computed once per data set, may hold -1, too.
    if any(isinstance(each, Load) or not e.trusting for each in unknown):
        asked = _resolved_lengths(e, asked, total)
        is_open = [False] * len(asked)
    others = product([each for each, left in zip(asked, is_open, strict=True) if not left])
    return [
        set_length(e, out, axis, _left(total, others) if left else each)
        for axis, (each, left) in enumerate(zip(asked, is_open, strict=True))
    ]


def _asked(e: Emitter, shape: Variable, axis: int) -> Expression:
    if isinstance(shape, Constant):
        return integer(int(shape.data[axis]))
    return e.element(shape, (integer(axis),), e.top)


def _left(total: Expression, others: Expression) -> Expression:
    return op("//", total, op("max", others, ONE))


def _resolved_lengths(e: Emitter, asked: list[Expression], total: Expression) -> list[Expression]:
    """Lengths of a reshape where each may be -1 at run time."""
    found: list[Expression] = []
    for at, each in enumerate(asked):
        if e.is_known_length(each):
            found.append(each)
            continue
        others = [other for k, other in enumerate(asked) if k != at] or [ONE]
        least = op("min", *others) if len(others) > 1 else others[0]
        # the remaining length is known if the others are positive, so there is at most one
        is_open = op("==", each, integer(-1))
        several = op("and", is_open, op("<", least, ONE))
        e.lines.append(_refusal(op("or", op("<", each, integer(-1)), several)))
        length = Var(e.fresh("n"), "int64")
        e.lines.append(Assign(length, select(is_open, _left(total, product(others)), each)))
        found.append(length)
    return found


RULES: list[tuple[Any, CallRule]] = [(Reshape, _reshape)]
