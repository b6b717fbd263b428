"""From the syntax tree of Python to loops: for algorithms that are written by hand.

What may be written is in ``docs/design/native.md``. Dtypes are inferred in one pass, because every
variable is assigned before it is read and keeps its dtype.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any

from dimtensor.kernels.ir.errors import NotNative
from dimtensor.kernels.ir.make import call, cast, op, product
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Allocate,
    Array,
    Assign,
    Bind,
    Body,
    Break,
    Call,
    Carry,
    Const,
    Continue,
    Expression,
    Fill,
    For,
    Function,
    If,
    Length,
    Load,
    Part,
    Raise,
    Reshaped,
    Statement,
    Store,
    Var,
    While,
    Wrapped,
)
from dimtensor.ops.facts import facts_named

_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.FloorDiv: "//", ast.Mod: "%", ast.Eq: "==", ast.NotEq: "!=",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.And: "and", ast.Or: "or",
    ast.USub: "neg", ast.Not: "not",
}  # fmt: skip
_NUMBERS = {"np.nan": math.nan, "np.inf": math.inf, "math.pi": math.pi, "math.inf": math.inf}
_DTYPES = frozenset(
    {"float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16"}
    | {"uint8", "bool", "bool_", "complex128", "complex64"}
)
_PYTHON_DTYPES = {"float": "float64", "int": "int64", "bool": "bool"}
_BUILTIN = {"abs": 1, "min": 2, "max": 2}
# operations that NumPy and `math` have as functions, and NumPy's names of functions of C
_OPERATIONS = frozenset({"abs", "isnan", "isfinite", "isinf"})
_ALIASES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "fabs": "abs",
}  # fmt: skip
_NEW = ("np.empty", "np.zeros", "np.full")


class Parser:
    """Reads statements.

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
        self._counters: set[str] = set()
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
        if not isinstance(known, Var) or known.name in self._counters:
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
        return [each for node in nodes for each in self.statement(node)]

    def block(self, nodes: Sequence[ast.stmt]) -> Body:
        self._depth += 1
        found = tuple(self.statements(nodes))
        self._depth -= 1
        return found

    def statement(self, node: ast.stmt) -> list[Statement]:
        """Parse a statement; empty for docstrings."""
        match node:
            case ast.Pass() | ast.Expr(ast.Constant()):
                return []
            case ast.Assign([ast.Name(name)], value):
                return [self._definition(name, value)]
            case ast.Assign([ast.Subscript() as target], value):
                return [self._stored(target, value)]
            case ast.Assign([ast.Tuple() | ast.List()]) | ast.Assign([_, _, *_]):
                raise NotNative("an assignment to several names")
            case ast.Assign():
                raise NotNative("an assignment to something else")
            case ast.AugAssign():
                return [self._update(node)]
            case ast.For(target, ast.Call(ast.Name("range"), ends), body):
                return [self._for(target, ends, body)]
            case ast.For():
                raise NotNative("a loop over something else than a range")
            case ast.While(test, body):
                return [While(self.number(test), self.block(body))]
            case ast.If(test, body, orelse):
                return [If(self.number(test), self.block(body), self.block(orelse))]
            case ast.Break():
                return [Break()]
            case ast.Continue():
                return [Continue()]
            case ast.Raise():
                return [_error(node)]
            case ast.Expr():
                raise NotNative("a call for its effect")
            case ast.Return():
                raise NotNative("a return in the middle")
        raise NotNative(f"a statement {type(node).__name__}")

    def _definition(self, name: str, node: ast.expr) -> Statement:
        if isinstance(node, ast.Name) and isinstance(self.names.get(node.id), Array):
            source = self.array(node)
            if name in self.names:
                raise NotNative("a name that stands for several arrays")
            return Bind(self.make(name, source.dtype, source.rank), source)
        if isinstance(node, ast.Call):
            if (called := ast.unparse(node.func)) in _NEW:
                return self._new(name, node, called)
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("copy", "reshape"):
                value = self._view(node)
                return Bind(self.make(name, value.dtype, value.rank), value)
        return self.assign(name, self.number(node))

    def _new(self, name: str, node: ast.Call, called: str) -> Statement:
        given = [k.value for k in node.keywords if k.arg == "dtype"]
        if len(given) != 1:
            raise NotNative("an array without a dtype")
        dtype, shape = self.dtype(given[0]), self._shape(node.args[0])
        start: Expression | None = None if called == "np.empty" else Const(0, "int64")
        if called == "np.full":
            start = self.number(node.args[1])
        return Allocate(self.make(name, dtype, len(shape)), shape, start)

    def _view(self, node: ast.Call) -> Wrapped | Reshaped:
        assert isinstance(node.func, ast.Attribute)
        source = self.part(node.func.value)
        if node.func.attr == "copy":
            return Wrapped("copy", source)
        lengths = node.args[0] if len(node.args) == 1 else ast.Tuple(node.args, ast.Load())
        return Reshaped(source, self._shape(lengths))

    def dtype(self, node: ast.expr) -> str:
        name = ast.unparse(node).removeprefix("np.")
        return "bool" if name == "bool_" else name

    def _shape(self, node: ast.expr) -> tuple[Expression, ...]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(map(self.number, parts))

    def _stored(self, target: ast.Subscript, node: ast.expr) -> Statement:
        array, index = self._selected(target)
        if len(index) == array.rank:
            return Store(Load(array, index), self.number(node))
        value: Expression
        if isinstance(node, ast.Subscript) and not _is_choice(node):
            source, at = self._selected(node)
            value = Load(source, at) if len(at) == source.rank else Part(source, at)
        elif isinstance(node, ast.Name) and isinstance(self.names.get(node.id), Array):
            value = self.array(node)
        else:
            value = self.number(node)
        part = Part(array, index) if index else array
        if value.rank and (value.rank, value.dtype) != (part.rank, part.dtype):
            raise NotNative("an array that takes another of other dtype or axes")
        return Fill(part, value)

    def _update(self, node: ast.AugAssign) -> Statement:
        operator = _OPERATORS.get(type(node.op))
        if operator is None:
            raise NotNative(f"the operator {type(node.op).__name__}")
        if isinstance(node.target, ast.Name):
            target = self.names.get(node.target.id)
            if not isinstance(target, Var):
                raise NotNative(f"the name {node.target.id} where a number is asked for")
            return Accumulate(operator, target, self.number(node.value))
        if not isinstance(node.target, ast.Subscript):
            raise NotNative("an update of something else")
        array, index = self._selected(node.target)
        return Accumulate(operator, Load(array, index), self.number(node.value))

    def _for(
        self, target: ast.expr, ends: Sequence[ast.expr], body: Sequence[ast.stmt]
    ) -> Statement:
        if not isinstance(target, ast.Name):
            raise NotNative("a loop over something else than a range")
        given = [self.number(each) for each in ends]
        start = given[0] if len(given) > 1 else Const(0)
        stop = given[1] if len(given) > 1 else given[0]
        step = _whole(ends[2]) if len(ends) > 2 else 1
        before = self.names.get(target.id)
        if isinstance(before, Array):
            raise NotNative("a name of two kinds")
        counter = self.names[target.id] = Var(self.fresh(target.id), "int64")
        self._counters.add(counter.name)
        inside = self.block(body)
        self._counters.discard(counter.name)
        del self.names[target.id]
        if before is not None:
            self.names[target.id] = before
        return For(counter, stop, inside, start, step)

    # -- expressions -------------------------------------------------------------------------------

    def number(self, node: ast.expr) -> Expression:
        """Parse a number."""
        match node:
            case ast.Constant(bool() as value):
                return Const(value, "bool")
            case ast.Constant(int() as value):
                return Const(value, "int64")
            case ast.Constant(float() as value):
                return Const(value, "float64")
            case ast.Constant(value):
                raise NotNative(f"the constant {value!r}")
            case ast.Name(name):
                return self.variable(name)
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp(ast.UAdd(), operand):
                return self.number(operand)
            case ast.UnaryOp(operator, operand) if type(operator) in _OPERATORS:
                return op(_OPERATORS[type(operator)], self.number(operand))
            case ast.UnaryOp():
                raise NotNative("the inverse of bits")
            case ast.Compare(left, [operator], [right]) if type(operator) in _OPERATORS:
                return op(_OPERATORS[type(operator)], self.number(left), self.number(right))
            case ast.Compare():
                raise NotNative("a comparison of this kind")
            case ast.BoolOp(operator, values):
                return op(_OPERATORS[type(operator)], *map(self.number, values))
            case ast.IfExp(test, body, orelse):
                return op("select", *map(self.number, (test, body, orelse)))
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Call():
                return self.call(node)
        raise NotNative(f"an expression {type(node).__name__}")

    def variable(self, name: str) -> Expression:
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
            result = self._combined(each.op, result, self.number(each.right))
        return result

    def _combined(self, operator: ast.operator, a: Expression, b: Expression) -> Expression:
        if isinstance(operator, ast.Pow) and isinstance(b, Const) and b.value == 2:
            return op("*", a, a)
        if type(operator) not in _OPERATORS:
            raise NotNative(f"the operator {type(operator).__name__}")
        return op(_OPERATORS[type(operator)], a, b)

    def _attribute(self, node: ast.Attribute) -> Expression:
        text = ast.unparse(node)
        if text in _NUMBERS:
            return Const(_NUMBERS[text], "float64")
        if node.attr == "size":
            array = self.array(node.value)
            return product([Length(array, axis) for axis in range(array.rank)])
        raise NotNative(f"the attribute {text}")

    def _subscript(self, node: ast.Subscript) -> Expression:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
                return Length(self.array(node.value.value), node.slice.value)
        if isinstance(node.value, ast.Tuple):
            return op("choice", *map(self.number, (node.slice, *node.value.elts)))
        array, index = self._selected(node)
        if len(index) != array.rank:
            raise NotNative("a selection of more than an element")
        return Load(array, index)

    def call(self, node: ast.Call) -> Expression:
        name = ast.unparse(node.func)
        if node.keywords:
            raise NotNative(f"the call {ast.unparse(node)}")
        if name in self.functions:
            return Call(name, tuple(map(self._operand, node.args)), self.functions[name])
        if name == "len" and len(node.args) == 1:
            return Length(self.array(node.args[0]), 0)
        operands = [self.number(each) for each in node.args]
        module, _, function = name.rpartition(".")
        if len(operands) == 1 and module == "np" and function in _DTYPES:
            return cast(operands[0], "bool" if function == "bool_" else function)
        if len(operands) == 1 and name in _PYTHON_DTYPES:
            return cast(operands[0], _PYTHON_DTYPES[name])
        function = _ALIASES.get(function, function)
        if (module and function in _OPERATIONS) or _BUILTIN.get(name) == len(operands):
            return op(function, *operands)
        if module in ("np", "math") and len(operands) == 1 and facts_named(function) is not None:
            return call(function, *operands)
        raise NotNative(f"the function {name} of {len(operands)} operands")

    def _operand(self, node: ast.expr) -> Expression:
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

    def part(self, node: ast.expr) -> Array | Part:
        """Parse an array, or a part of one at leading positions."""
        if not isinstance(node, ast.Subscript):
            return self.array(node)
        array, index = self._selected(node)
        if len(index) == array.rank:
            raise NotNative("an element where an array is asked for")
        return Part(array, index) if index else array

    def _selected(self, node: ast.Subscript) -> tuple[Array, tuple[Expression, ...]]:
        """Parse an array and positions along its leading axes, without full slices."""
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        while parts and _takes_all(parts[-1]):
            parts.pop()
        return self.selection(node.value, parts)

    def selection(
        self, node: ast.expr, parts: Sequence[ast.expr]
    ) -> tuple[Array, tuple[Expression, ...]]:
        """Parse an array and positions in it."""
        array = self.array(node)
        if len(parts) > array.rank:
            raise NotNative("a selection of more than an element")
        return array, tuple(map(self.number, parts))


