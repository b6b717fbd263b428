"""From loops to LLVM: expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.errors import NotNative
from dimtensor.kernels.ir.make import COMPARISONS, is_function
from dimtensor.kernels.ir.walk import expressions_in
from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.functions.fortran import ROUTINES, call_routine
from dimtensor.kernels.native.functions.generators import FUNCTIONS, call_generator
from dimtensor.kernels.native.functions.table import named, scalar_function
from dimtensor.kernels.native.values import (
    BOOL,
    I64,
    Array,
    Scalar,
    Value,
    constant,
    scalar_of,
)

ARITHMETIC = frozenset("+-*/&|^")
# operations that are a few instructions, and may be done where nobody looks at the result
_PLAIN = ARITHMETIC | COMPARISONS | {"//", "%", "neg", "not", "and", "or", "select"}


@dataclass
class Scope:
    """Text of a function, and the values of the names in it.

    Attributes
    ----------
    b : Builder
    arrays, counters : dict
        Arrays, and the counters of the surrounding loops.
    variables : dict
        Variables in stack slots.
    fixed : dict
        Numbers in registers: assigned once, outside of loops, or handed to the function.
    products : dict
        Factors of the variables that are products and used once; none if they are used more often.
    """

    b: Builder
    arrays: dict[str, Array] = field(default_factory=dict)
    counters: dict[str, Value] = field(default_factory=dict)
    variables: dict[str, tuple[str, Scalar]] = field(default_factory=dict)
    fixed: dict[str, Value] = field(default_factory=dict)
    products: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Expressions:
    """Numbers and places in arrays.

    Attributes
    ----------
    scope : Scope
        Of the function that is being written.
    """

    def __init__(self, builder: Builder):
        self.scope = Scope(builder)

    @property
    def b(self) -> Builder:
        """Builder of the function that is being written."""
        return self.scope.b

    @contextmanager
    def writing(self, scope: Scope) -> Iterator[Scope]:
        """Write into another function of the module."""
        outer, self.scope = self.scope, scope
        yield scope
        self.scope = outer

    # -- numbers -----------------------------------------------------------------------------------

    def number(self, node: ir.Expression) -> Value:
        """Translate an expression to a number."""
        return _NUMBERS[type(node)](self, node)

    def integer(self, node: ir.Expression) -> Value:
        """Translate a length or a position to 64 bits."""
        value = self.number(node)
        if value.type.kind == "f":
            raise NotNative("a float as a position")
        return self.b.cast(value, I64)

    def truth(self, node: ir.Expression) -> Value:
        return self.b.cast(self.number(node), BOOL)

    def _const(self, node: ir.Const) -> Value:
        return constant(node.value, scalar_of(node.dtype))

    def _var(self, node: ir.Var) -> Value:
        return self.variable(node.name)

    def variable(self, name: str) -> Value:
        """Load the variable of a name."""
        if name in self.scope.counters:
            return self.scope.counters[name]
        if name in self.scope.fixed:
            return self.scope.fixed[name]
        slot, type_ = self.slot_of(name)
        text = self.b.let(f"load {type_.llvm}, ptr {slot}, align {type_.size}")
        return Value(text, type_, factors=self.scope.products.get(name))

    def slot_of(self, name: str) -> tuple[str, Scalar]:
        """Return the stack slot of a variable, and its type."""
        if name not in self.scope.variables:
            raise NotNative(f"the name {name} where a number is asked for")
        return self.scope.variables[name]

    def _op(self, node: ir.Op) -> Value:
        rule = _OPERATIONS.get(node.op)
        if rule is not None:
            return rule(self, node)
        return named(self.b, node.op, [self.number(each) for each in node.operands])

    def _arithmetic(self, node: ir.Op) -> Value:
        first, *others = node.operands
        result = self.number(first)
        for each in others:
            result = self.combine(node.op, result, self.number(each))
        return result

    def combine(self, operator: str, a: Value, b: Value) -> Value:
        """Two numbers by an operator."""
        if operator in ARITHMETIC:
            if operator not in "&|^":
                a, b = self._as_number(a), self._as_number(b)
            return self.b.arithmetic(operator, a, b)
        if operator in ("//", "%") and a.type.kind in "iu" and b.type.kind in "iu":
            return self.b.floor_divide(a, b)[operator == "%"]
        raise NotNative(f"the operator {operator} of {a.type.name} and {b.type.name}")

    def _as_number(self, value: Value) -> Value:
        return self.b.cast(value, I64) if value.type.kind == "b" else value

    def _neg(self, node: ir.Op) -> Value:
        return self.b.negate(self._as_number(self.number(node.operands[0])))

    def _not(self, node: ir.Op) -> Value:
        truth = self.truth(node.operands[0])
        return self.b.either("xor", truth, constant(True, truth.type))

    def _cast(self, node: ir.Op) -> Value:
        return self.b.cast(self.number(node.operands[0]), scalar_of(node.dtype))

    def _comparison(self, node: ir.Op) -> Value:
        a, b = (self.number(each) for each in node.operands)
        return self.b.compare(node.op, a, b)

    def _connective(self, node: ir.Op) -> Value:
        """Translate ``and`` and ``or``; the right operand is evaluated only if it matters."""
        first, *others = node.operands
        result = self.truth(first)
        for other in others:
            result = self._either(node.op, result, other)
        return result

    def _either(self, operator: str, a: Value, other: ir.Expression) -> Value:
        if _is_safe(other):
            return self.b.either(operator, a, self.truth(other))
        slot = self.b.slot("i1", align=1)
        self.b.write(f"store i1 {a.text}, ptr {slot}, align 1")
        asked = a if operator == "and" else Value(self.b.let(f"xor i1 {a.text}, true"), BOOL)
        with self.b.when(asked):
            self.b.write(f"store i1 {self.truth(other).text}, ptr {slot}, align 1")
        return Value(self.b.let(f"load i1, ptr {slot}, align 1"), BOOL)

    def _select(self, node: ir.Op) -> Value:
        test, then, otherwise = node.operands
        condition = self.truth(test)
        looked_at = {each for each in expressions_in(test) if isinstance(each, ir.Load)}
        if _is_safe(then, looked_at) and _is_safe(otherwise, looked_at):
            return self.b.select(condition, self.number(then), self.number(otherwise))
        return self._lazy(condition, then, otherwise)

    def _lazy(self, condition: Value, body: ir.Expression, orelse: ir.Expression) -> Value:
        """Only the arm that is taken is computed."""
        b = self.b
        then, otherwise, done = b.label("then"), b.label("else"), b.label("done")
        b.branch(condition, then, otherwise)
        b.begin(then)
        first = self.number(body)
        slot = other = b.slot(first.type.memory, align=first.type.size)
        b.store(slot, first)
        b.jump(done)
        b.begin(otherwise)
        second = self.number(orelse)
        if second.type != first.type:  # the type that can hold both is known only now
            other = b.slot(second.type.memory, align=second.type.size)
        b.store(other, second)
        b.jump(done)
        b.begin(done)
        result = b.load(slot, first.type)
        return result if other is slot else b.select(condition, result, b.load(other, second.type))

    def _choice(self, node: ir.Op) -> Value:
        """One of some numbers."""
        position, *choices = node.operands
        values = [self.number(each) for each in choices]
        at = self.integer(position)
        result = values[-1]
        for number, value in list(enumerate(values))[-2::-1]:
            result = self.b.select(self.b.compare("==", at, constant(number, I64)), value, result)
        return result

    def _call(self, node: ir.Call) -> Value:
        function = node.function
        if is_function(node):
            operands = [self.number(each) for each in node.operands]
            return scalar_function(self.b, function, operands, scalar_of(node.dtype))
        given = [self.array(x) if x.rank else self.number(x) for x in node.operands]
        if function in ROUTINES:
            return call_routine(self.b, function, given)
        if function in FUNCTIONS:
            return call_generator(self.b, function, given)
        raise NotNative(f"the function {function}")

    def _load(self, node: ir.Load) -> Value:
        array, place = self.place(node)
        return self.b.load(place, array.type, array.scope)

    def _length(self, node: ir.Length) -> Value:
        return self.array(node.array).shape[node.axis]

    # -- arrays ------------------------------------------------------------------------------------

    def array(self, node: ir.Expression) -> Array:
        """Translate an array, or a part of one at leading positions."""
        if isinstance(node, ir.Array) and node.name in self.scope.arrays:
            return self.scope.arrays[node.name]
        if isinstance(node, ir.Part):
            return self.part(node.array, node.index)
        raise NotNative(f"{node} where an array is asked for")

    def part(self, node: ir.Array, index: Sequence[ir.Expression]) -> Array:
        """Translate ``x[i]``, or ``x[i, ...]`` of a matrix."""
        array = self.array(node)
        own, inner = array.shape[: len(index)], array.shape[len(index) :]
        offset = self._offset(index, own)
        offset = self.b.arithmetic("*", offset, self.b.product(inner))
        pointer = self.b.element(array.pointer, array.type, offset)
        return array._replace(pointer=pointer, shape=inner)

    def place(self, node: ir.Load) -> tuple[Array, str]:
        """Address of an element."""
        array = self.array(node.array)
        if len(node.index) != len(array.shape):
            raise NotNative("a selection of more than an element")
        offset = self._offset(node.index, array.shape)
        return array, self.b.element(array.pointer, array.type, offset)

    def _offset(self, parts: Sequence[ir.Expression], lengths: Sequence[Value]) -> Value:
        """Compute the number of elements before a position along the leading axes."""
        offset = constant(0, I64)
        for part, length in zip(parts, lengths, strict=True):
            position = self._position(self.integer(part), length)
            offset = offset if offset.known == 0 else self.b.arithmetic("*", offset, length)
            offset = position if offset.known == 0 else self.b.arithmetic("+", offset, position)
        return offset

    def _position(self, position: Value, length: Value) -> Value:
        """Normalize a position; a negative one counts from the end."""
        if position.position:
            return position
        negative = self.b.compare("<", position, constant(0, I64))
        moved = self.b.let(f"add i64 {position.text}, {length.text}")
        chosen = self.b.select(negative, Value(moved, I64), position)
        return chosen._replace(position=True)


_NUMBERS: dict[type, Callable[..., Value]] = {
    ir.Const: Expressions._const,
    ir.Var: Expressions._var,
    ir.Op: Expressions._op,
    ir.Call: Expressions._call,
    ir.Load: Expressions._load,
    ir.Length: Expressions._length,
}
_OPERATIONS: dict[str, Callable[..., Value]] = {
    **dict.fromkeys([*ARITHMETIC, "//", "%"], Expressions._arithmetic),
    **dict.fromkeys(COMPARISONS, Expressions._comparison),
    "and": Expressions._connective,
    "or": Expressions._connective,
    "neg": Expressions._neg,
    "not": Expressions._not,
    "cast": Expressions._cast,
    "select": Expressions._select,
    "choice": Expressions._choice,
}


def _is_safe(node: ir.Expression, looked_at: frozenset[Any] | set[Any] = frozenset()) -> bool:
    """Return whether an expression may be computed unconditionally: it reads no array."""
    if isinstance(node, ir.Op):
        return node.op in _PLAIN and all(_is_safe(each, looked_at) for each in node.operands)
    return isinstance(node, (ir.Const, ir.Var)) or node in looked_at
