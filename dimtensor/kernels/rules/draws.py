"""Random draws: loops that call NumPy's distributions with a generator in memory of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply, Variable

from dimtensor.kernels.foreign import Routine
from dimtensor.kernels.ir.make import ZERO, cast, integer, op
from dimtensor.kernels.ir.nodes import (
    Allocate,
    Array,
    Assign,
    Call,
    Const,
    Expression,
    If,
    Load,
    Statement,
    Var,
)
from dimtensor.kernels.ir.parse import parsed_number
from dimtensor.kernels.native.functions.generators import WORDS
from dimtensor.kernels.rules.calls import (
    CallRule,
    Loops,
    finish,
    new_scope,
    set_length,
    write_loops,
)
from dimtensor.kernels.rules.elementwise import Index, Place, counter
from dimtensor.kernels.rules.templates import Access, given_to, inlined
from dimtensor.ops.random.draw import Draw, Seed, Split

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter
    from dimtensor.kernels.emit.scopes import Scope


def _draw(e: Emitter, node: Apply) -> None:
    draw = node.op
    words, *rest = node.inputs
    after, values = node.outputs
    _set_lengths(e, node)
    index, loops = _loops(e, values, draw.n_streams + draw.n_axes)
    streams = index[: draw.n_streams]
    depth = sum(each is not ZERO for each in streams)
    scope = new_scope(e)
    left, given = e.allocate(after), _row(e.place(words), _restricted(words, streams))
    finish(e, after, left)
    state = Array(e.fresh("g"), "uint64", 1)
    e.early.append(Allocate(state, (integer(WORDS),)))
    arrays = {"state": Access(state, (0,)), "words": given, "after": _row(left, streams)}
    opened = inlined(e, "open_generator", arrays, {}, "int64")
    closed = inlined(e, "close_generator", arrays, {}, "int64")
    parameters = rest[draw.n_lengths :]
    if draw.row.is_vector:
        place = e.allocate(values)
        finish(e, values, place)
        arrays["out"] = _row(place, index)
        numbers = {"k": e.length(values, values.type.ndim - 1)}
        body = _vector(e, draw, parameters, index, scope, arrays, numbers)
    elif values.type.ndim:
        place = e.allocate(values)
        finish(e, values, place)
        body = _number(e, draw, state, parameters, index, scope, place.at(index))
    else:
        target = e.scalars[values] = Var(e.fresh("s"), values.type.dtype)
        body = _number(e, draw, state, parameters, index, scope, target)
    write_loops(e, loops, scope, body, {depth: opened}, {depth: closed})


def _set_lengths(e: Emitter, node: Apply) -> None:
    """Lengths of the draws: streams have those of the words, other axes are asked for."""
    draw = node.op
    words, *rest = node.inputs
    after, values = node.outputs
    for axis in range(draw.n_streams):
        length = e.length(words, axis)
        set_length(e, after, axis, length)
        set_length(e, values, axis, length)
    for axis in range(draw.n_lengths):
        set_length(e, values, draw.n_streams + axis, e.element(rest[axis], (), e.top))
    for x in rest[draw.n_lengths :]:
        for axis, static in enumerate(x.type.shape[: draw.n_streams + draw.n_axes]):
            if static != 1:
                e.agree(e.length(x, axis), e.length(values, axis))


def _loops(e: Emitter, variable: Variable, n_axes: int) -> tuple[Index, Loops]:
    """Return an index of the leading axes of a variable, and loops over them."""
    index: list[Expression] = []
    loops: Loops = []
    for axis, length in enumerate(variable.type.shape[:n_axes]):
        if length == 1:
            index.append(ZERO)
            continue
        at = counter(e.fresh("i"))
        index.append(at)
        loops.append((at, e.length(variable, axis)))
    return tuple(index), loops


def _restricted(variable: Variable, index: Sequence[Expression]) -> Index:
    """Return an index with 0 for axes of length 1; a vector's axes follow it."""
    return tuple(
        ZERO if length == 1 else each
        for length, each in zip(variable.type.shape, index, strict=False)
    )


def _row(place: Place, index: Sequence[Expression]) -> Access:
    """Return the last axis of an array at a position of the others."""
    return Access(place.array, (*place.leading, *index, 0))


def _number(
    e: Emitter, draw: Draw, state: Array, parameters: Sequence[Variable], index: Index,
    scope: Scope, target: Var | Load,
) -> list[Statement]:  # fmt: skip
    """One number: drawn, if the parameters are those of a distribution."""
    row = draw.row
    names: dict[str, Expression] = {}
    body: list[Statement] = []
    for name, x in zip(row.parameters, parameters, strict=True):
        known = Var(e.fresh("p"), x.type.dtype)
        names[name] = known
        body.append(Assign(known, e.element(x, _restricted(x, index), scope)))
    e.namespace[row.function] = Routine(row.function)
    arguments = [_parsed(text, names) for text in row.arguments]
    drawn = given_to(target)(Call(row.function, (state, *arguments), row.dtype))
    if not row.valid:
        return [*body, drawn]
    conditions = [_parsed(text, names) for text in row.valid]
    condition = conditions[0] if len(conditions) == 1 else op("and", *conditions)
    nothing = Const(math.nan, "float64") if row.dtype == "float64" else ZERO
    return [*body, If(condition, (drawn,), (given_to(target)(nothing),))]


def _parsed(text: str, names: Mapping[str, Expression]) -> Expression:
    return parsed_number(text.format_map({name: name for name in names}), names)


def _vector(
    e: Emitter, draw: Draw, parameters: Sequence[Variable], index: Index, scope: Scope,
    arrays: dict[str, Access], numbers: dict[str, Expression],
) -> list[Statement]:  # fmt: skip
    for name, x in zip(draw.row.parameters, parameters, strict=True):
        if name in draw.row.along:
            arrays[name] = _row(e.place(x), _restricted(x, index))
        else:
            numbers[name] = e.element(x, _restricted(x, index), scope)
    return inlined(e, f"{draw.name}_line", arrays, numbers, "int64")


# -- seeds -----------------------------------------------------------------------------------------


def _seed(e: Emitter, node: Apply) -> None:
    (seed,), (out,) = node.inputs, node.outputs
    for axis in range(seed.type.ndim):
        set_length(e, out, axis, e.length(seed, axis))
    index, loops = _loops(e, out, seed.type.ndim)
    scope = new_scope(e)
    given = cast(e.element(seed, _restricted(seed, index), scope), "int64")
    place = e.allocate(out)
    body = inlined(e, "seeded_words", {"out": _row(place, index)}, {"seed": given}, "int64")
    write_loops(e, loops, scope, body)
    finish(e, out, place)


def _split(e: Emitter, node: Apply) -> None:
    (words, length), (out,) = node.inputs, node.outputs
    n_streams = words.type.ndim - 1
    for axis in range(n_streams):
        set_length(e, out, axis, e.length(words, axis))
    set_length(e, out, n_streams, e.element(length, (), e.top))
    index, loops = _loops(e, out, n_streams + 1)
    place = e.allocate(out)
    given = _row(e.place(words), _restricted(words, index[:-1]))
    arrays = {"words": given, "out": _row(place, index)}
    body = inlined(e, "child_words", arrays, {"at": index[-1]}, "int64")
    write_loops(e, loops, new_scope(e), body)
    finish(e, out, place)


RULES: list[tuple[Any, CallRule]] = [(Draw, _draw), (Seed, _seed), (Split, _split)]
