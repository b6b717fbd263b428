"""From loops to LLVM: statements.

The function that is made takes two tables of 64-bit words. The first has, for every argument, the
address of its first element and its lengths; the second, for every result, an address and room for
its lengths. A result that is a number is stored at its address. A result that is an array is
written to its address, if that is not null; else memory is made for it, which the caller frees
(with ``free`` of the C library). It gives 0, or a positive code where the source raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.errors import NotNative
from dimtensor.kernels.ir.growth import Grow
from dimtensor.kernels.ir.walk import statements_in
from dimtensor.kernels.native.arrays import Memory, Usage, bytes_of, copy_elements, word_of
from dimtensor.kernels.native.builder import Builder, Hint, Module
from dimtensor.kernels.native.expressions import ExpressionWriter, as_number, combined
from dimtensor.kernels.native.functions.library import with_calls_or_copies
from dimtensor.kernels.native.nests import Nests
from dimtensor.kernels.native.parts import Cells, Parts, runs
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


class Translator:
    """Translation of one function.

    Statements are written by functions of the translation, of a writer at the point of the
    function where they stand, and of the statement.

    Attributes
    ----------
    usage : Usage
    memory : Memory
    results : list of ResultType
    errors : list of (str, str)
        Class and text of each.
    keeps_short_loops : bool
        Whether short loops around long ones are not unrolled.
    """

    def __init__(self, function: ir.Function, arguments: Sequence[ArgumentType]):
        self.usage = Usage.of(function)
        self._main = ExpressionWriter(Builder(Module()))
        self._arguments = arguments
        self._rounds: str | None = None  # slot of the iterations of loops of unknown length
        self.memory = Memory(self._main.b, self.usage)
        self.results: list[ResultType] = []
        self.errors: list[tuple[str, str]] = []
        self.keeps_short_loops = copies_many(function.body)
        self._parts = Parts(self.usage)
        self._nests = Nests(self, function.body)

    def translate(self, name: str) -> Translation:
        """Translate the whole function."""
        w, function = self._main, self.usage.function
        offset = 0
        for argument, type_ in zip(function.arguments, self._arguments, strict=True):
            w.names.arrays[argument.name] = _argument(w.b, type_, offset)
            offset += 1 + len(type_.shape)
        self._statements(w, function.body)
        for at, result in enumerate(function.results):
            self.results.append(self._result(w, at, result))
        self.memory.finish(w.b)
        w.b.entry[:0] = self._parts.allocation()
        head = f"i32 @{name}(ptr noalias %in, ptr noalias %out) nounwind"
        module = w.b.module
        functions = [*self._parts.texts, *self._nests.texts, w.b.definition(head)]
        text = [*module.lines.values(), "", *functions, "", *module.metadata(), ""]
        return Translation(
            with_calls_or_copies("\n".join(text)),
            tuple(self.results),
            tuple(self.errors),
            dict(module.externals),
        )

    # -- statements --------------------------------------------------------------------------------

    def statement(self, w: ExpressionWriter, node: ir.Statement) -> None:
        """Write a statement."""
        rule = _STATEMENTS.get(type(node))
        if rule is None:
            raise NotNative(f"a statement {type(node).__name__}")
        rule(self, w, node)

    def block(
        self,
        w: ExpressionWriter,
        statements: Sequence[ir.Statement],
        counters: Mapping[str, Value] | None = None,
    ) -> None:
        """Write the statements of a branch, or of a loop with a counter."""
        inside = ExpressionWriter(w.b.within(is_nested=True), w.names.of_block(counters or {}))
        self._statements(inside, statements)

    def _statements(self, w: ExpressionWriter, statements: Sequence[ir.Statement]) -> None:
        """Write statements in order; long runs of numbers alone in functions of their own."""
        cells: Cells = {}  # of the numbers that parts of this run read
        is_whole = bool(w.b.context.width)
        parts = self._parts
        pieces = runs(statements, parts.has, parts.moves(statements))
        for is_part, some in [(False, statements)] if is_whole else pieces:
            if is_part:
                self._parts.write(w, [each for each in some if isinstance(each, ir.Assign)], cells)
                continue
            for statement in some:
                if w.b.context.is_nested or not self._nests.write(w, statement):
                    self.statement(w, statement)

    def listen(self, w: ExpressionWriter) -> None:
        """Every so many rounds, look whether somebody wants a loop to end that may never do so."""
        b = w.b
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
        self.memory.fail(b, INTERRUPTED)
        b.jump(on)
        b.begin(on)

    def assign(self, w: ExpressionWriter, name: str, value: Value) -> None:
        """Give a number to a name; the first one determines the type."""
        names = w.names
        if name in names.arrays or name in names.counters:
            raise NotNative("a name of two kinds")
        if self.usage.is_assigned_once(name) and value.position and not w.b.context.is_nested:
            names.fixed[name] = value
        elif self.usage.is_assigned_once(name) and value.position:
            names.positions.add(name)
        if name not in names.variables:
            slot = w.b.slot(value.type.llvm, align=value.type.size)
            names.variables[name] = slot, value.type
        slot, type_ = names.variables[name]
        if value.type != type_:
            if promoted(value.type, type_) != type_:
                raise NotNative(f"a variable of types {type_.name} and {value.type.name}")
            value = w.b.cast(value, type_)
        names.products.pop(name, None)
        if value.factors is not None:
            names.products[name] = value.factors if self.usage.fuses(name) else ()
        w.b.write(f"store {type_.llvm} {value.text}, ptr {slot}, align {type_.size}")

    # -- results -----------------------------------------------------------------------------------

    def _result(self, w: ExpressionWriter, at: int, result: ir.Expression) -> ResultType:
        b, word = w.b, self.usage.result_offset(at)
        if result.rank == 0:
            is_boxed = isinstance(result, ir.Wrapped) and result.how == "box"
            value = w.number(result.source if isinstance(result, ir.Wrapped) else result)
            place = b.let(f"load ptr, ptr {word_of(b, '%out', word)}, align 8")
            b.store(place, value)
            return ResultType(value.type.name, 0, is_boxed)
        array = self._returned_array(w, at, result)
        for axis, length in enumerate(array.shape):
            place = word_of(b, "%out", word + 1 + axis)
            b.write(f"store i64 {length.text}, ptr {place}, align 8")
        return ResultType(array.type.name, len(array.shape))

    def _returned_array(self, w: ExpressionWriter, at: int, result: ir.Expression) -> Array:
        """Return the array that is a result, or a copy at the result's place."""
        if isinstance(result, ir.Array):
            owner = self.usage.owner(result.name)
            is_made = all(owner != argument.name for argument in self.usage.function.arguments)
            if is_made and self.usage.result_of(owner) == at:
                return w.names.arrays[result.name]
        source = w.array(result.source if isinstance(result, ir.Wrapped) else result)
        pointer = self.memory.of_result(w.b, at, bytes_of(w.b, source.type, source.shape))
        array = Array(pointer, source.type, source.shape, w.b.module.scope())
        copy_elements(w.b, array, source)
        return array


