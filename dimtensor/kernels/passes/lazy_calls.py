"""Lazy calls: a call that one branch of a selection alone needs is made where that is selected.

Both branches of a selection are computed for each element, which is cheapest if it vectorizes. A
call that LLVM cannot vectorize is made element by element anyway, so it is skipped for elements
that select the other branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dimtensor.kernels.ir.make import number, select
from dimtensor.kernels.ir.node import united
from dimtensor.kernels.ir.nodes import Assign, Expression, For, Names, Op, Statement
from dimtensor.kernels.passes.lines import Line, has_serial, is_innermost, lines_of, with_loops

# a condition, and whether it has to hold
Condition = tuple[Expression, bool]


def on_demand(
    statements: Sequence[Statement], results: Sequence[Expression], fresh: Callable[[str], str]
) -> list[Statement]:
    """Make calls in innermost loops conditional where one arm of a selection alone needs them."""

    def changed(loop: For) -> list[Statement]:
        if not is_innermost(loop) or not has_serial(loop):
            return [loop]
        lines = lines_of(loop)
        if not any(_selection(line) for line in lines):
            return [loop]
        return [loop.replace(body=tuple(line.statement for line in _on_demand(lines)))]

    return with_loops(statements, changed)


def _on_demand(lines: Sequence[Line]) -> list[Line]:
    needed = united(line.uses for line in lines if line.name is None)
    conditions = _conditions(lines, needed)
    changed = []
    for line in lines:
        condition = conditions.get(line.name) if line.is_serial else None
        if condition is None or not condition[0].uses.isdisjoint(_behind(line, lines)):
            changed.append(line)
            continue
        which, side = condition
        assert isinstance(line.statement, Assign)
        target, call = line.statement.target, line.statement.value
        zero = number(0, target.dtype)
        value = select(which, call, zero) if side else select(which, zero, call)
        changed.append(Line(Assign(target, value), line.is_serial))
    return _in_order(changed)


def _selection(line: Line) -> Op | None:
    """Return the selection of a temporary, None for others."""
    value = line.statement.value if isinstance(line.statement, Assign) else None
    return value if isinstance(value, Op) and value.op == "select" else None


def _conditions(lines: Sequence[Line], needed: Names) -> dict[str | None, Condition]:
    """For temporaries that one arm of a selection alone needs: its condition, and which arm."""
    found: dict[str | None, Condition] = {}
    users: dict[str, list[Line]] = {}
    for line in lines:
        for used in line.uses:
            users.setdefault(used, []).append(line)
    for line in reversed(lines):
        name = line.name
        if name is None or name in needed or name not in users:
            continue
        asked = {_condition_in(name, user, found) for user in users[name]}
        (only, *others) = asked
        if only is not None and not others:
            found[name] = only
    return found


def _condition_in(name: str, user: Line, known: dict[str | None, Condition]) -> Condition | None:
    selection = _selection(user)
    if selection is not None:
        which, *arms = selection.operands
        inside = [name in each.uses for each in (which, *arms)]
        if inside == [False, True, False]:
            return which, True
        if inside == [False, False, True]:
            return which, False
    return known.get(user.name)


def _behind(line: Line, lines: Sequence[Line]) -> set[str]:
    """Temporaries that depend on one."""
    found = {line.name}
    for other in lines:
        if other.name is not None and not found.isdisjoint(other.uses):
            found.add(other.name)
    return {name for name in found if name is not None}


def _in_order(lines: Sequence[Line]) -> list[Line]:
    """Sort temporaries before their uses, keeping the order otherwise."""
    position_of = {line.name: at for at, line in enumerate(lines) if line.name is not None}
    ordered: list[Line] = []
    done: set[int] = set()

    def put(at: int) -> None:
        if at in done:
            return
        done.add(at)
        for other in sorted(position_of[name] for name in lines[at].uses & position_of.keys()):
            put(other)
        ordered.append(lines[at])

    for at in range(len(lines)):
        put(at)
    return ordered