def _takes_all(part: ast.expr) -> bool:
    if isinstance(part, ast.Slice):
        return part.lower is None and part.upper is None and part.step is None
    return isinstance(part, ast.Constant) and part.value is Ellipsis


def _is_choice(node: ast.Subscript) -> bool:
    """Return whether a subscript selects one of some numbers, or a length."""
    return isinstance(node.value, (ast.Tuple, ast.Attribute))


def _whole(node: ast.expr) -> int:
    match node:
        case ast.Constant(int() as value):
            return value
        case ast.UnaryOp(ast.USub(), operand):
            return -_whole(operand)
    raise NotNative("a loop whose step is not a number")


def _error(node: ast.Raise) -> Raise:
    match node.exc:
        case ast.Call(ast.Name(error), [ast.Constant(str() as message)]):
            return Raise(error, message)
        case ast.Call(ast.Name(), [_]):
            raise NotNative("an error whose text is computed")
    raise NotNative("an error that is not one with a text")


def parsed(
    source: str, arguments: Sequence[tuple[str, int]], functions: Mapping[str, str]
) -> Function:
    """Parse a function of the language.

    Parameters
    ----------
    source : str
    arguments : sequence of (str, int)
        Dtype and rank of each argument.
    functions : mapping of str to str
        Functions that it calls, by name, with the dtypes of their results.

    Raises
    ------
    NotNative
        If the source is not in the language.
    """
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    names = [each.arg for each in node.args.args]
    arrays = [Array(name, *of) for name, of in zip(names, arguments, strict=True)]
    *body, last = node.body
    if not isinstance(last, ast.Return):
        raise NotNative("a function that does not end with its results")
    parser = Parser(dict(zip(names, arrays, strict=True)), functions)
    statements = parser.statements(body)
    results = tuple(_result(parser, each) for each in _listed(last.value))
    return Function(node.name, tuple(arrays), tuple(statements), results)


def parsed_number(text: str, names: Mapping[str, Expression]) -> Expression:
    """Parse an expression of numbers with names.

    Raises
    ------
    NotNative
        If it is not a number.
    """
    return Parser(names, {}).number(ast.parse(text, mode="eval").body)


def _listed(node: ast.expr | None) -> Sequence[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else []


def _result(parser: Parser, node: ast.expr) -> Expression:
    known: Any = parser.names.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(known, Array):
        return known
    match node:
        case ast.Call(ast.Attribute(source, "copy")):
            return Wrapped("copy", parser.part(source))
        case ast.Call(ast.Attribute(ast.Name("np"), "asarray"), [value]):
            return Wrapped("box", parser.number(value))
    return parser.number(node)
