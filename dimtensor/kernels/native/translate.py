"""From the source of a kernel to LLVM: statements.

The function that is made takes two tables of 64-bit words. The first has, for every argument, the
address of its first element and its lengths; the second, for every result, an address and room for
its lengths. A result that is a number is stored at its address. A result that is an array is
written to its address, if that is not null; else memory is made for it, which the caller frees
(with ``free`` of the C library). It gives 0, or a positive code where the source raises an error.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dimtensor.kernels.native.arrays import Arrays
from dimtensor.kernels.native.builder import Builder, Declarations
from dimtensor.kernels.native.expressions import OPERATORS, leading_positions
from dimtensor.kernels.native.steps import adds_up, is_step, known_products, rounds_written_out
from dimtensor.kernels.native.values import (
    I64,
    Array,
    NotNative,
    Value,
    constant,
    promoted,
    scalar_of,
)

FIRST_ERROR = 2  # 1 says that there is no memory
# the classes that a kernel can raise
ERRORS = ("ValueError", "IndexError", "AssertionError", "TypeError")


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
    errors: tuple[tuple[str, str], ...]
    externals: dict[str, str]


class Translator(Arrays):
    """Translates one function."""

    def __init__(
        self, function: ast.FunctionDef, arguments: Sequence[ArgumentType], operations: Mapping
    ):
        super().__init__(Builder(Declarations()), operations, function)
        self.argument_types = arguments
        self.results: list[ResultType] = []
        self.errors: list[tuple[str, str]] = []  # class and text
        self._loops: list[tuple[str, str]] = []
        self._unfused: set[str] = set()
        self._uses = Counter(
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        )
        self._steps = 0  # loops over steps around what is written
        self._levels: dict[str, int] = {}

    def translate(self, name: str) -> Translation:
        """The whole function."""
        b = self.b
        offset = 0
        for argument, type_ in zip(self.function.args.args, self.argument_types, strict=True):
            self.arrays[argument.arg] = self._argument(type_, offset)
            offset += 1 + len(type_.shape)
        b.write(f"store i32 0, ptr {self._code}, align 4")
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
            tuple(self.errors),
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
        before = dict(self.products)
        for statement in statements:
            self.statement(statement)
        self.products = before  # what a block computes need not be there after it
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
        if self._steps and (counted := rounds_written_out(node)) is not None:
            self._write_out(node, counted)
            return

        def body(at: Value, following: str, after: str) -> None:
            before = self.counters.get(name)
            self.counters[name] = at
            self._loops.append((following, after))
            self._steps += is_step(name)
            self._round(node.body)
            self._steps -= is_step(name)
            self._loops.pop()
            if before is None:
                del self.counters[name]
            else:
                self.counters[name] = before

        self.b.loop(start, stop, step, body)

    def _write_out(self, node: ast.For, counted: range) -> None:
        """A short loop inside of a step, round by round: its arrays can then stay in registers."""
        name = node.target.id  # type: ignore[attr-defined]
        for at in counted:
            self.counters[name] = constant(at, I64)
            self._round(node.body)
        self.counters.pop(name, None)

    def _round(self, body: Sequence[ast.stmt]) -> None:
        """The body of a loop; whether it carries states decides about the order of sums."""
        assigned = {
            target.id
            for statement in body
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
        carried = {n for n in assigned if self._levels.get(n, self._depth + 1) <= self._depth}
        # what a step computes element by element is on the way to the next step too
        carries = bool(carried) or (bool(self._steps) and not adds_up(body))
        before = self.b.in_order, self._unfused
        self.b.in_order = carries
        if carries and self._steps:
            self._unfused = known_products(body, carried)
        self._block(body)
        self.b.in_order, self._unfused = before

    def _while(self, node: ast.While) -> None:
        b = self.b
        check, inside, after = b.label("while"), b.label("body"), b.label("after")
        b.jump(check)
        b.begin(check)
        b.branch(self.truth(node.test), inside, after)
        b.begin(inside)
        self._loops.append((check, after))
        self._round(node.body)
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
        if not (isinstance(call.func, ast.Name) and call.func.id in ERRORS):
            raise NotNative(f"an error of type {ast.unparse(call.func)}")
        text = call.args[0]
        if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
            raise NotNative("an error whose text is computed")
        error = (call.func.id, text.value)
        if error not in self.errors:
            self.errors.append(error)
        self._fail(FIRST_ERROR + self.errors.index(error))

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
            if len(leading_positions(target)) < len(self.array(target.value).shape):
                self.assign_part(self.part(target), node.value)
                return
            array, place = self.place(target)
            value = self.b.cast(self.number(node.value), array.type)
            self.b.store(place, value, array.scope)
        else:
            raise NotNative("an assignment to something else")

    def _augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            old = self.number(ast.Name(node.target.id, ast.Load()))
            new = self._accumulated(node, old, self.number(node.value))
            self.set_variable(node.target.id, self.b.cast(new, old.type))
        elif isinstance(node.target, ast.Subscript):
            value = self.number(node.value)
            array, place = self.place(node.target)
            old = self.b.load(place, array.type, array.scope)
            new = self._accumulated(node, old, value)
            self.b.store(place, self.b.cast(new, array.type), array.scope)
        else:
            raise NotNative("an update of something else")

    def _accumulated(self, node: ast.AugAssign, old: Value, value: Value) -> Value:
        """A total after one more round; no state that a model carries is updated like that."""
        operator = OPERATORS.get(type(node.op))
        if operator is None or operator in "&|^":
            return self.combine(type(node.op), old, value)
        return self.b.accumulate(operator, self._as_number(old), self._as_number(value))

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
            self._levels[name] = self._depth
        slot, type_ = known
        if value.type != type_:
            if promoted(value.type, type_) != type_:
                raise NotNative(f"a variable of types {type_.name} and {value.type.name}")
            value = self.b.cast(value, type_)
        self.products.pop(name, None)
        if value.factors is not None:
            once = self._assigned.get(name, 1) == 1 and self._uses[name] == 1
            fusible = once and name not in self._unfused
            self.products[name] = value.factors if fusible else ()
        self.b.write(f"store {type_.llvm} {value.text}, ptr {slot}, align {type_.size}")
