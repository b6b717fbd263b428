"""Long runs of statements, cut into functions.

LLVM allocates registers for one function at a time, in time that grows with the square of a block
in which many numbers are live. A run of statements without control flow is therefore cut into
functions of some hundred each, which are called one after the other. What one of them leaves to
others lies in a frame in memory; of so many numbers most would be there anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.make import is_function
from dimtensor.kernels.ir.walk import parts_of
from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.expressions import Scope
from dimtensor.kernels.native.values import Scalar, Value
from dimtensor.tuning import PART_STATEMENTS, SPLIT_STATEMENTS

if TYPE_CHECKING:
    from dimtensor.kernels.native.translate import Translator

# dtypes that parts compute; positions are computed where their form is known
PART_DTYPES = ("float64", "float32", "bool")
_FRAME = "%frame"
_CELL = 8  # bytes of a number in the frame


# a place in the frame, and the number there
Cell = tuple[int, Value]
Cells = dict[str, Cell]


class Parts:
    """The parts of a function that is translated.

    Attributes
    ----------
    texts : list of str
        Their functions.
    """

    def __init__(self, t: Translator):
        self._t = t
        self.texts: list[str] = []
        self._size = 0

    def allocation(self) -> list[str]:
        """Return the instructions at the start of the function."""
        if not self.texts:
            return []
        return [f"  {_FRAME} = alloca [{self._size} x i8], align 64"]

    def leave(self, cells: Cells, name: str, value: Value) -> None:
        """Store a number in a new cell."""
        at = self._size
        self._size = at + _CELL
        cells[name] = at, value
        place = self._t.b.let(_place(at))
        # volatile: LLVM looks at each store whether it is needed, and compares it with others
        what = f"{value.type.llvm} {value.text}, ptr {place}"
        self._t.b.write(f"store volatile {what}, align {_CELL}")

    def found(self, cells: Cells, name: str) -> Value:
        """Load a cell: the same number in another function.

        A product is known to be one, but without its factors.
        """
        at, value = cells[name]
        place = self._t.b.let(_place(at))
        text = self._t.b.let(f"load {value.type.llvm}, ptr {place}, align {_CELL}")
        return value._replace(text=text, factors=None if value.factors is None else ())

    def slot(self, cell: Cell) -> tuple[str, Scalar]:
        """Return a cell as a variable of the function itself."""
        at, value = cell
        place = self._t.b.register()
        self._t.b.entry.append(f"  {place} = {_place(at)}")
        return place, value.type

    @contextmanager
    def function(self) -> Iterator[dict[str, Value]]:
        """Write a part instead of the function itself; it receives its numbers."""
        t = self._t
        written = Builder(t.b.module)
        written.in_order, written.depth = t.b.in_order, t.b.depth
        with t.writing(Scope(written, t.scope.arrays)) as scope:
            yield scope.fixed
        name = f"@dimtensor.part{len(self.texts)}"
        start = f"define internal void {name}(ptr noalias {_FRAME}) noinline nounwind {{"
        lines = [start, "entry:", *written.entry, *written.lines, "  ret void", "}"]
        self.texts.append("\n".join(lines))
        t.b.write(f"call void {name}(ptr {_FRAME})")


def _place(at: int) -> str:
    return f"getelementptr inbounds i8, ptr {_FRAME}, i64 {at}"


def runs[T](items: Sequence[T], fits: Callable[[T], bool]) -> Iterator[tuple[bool, Sequence[T]]]:
    """Split items into pieces of long runs that fit, and the items between them, in order."""
    if len(items) < SPLIT_STATEMENTS:
        yield False, items
        return
    start = at = 0
    while at < len(items):
        end = at
        while end < len(items) and fits(items[end]):
            end += 1
        if end - at >= SPLIT_STATEMENTS:
            count = (end - at) // PART_STATEMENTS or 1
            yield False, items[start:at]
            for number in range(count):
                last = end if number == count - 1 else at + PART_STATEMENTS
                yield True, items[at:last]
                at = last
            start = at
        else:
            at = end + 1
    yield False, items[start:]


def is_number(node: ir.Expression) -> bool:
    """Return whether an expression consists of variables and numbers alone."""
    if not (is_function(node) or isinstance(node, (ir.Const, ir.Var, ir.Op))):
        return False
    return all(map(is_number, parts_of(node)))


def names_read(values: Iterable[ir.Expression]) -> Counter[str]:
    """Count the reads of each variable."""
    found: Counter[str] = Counter()
    pending = list(values)
    while pending:
        node = pending.pop()
        if isinstance(node, ir.Var):
            found[node.name] += 1
        else:
            pending += parts_of(node)
    return found
