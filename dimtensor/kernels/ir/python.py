"""A kernel printed as Python: to be read, and to be compiled by numba.

Variables are numbered anew, by kind, in the order in which they occur.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dimtensor.graph.dtypes import is_float
from dimtensor.kernels.ir.growth import Grow
from dimtensor.kernels.ir.make import cast, is_zero
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Allocate,
    Array,
    Assign,
    Bind,
    Break,
    Call,
    Carry,
    Const,
    Continue,
    Expression,
    Fill,
    For,
    Foreign,
    Function,
    If,
    Length,
    Load,
    Op,
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

_INDENT = "    "
# how tightly operators bind
_SELECT, _NOT, _COMPARE, _UNARY, _ATOM = 0, 3, 4, 10, 20
_BINDING = {
    "or": 1, "and": 2, "<": _COMPARE, ">": _COMPARE, "<=": _COMPARE, ">=": _COMPARE,
    "==": _COMPARE, "!=": _COMPARE, "|": 5, "^": 6, "&": 7, "+": 8, "-": 8, "*": 9, "/": 9,
    "//": 9, "%": 9,
}  # fmt: skip
# built-in functions, functions that numba compiles best from the module `math`, and NumPy's
_BUILTIN = frozenset({"abs", "min", "max"})
_OF_MATH = frozenset({"sqrt", "exp", "expm1", "sin", "cos", "tanh", "ceil", "isfinite"})
_OF_NUMPY = _OF_MATH | {"exp2", "log", "log1p"}


def library_name(function: str, dtype: str) -> str | None:
    """Return the name of a function in Python's libraries, None if they lack it."""
    if function not in _OF_NUMPY or not is_float(dtype):
        return None
    return f"{'math' if function in _OF_MATH and dtype == 'float64' else 'np'}.{function}"


def global_name(function: str, dtypes: Sequence[str], dtype: str) -> str:
    """Return the global name of a function for operands of some dtypes.

    A name without dtypes is the function of doubles, unless it might be the name of a variable.
    """
    if facts_named(function) is None:
        return function
    is_plain = {*dtypes, dtype} == {"float64"} and function == function.rstrip("0123456789")
    return function if is_plain else "_".join((function, *dtypes, dtype))


def numpy_type(dtype: str) -> str:
    return "np.bool_" if dtype == "bool" else f"np.{dtype}"


