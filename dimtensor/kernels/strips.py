"""Strips: the innermost loop in pieces, so that what LLVM vectorises is apart from what it cannot.

A loop over the data of a model computes a residual, sums its products, and adds it up by group. The
last of these has to be done one element after the other, and then LLVM does all of it so. In strips
of some hundred elements, a first loop computes and sums, vectorised, and leaves in a short array
what a second loop adds up by group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dimtensor.kernels.totals import Blocks

STRIP = 256
# accumulators of what is added up by data: consecutive elements of one group need not wait for each
# other's sum to be stored
WAYS = 8
_FEWEST = 64
_NAME = re.compile(r"\b[a-z]+\d+\b")


@dataclass
class Line:
    """A line in the innermost loop.

    Attributes
    ----------
    text : str
    name : str or None
        The temporary that it assigns.
    dtype : str
        Of the temporary.
    is_serial : bool
        Whether it keeps LLVM from vectorising.
    is_load : bool
        Whether it only reads what lies at the loop's position, which may be done again.
    """

    text: str
    name: str | None = None
    dtype: str = ""
    is_serial: bool = False
    is_load: bool = False
    uses: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.uses = names_in(self.text) - {self.name}


def names_in(text: str) -> set[str]:
    """Names of variables in a line."""
    return set(_NAME.findall(text))


def pays(lines: Sequence[Line], length: str) -> bool:
    """Whether a loop is to be run in strips: there is something serial, and more than that.

    The measurements are in ``docs/design/kernels.md``.
    """
    if length.isdigit() and int(length) < _FEWEST:
        return False
    serial = any(line.is_serial for line in lines)
    others = sum(not line.is_serial and not line.is_load for line in lines)
    return serial and others > 1


def stages(lines: Sequence[Line]) -> list[int]:
    """The stage of each line: the even ones are vectorised. -1: wherever it is needed."""
    stage_of: dict[str, int] = {}
    found = []
    for line in lines:
        stage = max((stage_of.get(name, 0) for name in line.uses), default=0)
        if line.is_serial != bool(stage % 2):
            stage += 1
        if line.is_load:
            stage = -1
        elif line.name is not None:
            stage_of[line.name] = stage
        found.append(stage)
    return found


def write(
    lines: Sequence[Line], loop: str, length: str, blocks: Blocks, fresh: Callable[[str], str]
) -> tuple[list[str], list[str]]:
    """The loops over strips, each a block of sums, and the arrays that they need before them."""
    start, at, count = fresh("j"), fresh("k"), fresh("m")
    stage_of = stages(lines)
    defined = {line.name: number for number, line in enumerate(lines) if line.name is not None}
    bodies: dict[int, list[int]] = {}
    buffers: dict[int, str] = {}
    for stage in sorted(set(stage_of) - {-1}):
        needed: set[int] = set()
        pending = [number for number, own in enumerate(stage_of) if own == stage]
        while pending:
            number = pending.pop()
            if number in needed:
                continue
            needed.add(number)
            if stage_of[number] not in (stage, -1):
                buffers.setdefault(number, fresh("b"))
                continue
            pending += [defined[name] for name in lines[number].uses if name in defined]
        bodies[stage] = sorted(needed)
    made = [
        f"{name} = np.empty(({STRIP},), dtype={_numpy(lines[number].dtype)})"
        for number, name in buffers.items()
    ]
    position = re.compile(rf"(?<=[\[ ]){loop}(?=[,\]])")
    text = [f"for {start} in range(0, {length}, {STRIP}):"]
    text.append(f"    {count} = min({STRIP}, {length} - {start})")
    text += [f"    {line}" for line in blocks.head]
    for stage, numbers in bodies.items():
        text.append(f"    for {at} in range({count}):")
        for number in numbers:
            line = lines[number]
            if stage_of[number] in (stage, -1):
                body = position.sub(f"np.uint64({start} + {at})", line.text)
                text.append("        " + re.sub(rf"\b{loop}\b", f"({start} + {at})", body))
                if number in buffers:
                    text.append(f"        {buffers[number]}[{at}] = {line.name}")
            else:
                text.append(f"        {line.name} = {buffers[number]}[{at}]")
    text += [f"    {line}" for line in blocks.tail]
    return text, made


def _numpy(dtype: str) -> str:
    return "np.bool_" if dtype == "bool" else f"np.{dtype}"
