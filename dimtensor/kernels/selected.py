"""Calls that only one arm of a selection needs are made only where it is selected.

A selection is elementwise: both of its arms are computed, and where that vectorises nothing is
cheaper. A call that LLVM cannot vectorise is made for one number after the other anyway, so it may
as well be left out where its result is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dimtensor.kernels.scalars import literal
from dimtensor.kernels.strips import Line

_SELECTION = re.compile(r"\w+ = \((\w+) if (\w+) else (\w+)\)$")


def on_demand(lines: Sequence[Line], needed: set[str]) -> list[Line]:
    """The lines with calls that are made on a condition, in an order in which they can run.

    Parameters
    ----------
    lines : sequence of Line
        Of one loop, each temporary before those that use it.
    needed : set of str
        Temporaries that are used otherwise.
    """
    if not any(line.is_serial and line.name for line in lines):
        return list(lines)
    if not any(_SELECTION.match(line.text) for line in lines):
        return list(lines)
    conditions = _conditions(lines, needed)
    changed = []
    for line in lines:
        condition = conditions.get(line.name) if line.is_serial else None
        if condition is None or condition[0] in _behind(line, lines):
            changed.append(line)
            continue
        which, side = condition
        call, zero = line.text.split(" = ", 1)[1], literal(0, line.dtype)
        arms = (call, zero) if side else (zero, call)
        text = f"{line.name} = {arms[0]} if {which} else {arms[1]}"
        changed.append(Line(text, line.name, line.dtype, line.is_serial))
    return _in_order(changed)


def _conditions(lines: Sequence[Line], needed: set[str]) -> dict[str | None, tuple[str, bool]]:
    """For temporaries that one arm of a selection alone needs: its condition, and which arm."""
    found: dict[str | None, tuple[str, bool]] = {}
    users: dict[str, list[Line]] = {}
    for line in lines:
        for name in line.uses:
            users.setdefault(name, []).append(line)
    for line in reversed(lines):
        name = line.name
        if name is None or name in needed or name not in users:
            continue
        asked = {_condition_in(name, user, found) for user in users[name]}
        (only, *others) = asked
        if only is not None and not others:
            found[name] = only
    return found


def _condition_in(
    name: str, user: Line, known: dict[str | None, tuple[str, bool]]
) -> tuple[str, bool] | None:
    selection = _SELECTION.match(user.text)
    if selection is not None:
        first, which, second = selection.groups()
        if name == first and name not in (which, second):
            return which, True
        if name == second and name not in (which, first):
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
    """Every temporary before those that use it, otherwise as they are."""
    by_name = {line.name: line for line in lines if line.name is not None}
    ordered: list[Line] = []
    done: set[int] = set()

    def put(line: Line) -> None:
        if id(line) in done:
            return
        done.add(id(line))
        for name in sorted(line.uses):
            if name in by_name:
                put(by_name[name])
        ordered.append(line)

    for line in lines:
        put(line)
    return ordered
