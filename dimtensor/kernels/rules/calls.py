"""Operations that are not expressions of elements, each written as loops of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply, Variable
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.basic import AllocDiag, ExtractDiag, Eye, Join, Nonzero
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Argmax
from pytensor.tensor.subtensor import IncSubtensor, Subtensor
from pytensor.tensor.type import TensorType

from dimtensor.graph.dtypes import accumulator, is_float
from dimtensor.kernels.ir.make import ONE, ZERO, cast, integer, known, op, select
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Allocate,
    Array,
    Assign,
    Bind,
    Carry,
    Const,
    Expression,
    For,
    Foreign,
    If,
    Load,
    Raise,
    Statement,
    Store,
    Var,
    Wrapped,
)
from dimtensor.kernels.rules.elementwise import Index, Place, counter
from dimtensor.kernels.rules.scalars import identity
from dimtensor.kernels.rules.slices import Walk, from_the_start, walk_of
from dimtensor.ops.slices import along_axes
from dimtensor.optimize.plan import UnsupportedGraph
from dimtensor.optimize.plan.signatures import core_op

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter
    from dimtensor.kernels.emit.scopes import Scope

CallRule = Callable[["Emitter", Apply], None]
Loops = list[tuple[Var, Expression]]
Lists = Mapping[int, Sequence[Statement]]


def loops_over(e: Emitter, variable: Variable) -> tuple[Index, Loops]:
    """Return an index of a variable, and the counter and length of each loop, in order."""
    index: list[Expression] = []
    loops: Loops = []
    for axis, length in enumerate(variable.type.shape):
        if length == 1:
            index.append(ZERO)
            continue
        at = counter(e.fresh("i"))
        index.append(at)
        loops.append((at, e.length(variable, axis)))
    return tuple(index), loops


def write_loops(
    e: Emitter,
    loops: Loops,
    scope: Scope,
    body: Sequence[Statement],
    before: Lists | None = None,
    after: Lists | None = None,
) -> None:
    """Write a loop nest in the order given, each temporary outside of loops that it does not need.

    `before` and `after` have statements for inside of so many loops.
    """
    order = [at.name for at, _ in loops]
    inside: list[list[Statement]] = [[] for _ in range(len(order) + 1)]
    for each in scope.temporaries:
        depth = max((order.index(loop) + 1 for loop in each.target.loops), default=0)
        inside[depth].append(each)
    for depth, statements in (before or {}).items():
        inside[depth] += statements
    written = [*inside[-1], *body]
    for depth in range(len(order), -1, -1):
        written += (after or {}).get(depth, ())
        if depth:
            at, length = loops[depth - 1]
            written = [*inside[depth - 1], For(at, length, tuple(written))]
    e.lines += written


def new_scope(e: Emitter) -> Scope:
    from dimtensor.kernels.emit.scopes import Scope

    return Scope(e)


def set_length(e: Emitter, variable: Variable, axis: int, length: Expression) -> Expression:
    """Say how long an axis is that nothing else has the length of."""
    if variable.type.shape[axis] is not None:
        return integer(variable.type.shape[axis])
    return e.name_length(variable, axis, length)


def finish(e: Emitter, variable: Variable, place: Place) -> None:
    e.places[variable] = place


def call_numba(e: Emitter, node: Apply) -> None:
    """Call PyTensor's numba implementation of an operation without a rule."""
    arguments = tuple(e.argument(variable) for variable in node.inputs)
    results = []
    for variable in node.outputs:
        if not isinstance(variable.type, (ScalarType, TensorType)):
            raise UnsupportedGraph(f"a result of type {variable.type}")
        rank = getattr(variable.type, "ndim", 0)
        results.append(Array(e.fresh("v"), variable.type.dtype, rank))
    e.lines.append(Foreign(tuple(results), e.numba_function(node), arguments))
    for variable, result in zip(node.outputs, results, strict=True):
        if isinstance(variable.type, ScalarType):
            e.scalars[variable] = Var(result.name, result.dtype)
        elif result.rank == 0:
            scalar = Var(e.fresh("s"), result.dtype)
            e.lines.append(Assign(scalar, Wrapped("unbox", result)))
            e.scalars[variable] = scalar
        else:
            # LAPACK's results are in column order, those of Python's functions in one that numba
            # does not know
            ordered = e.array(variable)
            e.lines.append(Bind(ordered, Wrapped("contiguous", result)))
            finish(e, variable, Place(ordered, early=False))


