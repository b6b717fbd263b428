"""A loop unrolled over the loop inside of it, which then loads and stores less often.

Where the inner loop adds to an array, once for each round of the loop around it, several rounds at
a time add to an element while it is in a register.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from dimtensor.kernels.totals import Blocks, loop

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
    blocks: Blocks,
    fresh: Callable[[str], str],
) -> list[str]:
    """Two loops: what is done before the inner one, in it, and after it, `count` times at once.

    The inner loop is run in blocks, if there are sums of them.
    """
    outer, inner = loops
    block = fresh("k")
    before, inside, after, head, tail = ([] for _ in range(5))
    own = [*body[0], *body[1], *blocks.head]
    assigned = {match[1] for line in own if (match := re.match(r"([ta]\d+) = ", line))}
    assigned |= {match[1] for line in blocks.tail if (match := re.match(r"(t\d+) = ", line))}
    for number in range(count):
        names = {outer: f"({count} * {block} + {number})"}
        names |= {name: fresh(name[0]) for name in sorted(assigned)}
        parts = (*body, blocks.head, blocks.tail)
        for target, lines in zip((before, inside, after, head, tail), parts, strict=True):
            target += [_renamed(line, names) for line in lines]
    whole = [f"for {block} in range({lengths[0]} // {count}):"]
    rest = [f"for {outer} in range({lengths[0]} // {count} * {count}, {lengths[0]}):"]
    if lengths[0].isdigit() and int(lengths[0]) % count == 0:
        rest = []
    several = Blocks(head, tail)
    for text, (first, each, last), around in (
        (whole, (before, inside, after), several),
        (rest, body, blocks),
    ):
        if text:
            looped = loop(inner, lengths[1], each, around, fresh)
            text += [f"    {line}" for line in [*first, *looped, *last]]
    return [*whole, *rest]


def _renamed(line: str, names: dict[str, str]) -> str:
    return re.sub(r"\b[a-z]+\d+\b", lambda match: names.get(match[0], match[0]), line)