def _argument(b: Builder, type_: ArgumentType, offset: int) -> Array:
    pointer = b.let(f"load ptr, ptr {word_of(b, '%in', offset)}, align 8")
    shape = []
    for axis, length in enumerate(type_.shape):
        if length is not None:
            shape.append(constant(length, I64))
            continue
        word = word_of(b, "%in", offset + 1 + axis)
        shape.append(Value(b.let(f"load i64, ptr {word}, align 8"), I64, True))
    return Array(pointer, scalar_of(type_.dtype), tuple(shape))


# -- control flow ----------------------------------------------------------------------------------


def _for(t: Translator, w: ExpressionWriter, node: ir.For) -> None:
    if w.b.context.in_step and (rounds := rounds_written_out(node)) is not None:
        # unrolled here, so that arrays of the step can stay in registers
        for at in rounds:
            _round(t, w, node.body, {node.counter.name: constant(at, I64)})
        return
    hint = hint_of(node)
    with nullcontext() if hint is None else _totals_in_double(t, w, node):
        _loop(t, w, node, hint)


def _loop(t: Translator, w: ExpressionWriter, node: ir.For, hint: Hint | None) -> None:
    context = w.b.context
    start, stop = w.integer(node.start), w.integer(node.stop)
    inner = (each for each in statements_in(node.body) if isinstance(each, ir.For))
    stays = any(hint_of(each) for each in inner)
    stays |= t.keeps_short_loops and has_long_loops(node)

    def body(inside: Builder, at: Value) -> None:
        inside = inside.within(in_step=context.in_step or node.is_scan)
        _round(t, replace(w, b=inside), node.body, {node.counter.name: at})

    b = w.b.within(is_rare=context.is_rare or only_stores_nan(node))
    b.loop(start, stop, constant(node.step, I64), body, stays, hint)


@contextmanager
def _totals_in_double(t: Translator, w: ExpressionWriter, node: ir.For) -> Iterator[None]:
    """Add up single precision in double: a loop of given width has few accumulators."""
    b, variables = w.b, w.names.variables
    outer = {
        each.target.name: variables[each.target.name]
        for each in node.body
        if isinstance(each, ir.Accumulate)
        and isinstance(each.target, ir.Var)
        and (each.op, each.target.dtype) == ("+", "float32")
    }
    for name in outer:
        slot = b.slot(F64.llvm)
        b.store(slot, constant(-0.0, F64))
        variables[name] = slot, F64
    yield
    for name, slot_of_total in outer.items():
        value = w.variable(name)
        variables[name] = slot_of_total
        old = w.variable(name)
        t.assign(w, name, b.cast(b.accumulate("+", old, value), old.type))