# -- running sums and products ---------------------------------------------------------------------


def _running(e: Emitter, node: Apply) -> None:
    (x,), (out,) = node.inputs, node.outputs
    operation = "+" if node.op.mode == "add" else "*"
    dtype = out.type.dtype
    index, loops = loops_over(e, out)
    scope = new_scope(e)
    value = e.element(x, index, scope)
    place = e.allocate(out)
    target = place.at(index)
    along = index[node.op.axis]
    counters = [at for at, _ in loops]
    before: dict[int, list[Statement]] = {}
    body: list[Statement]
    wide = accumulator(dtype)
    start = identity(operation, wide)
    if along not in counters:
        body = [Store(target, value)]
    elif along == counters[-1]:
        total = Var(e.fresh("a"), wide)
        before[len(loops) - 1] = [Assign(total, start)]
        following = op(operation, total, _converted(value, dtype, wide))
        stored = _converted(total, wide, dtype)
        body = [Carry(total, _as(wide, following)), Store(target, stored)]
    elif wide != dtype:  # a total for each position of the other axes
        others = [loop for loop in loops if loop[0] != along]
        totals = Array(e.fresh("w"), wide, len(others))
        e.lines.append(Allocate(totals, tuple(length for _, length in others), start))
        so_far = Load(totals, tuple(at for at, _ in others))
        body = [
            Store(so_far, op(operation, so_far, cast(value, wide))),
            Store(target, cast(so_far, dtype)),
        ]
    else:
        previous = list(index)
        previous[node.op.axis] = op("-", along, ONE)
        following = op(operation, place.at(previous), value)
        first = op("==", along, ZERO)
        body = [If(first, (Store(target, value),), (Store(target, following),))]
    write_loops(e, loops, scope, body, before)
    finish(e, out, place)


def _converted(value: Expression, dtype: str, new: str) -> Expression:
    return value if new == dtype else cast(value, new)


def _as(dtype: str, value: Expression) -> Expression:
    """Cast a sum to the dtype of its total: numba adds small integers as int64."""
    return value if dtype in ("float64", "int64", "complex128") else cast(value, dtype)


# -- positions of extremes -------------------------------------------------------------------------


def _argmax(e: Emitter, node: Apply) -> None:
    (x,), (out,) = node.inputs, node.outputs
    index, loops = loops_over(e, x)
    axes = range(x.type.ndim) if node.op.axis is None else node.op.axis
    for axis in axes:
        length = e.length(x, axis)
        if not known(length):
            error = Raise("ValueError", "the greatest of no elements has no position")
            e.lines.append(If(op("==", length, ZERO), (error,)))
    reduced = {index[axis] for axis in axes}
    loops = [loop for loop in loops if loop[0] not in reduced] + [
        loop for loop in loops if loop[0] in reduced
    ]
    depth = sum(at not in reduced for at, _ in loops)
    scope = new_scope(e)
    value = e.element(x, index, scope)
    dtype = x.type.dtype
    best = Var(e.fresh("a"), dtype)
    at, position = Var(e.fresh("a"), "int64"), Var(e.fresh("a"), "int64")
    reasons = [op("==", position, ZERO), op(">", value, best)]
    if is_float(dtype):  # the first NaN is the greatest
        reasons.append(op("and", op("!=", value, value), op("==", best, best)))
    body = [
        If(op("or", *reasons), (Carry(best, value), Carry(at, position))),
        Accumulate("+", position, ONE),
    ]
    start = [Assign(best, identity("max", dtype)), Assign(at, ZERO), Assign(position, ZERO)]
    if out.type.ndim == 0:
        write_loops(e, loops, scope, body, {depth: start})
        e.scalars[out] = at
        return
    place = e.allocate(out)
    kept = [index[axis] for axis in range(x.type.ndim) if axis not in axes]
    write_loops(e, loops, scope, body, {depth: start}, {depth: [Store(place.at(kept), at)]})
    finish(e, out, place)


