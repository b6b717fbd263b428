"""From loops to LLVM: statements.

The function that is made takes two tables of 64-bit words. The first has, for every argument, the
address of its first element and its lengths; the second, for every result, an address and room for
its lengths. A result that is a number is stored at its address. A result that is an array is
written to its address, if that is not null; else memory is made for it, which the caller frees
(with ``free`` of the C library). It gives 0, or a positive code where the source raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.errors import NotNative
from dimtensor.kernels.ir.growth import Grow
from dimtensor.kernels.ir.walk import statements_in
from dimtensor.kernels.native.arrays import Arrays
from dimtensor.kernels.native.builder import Builder, Hint, Module
from dimtensor.kernels.native.functions.library import with_calls_or_copies
from dimtensor.kernels.native.nests import Nests
from dimtensor.kernels.native.parts import PART_DTYPES, Cells, Parts, is_number, names_read, runs
from dimtensor.kernels.native.steps import (
    adds_up,
    copies_many,
    has_long_loops,
    only_stores_nan,
    rounds_written_out,
)
from dimtensor.kernels.native.values import (
    BOOL,
    ERRORS,
    F64,
    FIRST_ERROR,
    I64,
    INTERRUPTED,
    ArgumentType,
    Array,
    ResultType,
    Scalar,
    Value,
    constant,
    promoted,
    scalar_of,
)
from dimtensor.kernels.native.vector_hints import hint_of
from dimtensor.tuning import SIGNAL_ITERATIONS


class Translation(NamedTuple):
    """LLVM of a kernel."""

    text: str
    results: tuple[ResultType, ...]
    errors: tuple[tuple[str, str], ...]
    externals: dict[str, str]


class Translator(Arrays):
    """Translates one function."""

    def __init__(
        self,
        function: ir.Function,
        arguments: Sequence[ArgumentType],
    ):
        super().__init__(Builder(Module()), function)
        self.argument_types = arguments
        self.results: list[ResultType] = []
        self.errors: list[tuple[str, str]] = []  # class and text
        self._loops: list[tuple[str, str]] = []
        self._rounds: str | None = None  # where those of loops are counted whose number is unknown
        self._copies_many = copies_many(function.body)
        self._steps = 0  # loops over steps around what is written
        self.parts = Parts(self)
        self._nests = Nests(self, function.body)
        self._left: Cells = {}

    def translate(self, name: str) -> Translation:
        """Translate the whole function."""
        b = self.b
        offset = 0
        for argument, type_ in zip(self.function.arguments, self.argument_types, strict=True):
            self.scope.arrays[argument.name] = self._argument(type_, offset)
            offset += 1 + len(type_.shape)
        b.write(f"store i32 0, ptr {self._code}, align 4")
        self._statements(self.function.body)
        for at, result in enumerate(self.function.results):
            self._result(at, result)
        self._finish()
        lines = [
            f"define i32 @{name}(ptr noalias %in, ptr noalias %out) nounwind {{",
            "entry:",
            *self.parts.allocation(),
            *b.entry,
            *b.lines,
            "}",
        ]
        declarations = "\n".join(b.module.lines.values())
        text = "\n".join(
            [
                declarations,
                "",
                *self.parts.texts,
                *self._nests.texts(),
                *lines,
                "",
                *b.module.metadata(),
                "",
            ]
        )
        return Translation(
            with_calls_or_copies(text),
            tuple(self.results),
            tuple(self.errors),
            dict(b.module.externals),
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

    def statement(self, node: ir.Statement) -> None:
        rule = _STATEMENTS.get(type(node))
        if rule is None:
            raise NotNative(f"a statement {type(node).__name__}")
        rule(self, node)

    def _statements(self, statements: Sequence[ir.Statement]) -> None:
        """Statements in order; long runs of numbers alone in functions of their own."""
        cells: Cells = {}  # of what is left to the parts of this run
        pieces = [(False, statements)] if self.b.width else runs(statements, self._is_of_numbers)
        for is_part, some in pieces:
            if is_part:
                self._part([each for each in some if isinstance(each, ir.Assign)], cells)
            else:
                for statement in some:
                    if self._depth or not self._nests.write(statement):
                        self.statement(statement)

    def _is_of_numbers(self, node: ir.Statement) -> bool:
        return (
            isinstance(node, ir.Assign)
            and node.target.dtype in PART_DTYPES
            and self.is_assigned_once(node.target.name)
            and is_number(node.value)
        )

    def _part(self, statements: Sequence[ir.Assign], cells: Cells) -> None:
        """Write some statements as a function, and call it."""
        parts, reads = self.parts, names_read(each.value for each in statements)
        given = reads.keys() - {each.target.name for each in statements}
        constants: dict[str, Value] = {}
        for name in sorted(given):
            if name not in cells or not self.is_assigned_once(name):
                value = self.variable(name)
                if value.known is not None:
                    constants[name] = value
                else:
                    parts.leave(cells, name, value)
        left: list[str] = []
        with parts.function() as numbers:
            numbers.update(constants)
            numbers.update(
                (name, parts.found(cells, name)) for name in sorted(given - constants.keys())
            )
            for each in statements:
                name, value = each.target.name, self.number(each.value)
                if value.factors is not None and not self.fuses(name):
                    value = value._replace(factors=())
                numbers[name] = value
                if self._uses[name] > reads[name]:
                    parts.leave(cells, name, value)
                    left.append(name)
        for name in left:
            self._left[name] = cells[name]
            self.scope.variables.pop(name, None)
            if cells[name][1].factors is not None:
                self.scope.products[name] = ()

    def slot_of(self, name: str) -> tuple[str, Scalar]:
        """Return the slot of a variable; one that a part has stored is in the frame."""
        if name not in self.scope.variables and name in self._left:
            self.scope.variables[name] = self.parts.slot(self._left[name])
        return super().slot_of(name)

    def _block(self, statements: Sequence[ir.Statement]) -> None:
        self._depth += 1
        before = dict(self.scope.products)
        self._statements(statements)
        self.scope.products = before  # what a block computes need not be there after it
        self._depth -= 1

    def _for(self, node: ir.For) -> None:
        if self._steps and (rounds := rounds_written_out(node)) is not None:
            self._write_out(node, rounds)
            return
        hint = hint_of(node)
        if hint is not None:
            with self._totals_in_double(node):
                self._loop(node, hint)
        else:
            self._loop(node)

    def _loop(self, node: ir.For, hint: Hint | None = None) -> None:
        name = node.counter.name
        start, stop = self.integer(node.start), self.integer(node.stop)

        def body(at: Value, following: str, after: str) -> None:
            before = self.scope.counters.get(name)
            self.scope.counters[name] = at
            self._loops.append((following, after))
            self._steps += node.is_scan
            self._round(node.body)
            self._steps -= node.is_scan
            self._loops.pop()
            if before is None:
                del self.scope.counters[name]
            else:
                self.scope.counters[name] = before

        inside = statements_in(node.body)
        stays = any(isinstance(each, ir.For) and hint_of(each) for each in inside)
        stays |= self._copies_many and has_long_loops(node)
        before, self.b.rare = self.b.rare, self.b.rare or only_stores_nan(node)
        self.b.loop(start, stop, constant(node.step, I64), body, stays, hint)
        self.b.rare = before

    @contextmanager
    def _totals_in_double(self, node: ir.For) -> Iterator[None]:
        """Add up single precision in double: a loop of given width has few accumulators."""
        b = self.b
        outer = {
            each.target.name: self.slot_of(each.target.name)
            for each in node.body
            if isinstance(each, ir.Accumulate)
            and isinstance(each.target, ir.Var)
            and (each.op, each.target.dtype) == ("+", "float32")
        }
        for name in outer:
            slot = b.slot(F64.llvm)
            b.store(slot, constant(-0.0, F64))
            self.scope.variables[name] = slot, F64
        yield
        for name, slot_of_total in outer.items():
            value = self.variable(name)
            self.scope.variables[name] = slot_of_total
            old = self.variable(name)
            self.set_variable(name, b.cast(b.accumulate("+", old, value), old.type))

    def _write_out(self, node: ir.For, rounds: range) -> None:
        """Unroll a short loop inside of a step, so that its arrays can stay in registers."""
        for at in rounds:
            self.scope.counters[node.counter.name] = constant(at, I64)
            self._round(node.body)
        self.scope.counters.pop(node.counter.name, None)

    def _round(self, body: Sequence[ir.Statement]) -> None:
        """Write the body of a loop; loop-carried states fix the order of sums."""
        carries = any(isinstance(each, ir.Carry) for each in body)
        # what a step computes element by element is on the way to the next step too
        carries |= bool(self._steps) and not adds_up(body)
        before = self.b.in_order
        self.b.in_order = carries
        self._block(body)
        self.b.in_order = before

    def _while(self, node: ir.While) -> None:
        b = self.b
        check, inside, after = b.label("while"), b.label("body"), b.label("after")
        b.jump(check)
        b.begin(check)
        b.branch(self.truth(node.test), inside, after)
        b.begin(inside)
        self._listen()
        self._loops.append((check, after))
        self._round(node.body)
        self._loops.pop()
        b.jump(check)
        b.begin(after)

    def _listen(self) -> None:
        """Every so many rounds, look whether somebody wants a loop to end that may never do so."""
        b = self.b
        ask, stop, on = b.label("ask"), b.label("stop"), b.label("on")
        if self._rounds is None:
            self._rounds = b.slot("i64")
            b.entry.append(f"  store i64 0, ptr {self._rounds}, align 8")
        made = b.let(f"load i64, ptr {self._rounds}, align 8")
        made = b.let(f"add i64 {made}, 1")
        b.write(f"store i64 {made}, ptr {self._rounds}, align 8")
        rest = b.let(f"and i64 {made}, {SIGNAL_ITERATIONS - 1}")
        b.branch(Value(b.let(f"icmp eq i64 {rest}, 0"), BOOL), ask, on)
        b.begin(ask)
        b.branch(Value(b.let("call i1 @interrupted()"), BOOL), stop, on)
        b.begin(stop)
        self._fail(INTERRUPTED)
        b.jump(on)
        b.begin(on)

    def _if(self, node: ir.If) -> None:
        b = self.b
        then, otherwise, done = b.label("then"), b.label("else"), b.label("done")
        b.branch(self.truth(node.test), then, otherwise if node.orelse else done)
        b.begin(then)
        self._block(node.body)
        b.jump(done)
        if node.orelse:
            b.begin(otherwise)
            before, b.rare = b.rare, b.rare or node.rare
            self._block(node.orelse)
            b.rare = before
            b.jump(done)
        b.begin(done)

    def _break(self, node: ir.Break) -> None:
        self.b.jump(self._loops[-1][1])
        self.b.begin(self.b.label("dead"))

    def _continue(self, node: ir.Continue) -> None:
        self.b.jump(self._loops[-1][0])
        self.b.begin(self.b.label("dead"))

    def _raise(self, node: ir.Raise) -> None:
        name = node.error
        if ":" in name:  # a class that is looked up where code is loaded
            symbol = f"dimtensor.error.{name.replace(':', '.')}"
            name = self.b.module.external(symbol, f"error:{name}", "ptr", [])
        elif name not in ERRORS:
            raise NotNative(f"an error of type {name}")
        error = (name, node.message)
        if error not in self.errors:
            self.errors.append(error)
        self._fail(FIRST_ERROR + self.errors.index(error))

    def _assign(self, node: ir.Assign | ir.Carry) -> None:
        self.set_variable(node.target.name, self.number(node.value))

    def _store(self, node: ir.Store) -> None:
        array, place = self.place(node.target)
        value = self.b.cast(self.number(node.value), array.type)
        self.b.store(place, value, array.scope)

    def _accumulate(self, node: ir.Accumulate) -> None:
        if isinstance(node.target, ir.Var):
            old = self.number(node.target)
            new = self._accumulated(node.op, old, self.number(node.value))
            self.set_variable(node.target.name, self.b.cast(new, old.type))
        else:
            value = self.number(node.value)
            array, place = self.place(node.target)
            old = self.b.load(place, array.type, array.scope)
            new = self._accumulated(node.op, old, value)
            self.b.store(place, self.b.cast(new, array.type), array.scope)

    def _accumulated(self, operator: str, old: Value, value: Value) -> Value:
        """Update a total, which is never the state of a user's loop."""
        if operator not in "+-*/":
            return self.combine(operator, old, value)
        return self.b.accumulate(operator, self._as_number(old), self._as_number(value))

    # -- results -----------------------------------------------------------------------------------

    def _result(self, at: int, result: ir.Expression) -> None:
        b = self.b
        word = self._result_offset(at)
        boxed = isinstance(result, ir.Wrapped) and result.how == "box"
        if result.rank == 0:
            value = self.number(result.source if isinstance(result, ir.Wrapped) else result)
            place = b.let(f"load ptr, ptr {self._word('%out', word)}, align 8")
            b.store(place, value)
            self.results.append(ResultType(value.type.name, 0, boxed))
            return
        array = self._returned_array(at, result)
        for axis, length in enumerate(array.shape):
            place = self._word("%out", word + 1 + axis)
            b.write(f"store i64 {length.text}, ptr {place}, align 8")
        self.results.append(ResultType(array.type.name, len(array.shape)))

    def _returned_array(self, at: int, result: ir.Expression) -> Array:
        """Return the array that is a result, or a copy at the result's place."""
        if isinstance(result, ir.Array):
            name = self._aliases.get(result.name, result.name)
            if self._result_of(name) == at and self._is_made(name):
                return self.scope.arrays[result.name]
        copied = self.array(result.source if isinstance(result, ir.Wrapped) else result)
        memory = self._result_memory(at, self._bytes(copied.type, copied.shape))
        array = Array(memory, copied.type, copied.shape, self.b.module.scope())
        self._copy(array, copied)
        return array

    def _is_made(self, name: str) -> bool:
        return all(name != argument.name for argument in self.function.arguments)

    def _finish(self) -> None:
        b = self.b
        b.jump(self._leave)
        b.begin(self._leave)
        self._free()
        b.write(f"ret i32 {b.let(f'load i32, ptr {self._code}, align 4')}")

    # -- variables ---------------------------------------------------------------------------------

    def set_variable(self, name: str, value: Value) -> None:
        """Give a number to a name; the first one determines the type."""
        if name in self.scope.arrays or name in self.scope.counters:
            raise NotNative("a name of two kinds")
        known = self.scope.variables.get(name)
        if self._assigned[name] == 1 and value.position and not self._depth:
            self.scope.fixed[name] = value
        if known is None:
            slot = self.b.slot(value.type.llvm, align=value.type.size)
            self.scope.variables[name] = known = (slot, value.type)
        slot, type_ = known
        if value.type != type_:
            if promoted(value.type, type_) != type_:
                raise NotNative(f"a variable of types {type_.name} and {value.type.name}")
            value = self.b.cast(value, type_)
        self.scope.products.pop(name, None)
        if value.factors is not None:
            self.scope.products[name] = value.factors if self.fuses(name) else ()
        self.b.write(f"store {type_.llvm} {value.text}, ptr {slot}, align {type_.size}")

    def is_assigned_once(self, name: str) -> bool:
        return self._assigned[name] == 1

    def assignments(self, name: str) -> int:
        """Count the assignments to a variable."""
        return self._assigned[name]

    def uses(self, name: str) -> int:
        """Count the reads of a variable."""
        return self._uses[name]

    def fuses(self, name: str) -> bool:
        """Return whether a product may be fused with the sum that reads it."""
        return self.is_assigned_once(name) and self._uses[name] == 1


_STATEMENTS: dict[type, Callable[..., None]] = {
    ir.Assign: Translator._assign,
    ir.Carry: Translator._assign,
    ir.Store: Translator._store,
    ir.Accumulate: Translator._accumulate,
    ir.Fill: Translator._fill_all,
    ir.Allocate: Translator._allocate,
    Grow: Translator._grow,
    ir.Bind: Translator._bind,
    ir.For: Translator._for,
    ir.While: Translator._while,
    ir.If: Translator._if,
    ir.Break: Translator._break,
    ir.Continue: Translator._continue,
    ir.Raise: Translator._raise,
}
