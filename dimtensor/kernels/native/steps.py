"""Loops over steps: what is in them is written so that it can stay in registers.

LLVM takes an array of the frame apart only if every position in it is a number. Short loops in a
step are therefore written out by us, round by round, where LLVM would leave some of them and with
them the arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan

from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.growth import Grow
from dimtensor.kernels.ir.walk import statements_in
from dimtensor.tuning import COPIED_STATEMENTS, UNROLLED_LENGTH, UNROLLED_STATEMENTS


def adds_up(body: Iterable[ir.Statement]) -> bool:
    """Return whether statements contain a sum whose order is free."""
    return any(isinstance(each, ir.Accumulate) and each.op in "+*" for each in statements_in(body))


def rounds_written_out(node: ir.For) -> range | None:
    """Return the positions of a short loop of known length to unroll, None for others."""
    counted = _counted(node)
    if counted is None or len(counted) > UNROLLED_LENGTH:
        return None
    unlike = (ir.Break, ir.Continue, ir.While, ir.Allocate, Grow)
    if any(isinstance(each, unlike) for each in statements_in(node.body)):
        return None
    return counted if _statements(node) <= UNROLLED_STATEMENTS else None


def copies_many(body: Iterable[ir.Statement]) -> bool:
    """Return whether unrolling all short loops around long ones would make too many statements.

    LLVM would do so, and then vectorize every copy: for a kernel with thirty loops over five
    positions that was two thirds of its time, and made the kernel only 1.04 times faster.
    """
    copied = 0
    for node in statements_in(body):
        if isinstance(node, ir.For) and has_long_loops(node):
            rounds = _counted(node)
            if rounds is not None and len(rounds) <= UNROLLED_LENGTH:
                copied += (len(rounds) - 1) * len(list(statements_in(node.body)))
    return copied > COPIED_STATEMENTS


def only_stores_nan(node: ir.For) -> bool:
    """Return whether a loop only reports a failure, which rarely happens."""
    inside = [each for each in statements_in(node.body) if not isinstance(each, ir.For)]
    return bool(inside) and all(
        isinstance(each, ir.Store) and _is_nan(each.value) for each in inside
    )


def _is_nan(value: ir.Expression) -> bool:
    return isinstance(value, ir.Const) and isinstance(value.value, float) and isnan(value.value)


def has_long_loops(node: ir.For) -> bool:
    """Return whether a loop contains loops of unknown length."""
    loops = (each for each in statements_in(node.body) if isinstance(each, ir.For))
    return any(_counted(each) is None for each in loops)


def _statements(node: ir.Statement) -> int:
    """Count the statements after unrolling all loops; very many for unknown lengths."""
    if isinstance(node, ir.For):
        counted = _counted(node)
        rounds = UNROLLED_STATEMENTS + 1 if counted is None else len(counted)
        return rounds * sum(map(_statements, node.body))
    if isinstance(node, ir.If):
        return 1 + sum(map(_statements, [*node.body, *node.orelse]))
    return 1


def _counted(node: ir.For) -> range | None:
    ends = node.start, node.stop
    start, stop = (each.value if isinstance(each, ir.Const) else None for each in ends)
    return None if start is None or stop is None else range(start, stop, node.step)
