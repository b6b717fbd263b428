"""A loop unrolled over the loop inside of it, which then loads and stores less often.

Where the inner loop adds to an array, once for each round of the loop around it, several rounds at
a time add to an element while it is in a register.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

# rounds at a time, by the number of lines that they repeat
_ROUNDS = ((14, 4), (30, 2))


def rounds(lines: int, length: str) -> int:
    """How many rounds are run at a time; 1 if it does not pay."""
    for most, count in _ROUNDS:
        if lines <= most:
            return count if not length.isdigit() or int(length) >= count else 1
    return 1


def write(
    loops: tuple[str, str],
    lengths: tuple[str, str],
    body: tuple[Sequence[str], Sequence[str], Sequence[str]],
    count: int,
    fresh: Callable[[str], str],
) -> list[str]:
    """Two loops: what is done before the inner one, in it, and after it, `count` times at once."""
    outer, inner = loops
    block = fresh("k")
    before, inside, after = ([] for _ in range(3))
    assigned = {
        match[1] for line in [*body[0], *body[1]] if (match := re.match(r"([ta]\d+) = ", line))
    }
    for number in range(count):
        names = {outer: f"({count} * {block} + {number})"}
        names |= {name: fresh(name[0]) for name in sorted(assigned)}
        for target, lines in zip((before, inside, after), body, strict=True):
            target += [_renamed(line, names) for line in lines]
    whole = [f"for {block} in range({lengths[0]} // {count}):"]
    rest = [f"for {outer} in range({lengths[0]} // {count} * {count}, {lengths[0]}):"]
    if lengths[0].isdigit() and int(lengths[0]) % count == 0:
        rest = []
    for head, parts in ((whole, (before, inside, after)), (rest, body)):
        if head:
            head += [f"    {line}" for line in parts[0]]
            head.append(f"    for {inner} in range({lengths[1]}):")
            head += [f"        {line}" for line in parts[1]]
            head += [f"    {line}" for line in parts[2]]
    return [*whole, *rest]


def _renamed(line: str, names: dict[str, str]) -> str:
    return re.sub(r"\b[a-z]+\d+\b", lambda match: names.get(match[0], match[0]), line)
