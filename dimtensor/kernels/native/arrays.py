"""From loops to LLVM: arrays, which a kernel makes in three places.

Memory of a result is that of the caller, or is handed to the caller; small arrays of known lengths
live in the frame of the function; others come from the heap, and the next call takes them again.
"""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.errors import NotNative
from dimtensor.kernels.ir.growth import Grow
from dimtensor.kernels.ir.make import is_zero
from dimtensor.kernels.ir.walk import statements_in, summary
from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.expressions import Expressions
from dimtensor.kernels.native.functions import workspace
from dimtensor.kernels.native.values import (
    BOOL,
    I64,
    OUT_OF_MEMORY,
    Array,
    Scalar,
    Value,
    constant,
    scalar_of,
    whole_number,
)
from dimtensor.tuning import FRAME_ARRAY_BYTES, FRAME_BYTES, POOL_BYTES, POOLED_ARRAY_BYTES

_LINE = 64  # of the cache

_HELD, _SHARED = "%held", "%shared"
# More bytes than any memory has. A product of lengths beyond it is it, so that to ask for memory
# fails; where one of them is 0 there is nothing to ask for, however large the others are. A length
# that is negative was too large for 64 bits.
_BEYOND_MEMORY = 2**62
_SIZE = f"""
define internal i64 @dimtensor.size(i64 %a, i64 %b) noinline nounwind willreturn memory(none) {{
  %few = call i64 @llvm.umin.i64(i64 %a, i64 %b)
  %empty = icmp eq i64 %few, 0
  %both = call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 %a, i64 %b)
  %product = extractvalue {{ i64, i1 }} %both, 0
  %overflows = extractvalue {{ i64, i1 }} %both, 1
  %bounded = call i64 @llvm.umin.i64(i64 %product, i64 {_BEYOND_MEMORY})
  %size = select i1 %overflows, i64 {_BEYOND_MEMORY}, i64 %bounded
  %all = select i1 %empty, i64 0, i64 %size
  ret i64 %all
}}
declare i64 @llvm.umin.i64(i64, i64)
declare {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64, i64)
"""


