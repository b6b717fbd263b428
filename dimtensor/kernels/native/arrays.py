"""From the source of a kernel to LLVM: arrays, which a kernel makes in three places.

Memory of a result is that of the caller, or is handed to the caller; small arrays of known lengths
live in the frame of the function; others come from the heap and are freed when the kernel ends.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.expressions import Expressions, leading_positions
from dimtensor.kernels.native.values import (
    BOOL,
    I64,
    Array,
    NotNative,
    Scalar,
    Value,
    constant,
    scalar_of,
)

OUT_OF_MEMORY = 1
# arrays of known lengths of up to so many bytes live in the frame of the function
_FRAME_BYTES = 2048


class Arrays(Expressions):
    """Makes arrays, and finds out which of them are results."""

    def __init__(self, builder: Builder, operations: Mapping, function: ast.FunctionDef):
        super().__init__(builder, operations)
        self.function = function
        self._depth = 0
        self._heap: list[str] = []
        self._code = builder.slot("i32", align=4)
        self._leave = builder.label("leave")
        returned = _last(function)
        self._returned = returned.value.elts if isinstance(returned.value, ast.Tuple) else []
        self._aliases = _aliases(function)
        self._assigned = _assignments(function)
        self._values = _values(function)

    def _word(self, table: str, at: int) -> str:
        """Address of a word of a table."""
        return self.b.let(f"getelementptr inbounds i64, ptr {table}, i64 {at}")

    def _fail(self, code: int) -> None:
        """Leave with a code."""
        self.b.write(f"store i32 {code}, ptr {self._code}, align 4")
        self.b.jump(self._leave)
        self.b.begin(self.b.label("dead"))

    def _makes_array(self, name: str, node: ast.expr) -> bool:
        """Bind a name to an array, if that is what the expression is."""
        if isinstance(node, ast.Name) and node.id in self.arrays:
            if self._assigned.get(name, 1) > 1:
                raise NotNative("a name that stands for several arrays")
            self.arrays[name] = self.arrays[node.id]
            return True
        if not isinstance(node, ast.Call):
            return False
        called = ast.unparse(node.func)
        if called in ("np.empty", "np.zeros", "np.full"):
            type_ = self._dtype(node)
            array = self._make(name, type_, self._shape(node.args[0]))
            if called == "np.zeros":
                self._clear(array)
            elif called == "np.full":
                self._fill(array, self.b.cast(self.number(node.args[1]), type_))
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "copy":
            source = self.array(node.func.value)
            array = self._make(name, source.type, source.shape)
            self._copy(array, source)
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "reshape":
            source = self.array(node.func.value)
            lengths = node.args[0] if len(node.args) == 1 else ast.Tuple(node.args, ast.Load())
            self.arrays[name] = source._replace(shape=self._shape(lengths))
            return True
        else:
            return False
        self.arrays[name] = array
        return True

    def assign_part(self, target: Array, node: ast.expr) -> None:
        """Give all elements of an array the values of another, or one number."""
        source = self.arrays.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(node, ast.Subscript):
            array = self.array(node.value)
            source = None if len(leading_positions(node)) == len(array.shape) else self.part(node)
        if source is None:
            self._fill(target, self.b.cast(self.number(node), target.type))
        elif source.type != target.type or len(source.shape) != len(target.shape):
            raise NotNative("an array that takes another of other dtype or axes")
        else:
            self._copy(target, source)

    def _dtype(self, node: ast.Call) -> Scalar:
        given = [k.value for k in node.keywords if k.arg == "dtype"]
        if len(given) != 1:
            raise NotNative("an array without a dtype")
        return scalar_of(ast.unparse(given[0]).removeprefix("np."))

    def _shape(self, node: ast.expr) -> tuple[Value, ...]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(self.integer(part) for part in parts)

    def _make(self, name: str, type_: Scalar, shape: tuple[Value, ...]) -> Array:
        """Memory for an array: of a result, of the frame, or from the heap.

        What is made in a loop is gone when it is made again.
        """
        result = self._result_of(name)
        if self._assigned.get(name, 1) > 1 or (self._depth and result is not None):
            raise NotNative("an array that is made in several places")
        b = self.b
        count = b.product(shape)
        if result is None and count.text.isdigit():
            size = int(count.text) * type_.size
            if size <= _FRAME_BYTES:
                memory = b.slot("i8", max(size, 1), align=32)
                return Array(memory, type_, shape, b.scope())
        size_value = b.arithmetic("*", count, constant(type_.size, I64))
        if result is not None:
            memory = self._result_memory(result, size_value, shape)
            return Array(memory, type_, shape, b.scope())
        slot = b.slot("ptr")
        b.entry.append(f"  store ptr null, ptr {slot}, align 8")
        self._heap.append(slot)
        if self._depth:
            b.declarations.function("free", "void", ["ptr"], " nounwind")
            b.write(f"call void @free(ptr {b.let(f'load ptr, ptr {slot}, align 8')})")
            b.write(f"store ptr null, ptr {slot}, align 8")
        pointer = self._allocate(size_value)
        b.write(f"store ptr {pointer}, ptr {slot}, align 8")
        return Array(pointer, type_, shape, b.scope())

    def _allocate(self, size: Value) -> str:
        b = self.b
        b.declarations.function("malloc", "noalias ptr", ["i64"], " nounwind")
        # of 0 bytes some systems give null
        room = b.extreme("max", size, constant(1, I64))
        pointer = b.let(f"call noalias ptr @malloc(i64 {room.text})")
        missing = Value(b.let(f"icmp eq ptr {pointer}, null"), BOOL)
        with b.when(missing, "full"):
            self._fail(OUT_OF_MEMORY)
        return pointer

    def _result_of(self, name: str) -> int | None:
        """The number of the result that an array becomes."""
        for at, item in enumerate(self._returned):
            if isinstance(item, ast.Name) and self._aliases.get(item.id, item.id) == name:
                return at
        return None

    def _result_memory(self, at: int, size: Value, shape: tuple[Value, ...]) -> str:
        b = self.b
        word = self._word("%out", self._result_offset(at))
        given = b.let(f"load ptr, ptr {word}, align 8")
        none = Value(b.let(f"icmp eq ptr {given}, null"), BOOL)
        slot = b.slot("ptr")
        b.write(f"store ptr {given}, ptr {slot}, align 8")
        with b.when(none, "make"):
            made = self._allocate(size)
            b.write(f"store ptr {made}, ptr {word}, align 8")
            b.write(f"store ptr {made}, ptr {slot}, align 8")
        return b.let(f"load ptr, ptr {slot}, align 8")

    def _result_offset(self, at: int) -> int:
        """Where the table has a result; the results before it have their types in the source."""
        return sum(1 + self._ndim(item) for item in self._returned[:at])

    def _ndim(self, item: ast.expr) -> int:
        """Axes of what is returned or assigned, told before it is computed; 0 for a number."""
        if isinstance(item, ast.Call):
            called = ast.unparse(item.func)
            if called in ("np.empty", "np.zeros", "np.full"):
                shape = item.args[0]
                return len(shape.elts) if isinstance(shape, ast.Tuple) else 1
            if isinstance(item.func, ast.Attribute) and item.func.attr == "copy":
                return self._ndim(item.func.value)
            if isinstance(item.func, ast.Attribute) and item.func.attr == "reshape":
                shape = item.args[0] if len(item.args) == 1 else ast.Tuple(item.args, ast.Load())
                return len(shape.elts) if isinstance(shape, ast.Tuple) else 1
        if isinstance(item, ast.Subscript):
            return max(self._ndim(item.value) - len(leading_positions(item)), 0)
        if not isinstance(item, ast.Name):
            return 0
        if item.id in self.arrays:
            return len(self.arrays[item.id].shape)
        value = self._values.get(item.id)
        return 0 if value is None else self._ndim(value)

    def _clear(self, array: Array) -> None:
        b = self.b
        count = b.arithmetic("*", b.product(array.shape), constant(array.type.size, I64))
        b.declarations.function("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
        b.write(
            f"call void @llvm.memset.p0.i64(ptr align 8 {array.pointer}, i8 0, "
            f"i64 {count.text}, i1 false)"
        )

    def _fill(self, array: Array, value: Value) -> None:
        b = self.b

        def body(at: Value, following: str, after: str) -> None:
            b.store(b.element(array.pointer, array.type, at), value, array.scope)

        b.loop(constant(0, I64), b.product(array.shape), constant(1, I64), body)

    def _copy(self, array: Array, source: Array) -> None:
        b = self.b
        count = b.arithmetic("*", b.product(array.shape), constant(array.type.size, I64))
        b.declarations.function("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
        b.write(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {array.pointer}, ptr {source.pointer}, "
            f"i64 {count.text}, i1 false)"
        )


def _last(function: ast.FunctionDef) -> ast.Return:
    last = function.body[-1]
    if not isinstance(last, ast.Return):
        raise NotNative("a function that does not end with its results")
    return last


def _assignments(function: ast.FunctionDef) -> dict[str, int]:
    """How often each name is assigned."""
    found: dict[str, int] = {}
    for node in ast.walk(function):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.For)):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                found[target.id] = found.get(target.id, 0) + 1
    return found


def _aliases(function: ast.FunctionDef) -> dict[str, str]:
    """Names that are only another name of something, by what they stand for in the end."""
    found: dict[str, str] = {}
    for node in function.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            target = node.targets[0]
            if isinstance(target, ast.Name):
                found[target.id] = found.get(node.value.id, node.value.id)
    return found


def _values(function: ast.FunctionDef) -> dict[str, ast.expr]:
    """What names are given outside of loops, at first."""
    found: dict[str, ast.expr] = {}
    for node in function.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, node.value)
    return found
