"""From loops to LLVM: expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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


@dataclass(frozen=True)
class Bindings:
    """Values of the names in a function.

    Attributes
    ----------
    arrays, counters : dict
        Arrays, and the counters of the surrounding loops.
    variables : dict
        Variables in stack slots.
    fixed : dict
        Numbers in registers: assigned once, outside of loops, or handed to the function.
    products : dict
        Factors of the variables that are products and used once; none if they are used more often.
    positions : set
        Variables that can be trusted as positions, see `Value`.
    """

    arrays: dict[str, Array] = field(default_factory=dict)
    counters: dict[str, Value] = field(default_factory=dict)
    variables: dict[str, tuple[str, Scalar]] = field(default_factory=dict)
    fixed: dict[str, Value] = field(default_factory=dict)
    products: dict[str, tuple[str, ...]] = field(default_factory=dict)
    positions: set[str] = field(default_factory=set)

    def of_block(self, counters: Mapping[str, Value]) -> Bindings:
        """Return the bindings of a block; no product of it is known after it."""
        return replace(self, counters={**self.counters, **counters}, products=dict(self.products))


@dataclass(frozen=True)
class ExpressionWriter:
    """Writer of numbers, and of places in arrays, at one point of a function.

    Attributes
    ----------
    b : Builder
    names : Bindings
    """

    b: Builder
    names: Bindings = field(default_factory=Bindings)

    def number(self, node: ir.Expression) -> Value:
        """Write an expression that is a number."""
        return _NUMBERS[type(node)](self, node)

    def integer(self, node: ir.Expression) -> Value:
        """Write a length or a position, in 64 bits."""
        value = self.number(node)
        if value.type.kind == "f":
            raise NotNative("a float as a position")
        return self.b.cast(value, I64)

    def truth(self, node: ir.Expression) -> Value:
        """Write a condition."""
        return self.b.cast(self.number(node), BOOL)

    def variable(self, name: str) -> Value:
        """Load the variable of a name."""
        names = self.names
        known = names.counters.get(name) or names.fixed.get(name)
        if known is not None:
            return known
        if name not in names.variables:
            raise NotNative(f"the name {name} where a number is asked for")
        slot, type_ = names.variables[name]
        text = self.b.let(f"load {type_.llvm}, ptr {slot}, align {type_.size}")
        return Value(text, type_, name in names.positions, names.products.get(name))

    def array(self, node: ir.Expression) -> Array:
        """Return an array, or the part of one at leading positions."""
        if isinstance(node, ir.Array) and node.name in self.names.arrays:
            return self.names.arrays[node.name]
        if isinstance(node, ir.Part):
            return self.part(node.array, node.index)
        raise NotNative(f"{node} where an array is asked for")

    def part(self, node: ir.Array, index: Sequence[ir.Expression]) -> Array:
        """Return ``x[i]``, or ``x[i, ...]`` of a matrix."""
        array = self.array(node)
        own, inner = array.shape[: len(index)], array.shape[len(index) :]
        offset = self._offset(index, own)
        offset = self.b.arithmetic("*", offset, self.b.product(inner))
        pointer = self.b.element(array.pointer, array.type, offset)
        return array._replace(pointer=pointer, shape=inner)

    def place(self, node: ir.Load) -> tuple[Array, str]:
        """Return an array, and the address of an element."""
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


def combined(builder: Builder, operator: str, a: Value, b: Value) -> Value:
    """Combine two numbers by an operator."""
    if operator in ARITHMETIC:
        if operator not in "&|^":
            a, b = as_number(builder, a), as_number(builder, b)
        return builder.arithmetic(operator, a, b)
    if operator in ("//", "%") and a.type.kind in "iu" and b.type.kind in "iu":
        return builder.floor_divide(a, b)[operator == "%"]
    raise NotNative(f"the operator {operator} of {a.type.name} and {b.type.name}")


def as_number(b: Builder, value: Value) -> Value:
    """Convert a truth value to an integer."""
    return b.cast(value, I64) if value.type.kind == "b" else value


def _op(w: ExpressionWriter, node: ir.Op) -> Value:
    rule = _OPERATIONS.get(node.op)
    if rule is not None:
        return rule(w, node)
    return named(w.b, node.op, [w.number(each) for each in node.operands])


def _arithmetic(w: ExpressionWriter, node: ir.Op) -> Value:
    first, *others = node.operands
    result = w.number(first)
    for each in others:
        result = combined(w.b, node.op, result, w.number(each))
    return result


def _neg(w: ExpressionWriter, node: ir.Op) -> Value:
    return w.b.negate(as_number(w.b, w.number(node.operands[0])))


def _not(w: ExpressionWriter, node: ir.Op) -> Value:
    truth = w.truth(node.operands[0])
    return w.b.either("xor", truth, constant(True, truth.type))


def _comparison(w: ExpressionWriter, node: ir.Op) -> Value:
    a, b = (w.number(each) for each in node.operands)
    return w.b.compare(node.op, a, b)


def _connective(w: ExpressionWriter, node: ir.Op) -> Value:
    """Write ``and`` or ``or``; an operand that reads arrays is evaluated only if it matters."""
    first, *others = node.operands
    result = w.truth(first)
    for other in others:
        if _is_safe(other):
            result = w.b.either(node.op, result, w.truth(other))
            continue
        slot = w.b.slot("i1", align=1)
        w.b.write(f"store i1 {result.text}, ptr {slot}, align 1")
        is_asked = result
        if node.op == "or":
            is_asked = Value(w.b.let(f"xor i1 {result.text}, true"), BOOL)
        with w.b.when(is_asked):
            w.b.write(f"store i1 {w.truth(other).text}, ptr {slot}, align 1")
        result = Value(w.b.let(f"load i1, ptr {slot}, align 1"), BOOL)
    return result


def _select(w: ExpressionWriter, node: ir.Op) -> Value:
    test, then, otherwise = node.operands
    condition = w.truth(test)
    looked_at = {each for each in expressions_in(test) if isinstance(each, ir.Load)}
    if _is_safe(then, looked_at) and _is_safe(otherwise, looked_at):
        return w.b.select(condition, w.number(then), w.number(otherwise))
    return _branch(w, condition, then, otherwise)


def _branch(
    w: ExpressionWriter, condition: Value, body: ir.Expression, orelse: ir.Expression
) -> Value:
    """Compute only the arm that is taken."""
    b = w.b
    then, otherwise, done = b.label("then"), b.label("else"), b.label("done")
    b.branch(condition, then, otherwise)
    b.begin(then)
    first = w.number(body)
    slot = other = b.slot(first.type.memory, align=first.type.size)
    b.store(slot, first)
    b.jump(done)
    b.begin(otherwise)
    second = w.number(orelse)
    if second.type != first.type:  # the type that can hold both is known only now
        other = b.slot(second.type.memory, align=second.type.size)
    b.store(other, second)
    b.jump(done)
    b.begin(done)
    result = b.load(slot, first.type)
    return result if other is slot else b.select(condition, result, b.load(other, second.type))


def _choice(w: ExpressionWriter, node: ir.Op) -> Value:
    """Select one of some numbers by its position."""
    position, *choices = node.operands
    values = [w.number(each) for each in choices]
    at = w.integer(position)
    result = values[-1]
    for number, value in list(enumerate(values))[-2::-1]:
        result = w.b.select(w.b.compare("==", at, constant(number, I64)), value, result)
    return result


def _call(w: ExpressionWriter, node: ir.Call) -> Value:
    function = node.function
    if is_function(node):
        operands = [w.number(each) for each in node.operands]
        return scalar_function(w.b, function, operands, scalar_of(node.dtype))
    given = [w.array(x) if x.rank else w.number(x) for x in node.operands]
    if function in ROUTINES:
        return call_routine(w.b, function, given)
    if function in FUNCTIONS:
        return call_generator(w.b, function, given)
    raise NotNative(f"the function {function}")


def _load(w: ExpressionWriter, node: ir.Load) -> Value:
    array, place = w.place(node)
    return w.b.load(place, array.type, array.scope)


_NUMBERS: dict[type, Callable[[ExpressionWriter, Any], Value]] = {
    ir.Const: lambda w, node: constant(node.value, scalar_of(node.dtype)),
    ir.Var: lambda w, node: w.variable(node.name),
    ir.Op: _op,
    ir.Call: _call,
    ir.Load: _load,
    ir.Length: lambda w, node: w.array(node.array).shape[node.axis],
}
_OPERATIONS: dict[str, Callable[[ExpressionWriter, Any], Value]] = {
    **dict.fromkeys([*ARITHMETIC, "//", "%"], _arithmetic),
    **dict.fromkeys(COMPARISONS, _comparison),
    **dict.fromkeys(["and", "or"], _connective),
    "neg": _neg,
    "not": _not,
    "cast": lambda w, node: w.b.cast(w.number(node.operands[0]), scalar_of(node.dtype)),
    "select": _select,
    "choice": _choice,
}


def _is_safe(node: ir.Expression, looked_at: frozenset[Any] | set[Any] = frozenset()) -> bool:
    """Return whether an expression may be computed unconditionally: it reads no array."""
    if isinstance(node, ir.Op):
        return node.op in _PLAIN and all(_is_safe(each, looked_at) for each in node.operands)
    return isinstance(node, (ir.Const, ir.Var)) or node in looked_at
