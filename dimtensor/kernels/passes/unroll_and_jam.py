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
from dimtensor.kernels.passes.totals import Blocks, loop
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
    blocks: Blocks,
    fresh: Callable[[str], str],
) -> list[Statement]:
    """Write two loops, unrolled and jammed `count` times.

    The inner loop runs in blocks if it has sums of blocks. Sums of a total that continues across
    iterations are combined before they are added to it.
    """
    outer, inner = counters
    block, times = Var(fresh("k"), "int64"), integer(count)
    parts = (*body, blocks.head, blocks.tail)
    copies: tuple[list[Statement], ...] = ([], [], [], [], [])
    # variables defined in an iteration are renamed in each copy
    own = [each.target for part in parts for each in part if isinstance(each, Assign)]
    going_on = [(of_block, added) for total, of_block, added in blocks.totals if total not in own]
    at_once = {each for _, added in going_on for each in added}
    sums: list[list[Expression]] = [[] for _ in going_on]
    first: list[tuple[Statement, Sequence[Statement]]] = []
    for number in range(count):
        position = op("+", op("*", times, block), integer(number))
        values: dict[str, Expression] = {outer.name: position}
        for each in sorted(own, key=lambda var: var.name):
            if each.name not in values:
                values[each.name] = Var(fresh(each.name[0]), each.dtype, each.loops)
        for target, part in zip(copies, parts, strict=True):
            target += [replaced(each, values) for each in part if each not in at_once]
        for found, (of_block, _) in zip(sums, going_on, strict=True):
            found.append(values[of_block.name])
        for one, later in blocks.first:
            first.append((replaced(one, values), [replaced(each, values) for each in later]))

    for found, (of_block, added) in zip(sums, going_on, strict=True):
        of_all = Var(fresh("a"), of_block.dtype)
        tail = [replaced(each, {of_block.name: of_all}) for each in added]
        copies[4].extend([Assign(of_all, _pairwise(found)), *tail])

    def inside(each: Sequence[Sequence[Statement]], around: Blocks) -> tuple[Statement, ...]:
        return (*each[0], loop(inner, lengths[1], each[1], around, fresh), *each[2])

    n, whole = known(lengths[0]), op("//", lengths[0], times)
    written = [For(block, whole, inside(copies, Blocks(copies[3], copies[4], first)))]
    if n is None or n % count:
        start = op("*", whole, times)
        written.append(For(outer, lengths[0], inside(body, blocks), start))
    return list(written)


def _pairwise(terms: Sequence[Expression]) -> Expression:
    half = len(terms) // 2
    return op("+", _pairwise(terms[:half]), _pairwise(terms[half:])) if half else terms[0]