class Printer:
    """Prints with the names that nodes have, or `anew` with others."""

    def __init__(self, anew: bool = False):
        self._anew = anew
        self._names: dict[str, str] = {}
        self._counters: dict[str, itertools.count[int]] = {}

    def name(self, name: str) -> str:
        if not self._anew:
            return name
        known = self._names.get(name)
        if known is None:
            kind = name.rstrip("0123456789")
            number = next(self._counters.setdefault(kind, itertools.count()))
            known = self._names[name] = f"{kind}{number}"
        return known

    # -- expressions -------------------------------------------------------------------------------

    def text(self, expression: Expression, binding: int = 0) -> str:
        """Source of an expression where what binds less than `binding` needs parentheses."""
        text, own = _EXPRESSIONS[type(expression)](self, expression)
        return f"({text})" if own < binding else text

    def listed(self, expressions: Iterable[Expression]) -> str:
        return ", ".join([self.text(each) for each in expressions])

    def _const(self, node: Const) -> tuple[str, int]:
        text, dtype = _number(node.value), node.dtype
        if dtype in ("float64", "int64", "bool"):
            return text, _UNARY if text[0] == "-" else _ATOM
        return f"np.{dtype}({text})", _ATOM

    def _var(self, node: Var) -> tuple[str, int]:
        return self.name(node.name), _ATOM

    def _selection(self, node: Load | Part) -> tuple[str, int]:
        return f"{self.name(node.array.name)}[{self.listed(node.index) or '()'}]", _ATOM

    def _length(self, node: Length) -> tuple[str, int]:
        return f"{self.name(node.array.name)}.shape[{node.axis}]", _ATOM

    def _op(self, node: Op) -> tuple[str, int]:
        op, operands = node.op, node.operands
        binding = _BINDING.get(op)
        if binding is not None:
            # numbers are combined from left to right, and a comparison is of two
            left = binding + (binding == _COMPARE)
            texts = [self.text(operands[0], left)]
            texts += [self.text(each, binding + 1) for each in operands[1:]]
            return f" {op} ".join(texts), binding
        rule = _OPERATIONS.get(op)
        if rule is not None:
            return rule(self, node)
        if op not in _BUILTIN:
            op = f"math.{op}" if op in _OF_MATH else f"np.{op}"
        return f"{op}({self.listed(operands)})", _ATOM

    def _cast(self, node: Op) -> tuple[str, int]:
        return f"{numpy_type(node.dtype)}({self.listed(node.operands)})", _ATOM

    def _neg(self, node: Op) -> tuple[str, int]:
        return f"-{self.text(node.operands[0], _UNARY)}", _UNARY

    def _not(self, node: Op) -> tuple[str, int]:
        return f"not {self.text(node.operands[0], _NOT)}", _NOT

    def _select(self, node: Op) -> tuple[str, int]:
        condition, then, otherwise = (self.text(each, _SELECT + 1) for each in node.operands)
        return f"{then} if {condition} else {otherwise}", _SELECT

    def _choice(self, node: Op) -> tuple[str, int]:
        at, *values = node.operands
        return f"({self.listed(values)},)[{self.text(at)}]", _ATOM

    def _call(self, node: Call) -> tuple[str, int]:
        operands = node.operands
        if (name := library_name(node.function, node.dtype)) is not None:
            operands = tuple(x if x.dtype == node.dtype else cast(x, node.dtype) for x in operands)
        else:
            name = global_name(node.function, [x.dtype for x in operands], node.dtype)
        return f"{name}({self.listed(operands)})", _ATOM

    def _reshaped(self, node: Reshaped) -> tuple[str, int]:
        return f"{self.text(node.source)}.reshape({self._shape(node.shape)})", _ATOM

    def _wrapped(self, node: Wrapped) -> tuple[str, int]:
        source = self.text(node.source)
        return {
            "copy": f"{source}.copy()",
            "box": f"np.asarray({source})",
            "unbox": f"np.asarray({source})[()]",
            "contiguous": f"np.ascontiguousarray({source})",
        }[node.how], _ATOM

    def _shape(self, lengths: Sequence[Expression]) -> str:
        return f"({self.listed(lengths)},)" if lengths else "()"

    # -- statements --------------------------------------------------------------------------------

    def lines(self, statements: Iterable[Statement], indent: str = "") -> list[str]:
        """Lines of statements; at least one."""
        lines: list[str] = []
        for each in statements:
            _STATEMENTS[type(each)](self, each, indent, lines)
        return lines or [f"{indent}pass"]

    def _assign(self, node: Any, indent: str, lines: list[str]) -> None:
        lines.append(f"{indent}{self.text(node.target)} = {self.text(node.value)}")

    def _bind(self, node: Bind, indent: str, lines: list[str]) -> None:
        lines.append(f"{indent}{self.name(node.array.name)} = {self.text(node.value)}")

    def _accumulate(self, node: Accumulate, indent: str, lines: list[str]) -> None:
        lines.append(f"{indent}{self.text(node.target)} {node.op}= {self.text(node.value)}")

    def _fill(self, node: Fill, indent: str, lines: list[str]) -> None:
        index = node.target.index if isinstance(node.target, Part) else ()
        name = node.target.array.name if isinstance(node.target, Part) else node.target.name
        at = ", ".join([*(self.text(each) for each in index), "..."])
        lines.append(f"{indent}{self.name(name)}[{at}] = {self.text(node.value)}")

    def _allocate(self, node: Allocate, indent: str, lines: list[str]) -> None:
        name, start = self.name(node.array.name), node.start
        shape, dtype = self._shape(node.shape), numpy_type(node.array.dtype)
        if start is None:
            made = f"np.empty({shape}, dtype={dtype})"
        elif is_zero(start):
            made = f"np.zeros({shape}, dtype={dtype})"
        else:
            made = f"np.full({shape}, {self.text(start)}, dtype={dtype})"
        lines.append(f"{indent}{name} = {made}")

    def _grow(self, node: Grow, indent: str, lines: list[str]) -> None:
        name, rows = self.name(node.array.name), self.text(node.shape[0])
        more = f"np.empty({self._shape(node.shape)}, dtype={numpy_type(node.array.dtype)})"
        lines.append(f"{indent}if {rows} > {name}.shape[0]:")
        lines.append(f"{indent}{_INDENT}{name} = np.concatenate(({name}, {more}))")

    def _for(self, node: For, indent: str, lines: list[str]) -> None:
        ends = [node.stop]
        if node.step != 1:
            ends = [node.start, node.stop, Const(node.step)]
        elif not is_zero(node.start):
            ends = [node.start, node.stop]
        name = self.name(node.counter.name)
        lines.append(f"{indent}for {name} in range({self.listed(ends)}):")
        lines += self.lines(node.body, indent + _INDENT)

    def _while(self, node: While, indent: str, lines: list[str]) -> None:
        lines.append(f"{indent}while {self.text(node.test)}:")
        lines += self.lines(node.body, indent + _INDENT)

    def _if(self, node: If, indent: str, lines: list[str]) -> None:
        lines.append(f"{indent}if {self.text(node.test)}:")
        lines += self.lines(node.body, indent + _INDENT)
        if node.orelse:
            lines.append(f"{indent}else:")
            lines += self.lines(node.orelse, indent + _INDENT)

    def _word(self, node: Statement, indent: str, lines: list[str]) -> None:
        lines.append(f"{indent}{type(node).__name__.lower()}")

    def _raise(self, node: Raise, indent: str, lines: list[str]) -> None:
        name = node.error.rpartition(":")[2]
        lines.append(f"{indent}raise {name}({node.message!r})")

    def _foreign(self, node: Foreign, indent: str, lines: list[str]) -> None:
        results = ", ".join([self.name(each.name) for each in node.results])
        lines.append(f"{indent}{results} = {node.function}({self.listed(node.operands)})")


