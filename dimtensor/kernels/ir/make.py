"""Expressions with the dtypes that follow from those of their operands."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from dimtensor.caches import bounded
from dimtensor.graph.dtypes import is_float, is_integer
from dimtensor.kernels.ir.nodes import Call, Const, Expression, Op
from dimtensor.ops.facts import facts_named

TRUE, FALSE = Const(True, "bool"), Const(False, "bool")
# functions of numbers that give a truth value
_TESTS = frozenset({"isnan", "isfinite", "isinf"})
COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!="})
_MANY = 2**31
# arithmetic of known integers, and the operands that change nothing
_FOLDED: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "min": min, "max": max,
}  # fmt: skip
_NEUTRAL = {"+": 0, "-": 0, "*": 1, "//": 1}
# how many operands each operation takes, at least and at most
ARITIES: dict[str, tuple[int, int]] = {
    **dict.fromkeys([*COMPARISONS, "-", "/", "//", "%", "^"], (2, 2)),
    **dict.fromkeys(["+", "*", "&", "|", "and", "or", "min", "max"], (2, _MANY)),
    **dict.fromkeys([*_TESTS, "abs", "neg", "not", "cast"], (1, 1)),
    "select": (3, 3),
    "choice": (2, _MANY),
}


def integer(value: int) -> Const:
    """Make a length or a position."""
    return Const(value, "int64")


ZERO, ONE = integer(0), integer(1)


def number(value: Any, dtype: str) -> Const:
    """Make a number of exactly a dtype."""
    return Const(np.asarray(value, dtype=dtype).item(), dtype)


def known(expression: Expression) -> int | None:
    """Return the value of a constant length or position, None for others."""
    if not isinstance(expression, Const) or not is_integer(expression.dtype):
        return None
    return expression.value if expression.value >= 0 else None


def bound(expression: Expression) -> int | None:
    """Return the largest value that a length may have, None if nothing is known of it."""
    if isinstance(expression, Op) and expression.op == "min":
        known_ones = [n for n in map(bound, expression.operands) if n is not None]
        return min(known_ones, default=None)
    if isinstance(expression, Op) and expression.op == "//":
        length, by = (known(each) for each in expression.operands)
        return length // by if length is not None and by else None
    return known(expression)


def known_product(factors: Sequence[Expression]) -> int | None:
    """Return the product of lengths, None if one of them is not known."""
    found = 1
    for factor in factors:
        length = known(factor)
        if length is None:
            return None
        found *= length
    return found


def is_zero(expression: Expression) -> bool:
    """Return whether an expression is the number 0, without a sign."""
    if not isinstance(expression, Const) or expression.value != 0:
        return False
    return not isinstance(expression.value, float) or math.copysign(1, expression.value) > 0


@bounded(1024)
def promoted(*dtypes: str) -> str:
    """Return the common dtype of some dtypes, as NumPy promotes them."""
    return str(np.result_type(*dtypes).name)


def result_dtype(op: str, dtypes: Sequence[str]) -> str:
    """Return the dtype of an operation."""
    if op in COMPARISONS or op in ("and", "or", "not") or op in _TESTS:
        return "bool"
    if op in ("select", "choice"):
        return promoted(*dtypes[1:])
    if op in ("&", "|", "^", "min", "max", "abs"):
        return promoted(*dtypes)
    dtype = promoted(*("int64" if each == "bool" else each for each in dtypes))
    return "float64" if op == "/" and is_integer(dtype) else dtype


def op(name: str, *operands: Expression) -> Expression:
    """Make an operation, see :class:`~dimtensor.kernels.ir.nodes.Op`.

    That of lengths and positions that are known is a number.

    Examples
    --------
    >>> from dimtensor.kernels.ir.nodes import Var
    >>> n = Var("n", "int64")
    >>> op("+", integer(2), integer(3)), op("*", n, ONE) == n
    (Const(value=5, dtype='int64'), True)
    """
    if name in _FOLDED and len(operands) == 2:
        a, b = operands
        if isinstance(a, Const) and isinstance(b, Const) and a.dtype == b.dtype == "int64":
            if b.value or name != "//":
                return integer(_FOLDED[name](a.value, b.value))
        elif a.dtype == "int64" and _changes_nothing(b, name):
            return a
        elif b.dtype == "int64" and name in "+*" and _changes_nothing(a, name):
            return b
    return Op(name, operands, result_dtype(name, [each.dtype for each in operands]))


def _changes_nothing(operand: Expression, name: str) -> bool:
    """Return whether an operand is the integer that is neutral to an operation."""
    if not isinstance(operand, Const) or not is_integer(operand.dtype):
        return False
    return operand.value == _NEUTRAL.get(name)


def call(function: str, operand: Expression) -> Call:
    """Call a function of one float; an integer is converted to double precision."""
    dtype = operand.dtype
    return Call(function, (operand,), dtype if is_float(dtype) else "float64")


def is_function(node: Expression) -> TypeGuard[Call]:
    """Return whether an expression calls a function of numbers, not a routine."""
    return isinstance(node, Call) and facts_named(node.function) is not None


def cast(operand: Expression, dtype: str) -> Op:
    return Op("cast", (operand,), dtype)


def select(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    return op("select", condition, then, otherwise)


def product(factors: Sequence[Expression]) -> Expression:
    """Multiply lengths."""
    if len(factors) < 2:
        return factors[0] if factors else ONE
    return op("*", *factors)
