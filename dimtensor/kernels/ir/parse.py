"""From the syntax tree of Python to loops: for algorithms that are written by hand.

Dtypes are inferred in one pass, because every variable is assigned before it is read and keeps its
dtype.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence

from dimtensor.kernels.ir.errors import NotNative
from dimtensor.kernels.ir.make import ZERO, call, cast, op
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Allocate,
    Array,
    Assign,
    Body,
    Call,
    Carry,
    Const,
    Expression,
    For,
    If,
    Load,
    Statement,
    Store,
    Var,
    While,
)
from dimtensor.ops.facts import facts_named

_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.FloorDiv: "//", ast.Mod: "%", ast.Eq: "==", ast.NotEq: "!=",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.And: "and", ast.Or: "or",
    ast.USub: "neg", ast.Not: "not",
}  # fmt: skip
_NUMBERS = {"np.nan": math.nan, "np.inf": math.inf, "math.pi": math.pi}
_DTYPES = {bool: "bool", int: "int64", float: "float64"}
_CASTS = frozenset({"np.float64", "np.float32", "np.int64", "np.int32"})
_BUILTIN = {"abs": 1, "min": 2, "max": 2, "math.isfinite": 1}


class Parser:
    """Parser of statements.

    Parameters
    ----------
    names : mapping of str to Expression
        What names stand for at first: arrays and numbers.
    functions : mapping of str to str
        Functions by name, with the dtype that they give.
    """

    def __init__(self, names: Mapping[str, Expression], functions: Mapping[str, str]):
        self.names: dict[str, Expression] = dict(names)
        self.functions = functions
        self._levels: dict[str, int] = {}
        self._depth = 0

    # -- names -------------------------------------------------------------------------------------

    def fresh(self, name: str) -> str:
        """Return the new name of a variable or an array of the source."""
        return name

    def assign(self, name: str, value: Expression) -> Statement:
        """Give a name a number."""
        known = self.names.get(name)
        if known is None:
            known = self.names[name] = Var(self.fresh(name), value.dtype)
            self._levels[name] = self._depth
        if not isinstance(known, Var):
            raise NotNative("a name of two kinds")
        carried = self._levels.get(name, self._depth) < self._depth
        return Carry(known, value) if carried else Assign(known, value)

    def make(self, name: str, dtype: str, rank: int) -> Array:
        """Give a name an array."""
        if name in self.names:
            raise NotNative("an array that is made in several places")
        array = self.names[name] = Array(self.fresh(name), dtype, rank)
        return array

    # -- statements --------------------------------------------------------------------------------

    def statements(self, nodes: Sequence[ast.stmt]) -> list[Statement]:
        """Parse statements in order."""
        return [each for node in nodes for each in self.statement(node)]

    def block(self, nodes: Sequence[ast.stmt]) -> Body:
        """Parse the statements inside of a loop or a branch."""
        self._depth += 1
        found = tuple(self.statements(nodes))
        self._depth -= 1
        return found

    def statement(self, node: ast.stmt) -> list[Statement]:
        """Parse a statement; empty for docstrings."""
        match node:
            case ast.Expr(ast.Constant()):
                return []
            case ast.Assign([ast.Name(name)], value):
                return [self.definition(name, value)]
            case ast.Assign([ast.Subscript() as target], value):
                return [Store(self.element(target), self.number(value))]
            case ast.AugAssign(ast.Name(name), operator, value):
                total = self.variable(name)
                assert isinstance(total, Var)
                return [Accumulate(_OPERATORS[type(operator)], total, self.number(value))]
            case ast.AugAssign(ast.Subscript() as target, operator, value):
                element = self.element(target)
                return [Accumulate(_OPERATORS[type(operator)], element, self.number(value))]
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), ends), body):
                return [self._for(name, ends, body)]
            case ast.While(test, body):
                return [While(self.number(test), self.block(body))]
            case ast.If(test, body, orelse):
                return [If(self.number(test), self.block(body), self.block(orelse))]
        raise NotNative(f"a statement {type(node).__name__}: {ast.unparse(node)}")

    def definition(self, name: str, node: ast.expr) -> Statement:
        """Parse the assignment of a number, or of a new array."""
        match node:
            case ast.Call(
                ast.Attribute(ast.Name("np"), "empty"), [shape], [ast.keyword("dtype", dtype)]
            ):
                lengths = self.shape(shape)
                return Allocate(self.make(name, self.dtype(dtype), len(lengths)), lengths)
        return self.assign(name, self.number(node))

    def dtype(self, node: ast.expr) -> str:
        """Parse a dtype."""
        return ast.unparse(node).removeprefix("np.")

    def shape(self, node: ast.expr) -> tuple[Expression, ...]:
        """Parse the lengths of an array."""
        return tuple(map(self.number, node.elts if isinstance(node, ast.Tuple) else [node]))

    def _for(self, name: str, ends: Sequence[ast.expr], body: Sequence[ast.stmt]) -> Statement:
        given = [self.number(each) for each in ends[:2]]
        start, stop = given if len(given) > 1 else (ZERO, *given)
        step = ast.literal_eval(ends[2]) if len(ends) > 2 else 1
        before = self.names.get(name)
        if isinstance(before, Array):
            raise NotNative("a name of two kinds")
        counter = self.names[name] = Var(self.fresh(name), "int64")
        inside = self.block(body)
        del self.names[name]
        if before is not None:
            self.names[name] = before
        return For(counter, stop, inside, start, step)

    # -- expressions -------------------------------------------------------------------------------

    def number(self, node: ast.expr) -> Expression:
        """Parse a number."""
        match node:
            case ast.Constant(bool() | int() | float() as value):
                return Const(value, _DTYPES[type(value)])
            case ast.Name(name):
                return self.variable(name)
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp(operator, operand) if type(operator) in _OPERATORS:
                return op(_OPERATORS[type(operator)], self.number(operand))
            case ast.Compare(left, [operator], [right]) if type(operator) in _OPERATORS:
                return op(_OPERATORS[type(operator)], self.number(left), self.number(right))
            case ast.BoolOp(operator, values):
                return op(_OPERATORS[type(operator)], *map(self.number, values))
            case ast.IfExp(test, body, orelse):
                return op("select", *map(self.number, (test, body, orelse)))
            case ast.Attribute() if (text := ast.unparse(node)) in _NUMBERS:
                return Const(_NUMBERS[text], "float64")
            case ast.Subscript():
                return self.element(node)
            case ast.Call():
                return self.call(node)
        raise NotNative(f"an expression {type(node).__name__}: {ast.unparse(node)}")

    def variable(self, name: str) -> Expression:
        """Return what a name of a number stands for."""
        known = self.names.get(name)
        if known is None or known.rank:
            raise NotNative(f"the name {name} where a number is asked for")
        return known

    def _binary(self, node: ast.BinOp) -> Expression:
        # a sum of a thousand terms is a tree a thousand deep, to the left
        operations = [node]
        while isinstance(operations[-1].left, ast.BinOp):
            operations.append(operations[-1].left)
        result = self.number(operations[-1].left)
        for each in reversed(operations):
            result = self.combined(each.op, result, self.number(each.right))
        return result

    def combined(self, operator: ast.operator, a: Expression, b: Expression) -> Expression:
        """Combine two numbers by an operator."""
        if type(operator) not in _OPERATORS:
            raise NotNative(f"the operator {type(operator).__name__}")
        return op(_OPERATORS[type(operator)], a, b)

    def call(self, node: ast.Call) -> Expression:
        """Parse a call of a function."""
        name = ast.unparse(node.func)
        if name in self.functions:
            return Call(name, tuple(map(self.operand, node.args)), self.functions[name])
        operands = [self.number(each) for each in node.args]
        module, _, function = name.rpartition(".")
        if name in _CASTS and len(operands) == 1:
            return cast(operands[0], function)
        if _BUILTIN.get(name) == len(operands):
            return op(function, *operands)
        if module in ("np", "math") and len(operands) == 1 and facts_named(function) is not None:
            return call(function, *operands)
        raise NotNative(f"the function {name} of {len(operands)} operands")

    def operand(self, node: ast.expr) -> Expression:
        """Parse an argument: a number or an array."""
        if isinstance(node, ast.Name) and isinstance(self.names.get(node.id), Array):
            return self.array(node)
        return self.number(node)

    # -- arrays ------------------------------------------------------------------------------------

    def array(self, node: ast.expr) -> Array:
        """Return the array of a name."""
        known = self.names.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(known, Array):
            raise NotNative(f"{ast.unparse(node)} where an array is asked for")
        return known

    def element(self, node: ast.Subscript) -> Load:
        """Parse an element of an array."""
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        array, index = self.selection(node.value, parts)
        if len(index) != array.rank:
            raise NotNative("a selection of more than an element")
        return Load(array, index)

    def selection(
        self, node: ast.expr, parts: Sequence[ast.expr]
    ) -> tuple[Array, tuple[Expression, ...]]:
        """Parse an array and positions in it."""
        return self.array(node), tuple(map(self.number, parts))


def parsed_number(text: str, names: Mapping[str, Expression]) -> Expression:
    """Parse an expression of numbers with names.

    Raises
    ------
    NotNative
        If it is not a number.
    """
    return Parser(names, {}).number(ast.parse(text, mode="eval").body)
