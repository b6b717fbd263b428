"""Totals of sums: their errors grow no faster than those of NumPy's.

NumPy adds up pairs of halves. Here so many elements at a time are added up in a variable of the
innermost loops, which LLVM makes several of, side by side; a total takes that in with what the sum
of both has lost. So the error depends on the number of elements in a block and hardly on how many
blocks there are, see D. E. Knuth, The Art of Computer Programming 2, 4.2.2, theorem B. Totals of
single precision are kept in double precision instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

BLOCK = 2048
_WIDE = "float64"
NARROW = ("float32",)


def is_blocked(operation: str, dtype: str) -> bool:
    """Whether a reduction is a sum that rounds."""
    return operation == "Add" and dtype in (_WIDE, *NARROW)


def zero(dtype: str) -> str:
    return "0.0" if dtype == _WIDE else f"np.{dtype}(0.0)"


def levels(lengths: Sequence[str]) -> tuple[int, int]:
    """How many loops there are outside of those that a block has, and its rounds of the last one.

    Loops of known lengths are in a block as a whole, as far as they fit.
    """
    size, level = 1, len(lengths)
    while level and lengths[level - 1].isdigit() and size * int(lengths[level - 1]) <= BLOCK:
        size *= max(int(lengths[level - 1]), 1)
        level -= 1
    return level, BLOCK // size


@dataclass
class Blocks:
    """What stands around the loops of a block: sums in it start from 0, and go into totals."""

    head: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)

    def add(self, part: str, dtype: str) -> None:
        """A sum of a block."""
        line = f"{part} = {zero(dtype)}"
        if line not in self.head:
            self.head.append(line)

    def into(self, name: str, part: str, dtype: str, fresh: Callable[[str], str]) -> tuple:
        """A total of the sums of blocks: what starts it, and what gives it its name."""
        total = fresh("a")
        if dtype != _WIDE:
            self.tail.append(f"{total} += np.{_WIDE}({part})")
            return [f"{total} = 0.0"], f"{name} = np.{dtype}({total})"
        lost, both, back = fresh("a"), fresh("t"), fresh("t")
        self.tail += [
            f"{both} = ({total} + {part})",
            f"{back} = ({both} - {total})",
            f"{lost} = ({lost} + (({total} - ({both} - {back})) + ({part} - {back})))",
            f"{total} = {both}",
        ]
        # of an infinite total nothing is lost
        end = f"{name} = ({total} + {lost} if {lost} - {lost} == 0.0 else {total})"
        return [f"{total} = 0.0", f"{lost} = 0.0"], end


def loop(
    counter: str,
    length: str,
    body: Sequence[str],
    blocks: Blocks | None,
    fresh: Callable[[str], str],
    rounds: int = BLOCK,
) -> list[str]:
    """A loop, which is run block by block if there are sums of blocks."""
    if blocks is None or not blocks.head:
        return [f"for {counter} in range({length}):", *(f"    {line}" for line in body)]
    start = fresh("j")
    inside = [
        *blocks.head,
        f"for {counter} in range({start}, min({start} + {rounds}, {length})):",
        *(f"    {line}" for line in body),
        *blocks.tail,
    ]
    return [f"for {start} in range(0, {length}, {rounds}):", *(f"    {line}" for line in inside)]
