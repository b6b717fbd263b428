"""Strip mining: separate the vectorizable statements of an innermost loop from serial ones.

A loop over the data of a model computes a residual, sums its products, and adds it up by group. The
last of these is serial, and LLVM vectorizes a loop as a whole or not at all. So the loop runs in
strips of some hundred elements: a first loop computes and sums, vectorized, and stores the residual
in a short array, from which a second loop adds it up by group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dimtensor.kernels.ir.make import ZERO, cast, integer, known, op
from dimtensor.kernels.ir.nodes import (
    Allocate,
    Array,
    Assign,
    Expression,
    For,
    Load,
    Statement,
    Store,
    Var,
)
from dimtensor.kernels.ir.walk import replaced
from dimtensor.kernels.passes.lines import (
    Line,
    are_long,
    has_serial,
    is_innermost,
    lines_of,
    with_loops,
)
from dimtensor.traversal import reached
from dimtensor.tuning import STRIP_ELEMENTS, STRIP_MINED_ITERATIONS


def in_strips(
    statements: Sequence[Statement], results: Sequence[Expression], fresh: Callable[[str], str]
) -> list[Statement]:
    """Strip-mine the innermost loops of nests that have serial statements and others."""
    found: list[Statement] = []
    for each in statements:
        arrays: list[Statement] = []

        def cut(loop: For, arrays: list[Statement] = arrays) -> list[Statement]:
            if not is_innermost(loop) or not has_serial(loop):
                return [loop]
            lines = lines_of(loop)
            if not pays(lines, loop.stop):
                return [loop]
            written, made = write(lines, loop.counter, loop.stop, fresh, loop.is_wide)
            arrays += made
            return [written]

        new = with_loops([each], cut)
        found += [*arrays, *new]
    return found


def pays(lines: Sequence[Line], length: Expression) -> bool:
    """Return whether a loop should run in strips: it has serial statements and others.

    The measurements are in ``docs/design/kernels.md``.
    """
    rounds = known(length)
    if rounds is not None and rounds < STRIP_MINED_ITERATIONS and not are_long(lines):
        return False
    serial = any(line.is_serial for line in lines)
    others = sum(not line.is_serial and not line.is_load for line in lines)
    return serial and others > 1


def stages(lines: Sequence[Line]) -> list[int]:
    """Return the stage of each line; even stages are vectorized, -1 is any stage."""
    stage_of: dict[str, int] = {}
    found = []
    for line in lines:
        stage = max((stage_of.get(name, 0) for name in line.uses), default=0)
        if line.is_serial != bool(stage % 2):
            stage += 1
        if line.name is not None:
            stage_of[line.name] = stage
        found.append(-1 if line.is_load else stage)
    return found


def write(
    lines: Sequence[Line],
    counter: Var,
    length: Expression,
    fresh: Callable[[str], str],
    is_wide: bool = False,
) -> tuple[For, list[Statement]]:
    """Write the loop over strips, and the arrays that it needs.

    With `is_wide` the loops without serial statements get hints for LLVM's vectorizer.
    """
    start, at, count = (Var(fresh(kind), "int64") for kind in "jkm")
    stage_of = stages(lines)
    bodies, stored = _bodies(lines, stage_of)
    buffers = {number: Array(fresh("b"), _target(lines[number]).dtype, 1) for number in stored}
    made: list[Statement] = [
        Allocate(each, (integer(STRIP_ELEMENTS),)) for each in buffers.values()
    ]
    position = op("+", start, at)
    values: dict[str, Expression] = {counter.name: position}
    positions: dict[str, Expression] = {counter.name: cast(position, "uint64")}
    inside: list[Statement] = [
        Assign(count, op("min", integer(STRIP_ELEMENTS), op("-", length, start)))
    ]
    for stage, numbers in bodies.items():
        body: list[Statement] = []
        for number in numbers:
            line = lines[number]
            if stage_of[number] in (stage, -1):
                body.append(replaced(line.statement, values, positions))
                if number in buffers:
                    body.append(Store(Load(buffers[number], (at,)), _target(line)))
            else:
                body.append(Assign(_target(line), Load(buffers[number], (at,))))
        hinted = is_wide and stage % 2 == 0
        inside.append(For(at, count, tuple(body), is_wide=hinted, is_parallel=True))
    return For(start, length, tuple(inside), ZERO, STRIP_ELEMENTS, is_parallel=True), made


def _bodies(
    lines: Sequence[Line], stage_of: Sequence[int]
) -> tuple[dict[int, list[int]], list[int]]:
    """Return the lines of each stage, and the lines whose results other stages need."""
    defined = {line.name: number for number, line in enumerate(lines) if line.name is not None}
    bodies: dict[int, list[int]] = {}
    stored: dict[int, None] = {}
    for stage in sorted(set(stage_of) - {-1}):

        def below(number: int, stage: int = stage) -> list[int]:
            if stage_of[number] not in (stage, -1):
                return []
            return sorted(defined[name] for name in lines[number].uses if name in defined)

        own = [number for number, each in enumerate(stage_of) if each == stage]
        needed = list(reached(own[::-1], below))
        stored.update(dict.fromkeys(n for n in needed if stage_of[n] not in (stage, -1)))
        bodies[stage] = sorted(needed)
    return bodies, list(stored)


def _target(line: Line) -> Var:
    assert isinstance(line.statement, Assign)
    return line.statement.target
