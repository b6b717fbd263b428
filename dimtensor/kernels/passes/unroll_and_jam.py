"""Unroll and jam: several iterations of an outer loop share the loads and stores of its inner loop.

Where the inner loop adds to an array, once in each iteration of the outer one, several iterations
add to an element while it is in a register. Where it adds up a row in each iteration, and all rows
are multiplied by the same array, several rows do not wait for each other's sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from dimtensor.kernels.ir.make import ZERO, integer, known, known_product, op, product, select
from dimtensor.kernels.ir.node import united
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Assign,
    Body,
    Carry,
    Const,
    Expression,
    For,
    Load,
    Statement,
    Store,
    Var,
)
from dimtensor.kernels.ir.walk import replaced, with_blocks
from dimtensor.kernels.passes.lines import is_innermost, is_scattered
from dimtensor.kernels.passes.totals import is_block, is_blocked
from dimtensor.tuning import JAM_FACTORS, JAMMED_ELEMENTS, JAMMED_ROW, UNROLLED_LENGTH

Fresh = Callable[[str], str]


def unrolled(
    statements: Sequence[Statement], results: Sequence[Expression], fresh: Fresh
) -> list[Statement]:
    """Unroll and jam loops whose iterations read, or add to, the same array."""
    return _jammed(statements, (), fresh)


def _jammed(
    statements: Sequence[Statement], around: tuple[For, ...], fresh: Fresh
) -> list[Statement]:
    """Unroll and jam loops inside of some parallel loops."""
    found: list[Statement] = []
    for each in statements:
        loops = (*around, each) if isinstance(each, For) and each.is_parallel else ()
        nest = _nest_of(each) if loops else None
        count = 1 if nest is None else _factor(nest)
        length = ZERO if nest is None or count == 1 else _length(nest, around)
        if nest is None or length == ZERO:
            found.append(with_blocks(each, partial(_jammed, around=loops, fresh=fresh)))
        else:
            found += _written(nest, length, count, fresh)
    return found


class _Nest(NamedTuple):
    """Two loops, with the statements before and after the inner one."""

    outer: For
    inner: For
    before: Body
    after: Body


def _nest_of(loop: Statement) -> _Nest | None:
    """Return a loop with its inner loop if that is the only one, and does not depend on it."""
    if (
        not isinstance(loop, For)
        or loop.step != 1
        or loop.start != ZERO
        or not isinstance(loop.stop, (Const, Var))
    ):
        return None
    inside = [at for at, each in enumerate(loop.body) if each.blocks]
    if len(inside) != 1 or not is_innermost(inner := loop.body[inside[0]]):
        return None
    if inner.is_wide or not isinstance(inner.stop, (Const, Var)):
        return None
    return _Nest(loop, inner, loop.body[: inside[0]], loop.body[inside[0] + 1 :])


def _factor(nest: _Nest) -> int:
    """Return the unroll factor; 1 if unrolling does not pay."""
    n = known(nest.outer.stop)
    statements = len(nest.before) + len(nest.inner.body)
    fitting = (count for most, count in JAM_FACTORS if statements <= most)
    count = next(fitting, 1)
    if count == 1 or (n is not None and n < count) or not _shares_an_array(nest):
        return 1
    # blocks of several iterations of the outer loop
    return 1 if _has_outer_totals(nest) and is_block(nest.outer.stop, nest.inner.stop) else count


def _length(nest: _Nest, around: Sequence[For]) -> Expression:
    """Return how many iterations of the outer loop are unrolled: all, or none.

    Short rows of an array that lies outside of the cache are read faster one after the other.
    """
    outer, inner = nest.outer, nest.inner
    row = known(inner.stop)
    sizes = [
        [loop.stop for loop in (*around, outer, inner) if loop.counter.name in each.value.uses]
        for each in inner.body
        if isinstance(each, Assign)
        and isinstance(each.value, Load)
        and {outer.counter.name, inner.counter.name} <= each.value.uses
    ]
    if not sizes or (row is not None and row >= JAMMED_ROW):
        return outer.stop
    lengths = max(sizes, key=len)
    elements = known_product(lengths)
    if elements is not None:
        return outer.stop if elements <= JAMMED_ELEMENTS else ZERO
    pays = op("<=", product(lengths), integer(JAMMED_ELEMENTS))
    if row is None:
        pays = op("or", op(">=", inner.stop, integer(JAMMED_ROW)), pays)
    return select(pays, outer.stop, ZERO)


def _shares_an_array(nest: _Nest) -> bool:
    """Return whether iterations of the outer loop read, or add to, the same array."""
    length = known(nest.inner.stop)
    if length is not None and length <= UNROLLED_LENGTH:
        return False  # LLVM unrolls the inner loop, and vectorizes the outer one
    body, outer, inner = nest.inner.body, nest.outer.counter.name, nest.inner.counter.name
    made = frozenset(each.target.name for each in body if isinstance(each, Assign))
    adds = False
    for each in body:
        if isinstance(each, (Store, Accumulate)) and isinstance(target := each.target, Load):
            if is_scattered(target, made):
                return False
            places = united(at.uses for at in target.index)
            if outer not in places:
                reads = isinstance(each, Accumulate) or target.array.name in each.value.uses
                if not reads:
                    return False  # the last of several values stays
                adds = adds or inner in places
    return adds or (_has_rows(nest) and _reads_the_same(body, outer))


def _has_rows(nest: _Nest) -> bool:
    """Return whether each iteration of the outer loop stores a total of the inner one."""
    started = frozenset(each.target.name for each in nest.before if isinstance(each, Assign))
    totals = (each.defines for each in nest.inner.body if isinstance(each, (Accumulate, Carry)))
    rows = started.intersection(name for name in totals if name is not None)
    return any(
        isinstance(each, (Store, Accumulate))
        and isinstance(each.target, Load)
        and nest.outer.counter.name in united(at.uses for at in each.target.index)
        and not rows.isdisjoint(each.value.uses)
        for each in nest.after
    )


def _reads_the_same(body: Sequence[Statement], outer: str) -> bool:
    """Return whether an inner loop has reads that are invariant in the outer one."""
    return any(
        isinstance(each, Assign) and isinstance(each.value, Load) and outer not in each.value.loops
        for each in body
    )


def _has_outer_totals(nest: _Nest) -> bool:
    """Return whether a total that is added up in blocks continues across outer iterations."""
    started = frozenset(each.target.name for each in nest.before if isinstance(each, Assign))
    return any(
        isinstance(each, Accumulate)
        and isinstance(each.target, Var)
        and is_blocked(each.op, each.target.dtype)
        and each.target.name not in started
        for each in (*nest.inner.body, *nest.after)
    )


def _written(nest: _Nest, length: Expression, count: int, fresh: Fresh) -> list[Statement]:
    """Write two loops, unrolled and jammed `count` times in the iterations before a length."""
    outer, times = nest.outer.counter, integer(count)
    body = nest.before, nest.inner.body, nest.after
    block = Var(fresh("k"), "int64")
    copies: tuple[list[Statement], ...] = ([], [], [])
    # variables defined in an iteration are renamed in each copy
    own = {each.target for part in body for each in part if isinstance(each, Assign)}
    for number in range(count):
        position = op("+", op("*", times, block), integer(number))
        values: dict[str, Expression] = {outer.name: position}
        for each in sorted(own, key=lambda var: var.name):
            values[each.name] = Var(fresh(each.name[0]), each.dtype, each.loops)
        for target, part in zip(copies, body, strict=True):
            target += [replaced(each, values) for each in part]

    def inside(parts: Sequence[Sequence[Statement]]) -> Body:
        before, each, after = parts
        return (*before, nest.inner.replace(body=tuple(each), is_jammed=True), *after)

    n, whole = known(length), op("//", length, times)
    found = [For(block, whole, inside(copies), is_parallel=True)]
    if n is None or n % count:
        start = op("*", whole, times)
        found.append(nest.outer.replace(start=start, body=inside(body)))
    return list(found)
