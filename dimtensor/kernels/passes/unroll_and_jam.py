"""A loop unrolled over the loop inside of it, which then loads and stores less often.

Where the inner loop adds to an array, once for each round of the loop around it, several rounds at
a time add to an element while it is in a register. Where it adds up a row in each round, and all
rows are multiplied by the same, several at a time are, and do not wait for each other's sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dimtensor.kernels.ir.make import integer, known, op
from dimtensor.kernels.ir.nodes import Assign, Expression, For, Load, Statement, Var
from dimtensor.kernels.ir.walk import replaced
from dimtensor.tuning import JAM_FACTORS, UNROLLED_LENGTH


def rounds(statements: int, length: Expression) -> int:
    """Return the unroll factor; 1 if unrolling does not pay."""
    for most, count in JAM_FACTORS:
        if statements <= most:
            n = known(length)
            return count if n is None or n >= count else 1
    return 1


def is_short(length: Expression) -> bool:
    """Return whether an inner loop is so short that LLVM unrolls it."""
    n = known(length)
    return n is not None and n <= UNROLLED_LENGTH


def reads_the_same(body: Sequence[Statement], outer: str) -> bool:
    """Return whether an inner loop has reads that are invariant in the outer one."""
    return any(
        isinstance(each, Assign) and isinstance(each.value, Load) and outer not in each.value.loops
        for each in body
    )


def write(
    counters: tuple[Var, Var],
    lengths: tuple[Expression, Expression],
    body: tuple[Sequence[Statement], Sequence[Statement], Sequence[Statement]],
    count: int,
    fresh: Callable[[str], str],
) -> list[Statement]:
    """Write two loops, unrolled and jammed `count` times."""
    outer, inner = counters
    block, times = Var(fresh("k"), "int64"), integer(count)
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

    def inside(parts: Sequence[Sequence[Statement]]) -> tuple[Statement, ...]:
        before, each, after = parts
        loop = For(inner, lengths[1], tuple(each), is_parallel=True, is_jammed=True)
        return (*before, loop, *after)

    n, whole = known(lengths[0]), op("//", lengths[0], times)
    written = [For(block, whole, inside(copies), is_parallel=True)]
    if n is None or n % count:
        start = op("*", whole, times)
        rest = For(outer, lengths[0], inside(body), start, is_parallel=True)
        written.append(rest)
    return list(written)