def _nonzero(e: Emitter, node: Apply) -> None:
    (x,) = node.inputs
    count, at = Var(e.fresh("n"), "int64"), Var(e.fresh("a"), "int64")
    e.lines.append(Assign(count, ZERO))
    index, loops = loops_over(e, x)
    element = e.place(x).at(index)
    write_loops(e, loops, new_scope(e), [If(element, (Accumulate("+", count, ONE),))])
    set_length(e, node.outputs[0], 0, count)
    places = [e.allocate(out) for out in node.outputs]
    found = [Store(place.at([at]), i) for place, i in zip(places, index, strict=True)]
    e.lines.append(Assign(at, ZERO))
    body = If(element, (*found, Accumulate("+", at, ONE)))
    write_loops(e, loops, new_scope(e), [body])
    for out, place in zip(node.outputs, places, strict=True):
        finish(e, out, place)


# -- joins and shapes ------------------------------------------------------------------------------


def _join(e: Emitter, node: Apply) -> None:
    """Every part goes to its own slice."""
    (out,), axis = node.outputs, node.op.axis
    lengths = [e.length(part, axis) for part in node.inputs]
    set_length(e, out, axis, op("+", *lengths) if len(lengths) > 1 else lengths[0])
    place = e.allocate(out)
    start: Expression = ZERO
    for part, length in zip(node.inputs, lengths, strict=True):
        index, loops = loops_over(e, part)
        scope = new_scope(e)
        value = e.element(part, index, scope)
        target = list(index)
        target[axis] = op("+", start, index[axis])
        write_loops(e, loops, scope, [Store(place.at(target), value)])
        start = op("+", start, length)
        start = start if isinstance(start, (Const, Var)) else _named(e, start)
    finish(e, out, place)


# -- constructors and diagonals --------------------------------------------------------------------


def identity_matrix(e: Emitter, node: Apply) -> None:
    (out,) = node.outputs
    rows, columns, offset = (e.element(v, (), e.top) for v in node.inputs[:3])
    for axis, length in enumerate((rows, columns)):
        if out.type.shape[axis] is None:
            set_length(e, out, axis, length)
    place = e.allocate(out)
    index, loops = loops_over(e, out)
    on_diagonal = op("==", op("-", index[1], index[0]), offset)
    value = cast(select(on_diagonal, ONE, ZERO), out.type.dtype)
    write_loops(e, loops, new_scope(e), [Store(place.at(index), value)])
    finish(e, out, place)


def _diagonal(e: Emitter, node: Apply) -> None:
    (x,), (out,), offset = node.inputs, node.outputs, node.op.offset
    last = out.type.ndim - 1
    shifts = {node.op.axis1: max(0, -offset), node.op.axis2: max(0, offset)}
    rest = [op("-", e.length(x, axis), integer(shift)) for axis, shift in shifts.items()]
    set_length(e, out, last, op("max", op("min", *rest), ZERO))
    kept = iter(range(last))
    index, loops = loops_over(e, out)
    place = None if out.type.ndim == 0 else e.allocate(out)
    source = [
        op("+", index[last], integer(shifts[axis])) if axis in shifts else index[next(kept)]
        for axis in range(x.type.ndim)
    ]
    scope = new_scope(e)
    value = e.element(x, tuple(source), scope)
    assert place is not None
    write_loops(e, loops, scope, [Store(place.at(index), value)])
    finish(e, out, place)


