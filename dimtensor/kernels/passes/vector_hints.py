"""The choice of loops that LLVM vectorizes on request.

Its cost model takes a long body for too expensive, and time for each of many loops.
``kernels/native/vector_hints.py`` writes the metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dimtensor.kernels.ir.nodes import Assign, Call, Expression, For, Names, Statement
from dimtensor.kernels.ir.walk import expressions_in
from dimtensor.kernels.passes import strip_mining
from dimtensor.kernels.passes.lines import (
    Line,
    has_serial,
    innermost_loops,
    is_innermost,
    is_long,
    lines_of,
    with_loops,
    written,
)
from dimtensor.ops.facts import facts_named
from dimtensor.tuning import EXPENSIVE_NESTS


def with_hints(
    statements: Sequence[Statement], results: Sequence[Expression], fresh: Callable[[str], str]
) -> list[Statement]:
    """Mark long loops, and all loops of expensive elements if there are many."""
    expensive = sum(map(_is_expensive, innermost_loops(statements)))

    def marked(loop: For) -> list[Statement]:
        if not is_innermost(loop):
            return [loop]
        is_one_of_many = expensive > EXPENSIVE_NESTS and _is_expensive(loop)
        if not is_long(loop) and (not is_one_of_many or has_serial(loop)):
            return [loop]
        lines = lines_of(loop)
        if has_serial(loop) and strip_mining.pays(lines, loop.stop):
            return [loop.replace(is_wide=True)]  # strips have an order of their own
        read = frozenset().union(*(each.uses for each in loop.body if isinstance(each, Assign)))
        body = with_results_early(lines, written(loop) & read)
        return [loop.replace(body=tuple(line.statement for line in body), is_wide=True)]

    return with_loops(statements, marked)


def _is_expensive(loop: For) -> bool:
    """Return whether an iteration takes a call of a library function."""
    values = (each.value for each in loop.body if isinstance(each, Assign))
    calls = (x for value in values for x in expressions_in(value) if isinstance(x, Call))
    rows = (facts_named(each.function) for each in calls)
    return any(row is None or not row.is_cheap for row in rows)


def with_results_early(lines: Sequence[Line], late: Names) -> list[Line]:
    """Move results up to where their operands are known, to avoid storing them.

    Parameters
    ----------
    lines : sequence of Line
        Temporaries, each before its uses, then results.
    late : set of str
        Arrays whose elements are overwritten, which must come last.
    """
    position = {line.name: at for at, line in enumerate(lines) if line.name is not None}

    def key(at: int) -> tuple[int, int]:
        line = lines[at]
        if line.name is not None or line.is_serial or not late.isdisjoint(line.uses):
            return at, at
        return max((position[name] for name in line.uses if name in position), default=at), at

    return [lines[at] for at in sorted(range(len(lines)), key=key)]
