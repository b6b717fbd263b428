"""From loops to LLVM: arrays, which a kernel makes in three places.

Memory of a result is that of the caller, or is handed to the caller; small arrays of known lengths
live in the frame of the function; others come from the heap, and the next call takes them again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.errors import NotNative
from dimtensor.kernels.ir.growth import Grow
from dimtensor.kernels.ir.make import is_zero
from dimtensor.kernels.ir.walk import statements_in, summary
from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.expressions import ExpressionWriter
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


class Usage(NamedTuple):
    """Reads, assignments and aliases of the names of a function.

    Attributes
    ----------
    function : Function
    reads, writes : Counter of str
        Numbers of reads and of assignments of each name.
    aliases : dict of str to str
        Arrays that are all of another one, by that one.
    growing : set of str
        Arrays that get longer.
    """

    function: ir.Function
    reads: Counter[str]
    writes: Counter[str]
    aliases: dict[str, str]
    growing: set[str]

    @classmethod
    def of(cls, function: ir.Function) -> Usage:
        """Look through a function."""
        reads, writes, *_ = summary(function)
        statements = statements_in(function.body)
        growing = {each.array.name for each in statements if isinstance(each, Grow)}
        return cls(function, reads, writes, _aliases(function), growing)

    def is_assigned_once(self, name: str) -> bool:
        """Return whether a name has a single assignment."""
        return self.writes[name] == 1

    def fuses(self, name: str) -> bool:
        """Return whether a product may be fused with the sum that reads it."""
        return self.is_assigned_once(name) and self.reads[name] == 1

    def result_of(self, name: str) -> int | None:
        """Return the number of the result that an array becomes, None for other arrays."""
        for at, result in enumerate(self.function.results):
            if isinstance(result, ir.Array) and self.owner(result.name) == name:
                return at
        return None

    def owner(self, name: str) -> str:
        """Return the array whose memory a name stands for."""
        return self.aliases.get(name, name)

    def result_offset(self, at: int) -> int:
        """Return the offset of a result in the table of results."""
        return sum(1 + each.rank for each in self.function.results[:at])


class Memory:
    """Memory of the arrays of a function, given back where it ends.

    Parameters
    ----------
    b : Builder
        Of the function.
    usage : Usage
    """

    def __init__(self, b: Builder, usage: Usage):
        self._usage = usage
        self._held = 0  # number of blocks from the heap
        self._shared: list[str] = []  # addresses in the block that arrays share
        self._shared_bytes = 0
        self._frame_room = FRAME_BYTES
        self._growing: dict[str, tuple[str, str, int]] = {}
        self._code = b.slot("i32", align=4)
        self._leave = b.label("leave")
        b.write(f"store i32 0, ptr {self._code}, align 4")

    def fail(self, b: Builder, code: int) -> None:
        """Leave the function with a code."""
        b.write(f"store i32 {code}, ptr {self._code}, align 4")
        b.jump(self._leave)
        b.begin(b.label("dead"))

    def finish(self, b: Builder) -> None:
        """Write the end of the function, where its memory is given back."""
        b.jump(self._leave)
        b.begin(self._leave)
        self._free(b)
        b.write(f"ret i32 {b.let(f'load i32, ptr {self._code}, align 4')}")

    def allocate(self, w: ExpressionWriter, node: ir.Allocate) -> None:
        """Allocate an array, and fill it."""
        type_ = scalar_of(node.array.dtype)
        array = self._make(w.b, node.array.name, type_, _shape(w, node.shape))
        if node.start is not None and is_zero(node.start):
            size = bytes_of(w.b, type_, array.shape)
            w.b.module.function("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
            target = f"ptr align 8 {array.pointer}"
            w.b.write(f"call void @llvm.memset.p0.i64({target}, i8 0, i64 {size.text}, i1 false)")
        elif node.start is not None:
            _fill_with(w.b, array, w.b.cast(w.number(node.start), type_))
        w.names.arrays[node.array.name] = array
        if node.array.name in self._usage.growing:
            self._starts_growing(w.b, node.array.name, array)

    def _starts_growing(self, b: Builder, name: str, array: Array) -> None:
        """Store the address and the number of rows of an array that grows, and reserve a block."""
        place, room = b.slot("ptr"), b.slot("i64")
        b.write(f"store ptr {array.pointer}, ptr {place}, align 8")
        b.write(f"store i64 {array.shape[0].text}, ptr {room}, align 8")
        self._growing[name] = place, room, self._held
        self._held += 1

    def grow(self, w: ExpressionWriter, node: Grow) -> None:
        """Allocate twice the rows if there are too few; the old block is kept for the next call.

        The address of the array is read once here, not at each use.
        """
        b, name = w.b, node.array.name
        array = w.names.arrays[name]
        if name not in self._growing:
            raise NotNative("an array that grows and was not made for it")
        place, room, at = self._growing[name]
        wanted = w.integer(node.shape[0])
        row = bytes_of(b, array.type, array.shape[1:])
        known = Value(b.let(f"load i64, ptr {room}, align 8"), I64)
        with b.when(b.compare(">", wanted, known), "grow"):
            rows = _product(b, (wanted, constant(2, I64)))
            size = _product(b, (rows, row))
            held = b.let(f"getelementptr inbounds ptr, ptr {_HELD}, i64 {at}")
            made = self._checked(b, workspace.take(_room(b, size), at))
            old = b.let(f"load ptr, ptr {place}, align 8")
            filled = array._replace(pointer=made, shape=(known, *array.shape[1:]))
            copy_elements(b, filled, filled._replace(pointer=old))
            b.write(workspace.leave(held, at, 1))
            b.write(f"store ptr {made}, ptr {held}, align 8")
            b.write(f"store ptr {made}, ptr {place}, align 8")
            b.write(f"store i64 {rows.text}, ptr {room}, align 8")
        pointer = b.let(f"load ptr, ptr {place}, align 8")
        w.names.arrays[name] = array._replace(pointer=pointer)

    def bind(self, w: ExpressionWriter, node: ir.Bind) -> None:
        """Name an array, a part of one or a copy."""
        name, value = node.array.name, node.value
        if isinstance(value, ir.Reshaped):
            array = w.array(value.source)._replace(shape=_shape(w, value.shape))
        elif isinstance(value, ir.Wrapped):
            if value.how != "copy":
                raise NotNative(f"what is {value.how}")
            source = w.array(value.source)
            array = self._make(w.b, name, source.type, source.shape)
            copy_elements(w.b, array, source)
        else:
            if self._usage.writes[name] > 1:
                raise NotNative("a name that stands for several arrays")
            array = w.array(value)
        w.names.arrays[name] = array

    def fill(self, w: ExpressionWriter, node: ir.Fill) -> None:
        """Give all elements of an array the values of another, or one number."""
        if isinstance(node.target, ir.Part):
            target = w.part(node.target.array, node.target.index)
        else:
            target = w.part(node.target, ())
        if not node.value.rank:
            _fill_with(w.b, target, w.b.cast(w.number(node.value), target.type))
            return
        source = w.array(node.value)
        if source.type != target.type or len(source.shape) != len(target.shape):
            raise NotNative("an array that takes another of other dtype or axes")
        copy_elements(w.b, target, source)

    def _make(self, b: Builder, name: str, type_: Scalar, shape: tuple[Value, ...]) -> Array:
        """Memory for an array: of a result, of the frame, or from the heap.

        What is made in a loop is gone when it is made again.
        """
        result = self._usage.result_of(name)
        if self._usage.writes[name] > 1 or (b.context.is_nested and result is not None):
            raise NotNative("an array that is made in several places")
        size_value = bytes_of(b, type_, shape)
        size = whole_number(size_value)
        if result is not None:
            pointer = self.of_result(b, result, size_value)
        elif size is not None and (size <= FRAME_ARRAY_BYTES or self._fits_frame(size)):
            pointer = b.slot("i8", max(size, 1), align=32)
        elif size is not None and (
            size <= POOLED_ARRAY_BYTES and self._shared_bytes + size <= POOL_BYTES
        ):
            pointer = self._share(b, size)
        else:
            pointer = self._from_heap(b, size_value)
        return Array(pointer, type_, shape, b.module.scope())

    def _from_heap(self, b: Builder, size: Value) -> str:
        at = self._held
        self._held += 1
        slot = b.let(f"getelementptr inbounds ptr, ptr {_HELD}, i64 {at}")
        if b.context.is_nested:
            b.write(workspace.leave(slot, at, 1))
        pointer = self._checked(b, workspace.take(_room(b, size), at))
        b.write(f"store ptr {pointer}, ptr {slot}, align 8")
        return pointer

    def _fits_frame(self, size: int) -> bool:
        """Take room for an array from the frame if there is enough."""
        if size > self._frame_room:
            return False
        self._frame_room -= size
        return True

    def _share(self, b: Builder, size: int) -> str:
        """Room in one block that is asked for when the function begins.

        Lines between two arrays keep those whose lengths are powers of two from meeting in the
        same places of the cache.
        """
        pointer = b.register()
        place = f"getelementptr inbounds i8, ptr {_SHARED}, i64 {self._shared_bytes}"
        self._shared.append(f"  {pointer} = {place}")
        self._shared_bytes += -(-size // _LINE) * _LINE + _LINE
        return pointer

    def _take_shared(self, b: Builder) -> list[str]:
        """Take the block that small arrays share."""
        at, full, made = self._held, b.label("full"), b.label("made")
        self._held += 1
        none = b.register()
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

    def _free(self, b: Builder) -> None:
        """Leave the heap's arrays to the next call, or give them back.

        Their addresses stand in a table. As variables they would be values that every failure
        brings along: the square of the number of arrays, which takes LLVM minutes.
        """
        shared = self._take_shared(b) if self._shared else []
        if not self._held:
            return
        b.module.function("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
        workspace.declare(b.module.lines, self._held)
        b.entry.extend(
            [
                f"  {_HELD} = alloca [{self._held} x ptr], align 8",
                f"  call void @llvm.memset.p0.i64(ptr align 8 {_HELD}, i8 0, "
                f"i64 {8 * self._held}, i1 false)",
                *shared,
            ]
        )
        b.write(workspace.leave(_HELD, 0, self._held))

    def _checked(self, b: Builder, call: str) -> str:
        pointer = b.let(call)
        missing = Value(b.let(f"icmp eq ptr {pointer}, null"), BOOL)
        with b.when(missing, "full"):
            self.fail(b, OUT_OF_MEMORY)
        return pointer

    def of_result(self, b: Builder, at: int, size: Value) -> str:
        """Return the memory of a result, allocated for the caller if the caller passes none."""
        word = word_of(b, "%out", self._usage.result_offset(at))
        given = b.let(f"load ptr, ptr {word}, align 8")
        none = Value(b.let(f"icmp eq ptr {given}, null"), BOOL)
        slot = b.slot("ptr")
        b.write(f"store ptr {given}, ptr {slot}, align 8")
        with b.when(none, "make"):
            allocate = workspace.allocator(b.module.lines)
            made = self._checked(b, f"call noalias ptr @{allocate}(i64 {_room(b, size)})")
            b.write(f"store ptr {made}, ptr {word}, align 8")
            b.write(f"store ptr {made}, ptr {slot}, align 8")
        return b.let(f"load ptr, ptr {slot}, align 8")


def word_of(b: Builder, table: str, at: int) -> str:
    """Return the address of a word of a table."""
    return b.let(f"getelementptr inbounds i64, ptr {table}, i64 {at}")


def bytes_of(b: Builder, type_: Scalar, shape: Sequence[Value]) -> Value:
    """Compute the bytes that an array takes."""
    return _product(b, (*shape, constant(type_.size, I64)))


def copy_elements(b: Builder, array: Array, source: Array) -> None:
    """Copy all elements of another array."""
    b.module.function("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
    b.write(
        f"call void @llvm.memcpy.p0.p0.i64(ptr {array.pointer}, ptr {source.pointer}, "
        f"i64 {bytes_of(b, array.type, array.shape).text}, i1 false)"
    )


def _shape(w: ExpressionWriter, lengths: Sequence[ir.Expression]) -> tuple[Value, ...]:
    return tuple(map(w.integer, lengths))


def _product(b: Builder, factors: Sequence[Value]) -> Value:
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
        b.module.lines.setdefault("dimtensor.size", _SIZE)
        call = f"call i64 @dimtensor.size(i64 {total.text}, i64 {other.text})"
        total = Value(b.let(call), I64, position=True)
    return total


def _room(b: Builder, size: Value) -> str:
    """Bytes to ask for: of 0 some systems give null."""
    return b.extreme("max", size, constant(1, I64)).text


def _fill_with(b: Builder, array: Array, value: Value) -> None:
    """Give all elements of an array one value."""

    def body(inside: Builder, at: Value) -> None:
        inside.store(inside.element(array.pointer, array.type, at), value, array.scope)

    count = array.shape[0] if len(array.shape) == 1 else _product(b, array.shape)
    b.loop(constant(0, I64), count, constant(1, I64), body)


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