def _round(
    t: Translator,
    w: ExpressionWriter,
    body: Sequence[ir.Statement],
    counters: Mapping[str, Value] | None = None,
) -> None:
    """Write the body of a loop; loop-carried states fix the order of sums."""
    carries = any(isinstance(each, ir.Carry) for each in body)
    # what a step computes element by element is on the way to the next step too
    carries |= w.b.context.in_step and not adds_up(body)
    t.block(replace(w, b=w.b.within(in_order=carries)), body, counters)


def _while(t: Translator, w: ExpressionWriter, node: ir.While) -> None:
    b = w.b
    check, inside, after = b.label("while"), b.label("body"), b.label("after")
    b.jump(check)
    b.begin(check)
    b.branch(w.truth(node.test), inside, after)
    b.begin(inside)
    t.listen(w)
    _round(t, replace(w, b=b.within(next_round=check, after=after)), node.body)
    b.jump(check)
    b.begin(after)


def _if(t: Translator, w: ExpressionWriter, node: ir.If) -> None:
    b = w.b
    then, otherwise, done = b.label("then"), b.label("else"), b.label("done")
    b.branch(w.truth(node.test), then, otherwise if node.orelse else done)
    b.begin(then)
    t.block(w, node.body)
    b.jump(done)
    if node.orelse:
        b.begin(otherwise)
        t.block(replace(w, b=b.within(is_rare=b.context.is_rare or node.rare)), node.orelse)
        b.jump(done)
    b.begin(done)


def _jump(w: ExpressionWriter, label: str) -> None:
    w.b.jump(label)
    w.b.begin(w.b.label("dead"))


def _raise(t: Translator, w: ExpressionWriter, node: ir.Raise) -> None:
    name = node.error
    if ":" in name:  # a class that is looked up where code is loaded
        symbol = f"dimtensor.error.{name.replace(':', '.')}"
        name = w.b.module.external(symbol, f"error:{name}", "ptr", [])
    elif name not in ERRORS:
        raise NotNative(f"an error of type {name}")
    error = (name, node.message)
    if error not in t.errors:
        t.errors.append(error)
    t.memory.fail(w.b, FIRST_ERROR + t.errors.index(error))


# -- numbers ---------------------------------------------------------------------------------------


def _assign(t: Translator, w: ExpressionWriter, node: ir.Assign | ir.Carry) -> None:
    t.assign(w, node.target.name, w.number(node.value))


def _store(t: Translator, w: ExpressionWriter, node: ir.Store) -> None:
    array, place = w.place(node.target)
    w.b.store(place, w.b.cast(w.number(node.value), array.type), array.scope)


def _accumulate(t: Translator, w: ExpressionWriter, node: ir.Accumulate) -> None:
    if isinstance(node.target, ir.Var):
        old = w.number(node.target)
        new = _accumulated(w.b, node.op, old, w.number(node.value))
        t.assign(w, node.target.name, w.b.cast(new, old.type))
        return
    value = w.number(node.value)
    array, place = w.place(node.target)
    old = w.b.load(place, array.type, array.scope)
    new = _accumulated(w.b, node.op, old, value)
    w.b.store(place, w.b.cast(new, array.type), array.scope)


def _accumulated(b: Builder, operator: str, old: Value, value: Value) -> Value:
    """Update a total, which is never the state of a user's loop."""
    if operator not in "+-*/":
        return combined(b, operator, old, value)
    return b.accumulate(operator, as_number(b, old), as_number(b, value))


_STATEMENTS: dict[type, Callable[[Translator, ExpressionWriter, Any], None]] = {
    ir.Assign: _assign,
    ir.Carry: _assign,
    ir.Store: _store,
    ir.Accumulate: _accumulate,
    ir.Fill: lambda t, w, node: t.memory.fill(w, node),
    ir.Allocate: lambda t, w, node: t.memory.allocate(w, node),
    Grow: lambda t, w, node: t.memory.grow(w, node),
    ir.Bind: lambda t, w, node: t.memory.bind(w, node),
    ir.For: _for,
    ir.While: _while,
    ir.If: _if,
    ir.Break: lambda t, w, node: _jump(w, w.b.context.after),
    ir.Continue: lambda t, w, node: _jump(w, w.b.context.next_round),
    ir.Raise: _raise,
}