class Arrays(Expressions):
    """Makes arrays, and finds out which of them are results."""

    def __init__(self, builder: Builder, function: ir.Function):
        super().__init__(builder)
        self.function = function
        self._depth = 0
        self._held = 0  # how many blocks of the heap there are
        self._shared: list[str] = []  # where arrays lie in the block that they share
        self._shared_bytes = 0
        self._frame_room = FRAME_BYTES
        self._growing: dict[str, tuple[str, str, int]] = {}
        self._code = builder.slot("i32", align=4)
        self._leave = builder.label("leave")
        self._aliases = _aliases(function)
        self._uses, self._assigned, *_ = summary(function)
        self._grown = {
            each.array.name for each in statements_in(function.body) if isinstance(each, Grow)
        }

    def _word(self, table: str, at: int) -> str:
        """Address of a word of a table."""
        return self.b.let(f"getelementptr inbounds i64, ptr {table}, i64 {at}")

    def _fail(self, code: int) -> None:
        """Leave with a code."""
        self.b.write(f"store i32 {code}, ptr {self._code}, align 4")
        self.b.jump(self._leave)
        self.b.begin(self.b.label("dead"))

    def _allocate(self, node: ir.Allocate) -> None:
        type_ = scalar_of(node.array.dtype)
        array = self._make(node.array.name, type_, self._shape(node.shape))
        if node.start is not None and is_zero(node.start):
            self._clear(array)
        elif node.start is not None:
            self._fill(array, self.b.cast(self.number(node.start), type_))
        self.scope.arrays[node.array.name] = array
        if node.array.name in self._grown:
            self._starts_growing(node.array.name, array)

    def _starts_growing(self, name: str, array: Array) -> None:
        """Store the address and the number of rows of an array that grows, and reserve a block."""
        b = self.b
        place, room = b.slot("ptr"), b.slot("i64")
        b.write(f"store ptr {array.pointer}, ptr {place}, align 8")
        b.write(f"store i64 {array.shape[0].text}, ptr {room}, align 8")
        self._growing[name] = place, room, self._held
        self._held += 1

    def _grow(self, node: Grow) -> None:
        """Allocate twice the rows if there are too few; the old block is kept for the next call.

        The address of the array is read once here, not at each use.
        """
        b, name = self.b, node.array.name
        array = self.scope.arrays[name]
        if name not in self._growing:
            raise NotNative("an array that grows and was not made for it")
        place, room, at = self._growing[name]
        wanted = self.integer(node.shape[0])
        row = self._bytes(array.type, array.shape[1:])
        known = Value(b.let(f"load i64, ptr {room}, align 8"), I64)
        with b.when(b.compare(">", wanted, known), "grow"):
            rows = self._size((wanted, constant(2, I64)))
            size = self._size((rows, row))
            held = b.let(f"getelementptr inbounds ptr, ptr {_HELD}, i64 {at}")
            made = self._checked(workspace.take(self._room(size), at))
            old = b.let(f"load ptr, ptr {place}, align 8")
            filled = array._replace(pointer=made, shape=(known, *array.shape[1:]))
            self._copy(filled, filled._replace(pointer=old))
            b.write(workspace.leave(held, at, 1))
            b.write(f"store ptr {made}, ptr {held}, align 8")
            b.write(f"store ptr {made}, ptr {place}, align 8")
            b.write(f"store i64 {rows.text}, ptr {room}, align 8")
        pointer = b.let(f"load ptr, ptr {place}, align 8")
        self.scope.arrays[name] = array._replace(pointer=pointer)

    def _bind(self, node: ir.Bind) -> None:
        name, value = node.array.name, node.value
        if isinstance(value, ir.Reshaped):
            source = self.array(value.source)
            self.scope.arrays[name] = source._replace(shape=self._shape(value.shape))
        elif isinstance(value, ir.Wrapped):
            if value.how != "copy":
                raise NotNative(f"what is {value.how}")
            source = self.array(value.source)
            array = self._make(name, source.type, source.shape)
            self._copy(array, source)
            self.scope.arrays[name] = array
        else:
            if self._assigned[name] > 1:
                raise NotNative("a name that stands for several arrays")
            self.scope.arrays[name] = self.array(value)

    def _fill_all(self, node: ir.Fill) -> None:
        """Give all elements of an array the values of another, or one number."""
        if isinstance(node.target, ir.Part):
            target = self.part(node.target.array, node.target.index)
        else:
            target = self.part(node.target, ())
        if not node.value.rank:
            self._fill(target, self.b.cast(self.number(node.value), target.type))
            return
        source = self.array(node.value)
        if source.type != target.type or len(source.shape) != len(target.shape):
            raise NotNative("an array that takes another of other dtype or axes")
        self._copy(target, source)

    def _shape(self, lengths: Sequence[ir.Expression]) -> tuple[Value, ...]:
        return tuple(self.integer(each) for each in lengths)

    def _make(self, name: str, type_: Scalar, shape: tuple[Value, ...]) -> Array:
        """Memory for an array: of a result, of the frame, or from the heap.

        What is made in a loop is gone when it is made again.
        """
        result = self._result_of(name)
        if self._assigned[name] > 1 or (self._depth and result is not None):
            raise NotNative("an array that is made in several places")
        b = self.b
        size_value = self._bytes(type_, shape)
        size = whole_number(size_value)
        if result is None and size is not None:
            if size <= FRAME_ARRAY_BYTES or self._fits_frame(size):
                memory = b.slot("i8", max(size, 1), align=32)
                return Array(memory, type_, shape, b.module.scope())
            if size <= POOLED_ARRAY_BYTES and self._shared_bytes + size <= POOL_BYTES:
                return Array(self._share(size), type_, shape, b.module.scope())
        if result is not None:
            memory = self._result_memory(result, size_value)
            return Array(memory, type_, shape, b.module.scope())
        at = self._held
        self._held += 1
        slot = b.let(f"getelementptr inbounds ptr, ptr {_HELD}, i64 {at}")
        if self._depth:
            b.write(workspace.leave(slot, at, 1))
        pointer = self._checked(workspace.take(self._room(size_value), at))
        b.write(f"store ptr {pointer}, ptr {slot}, align 8")
        return Array(pointer, type_, shape, b.module.scope())

    def _size(self, factors: Sequence[Value]) -> Value:
        """Multiply lengths, saturating at the size of memory."""
        known, unknown = 1, []
        for factor in factors:
            number = whole_number(factor)
            if number is None:
                unknown.append(factor)
            else:
                known *= max(number, 0)
        known = min(known, _BEYOND_MEMORY)
        if not unknown or not known:
            return constant(known, I64)
        unknown.append(constant(known, I64))
        total, *others = unknown
        for other in others:
            self.b.module.lines.setdefault("dimtensor.size", _SIZE)
            call = f"call i64 @dimtensor.size(i64 {total.text}, i64 {other.text})"
            total = Value(self.b.let(call), I64, position=True)
        return total

    def _bytes(self, type_: Scalar, shape: Sequence[Value]) -> Value:
        """Bytes that an array takes."""
        return self._size((*shape, constant(type_.size, I64)))

    def _fits_frame(self, size: int) -> bool:
        """Take room for an array from the frame if there is enough."""
        if size > self._frame_room:
            return False
        self._frame_room -= size
        return True

    def _share(self, size: int) -> str:
        """Room in one block that is asked for when the function begins.

        Lines between two arrays keep those whose lengths are powers of two from meeting in the
        same places of the cache.
        """
        pointer = self.b.register()
        place = f"getelementptr inbounds i8, ptr {_SHARED}, i64 {self._shared_bytes}"
        self._shared.append(f"  {pointer} = {place}")
        self._shared_bytes += -(-size // _LINE) * _LINE + _LINE
        return pointer

    def _take_shared(self) -> list[str]:
        """Take the block that small arrays share."""
        at, full, made = self._held, self.b.label("full"), self.b.label("made")
        self._held += 1
        none = self.b.register()
        return [
            f"  {_SHARED} = {workspace.take(str(self._shared_bytes), at)}",
            f"  {_SHARED}.slot = getelementptr inbounds ptr, ptr {_HELD}, i64 {at}",
            f"  store ptr {_SHARED}, ptr {_SHARED}.slot, align 8",
            f"  {none} = icmp eq ptr {_SHARED}, null",
            f"  br i1 {none}, label %{full}, label %{made}",
            f"{full}:",
            f"  store i32 {OUT_OF_MEMORY}, ptr {self._code}, align 4",
            f"  br label %{self._leave}",
            f"{made}:",
            *self._shared,
        ]

    def _free(self) -> None:
        """Leave the heap's arrays to the next call, or give them back.

        Their addresses stand in a table. As variables they would be values that every failure
        brings along: the square of the number of arrays, which takes LLVM minutes.
        """
        b = self.b
        shared = self._take_shared() if self._shared else []
        if not self._held:
            return
        b.module.function("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
        workspace.declare(b.module.lines, self._held)
        b.entry += [
            f"  {_HELD} = alloca [{self._held} x ptr], align 8",
            f"  call void @llvm.memset.p0.i64(ptr align 8 {_HELD}, i8 0, "
            f"i64 {8 * self._held}, i1 false)",
            *shared,
        ]
        b.write(workspace.leave(_HELD, 0, self._held))

    def _memory(self, size: Value) -> str:
        """Memory that the caller frees."""
        allocate = workspace.allocator(self.b.module.lines)
        return self._checked(f"call noalias ptr @{allocate}(i64 {self._room(size)})")

    def _room(self, size: Value) -> str:
        """Bytes to ask for: of 0 some systems give null."""
        return self.b.extreme("max", size, constant(1, I64)).text

    def _checked(self, call: str) -> str:
        b = self.b
        pointer = b.let(call)
        missing = Value(b.let(f"icmp eq ptr {pointer}, null"), BOOL)
        with b.when(missing, "full"):
            self._fail(OUT_OF_MEMORY)
        return pointer

    def _result_of(self, name: str) -> int | None:
        """Return the number of the result that an array becomes, None for other arrays."""
        for at, result in enumerate(self.function.results):
            if isinstance(result, ir.Array) and self._aliases.get(result.name, result.name) == name:
                return at
        return None

    def _result_memory(self, at: int, size: Value) -> str:
        b = self.b
        word = self._word("%out", self._result_offset(at))
        given = b.let(f"load ptr, ptr {word}, align 8")
        none = Value(b.let(f"icmp eq ptr {given}, null"), BOOL)
        slot = b.slot("ptr")
        b.write(f"store ptr {given}, ptr {slot}, align 8")
        with b.when(none, "make"):
            made = self._memory(size)
            b.write(f"store ptr {made}, ptr {word}, align 8")
            b.write(f"store ptr {made}, ptr {slot}, align 8")
        return b.let(f"load ptr, ptr {slot}, align 8")

    def _result_offset(self, at: int) -> int:
        """Return the offset of a result in the table."""
        return sum(1 + each.rank for each in self.function.results[:at])

    def _clear(self, array: Array) -> None:
        b = self.b
        count = self._bytes(array.type, array.shape)
        b.module.function("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
        b.write(
            f"call void @llvm.memset.p0.i64(ptr align 8 {array.pointer}, i8 0, "
            f"i64 {count.text}, i1 false)"
        )

    def _fill(self, array: Array, value: Value) -> None:
        b = self.b

        def body(at: Value, following: str, after: str) -> None:
            b.store(b.element(array.pointer, array.type, at), value, array.scope)

        count = array.shape[0] if len(array.shape) == 1 else self._size(array.shape)
        b.loop(constant(0, I64), count, constant(1, I64), body)

    def _copy(self, array: Array, source: Array) -> None:
        b = self.b
        count = self._bytes(array.type, array.shape)
        b.module.function("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
        b.write(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {array.pointer}, ptr {source.pointer}, "
            f"i64 {count.text}, i1 false)"
        )


def _aliases(function: ir.Function) -> dict[str, str]:
    """Names of arrays that are all of another one, whose memory they have, in the end."""
    found: dict[str, str] = {}
    for each in function.body:
        if not isinstance(each, ir.Bind):
            continue
        whole = each.value.source if isinstance(each.value, ir.Reshaped) else each.value
        if isinstance(whole, ir.Array):
            found[each.array.name] = found.get(whole.name, whole.name)
    return found
