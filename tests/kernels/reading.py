"""Kernels written as Python, for tests: what is printed of a kernel, and functions by hand."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from dimtensor.kernels.ir.errors import NotNative
from dimtensor.kernels.ir.make import cast, op, product
from dimtensor.kernels.ir.nodes import (
    Allocate,
    Array,
    Bind,
    Break,
    Const,
    Continue,
    Expression,
    Fill,
    Function,
    Length,
    Load,
    Part,
    Raise,
    Reshaped,
    Statement,
    Store,
    Wrapped,
)
from dimtensor.kernels.ir.parse import Parser

_PYTHON_DTYPES = {"float": "float64", "int": "int64", "bool": "bool"}
_DTYPES = frozenset(
    {"float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16"}
    | {"uint8", "bool", "bool_", "complex128", "complex64"}
)
_OPERATIONS = frozenset({"abs", "isnan", "isfinite", "isinf"})
_ALIASES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "fabs": "abs",
}  # fmt: skip
_NEW = ("np.empty", "np.zeros", "np.full")


class KernelParser(Parser):
    """Parser of all that the source of a kernel may have, and not only of templates."""

    def statement(self, node: ast.stmt) -> list[Statement]:
        match node:
            case ast.Pass():
                return []
            case ast.Assign([ast.Subscript() as target], value):
                return [self._stored(target, value)]
            case ast.Break():
                return [Break()]
            case ast.Continue():
                return [Continue()]
            case ast.Raise(ast.Call(ast.Name(error), [ast.Constant(str() as message)])):
                return [Raise(error, message)]
        return super().statement(node)

    def definition(self, name: str, node: ast.expr) -> Statement:
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
        return super().definition(name, node)

    def _new(self, name: str, node: ast.Call, called: str) -> Statement:
        (dtype,) = (self.dtype(k.value) for k in node.keywords if k.arg == "dtype")
        shape = self.shape(node.args[0])
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
        return Reshaped(source, self.shape(lengths))

    def dtype(self, node: ast.expr) -> str:
        return "bool" if (name := super().dtype(node)) == "bool_" else name

    def _stored(self, target: ast.Subscript, node: ast.expr) -> Statement:
        array, index = self._selected(target)
        if len(index) == array.rank:
            return Store(Load(array, index), self.number(node))
        value: Expression
        if isinstance(node, ast.Subscript) and not _is_choice(node):
            source, at = self._selected(node)
            value = Load(source, at) if len(at) == source.rank else Part(source, at)
        else:
            value = self.operand(node)
        return Fill(Part(array, index) if index else array, value)

    def number(self, node: ast.expr) -> Expression:
        match node:
            case ast.Attribute(source, "size"):
                array = self.array(source)
                return product([Length(array, axis) for axis in range(array.rank)])
            case ast.Attribute(ast.Name("math"), "inf"):
                return Const(float("inf"), "float64")
            case ast.Subscript(ast.Attribute(source, "shape"), ast.Constant(int() as axis)):
                return Length(self.array(source), axis)
            case ast.Subscript(ast.Tuple(values)):
                return op("choice", *map(self.number, (node.slice, *values)))
        return super().number(node)

    def combined(self, operator: ast.operator, a: Expression, b: Expression) -> Expression:
        if isinstance(operator, ast.Pow) and isinstance(b, Const) and b.value == 2:
            return op("*", a, a)
        return super().combined(operator, a, b)

    def call(self, node: ast.Call) -> Expression:
        name = ast.unparse(node.func)
        module, _, function = name.rpartition(".")
        if name == "len":
            return Length(self.array(node.args[0]), 0)
        if name in _PYTHON_DTYPES or (module == "np" and function in _DTYPES):
            dtype = _PYTHON_DTYPES.get(name, function)
            return cast(self.number(node.args[0]), "bool" if dtype == "bool_" else dtype)
        function = _ALIASES.get(function, function)
        if module and function in _OPERATIONS:
            return op(function, *map(self.number, node.args))
        if module and f"{module}.{function}" != name:
            named = ast.parse(f"{module}.{function}", mode="eval").body
            return super().call(ast.Call(named, node.args, []))
        return super().call(node)

    def part(self, node: ast.expr) -> Array | Part:
        """Parse an array, or a part of one at leading positions."""
        if not isinstance(node, ast.Subscript):
            return self.array(node)
        array, index = self._selected(node)
        return Part(array, index) if index else array

    def element(self, node: ast.Subscript) -> Load:
        array, index = self._selected(node)
        if len(index) != array.rank:
            raise NotNative("a selection of more than an element")
        return Load(array, index)

    def _selected(self, node: ast.Subscript) -> tuple[Array, tuple[Expression, ...]]:
        """Parse an array and positions along its leading axes, without full slices."""
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        while parts and _takes_all(parts[-1]):
            parts.pop()
        return self.selection(node.value, parts)


def _takes_all(part: ast.expr) -> bool:
    if isinstance(part, ast.Slice):
        return part.lower is None and part.upper is None and part.step is None
    return isinstance(part, ast.Constant) and part.value is Ellipsis


def _is_choice(node: ast.Subscript) -> bool:
    """Return whether a subscript selects one of some numbers, or a length."""
    return isinstance(node.value, (ast.Tuple, ast.Attribute))


def parsed(
    source: str, arguments: Sequence[tuple[str, int]], functions: Mapping[str, str]
) -> Function:
    """Parse the source of a kernel.

    Parameters
    ----------
    source : str
    arguments : sequence of (str, int)
        Dtype and rank of each argument.
    functions : mapping of str to str
        Functions that it calls, by name, with the dtypes of their results.
    """
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    names = [each.arg for each in node.args.args]
    arrays = [Array(name, *of) for name, of in zip(names, arguments, strict=True)]
    *body, last = node.body
    assert isinstance(last, ast.Return)
    parser = KernelParser(dict(zip(names, arrays, strict=True)), functions)
    statements = parser.statements(body)
    listed = last.value.elts if isinstance(last.value, ast.Tuple) else []
    results = tuple(_result(parser, each) for each in listed)
    return Function(node.name, tuple(arrays), tuple(statements), results)


def _result(parser: KernelParser, node: ast.expr) -> Expression:
    known: Any = parser.names.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(known, Array):
        return known
    match node:
        case ast.Call(ast.Attribute(source, "copy")):
            return Wrapped("copy", parser.part(source))
        case ast.Call(ast.Attribute(ast.Name("np"), "asarray"), [value]):
            return Wrapped("box", parser.number(value))
    return parser.number(node)
