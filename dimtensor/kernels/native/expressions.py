"""From the source of a kernel to LLVM: expressions."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any

from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.fortran import ROUTINES, call_routine
from dimtensor.kernels.native.functions import named, scalar_operation
from dimtensor.kernels.native.generators import FUNCTIONS, call_generator
from dimtensor.kernels.native.values import (
    BOOL,
    F64,
    I64,
    Array,
    NotNative,
    Scalar,
    Value,
    constant,
    scalar_of,
)

OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^",
}  # fmt: skip
_COMPARISONS: dict[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_NUMBERS = {"np.nan": math.nan, "np.inf": math.inf, "math.pi": math.pi, "math.inf": math.inf}


class Expressions:
    """Numbers and places in arrays.

    Parameters
    ----------
    builder : Builder
    operations : mapping of str to (scalar op, dtype)
        The names in the source that stand for scalar operations of PyTensor.

    Attributes
    ----------
    arrays, counters, variables : dict
        What names stand for: arrays, counters of the loops around, and variables in slots.
    fixed : dict
        Numbers that are assigned once, outside of loops, and can be trusted as positions.
    """

    def __init__(self, builder: Builder, operations: Mapping[str, tuple[Any, str]]):
        self.b = builder
        self.operations = operations
        self.arrays: dict[str, Array] = {}
        self.counters: dict[str, Value] = {}
        self.variables: dict[str, tuple[str, Scalar]] = {}
        self.fixed: dict[str, Value] = {}
        # what variables are products of that are used once; nothing, if they are used more often
        self.products: dict[str, tuple[str, ...]] = {}

    # -- numbers -----------------------------------------------------------------------------------

    def number(self, node: ast.expr) -> Value:
        """The number that an expression is."""
        rule = getattr(self, f"_number_{type(node).__name__.lower()}", None)
        if rule is None:
            raise NotNative(f"an expression {type(node).__name__}")
        return rule(node)

    def integer(self, node: ast.expr) -> Value:
        """A length or a position, as 64 bits."""
        value = self.number(node)
        if value.type.kind == "f":
            raise NotNative("a float as a position")
        return self.b.cast(value, I64)

    def truth(self, node: ast.expr) -> Value:
        return self.b.cast(self.number(node), BOOL)

    def _number_constant(self, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, bool):
            return constant(value, BOOL)
        if isinstance(value, int):
            return constant(value, I64)
        if isinstance(value, float):
            return constant(value, F64)
        raise NotNative(f"the constant {value!r}")

    def _number_name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.counters:
            return self.counters[name]
        if name in self.fixed:
            return self.fixed[name]
        if name not in self.variables:
            raise NotNative(f"the name {name} where a number is asked for")
        slot, type_ = self.variables[name]
        text = self.b.let(f"load {type_.llvm}, ptr {slot}, align {type_.size}")
        return Value(text, type_, factors=self.products.get(name))

    def _number_binop(self, node: ast.BinOp) -> Value:
        # a sum of a thousand terms is a tree a thousand deep, to the left
        operations = [node]
        while isinstance(operations[-1].left, ast.BinOp):
            operations.append(operations[-1].left)
        result = self.number(operations[-1].left)
        for each in reversed(operations):
            result = self.combine(type(each.op), result, self.number(each.right))
        return result

    def combine(self, operator: type, a: Value, b: Value) -> Value:
        """Two numbers by an operator of Python."""
        if operator in OPERATORS:
            if operator not in (ast.BitAnd, ast.BitOr, ast.BitXor):
                a, b = self._as_number(a), self._as_number(b)
            return self.b.arithmetic(OPERATORS[operator], a, b)
        if operator in (ast.FloorDiv, ast.Mod) and a.type.kind in "iu" and b.type.kind in "iu":
            return self.b.floor_divide(a, b)[operator is ast.Mod]
        if operator is ast.Pow and b.text == constant(2, b.type).text:
            return self.b.arithmetic("*", a, a)
        raise NotNative(f"the operator {operator.__name__}")

    def _as_number(self, value: Value) -> Value:
        return self.b.cast(value, I64) if value.type.kind == "b" else value

    def _number_unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.number(node.operand)
        if isinstance(node.op, ast.USub):
            return self.b.negate(self._as_number(value))
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Not):
            return Value(self.b.let(f"xor i1 {self.b.cast(value, BOOL).text}, true"), BOOL)
        raise NotNative("the inverse of bits")

    def _number_compare(self, node: ast.Compare) -> Value:
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARISONS:
            raise NotNative("a comparison of this kind")
        a, b = self.number(node.left), self.number(node.comparators[0])
        return self.b.compare(_COMPARISONS[type(node.ops[0])], a, b)

    def _number_boolop(self, node: ast.BoolOp) -> Value:
        first, *others = node.values
        result = self.truth(first)
        for other in others:
            result = self._either(node.op, result, other)
        return result

    def _either(self, operator: ast.boolop, a: Value, other: ast.expr) -> Value:
        """``and`` and ``or``; what is on the right is looked at only if it matters."""
        conjunction = isinstance(operator, ast.And)
        if _is_safe(other):
            b = self.truth(other)
            return Value(
                self.b.let(f"{'and' if conjunction else 'or'} i1 {a.text}, {b.text}"), BOOL
            )
        slot = self.b.slot("i1", align=1)
        self.b.write(f"store i1 {a.text}, ptr {slot}, align 1")
        asked = a if conjunction else Value(self.b.let(f"xor i1 {a.text}, true"), BOOL)
        with self.b.when(asked):
            self.b.write(f"store i1 {self.truth(other).text}, ptr {slot}, align 1")
        return Value(self.b.let(f"load i1, ptr {slot}, align 1"), BOOL)

    def _number_ifexp(self, node: ast.IfExp) -> Value:
        condition = self.truth(node.test)
        looked_at = {ast.dump(n) for n in ast.walk(node.test) if isinstance(n, ast.Subscript)}
        if _is_safe(node.body, looked_at) and _is_safe(node.orelse, looked_at):
            return self.b.select(condition, self.number(node.body), self.number(node.orelse))
        return self._lazy(condition, node)

    def _lazy(self, condition: Value, node: ast.IfExp) -> Value:
        """Only the arm that is taken is computed."""
        b = self.b
        then, otherwise, done = b.label("then"), b.label("else"), b.label("done")
        b.branch(condition, then, otherwise)
        b.begin(then)
        first = self.number(node.body)
        slot = b.slot(first.type.llvm, align=first.type.size)
        b.write(f"store {first.type.llvm} {first.text}, ptr {slot}, align {first.type.size}")
        b.jump(done)
        b.begin(otherwise)
        second = self.number(node.orelse)
        if second.type != first.type:
            raise NotNative("a conditional of two types")
        b.write(f"store {first.type.llvm} {second.text}, ptr {slot}, align {first.type.size}")
        b.jump(done)
        b.begin(done)
        text = b.let(f"load {first.type.llvm}, ptr {slot}, align {first.type.size}")
        return Value(text, first.type)

    def _number_attribute(self, node: ast.Attribute) -> Value:
        text = ast.unparse(node)
        if text in _NUMBERS:
            return constant(_NUMBERS[text], F64)
        if node.attr == "size" and isinstance(node.value, ast.Name):
            return self.b.product(self.array(node.value).shape)
        raise NotNative(f"the attribute {text}")

    def _number_call(self, node: ast.Call) -> Value:
        if node.keywords:
            raise NotNative(f"the call {ast.unparse(node)}")
        if isinstance(node.func, ast.Name) and node.func.id in self.operations:
            op, dtype = self.operations[node.func.id]
            operands = [self.number(each) for each in node.args]
            return scalar_operation(self.b, op, operands, scalar_of(dtype))
        name = ast.unparse(node.func)
        if name in ROUTINES:
            given = [self.arrays.get(getattr(each, "id", "")) for each in node.args]
            pairs = zip(given, node.args, strict=True)
            return call_routine(self.b, name, [a or self.number(each) for a, each in pairs])
        if name in FUNCTIONS:
            given = [self._array_or_number(each) for each in node.args]
            return call_generator(self.b, name, given)
        if name == "len" and len(node.args) == 1:
            return self.array(node.args[0]).shape[0]
        return named(self.b, name, [self.number(each) for each in node.args])

    def _array_or_number(self, node: ast.expr) -> Array | Value:
        known = self.arrays.get(getattr(node, "id", ""))
        return self.number(node) if known is None else known

    # -- arrays ------------------------------------------------------------------------------------

    def array(self, node: ast.expr) -> Array:
        """The array that a name stands for."""
        if isinstance(node, ast.Name) and node.id in self.arrays:
            return self.arrays[node.id]
        if isinstance(node, ast.Subscript):
            return self.part(node)
        raise NotNative(f"{ast.unparse(node)} where an array is asked for")

    def part(self, node: ast.Subscript) -> Array:
        """What an array has at its first positions: ``x[i]`` or ``x[i, ...]`` of a matrix."""
        array, parts = self.array(node.value), leading_positions(node)
        if len(parts) >= len(array.shape):
            raise NotNative("an element where an array is asked for")
        own, inner = array.shape[: len(parts)], array.shape[len(parts) :]
        offset = self._offset(parts, own)
        offset = self.b.arithmetic("*", offset, self.b.product(inner))
        pointer = self.b.element(array.pointer, array.type, offset)
        return array._replace(pointer=pointer, shape=inner)

    def _number_subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            axis = node.slice
            if isinstance(axis, ast.Constant) and isinstance(axis.value, int):
                return self.array(node.value.value).shape[axis.value]
        if isinstance(node.value, ast.Tuple):
            return self._choice([self.number(each) for each in node.value.elts], node.slice)
        array, place = self.place(node)
        return self.b.load(place, array.type, array.scope)

    def _choice(self, values: list[Value], position: ast.expr) -> Value:
        """One of some numbers."""
        at = self.integer(position)
        result = values[-1]
        for number, value in list(enumerate(values))[-2::-1]:
            result = self.b.select(self.b.compare("==", at, constant(number, I64)), value, result)
        return result

    def place(self, node: ast.Subscript) -> tuple[Array, str]:
        """Address of an element."""
        array, parts = self.array(node.value), leading_positions(node)
        if len(parts) != len(array.shape):
            raise NotNative("a selection of more than an element")
        offset = self._offset(parts, array.shape)
        return array, self.b.element(array.pointer, array.type, offset)

    def _offset(self, parts: Sequence[ast.expr], lengths: Sequence[Value]) -> Value:
        """How many elements there are before a position along the first axes."""
        offset = constant(0, I64)
        for part, length in zip(parts, lengths, strict=True):
            position = self._position(self.integer(part), length)
            offset = self.b.arithmetic("*", offset, length) if offset.text != "0" else offset
            offset = position if offset.text == "0" else self.b.arithmetic("+", offset, position)
        return offset

    def _position(self, position: Value, length: Value) -> Value:
        """A position; one below zero is counted from the end."""
        if position.position:
            return position
        negative = self.b.compare("<", position, constant(0, I64))
        moved = self.b.let(f"add i64 {position.text}, {length.text}")
        chosen = self.b.select(negative, Value(moved, I64), position)
        return chosen._replace(position=True)


def leading_positions(node: ast.Subscript) -> list[ast.expr]:
    """The positions of a selection, without what takes the remaining axes whole."""
    index = node.slice
    parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    while parts and _takes_all(parts[-1]):
        parts.pop()
    return parts


def _takes_all(part: ast.expr) -> bool:
    if isinstance(part, ast.Slice):
        return part.lower is None and part.upper is None and part.step is None
    return isinstance(part, ast.Constant) and part.value is Ellipsis


def _is_safe(node: ast.expr, looked_at: frozenset | set = frozenset()) -> bool:
    """Whether an expression can be computed where it is not needed: it reads no array elsewhere."""
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript) and ast.dump(each) not in looked_at:
            return False
        if isinstance(each, ast.Call):
            return False
    return True
