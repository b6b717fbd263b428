"""Loops written in vectors: a body that is too long for LLVM's own vectorizer.

What LLVM takes for a loop grows faster than its operations, and it compiles a long one three times:
for vectors, for the rest of their number, and unrolled. Here each statement is written once, for
some elements that follow each other: their numbers are a vector. In the last round, which may have
fewer elements, the lanes beyond the end hold anything; nothing of them is stored or added up.

What has no vectors (a call of the C library, elements in places that the data tell) is done lane by
lane, in a loop inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.make import COMPARISONS, is_function
from dimtensor.kernels.ir.walk import expressions_in
from dimtensor.kernels.native.functions import library
from dimtensor.kernels.native.functions.table import named, scalar_function
from dimtensor.kernels.native.functions.vectors import has_vector_form, has_vectors
from dimtensor.kernels.native.parts import PART_DTYPES, Cells, is_number, names_read, runs
from dimtensor.kernels.native.values import BOOL, I64, Scalar, Value, constant, scalar_of

if TYPE_CHECKING:
    from dimtensor.kernels.native.translate import Translator

# statements by their numbers: one of vectors, or some that are done lane by lane
Group = tuple[bool, list[int]]
Pieces = Sequence[tuple[bool, Sequence[Group]]]
_PLAIN = frozenset({"+", "-", "*", "/", "neg", "not", "cast"}) | COMPARISONS
_INTEGERS = frozenset("&|^")
_ADDED = ("float64", "float32", "int64")
# reductions of vectors, with their neutral elements
_REDUCED = {"+": ("add", -0.0), "*": ("mul", 1.0), "&": ("and", True), "|": ("or", False)}


def is_writable(node: ir.For) -> bool:
    """Return whether a loop consists of numbers, elements and totals only."""
    kinds = (ir.Assign, ir.Store, ir.Accumulate, ir.Carry)
    return node.step == 1 and all(isinstance(each, kinds) for each in node.body)


@dataclass
class Lanes:
    """Writes a loop over elements that do not depend on each other.

    Attributes
    ----------
    t : Translator
    node : For
    count : int
        How many elements there are in a round.
    values : dict of str to Value
        The temporaries of the body that are there, as vectors.
    """

    t: Translator
    node: ir.For
    count: int = field(default_factory=library.lanes)
    values: dict[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.counter = self.node.counter.name
        once = self.t.is_assigned_once
        self._own = {
            each.target.name: each.target
            for each in self.node.body
            if isinstance(each, ir.Assign) and once(each.target.name)
        }
        self._slots: dict[str, str] = {}
        self._totals: dict[int, tuple[ir.Accumulate, str, Scalar]] = {}

    def write(self) -> None:
        """Write the strip-mined loop, and the totals of its lanes after it."""
        t, b = self.t, self.t.b
        start, stop = t.integer(self.node.start), t.integer(self.node.stop)
        groups = self._grouped()
        for at, each in enumerate(self.node.body):
            if self._is_total(each):
                assert isinstance(each, ir.Accumulate)
                self._begin_total(at, each)

        def body(at: Value, following: str, after: str) -> None:
            self._round(at, stop, groups)

        b.loop(start, stop, constant(self.count, I64), body, stays=True)
        for total in self._totals.values():
            self._end_total(*total)

    def _grouped(self) -> list[Group]:
        """Statements by their numbers: each of vectors, or some that are done lane by lane."""
        groups: list[Group] = []
        for at, each in enumerate(self.node.body):
            wide = self._has_vectors(each)
            if not wide and groups and not groups[-1][0]:
                groups[-1][1].append(at)
            else:
                groups.append((wide, [at]))
        return groups

    def _round(self, at: Value, stop: Value, groups: Sequence[Group]) -> None:
        t, b = self.t, self.t.b
        before = t.counters.get(self.counter)
        t.counters[self.counter] = self._first = at
        whole = constant(self.count, I64)
        self._left = b.extreme("min", whole, b.arithmetic("-", stop, at))
        self._is_full = b.compare("==", self._left, whole)
        numbers = ", ".join(f"i64 {lane}" for lane in range(self.count))
        self._numbers = Value(f"<{numbers}>", I64.wide(self.count), position=True)
        self._mask = b.compare("<", self._numbers, self._left)
        self._invariant: dict[str, Value] = {}
        cells: Cells = {}
        pieces = list(runs(groups, self._is_of_part))
        self._read_apart = self._names_read_apart(pieces)
        for is_part, some in pieces:
            if is_part:
                self._part([number for _, (number,) in some], cells)
            else:
                self._in_turn(some)
        if before is None:
            del t.counters[self.counter]
        else:
            t.counters[self.counter] = before

    def _names_read_apart(self, pieces: Pieces) -> ir.Names:
        """Return the names that statements outside of all parts read."""
        if not any(is_part for is_part, _ in pieces):
            return ir.NOTHING
        body = self.node.body
        numbers = [(is_part, n) for is_part, some in pieces for _, group in some for n in group]
        apart = [n for is_part, n in numbers if not (is_part and self._is_inside(body[n]))]
        return ir.NOTHING.union(*(body[n].uses for n in apart))

    def _in_turn(self, groups: Iterable[Group]) -> None:
        for wide, group in groups:
            if wide:
                self._statement(group[0])
            else:
                self._lane_by_lane([self.node.body[number] for number in group])

    # -- parts -------------------------------------------------------------------------------------

    def _is_of_part(self, group: Group) -> bool:
        """Return whether a statement belongs to a part, or may run before or after it."""
        wide, (number, *_) = group
        node = self.node.body[number]
        if not wide or isinstance(node, ir.Store):
            return False
        # totals are not read before the end
        return not isinstance(node, ir.Assign) or self._is_inside(node) or self._is_read(node)

    def _is_inside(self, node: ir.Statement) -> bool:
        if not isinstance(node, ir.Assign) or node.target.dtype not in PART_DTYPES:
            return False
        return is_number(node.value)

    def _is_read(self, node: ir.Assign) -> bool:
        return isinstance(node.value, ir.Load) and node.value.uses.isdisjoint(self._own)

    def _part(self, numbers: Sequence[int], cells: Cells) -> None:
        """Write some statements as a function, and call it."""
        t, parts, body = self.t, self.t.parts, self.node.body
        inside = [body[number] for number in numbers if self._is_inside(body[number])]
        others = [number for number in numbers if not self._is_inside(body[number])]
        after = [number for number in others if not isinstance(body[number], ir.Assign)]
        for number in others:
            if number not in after:
                self._statement(number)
        assigned = [each for each in inside if isinstance(each, ir.Assign)]
        reads = names_read(each.value for each in assigned)
        given = sorted(reads.keys() - {each.target.name for each in assigned})
        for name in given:
            if name not in cells:
                parts.leave(cells, name, self._given(name))
        left: list[str] = []
        before = self.values, self._invariant
        with parts.function() as fixed:
            self.values, self._invariant = {}, {}
            for name in given:
                value = parts.found(cells, name)
                (fixed if value.type.lanes == 1 else self.values)[name] = value
            for each in assigned:
                name = each.target.name
                self._assign(each.target, self._number(each.value))
                if t.uses(name) > reads[name]:
                    parts.leave(cells, name, self.values[name])
                    left.append(name)
        self.values, self._invariant = before
        for name in left:
            if name in self._read_apart:
                self.values[name] = parts.found(cells, name)
        for number in after:
            self._statement(number)

    def _given(self, name: str) -> Value:
        """Return a vector, or a number that is the same in all lanes."""
        if name in self.values or name == self.counter:
            return self._variable(name)
        return self.t.variable(name)

    # -- what has vectors --------------------------------------------------------------------------

    def _has_vectors(self, node: ir.Statement) -> bool:
        if isinstance(node, ir.Assign):
            return node.target.name in self._own and self._is_wide(node.value)
        if isinstance(node, ir.Store):
            return self._is_row(node.target) and self._is_wide(node.value)
        return self._is_total(node)

    def _is_total(self, node: ir.Statement) -> bool:
        """Return whether a statement accumulates a sum or a product."""
        return (
            isinstance(node, ir.Accumulate)
            and isinstance(node.target, ir.Var)
            and node.op in _REDUCED
            and node.target.dtype in (("bool",) if node.op in "&|" else _ADDED)
            and node.value.dtype == node.target.dtype
            and self._is_wide(node.value)
        )

    def _is_wide(self, node: ir.Expression) -> bool:
        """Return whether an expression may be computed in all lanes, also beyond the end."""
        if isinstance(node, (ir.Const, ir.Var, ir.Length)):
            return True
        if isinstance(node, ir.Load):
            return self._is_row(node) or not self._varies(node)
        if not isinstance(node, (ir.Op, ir.Call)):
            return False
        if not all(self._is_wide(each) for each in node.operands):
            return False
        if isinstance(node, ir.Call):
            return is_function(node) and has_vector_form(node)
        if node.op in ("select", "and", "or"):  # a condition may say whether an array is read
            arms = (each for arm in node.operands[1:] for each in expressions_in(arm))
            return not any(isinstance(each, ir.Load) for each in arms)
        if node.op in _PLAIN:
            return True
        return node.op in _INTEGERS or has_vectors(node.op, node.operands)

    def _varies(self, node: ir.Expression) -> bool:
        """Return whether an expression differs between lanes."""
        return self.counter in node.uses or not node.uses.isdisjoint(self._own)

    def _is_row(self, node: ir.Load) -> bool:
        """Return whether the elements of adjacent lanes are adjacent in an array."""
        if not node.index:
            return False
        *outer, last = node.index
        return self._moves_by_one(last) and not any(self._varies(each) for each in outer)

    def _moves_by_one(self, node: ir.Expression) -> bool:
        if isinstance(node, ir.Var):
            return node.name == self.counter
        if not isinstance(node, ir.Op):
            return False
        if node.op == "cast":
            return node.dtype in ("int64", "uint64") and self._moves_by_one(node.operands[0])
        if node.op not in "+-":
            return False
        moving = [each for each in node.operands if self._varies(each)]
        fixed = [each for each in node.operands if not self._varies(each)]
        if len(moving) != 1 or (node.op == "-" and moving[0] is not node.operands[0]):
            return False
        return self._moves_by_one(moving[0]) and all(map(self._is_position, fixed))

    def _is_position(self, node: ir.Expression) -> bool:
        """Return whether a number is a position that need not be normalized."""
        if isinstance(node, ir.Const):
            return isinstance(node.value, int) and node.value >= 0
        if isinstance(node, ir.Var):
            known = self.t.counters.get(node.name) or self.t.fixed.get(node.name)
            return known is not None and known.position
        if isinstance(node, ir.Op) and node.op in ("+", "-", "*", "cast"):
            return all(map(self._is_position, node.operands))
        return isinstance(node, ir.Length)

    # -- vectors -----------------------------------------------------------------------------------

    def _statement(self, number: int) -> None:
        node = self.node.body[number]
        if isinstance(node, ir.Assign):
            self._assign(node.target, self._number(node.value))
        elif isinstance(node, ir.Store):
            self._store(node.target, self._number(node.value))
        else:
            assert isinstance(node, ir.Accumulate)
            self._add(number, node)

    def _assign(self, target: ir.Var, value: Value) -> None:
        value = self.t.b.cast(value, self._type(target.dtype))
        if value.factors is not None:
            value = value._replace(factors=value.factors if self.t.fuses(target.name) else ())
        self.values[target.name] = value
        self._slots.pop(target.name, None)

    def _type(self, dtype: str) -> Scalar:
        return scalar_of(dtype).wide(self.count)

    def _number(self, node: ir.Expression) -> Value:
        """Translate an expression to a vector, or to a number if it is the same in all lanes."""
        t, b = self.t, self.t.b
        match node:
            case ir.Var():
                return self._variable(node.name)
            case ir.Load() if self._is_row(node):
                return self._load(node)
            case ir.Const() | ir.Length() | ir.Load():
                return t.number(node)
        assert isinstance(node, (ir.Op, ir.Call))
        given = [self._number(each) for each in node.operands]
        if isinstance(node, ir.Call):
            return scalar_function(b, node.function, given, self._type(node.dtype))
        return self._operation(node, given)

    def _operation(self, node: ir.Op, given: Sequence[Value]) -> Value:
        b = self.t.b
        first, *others = given
        if node.op == "neg":
            return b.negate(_as_number(b, first))
        if node.op == "not":
            truth = b.cast(first, BOOL)
            return b.either("xor", truth, constant(True, truth.type))
        if node.op == "cast":
            return b.cast(first, scalar_of(node.dtype))
        if node.op == "select":
            return b.select(b.cast(first, BOOL), *others)
        if node.op in COMPARISONS:
            return b.compare(node.op, *given)
        if node.op in ("and", "or"):
            result = b.cast(first, BOOL)
            for each in others:
                result = b.either(node.op, result, b.cast(each, BOOL))
            return result
        if node.op in _PLAIN or node.op in _INTEGERS:
            result = first
            for each in others:
                result = self.t.combine(node.op, result, each)
            return result
        return named(b, node.op, given)

    def _variable(self, name: str) -> Value:
        b = self.t.b
        if name in self.values:
            return self.values[name]
        if name == self.counter:
            return b.arithmetic("+", self._numbers, self._first)
        if name not in self._invariant:
            self._invariant[name] = b.in_all_lanes(self.t.variable(name), self.count)
        return self._invariant[name]

    def _load(self, node: ir.Load) -> Value:
        """Elements that follow each other; none beyond the end is read."""
        b = self.t.b
        array, place = self.t.place(node)
        type_ = array.type.wide(self.count)
        name = _intrinsic("load", type_)
        mask = self._mask.type.llvm
        t = type_.memory
        b.declarations.lines.setdefault(name, f"declare {t} @{name}(ptr, i32, {mask}, {t})")
        text = b.let(
            f"call {t} @{name}(ptr {place}, i32 {array.type.size}, {mask} {self._mask.text}, "
            f"{t} zeroinitializer){b.apart(array.scope)}"
        )
        if type_.kind == "b":
            text = b.let(f"icmp ne {t} {text}, zeroinitializer")
        return Value(text, type_)

    def _store(self, target: ir.Load, value: Value) -> None:
        b = self.t.b
        array, place = self.t.place(target)
        value = b.cast(value, array.type.wide(self.count))
        t, mask, text = value.type.memory, self._mask.type.llvm, value.text
        if value.type.kind == "b":
            text = b.let(f"zext {value.type.llvm} {text} to {t}")
        full, rest, done = b.label("full"), b.label("rest"), b.label("done")
        b.branch(self._is_full, full, rest)
        b.begin(full)
        b.write(f"store {t} {text}, ptr {place}, align {array.type.size}{b.apart(array.scope)}")
        b.jump(done)
        b.begin(rest)
        name = _intrinsic("store", value.type)
        b.declarations.lines.setdefault(name, f"declare void @{name}({t}, ptr, i32, {mask})")
        b.write(
            f"call void @{name}({t} {text}, ptr {place}, i32 {array.type.size}, "
            f"{mask} {self._mask.text}){b.apart(array.scope)}"
        )
        b.jump(done)
        b.begin(done)

    # -- totals ------------------------------------------------------------------------------------

    def _begin_total(self, number: int, node: ir.Accumulate) -> None:
        b, dtype = self.t.b, node.target.dtype
        # there are fewer lanes than accumulators of LLVM's, each with more terms
        type_ = self._type("float64" if (node.op, dtype) == ("+", "float32") else dtype)
        slot = b.slot(type_.llvm)
        start = constant(_REDUCED[node.op][1], type_)
        b.write(f"store {type_.llvm} {start.text}, ptr {slot}, align 8")
        self._totals[number] = node, slot, type_

    def _add(self, number: int, node: ir.Accumulate) -> None:
        b = self.t.b
        _, slot, type_ = self._totals[number]
        old = Value(b.let(f"load {type_.llvm}, ptr {slot}, align 8"), type_)
        nothing = constant(_REDUCED[node.op][1], type_)
        value = b.select(self._mask, b.cast(self._number(node.value), type_), nothing)
        new = b.accumulate(node.op, old, value)
        b.write(f"store {type_.llvm} {new.text}, ptr {slot}, align 8")

    def _end_total(self, node: ir.Accumulate, slot: str, type_: Scalar) -> None:
        t, b = self.t, self.t.b
        lanes = b.let(f"load {type_.llvm}, ptr {slot}, align 8")
        kind, start = _REDUCED[node.op]
        one = type_.wide(1)
        is_float = type_.kind == "f"
        name = f"llvm.vector.reduce.{'f' * is_float}{kind}.{type_.suffix}"
        operands = [type_.llvm]
        text = f"{type_.llvm} {lanes}"
        if is_float:
            operands.insert(0, one.llvm)
            text = f"{one.llvm} {constant(start, one).text}, {text}"
        called = b.declarations.function(name, one.llvm, operands)
        flags = "reassoc " if is_float else ""
        value = Value(b.let(f"call {flags}{one.llvm} {called}({text})"), one)
        assert isinstance(node.target, ir.Var)
        old = t.number(node.target)
        t.set_variable(node.target.name, b.cast(b.accumulate(node.op, old, value), old.type))

    # -- lane by lane ------------------------------------------------------------------------------

    def _lane_by_lane(self, statements: Sequence[ir.Statement]) -> None:
        """Write a loop over the lanes in range; vectors enter and leave it through memory."""
        t, b = self.t, self.t.b
        used = frozenset[str]().union(*(each.uses for each in statements))
        made = [
            each.target
            for each in statements
            if isinstance(each, ir.Assign) and each.target.name in self._own
        ]
        for name in sorted(used & self.values.keys()):
            self._keep(name)
        for target in made:
            self._slots[target.name] = b.slot(self._type(target.dtype).memory)

        def body(at: Value, following: str, after: str) -> None:
            t.counters[self.counter] = b.arithmetic("+", self._first, at)
            before = dict(t.fixed)
            for name in sorted(used & self.values.keys()):
                type_ = self.values[name].type.wide(1)
                t.fixed[name] = b.load(b.element(self._slots[name], type_, at), type_)
            for each in statements:
                if isinstance(each, ir.Assign) and each.target.name in self._own:
                    type_ = scalar_of(each.target.dtype)
                    value = b.cast(t.number(each.value), type_)._replace(factors=None)
                    b.store(b.element(self._slots[each.target.name], type_, at), value)
                    t.fixed[each.target.name] = value
                else:
                    t.statement(each)
            t.fixed.clear()
            t.fixed.update(before)

        b.loop(constant(0, I64), self._left, constant(1, I64), body)
        t.counters[self.counter] = self._first
        for target in made:
            type_ = self._type(target.dtype)
            self.values[target.name] = b.load(self._slots[target.name], type_)

    def _keep(self, name: str) -> None:
        """Put a vector into memory, so that lanes can be looked at."""
        if name not in self._slots:
            value = self.values[name]
            self._slots[name] = self.t.b.slot(value.type.memory)
            self.t.b.store(self._slots[name], value)


def _intrinsic(what: str, type_: Scalar) -> str:
    one = "i8" if type_.kind == "b" else type_.wide(1).suffix
    return f"llvm.masked.{what}.v{type_.lanes}{one}.p0"


def _as_number(b: Any, value: Value) -> Value:
    return b.cast(value, I64) if value.type.kind == "b" else value
