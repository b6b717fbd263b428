"""Long runs of statements, cut into functions.

LLVM allocates registers for one function at a time, in time that grows with the square of a block
in which many numbers are live. A run of statements without control flow is therefore cut into
functions of some hundred each, which are called one after the other. What one of them leaves to
others lies in a frame in memory; of so many numbers most would be there anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.make import is_function
from dimtensor.kernels.ir.walk import parts_of
from dimtensor.kernels.native.arrays import Usage
from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.expressions import Bindings, ExpressionWriter
from dimtensor.kernels.native.values import Value
from dimtensor.tuning import PART_STATEMENTS, SPLIT_STATEMENTS

# dtypes that parts compute; positions are computed where their form is known
_DTYPES = ("float64", "float32", "bool")
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

    def __init__(self, usage: Usage):
        self._usage = usage
        self.texts: list[str] = []
        self._size = 0

    def has(self, node: ir.Statement) -> bool:
        """Return whether a statement may be in a part."""
        return (
            isinstance(node, ir.Assign)
            and node.target.dtype in _DTYPES
            and self._usage.is_assigned_once(node.target.name)
            and _is_number(node.value)
        )

    def moves(self, statements: Sequence[ir.Statement]) -> Callable[[ir.Statement], int]:
        """Return a function for `runs`: which statements may stand before parts, or after them.

        Positions, and elements of arrays from outside of the statements, are read before a part.
        Elements of new arrays, which are no other memory, are written after it.
        """
        named = {each.defines for each in statements}
        new = {each.array.name for each in statements if isinstance(each, ir.Allocate)}

        def number(node: ir.Statement) -> int:
            match node:
                case ir.Assign(ir.Var(name), value):
                    return -(self._usage.is_assigned_once(name) and _is_read(value, named))
                case ir.Store(ir.Load(array, index), value) if array.name in new:
                    once = all(map(self._usage.is_assigned_once, _names_read([value, *index])))
                    return once and all(map(_is_number, (value, *index)))
            return 0

        return number

    def allocation(self) -> list[str]:
        """Return the instructions at the start of the function."""
        if not self.texts:
            return []
        return [f"  {_FRAME} = alloca [{self._size} x i8], align 64"]

    def write(self, w: ExpressionWriter, statements: Sequence[ir.Assign], cells: Cells) -> None:
        """Write some statements as a function, and call it.

        Parameters
        ----------
        w : ExpressionWriter
        statements : sequence of Assign
        cells : dict
            Numbers in the frame, to which those are added that this part reads or leaves.
        """
        usage, names = self._usage, w.names
        reads = _names_read(each.value for each in statements)
        inner = ExpressionWriter(Builder(w.b.module, w.b.context), Bindings(names.arrays))
        numbers = inner.names.fixed
        for name in sorted(reads.keys() - {each.target.name for each in statements}):
            if name not in cells or not usage.is_assigned_once(name):
                value = w.variable(name)
                if value.known is not None:
                    numbers[name] = value
                    continue
                self._leave(w.b, cells, name, value)
            numbers[name] = _found(inner.b, cells[name])
        left: list[str] = []
        for each in statements:
            name, value = each.target.name, inner.number(each.value)
            if value.factors is not None and not usage.fuses(name):
                value = value._replace(factors=())
            numbers[name] = value
            if usage.reads[name] > reads[name]:
                self._leave(inner.b, cells, name, value)
                left.append(name)
        called = f"@dimtensor.part{len(self.texts)}"
        self.texts.append(inner.b.helper(called, [f"ptr noalias {_FRAME}"]))
        w.b.write(f"call void {called}(ptr {_FRAME})")
        for name in left:
            at, value = cells[name]
            place = w.b.register()
            w.b.entry.append(f"  {place} = {_place(at)}")
            names.variables[name] = place, value.type
            if value.factors is not None:
                names.products[name] = ()

    def _leave(self, b: Builder, cells: Cells, name: str, value: Value) -> None:
        """Store a number in a new cell."""
        cells[name] = self._size, value
        place = b.let(_place(self._size))
        self._size += _CELL
        # volatile: LLVM looks at each store whether it is needed, and compares it with others
        b.write(f"store volatile {value.type.llvm} {value.text}, ptr {place}, align {_CELL}")


def _found(b: Builder, cell: Cell) -> Value:
    """Load a cell: the same number in another function.

    A product is known to be one, but without its factors.
    """
    at, value = cell
    text = b.let(f"load {value.type.llvm}, ptr {b.let(_place(at))}, align {_CELL}")
    return value._replace(text=text, factors=None if value.factors is None else ())


def _place(at: int) -> str:
    return f"getelementptr inbounds i8, ptr {_FRAME}, i64 {at}"


def runs[T](
    items: Sequence[T], fits: Callable[[T], bool], moves: Callable[[T], int] = lambda item: 0
) -> Iterator[tuple[bool, Sequence[T]]]:
    """Split items into pieces of long runs that fit, and the items between them, in order.

    Items of a run that do not fit may stand before the piece around them, if `moves` is negative,
    or after it, if it is positive.
    """
    if len(items) < SPLIT_STATEMENTS:
        yield False, items
        return
    start = at = 0
    while at < len(items):
        end, fitting = at, 0
        while end < len(items) and (fits(items[end]) or moves(items[end])):
            fitting += fits(items[end])
            end += 1
        if fitting >= SPLIT_STATEMENTS:
            yield False, items[start:at]
            yield from _pieces(items[at:end], fitting // PART_STATEMENTS or 1, fits, moves)
            start = at = end
        else:
            at = end + 1
    yield False, items[start:]


def _pieces[T](
    items: Sequence[T], count: int, fits: Callable[[T], bool], moves: Callable[[T], int]
) -> Iterator[tuple[bool, Sequence[T]]]:
    """Cut a run into a number of pieces, with what moves before and after each."""
    found: tuple[list[T], list[T], list[T]] = [], [], []
    for item in items:
        found[1 if fits(item) else 1 + moves(item)].append(item)
        if len(found[1]) == PART_STATEMENTS and count > 1:
            yield from zip((False, True, False), found, strict=True)
            found, count = ([], [], []), count - 1
    yield from zip((False, True, False), found, strict=True)


def _is_number(node: ir.Expression) -> bool:
    """Return whether an expression consists of variables and numbers alone."""
    if not (is_function(node) or isinstance(node, (ir.Const, ir.Var, ir.Op))):
        return False
    return all(map(_is_number, parts_of(node)))


def _is_read(node: ir.Expression, named: Collection[str | None]) -> bool:
    """Return whether an expression reads arrays of other names, and no numbers that parts leave."""
    match node:
        case ir.Load(array, index):
            return array.name not in named and all(_is_read(each, named) for each in index)
        case ir.Var():
            return node.dtype not in _DTYPES
        case ir.Op(_, operands):
            return all(_is_read(each, named) for each in operands)
    return isinstance(node, ir.Const)


def _names_read(values: Iterable[ir.Expression]) -> Counter[str]:
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