def _number(value: Any) -> str:
    if isinstance(value, complex):  # -0.0 + 2.0j as Python writes it has a zero without its sign
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    return repr(value)


_EXPRESSIONS: dict[type, Callable[..., tuple[str, int]]] = {
    Const: Printer._const,
    Var: Printer._var,
    Array: Printer._var,
    Load: Printer._selection,
    Part: Printer._selection,
    Length: Printer._length,
    Op: Printer._op,
    Call: Printer._call,
    Reshaped: Printer._reshaped,
    Wrapped: Printer._wrapped,
}
_OPERATIONS: dict[str, Callable[..., tuple[str, int]]] = {
    "cast": Printer._cast,
    "neg": Printer._neg,
    "not": Printer._not,
    "select": Printer._select,
    "choice": Printer._choice,
}
_STATEMENTS: dict[type, Callable[..., None]] = {
    Assign: Printer._assign,
    Carry: Printer._assign,
    Store: Printer._assign,
    Bind: Printer._bind,
    Accumulate: Printer._accumulate,
    Fill: Printer._fill,
    Allocate: Printer._allocate,
    Grow: Printer._grow,
    For: Printer._for,
    While: Printer._while,
    If: Printer._if,
    Break: Printer._word,
    Continue: Printer._word,
    Raise: Printer._raise,
    Foreign: Printer._foreign,
}


def printed(function: Function) -> str:
    """Source of a kernel."""
    printer = Printer(anew=True)
    arguments = printer.listed(function.arguments)
    body = printer.lines(function.body, _INDENT)
    returned = "".join(f"{printer.text(each)}, " for each in function.results)
    return "\n".join(
        [f"def {function.name}({arguments}):", *body, f"{_INDENT}return ({returned})", ""]
    )