def on_diagonal(e: Emitter, node: Apply) -> None:
    x, (out,), diagonal = node.inputs[0], node.outputs, core_op(node)
    offset, last = diagonal.offset, x.type.ndim - 1
    batch = 0 if diagonal is node.op else last
    shifts = {diagonal.axis1 + batch: max(0, -offset), diagonal.axis2 + batch: max(0, offset)}
    sources = iter(range(last))
    for axis in range(out.type.ndim):
        if axis in shifts:
            set_length(e, out, axis, op("+", e.length(x, last), integer(abs(offset))))
        else:
            set_length(e, out, axis, e.length(x, next(sources)))
    place = e.allocate(out, identity("+", out.type.dtype))
    index, loops = loops_over(e, x)
    scope = new_scope(e)
    value = e.element(x, index, scope)
    kept = iter(index[:last])
    target = [
        op("+", index[last], integer(shifts[axis])) if axis in shifts else next(kept)
        for axis in range(out.type.ndim)
    ]
    write_loops(e, loops, scope, [Store(place.at(target), value)])
    finish(e, out, place)


# -- slices with computed ends ---------------------------------------------------------------------


def _walks(e: Emitter, node: Apply, first: int) -> list[Walk | Expression]:
    """Return the walk of the slice along each axis, or the position of an integer."""
    x = node.inputs[0]
    found: list[Walk | Expression] = []
    for axis, entry in enumerate(along_axes(node.op.idx_list, x.type.ndim)):
        if isinstance(entry, slice):
            found.append(walk_of(e, node, axis, entry, first, partial(_named, e)))
            continue
        position, length = e.element(node.inputs[first + entry], (), e.top), e.length(x, axis)
        e.is_inside(position, length)
        found.append(_named(e, from_the_start(position, length)))
    return found


def _named(e: Emitter, value: Expression) -> Var:
    """Name a number that a length is computed from, before the loop where it is known there."""
    return e.named(value, e.is_early(value))


def _positions(walks: Sequence[Walk | Expression], index: Sequence[Expression]) -> Index:
    """Return positions in the source, of those along its slices."""
    along = iter(index)
    return tuple(walk.at(next(along)) if isinstance(walk, Walk) else walk for walk in walks)


def _slice(e: Emitter, node: Apply) -> None:
    x, (out,) = node.inputs[0], node.outputs
    walks = _walks(e, node, 1)
    slices = [walk for walk in walks if isinstance(walk, Walk)]
    for axis, walk in enumerate(slices):
        set_length(e, out, axis, walk.number)
    index, loops = loops_over(e, out)
    place = e.allocate(out)
    body = [Store(place.at(index), e.place(x).at(_positions(walks, index)))]
    write_loops(e, loops, new_scope(e), body)
    finish(e, out, place)


def _update_slice(e: Emitter, node: Apply) -> None:
    x, value, (out,) = node.inputs[0], node.inputs[1], node.outputs
    place = e.allocate(out, e.place(x))
    walks = _walks(e, node, 2)
    slices = [walk for walk in walks if isinstance(walk, Walk)]
    index = [counter(e.fresh("i")) for _ in slices]
    loops = [(at, walk.number) for at, walk in zip(index, slices, strict=True)]
    gap = len(index) - value.type.ndim
    own = [ZERO if n == 1 else index[gap + at] for at, n in enumerate(value.type.shape)]
    for at, n in enumerate(value.type.shape):
        if n != 1:
            e.agree(e.length(value, at), slices[gap + at].number)
    scope = new_scope(e)
    element = e.element(value, tuple(own), scope)
    target = place.at(_positions(walks, index))
    sets = node.op.set_instead_of_inc
    update = Store(target, element) if sets else Accumulate("+", target, element)
    write_loops(e, loops, scope, [update])
    finish(e, out, place)


RULES: list[tuple[Any, CallRule]] = [
    (CumOp, _running),
    (Argmax, _argmax),
    (Nonzero, _nonzero),
    (Join, _join),
    (Eye, identity_matrix),
    (ExtractDiag, _diagonal),
    (AllocDiag, on_diagonal),
    (Subtensor, _slice),
    (IncSubtensor, _update_slice),
]
