"""From the source of a kernel to LLVM: statements.

The function that is made takes two tables of 64-bit words. The first has, for every argument, the
address of its first element and its lengths; the second, for every result, an address and room for
its lengths. A result that is a number is stored at its address. A result that is an array is
written to its address, if that is not null; else memory is made for it, which the caller frees
(with ``free`` of the C library). It gives 0, or a positive code where the source raises an error.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dimtensor.kernels.native.builder import Builder, Declarations
from dimtensor.kernels.native.expressions import Expressions
from dimtensor.kernels.native.values import (
    BOOL,
    I64,
    Array,
    NotNative,
    Scalar,
    Value,
    constant,
    promoted,
    scalar_of,
)

OUT_OF_MEMORY = 1
FIRST_MESSAGE = 2
# arrays of known lengths of up to so many bytes live in the frame of the function
_FRAME_BYTES = 2048


class ArgumentType(NamedTuple):
    """Type of an argument: dtype, and lengths where they are known."""

    dtype: str
    shape: tuple[int | None, ...]


class ResultType(NamedTuple):
    """Type of a result. ``boxed`` says that a number comes out as an array of no axes."""

    dtype: str
    ndim: int
    boxed: bool = False


class Translation(NamedTuple):
    """LLVM of a kernel."""

    text: str
    results: tuple[ResultType, ...]
    messages: tuple[str, ...]
    externals: dict[str, str]


class Translator(Expressions):
    """Translates one function."""

    def __init__(
        self, function: ast.FunctionDef, arguments: Sequence[ArgumentType], operations: Mapping
    ):
        super().__init__(Builder(Declarations()), operations)
        self.function = function
        self.argument_types = arguments
        self.results: list[ResultType] = []
        self.messages: list[str] = []
        self._loops: list[tuple[str, str]] = []
        self._depth = 0
        self._heap: list[str] = []
        returned = _last(function)
        self._returned = returned.value.elts if isinstance(returned.value, ast.Tuple) else []
        self._aliases = _aliases(function)
        self._assigned = _assignments(function)

    def translate(self, name: str) -> Translation:
        """The whole function."""
        b = self.b
        offset = 0
        for argument, type_ in zip(self.function.args.args, self.argument_types, strict=True):
            self.arrays[argument.arg] = self._argument(type_, offset)
            offset += 1 + len(type_.shape)
        code = b.slot("i32", align=4)
        self._code = code
        b.write(f"store i32 0, ptr {code}, align 4")
        self._leave = b.label("leave")
        for statement in self.function.body:
            self.statement(statement)
        self._finish()
        lines = [
            f"define i32 @{name}(ptr noalias %in, ptr noalias %out) nounwind {{",
            "entry:",
            *b.entry,
            *b.lines,
            "}",
        ]
        declarations = "\n".join(b.declarations.lines.values())
        return Translation(
            "\n".join([declarations, "", *lines, "", *b.metadata(), ""]),
            tuple(self.results),
            tuple(self.messages),
            dict(b.declarations.externals),
        )

    def _argument(self, type_: ArgumentType, offset: int) -> Array:
        b = self.b
        pointer = b.let(f"load ptr, ptr {self._word('%in', offset)}, align 8")
        shape = []
        for axis, length in enumerate(type_.shape):
            if length is not None:
                shape.append(constant(length, I64))
                continue
            word = self._word("%in", offset + 1 + axis)
            shape.append(Value(b.let(f"load i64, ptr {word}, align 8"), I64, True))
        return Array(pointer, scalar_of(type_.dtype), tuple(shape))

    def _word(self, table: str, at: int) -> str:
        return self.b.let(f"getelementptr inbounds i64, ptr {table}, i64 {at}")

    # -- statements --------------------------------------------------------------------------------

    def statement(self, node: ast.stmt) -> None:
        rule = getattr(self, f"_{type(node).__name__.lower()}", None)
        if rule is None:
            raise NotNative(f"a statement {type(node).__name__}")
        rule(node)

    def _pass(self, node: ast.Pass) -> None:
        pass

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        self._depth += 1
        for statement in statements:
            self.statement(statement)
        self._depth -= 1

    def _for(self, node: ast.For) -> None:
        call = node.iter
        named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if not named or call.func.id != "range" or not isinstance(node.target, ast.Name):  # type: ignore[union-attr,attr-defined]
            raise NotNative("a loop over something else than a range")
        ends = [self.integer(each) for each in call.args]  # type: ignore[union-attr]
        start = ends[0] if len(ends) > 1 else constant(0, I64)
        stop = ends[1] if len(ends) > 1 else ends[0]
        step = ends[2] if len(ends) > 2 else constant(1, I64)
        name = node.target.id

        def body(at: Value, following: str, after: str) -> None:
            before = self.counters.get(name)
            self.counters[name] = at
            self._loops.append((following, after))
            self._block(node.body)
            self._loops.pop()
            if before is None:
                del self.counters[name]
            else:
                self.counters[name] = before

        self.b.loop(start, stop, step, body)

    def _while(self, node: ast.While) -> None:
        b = self.b
        check, inside, after = b.label("while"), b.label("body"), b.label("after")
        b.jump(check)
        b.begin(check)
        b.branch(self.truth(node.test), inside, after)
        b.begin(inside)
        self._loops.append((check, after))
        self._block(node.body)
        self._loops.pop()
        b.jump(check)
        b.begin(after)

    def _if(self, node: ast.If) -> None:
        b = self.b
        then, otherwise, done = b.label("then"), b.label("else"), b.label("done")
        b.branch(self.truth(node.test), then, otherwise if node.orelse else done)
        b.begin(then)
        self._block(node.body)
        b.jump(done)
        if node.orelse:
            b.begin(otherwise)
            self._block(node.orelse)
            b.jump(done)
        b.begin(done)

    def _break(self, node: ast.Break) -> None:
        self.b.jump(self._loops[-1][1])
        self.b.begin(self.b.label("dead"))

    def _continue(self, node: ast.Continue) -> None:
        self.b.jump(self._loops[-1][0])
        self.b.begin(self.b.label("dead"))

    def _raise(self, node: ast.Raise) -> None:
        call = node.exc
        if not (isinstance(call, ast.Call) and len(call.args) == 1):
            raise NotNative("an error that is not one with a text")
        text = call.args[0]
        if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
            raise NotNative("an error whose text is computed")
        if text.value not in self.messages:
            self.messages.append(text.value)
        self._fail(FIRST_MESSAGE + self.messages.index(text.value))

    def _fail(self, code: int) -> None:
        self.b.write(f"store i32 {code}, ptr {self._code}, align 4")
        self.b.jump(self._leave)
        self.b.begin(self.b.label("dead"))

    def _expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            raise NotNative("a call for its effect")

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if len(node.targets) > 1 or isinstance(target, (ast.Tuple, ast.List)):
            raise NotNative("an assignment to several names")
        if isinstance(target, ast.Name):
            if not self._makes_array(target.id, node.value):
                self.set_variable(target.id, self.number(node.value))
        elif isinstance(target, ast.Subscript):
            array, place = self.place(target)
            value = self.b.cast(self.number(node.value), array.type)
            self.b.store(place, value, array.scope)
        else:
            raise NotNative("an assignment to something else")

    def _augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            old = self.number(ast.Name(node.target.id, ast.Load()))
            new = self.combine(type(node.op), old, self.number(node.value))
            self.set_variable(node.target.id, self.b.cast(new, old.type))
        elif isinstance(node.target, ast.Subscript):
            value = self.number(node.value)
            array, place = self.place(node.target)
            old = self.b.load(place, array.type, array.scope)
            new = self.combine(type(node.op), old, value)
            self.b.store(place, self.b.cast(new, array.type), array.scope)
        else:
            raise NotNative("an update of something else")

    # -- arrays ------------------------------------------------------------------------------------

    def _makes_array(self, name: str, node: ast.expr) -> bool:
        """Bind a name to an array, if that is what the expression is."""
        if isinstance(node, ast.Name) and node.id in self.arrays:
            if self._depth or self._assigned.get(name, 1) > 1:
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
            if self._depth:
                raise NotNative("an array that is made in a loop")
            lengths = node.args[0] if len(node.args) == 1 else ast.Tuple(node.args, ast.Load())
            self.arrays[name] = source._replace(shape=self._shape(lengths))
            return True
        else:
            return False
        self.arrays[name] = array
        return True

    def _dtype(self, node: ast.Call) -> Scalar:
        given = [k.value for k in node.keywords if k.arg == "dtype"]
        if len(given) != 1:
            raise NotNative("an array without a dtype")
        return scalar_of(ast.unparse(given[0]).removeprefix("np."))

    def _shape(self, node: ast.expr) -> tuple[Value, ...]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(self.integer(part) for part in parts)

    def _make(self, name: str, type_: Scalar, shape: tuple[Value, ...]) -> Array:
        """Memory for an array: of a result, of the frame, or from the heap."""
        if self._depth or self._assigned.get(name, 1) > 1:
            raise NotNative("an array that is made in a loop")
        b = self.b
        count = b.product(shape)
        result = self._result_of(name)
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
        """Axes of a result, told before it is computed."""
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            item = item.func.value if item.func.attr == "copy" else ast.Constant(0)
        if not isinstance(item, ast.Name):
            return 0
        name = self._aliases.get(item.id, item.id)
        if name in self.arrays:
            return len(self.arrays[name].shape)
        return _made_ndim(self.function, name)

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

    # -- results -----------------------------------------------------------------------------------

    def _return(self, node: ast.Return) -> None:
        if self._depth or node is not self.function.body[-1]:
            raise NotNative("a return in the middle")
        b = self.b
        for at, item in enumerate(self._returned):
            word = self._result_offset(at)
            boxed = isinstance(item, ast.Call) and ast.unparse(item.func) == "np.asarray"
            if boxed:
                item = item.args[0]  # type: ignore[attr-defined]
            array = self._returned_array(at, item)
            if array is None:
                value = self.number(item)
                place = b.let(f"load ptr, ptr {self._word('%out', word)}, align 8")
                b.store(place, value)
                self.results.append(ResultType(value.type.name, 0, boxed))
                continue
            for axis, length in enumerate(array.shape):
                place = self._word("%out", word + 1 + axis)
                b.write(f"store i64 {length.text}, ptr {place}, align 8")
            self.results.append(ResultType(array.type.name, len(array.shape)))

    def _returned_array(self, at: int, item: ast.expr) -> Array | None:
        """The array that is a result; a copy of one is made where the result is to be."""
        copied = None
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            if item.func.attr == "copy":
                copied = self.array(item.func.value)
        elif isinstance(item, ast.Name) and item.id in self.arrays:
            name = self._aliases.get(item.id, item.id)
            if self._result_of(name) == at and self._is_made(name):
                return self.arrays[item.id]
            copied = self.arrays[item.id]
        if copied is None:
            return None
        size = self.b.arithmetic("*", self.b.product(copied.shape), constant(copied.type.size, I64))
        memory = self._result_memory(at, size, copied.shape)
        array = Array(memory, copied.type, copied.shape, self.b.scope())
        self._copy(array, copied)
        return array

    def _is_made(self, name: str) -> bool:
        return all(name != argument.arg for argument in self.function.args.args)

    def _finish(self) -> None:
        b = self.b
        b.jump(self._leave)
        b.begin(self._leave)
        b.declarations.function("free", "void", ["ptr"], " nounwind")
        for slot in self._heap:
            pointer = b.let(f"load ptr, ptr {slot}, align 8")
            b.write(f"call void @free(ptr {pointer})")
        b.write(f"ret i32 {b.let(f'load i32, ptr {self._code}, align 4')}")

    # -- variables ---------------------------------------------------------------------------------

    def set_variable(self, name: str, value: Value) -> None:
        """Give a number to a name; the first one determines the type."""
        if name in self.arrays or name in self.counters:
            raise NotNative("a name of two kinds")
        known = self.variables.get(name)
        if self._assigned.get(name, 1) == 1 and value.position and not self._depth:
            self.fixed[name] = value
        if known is None:
            slot = self.b.slot(value.type.llvm, align=value.type.size)
            self.variables[name] = known = (slot, value.type)
        slot, type_ = known
        if value.type != type_:
            if promoted(value.type, type_) != type_:
                raise NotNative(f"a variable of types {type_.name} and {value.type.name}")
            value = self.b.cast(value, type_)
        self.b.write(f"store {type_.llvm} {value.text}, ptr {slot}, align {type_.size}")


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
            (target,) = node.targets
            if isinstance(target, ast.Name):
                found[target.id] = found.get(node.value.id, node.value.id)
    return found


def _made_ndim(function: ast.FunctionDef, name: str) -> int:
    """Axes of the array that a name is going to be; 0 for a number."""
    for node in function.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            (target,) = node.targets
            if not (isinstance(target, ast.Name) and target.id == name):
                continue
            called = ast.unparse(node.value.func)
            if called in ("np.empty", "np.zeros", "np.full"):
                shape = node.value.args[0]
                return len(shape.elts) if isinstance(shape, ast.Tuple) else 1
            raise NotNative(f"the number of axes of {ast.unparse(node.value)}")
    return 0
