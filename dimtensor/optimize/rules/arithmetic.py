"""Rewrites of arithmetic that give the same number for every operand, NaN and -0 included."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.scalar.basic import (
    AND,
    EQ,
    OR,
    Add,
    Invert,
    Mul,
    Neg,
    Pow,
    ScalarMaximum,
    ScalarMinimum,
    Sub,
    Switch,
    TrueDiv,
)

from dimtensor.graph.dtypes import is_float, is_inexact
from dimtensor.ops.constants import number_of
from dimtensor.ops.nodes import alloc, elementwise
from dimtensor.optimize.rules.table import ACCURATE, rule, scalar_op

if TYPE_CHECKING:
    from dimtensor.optimize.rules.driver import Rewriting


def _is_float(variable: Variable) -> bool:
    return is_inexact(variable.type.dtype)


def is_real(variable: Variable) -> bool:
    """Return whether a variable has real floats."""
    return is_float(variable.type.dtype)


def like(value: Any, variable: Variable) -> Variable:
    """Return a number as a constant that broadcasts against a variable."""
    data = np.full((1,) * variable.type.ndim, value, dtype=variable.type.dtype)
    return pt.constant(data, dtype=variable.type.dtype)


def operand_of(variable: Variable, *kinds: type) -> Variable | None:
    """Return the operand of an elementwise operation of some kinds, None for other variables."""
    return variable.owner.inputs[0] if isinstance(scalar_op(variable), kinds) else None


@rule(EQ)
def equal_to_itself(node: Apply, rw: Rewriting) -> Variable | None:
    """Fold the comparison of an integer scalar with itself, so that no check separates loops."""
    x, y = node.inputs
    if x is not y or x.type.ndim or _is_float(x):
        return None
    return pt.constant(np.True_)


@rule(Add, Mul, Sub, TrueDiv, Pow, ScalarMaximum, ScalarMinimum, Switch)
def numbers_of_one_dtype(node: Apply, rw: Rewriting) -> Variable | None:
    """Cast constants to the dtype of the result where the cast keeps their values."""
    out = node.outputs[0].type.dtype
    first = isinstance(node.op.scalar_op, Switch)
    operands = list(node.inputs)
    for at, v in enumerate(operands):
        if at < first or not isinstance(v, Constant) or v.type.dtype == out:
            continue
        with np.errstate(all="ignore"):
            data = v.data.astype(out)
        if (v.type.dtype != "bool" and np.can_cast(v.type.dtype, out)) or (data == v.data).all():
            operands[at] = pt.constant(data, dtype=out)
    if all(a is b for a, b in zip(operands, node.inputs, strict=True)):
        return None
    new = node.op(*operands)
    return new if new.type.dtype == out else None


@rule(Add, Mul, Sub, TrueDiv)
def neutral_number(node: Apply, rw: Rewriting) -> Variable | None:
    """``x * 1``, ``x / 1``, ``x - 0`` and ``x + -0.0`` are x.

    ``x + 0.0`` is not: it is 0.0 where x is -0.0. Of integers it is.
    """
    op, out = node.op.scalar_op, node.outputs[0]
    if isinstance(op, (Sub, TrueDiv)):
        kept = [node.inputs[0]] if _is_neutral(op, node.inputs[1]) else list(node.inputs)
    else:
        kept = [v for v in node.inputs if not _is_neutral(op, v)]
        kept = kept or list(node.inputs[:1])
    if len(kept) == len(node.inputs):
        return None
    if len(kept) == 1:
        return kept[0] if kept[0].type.dtype == out.type.dtype else pt.cast(kept[0], out.type.dtype)
    new = node.op(*kept)
    return new if new.type.dtype == out.type.dtype else None


def _is_neutral(op: Any, variable: Variable) -> bool:
    value = number_of(variable)
    if value is None or variable.type.dtype == "bool":
        return False
    if isinstance(op, (Mul, TrueDiv)):
        return value == 1
    if value != 0:
        return False
    if not _is_float(variable):
        return True
    if isinstance(value, complex):
        return False
    return (math.copysign(1.0, value) < 0) == isinstance(op, Add)


@rule(Mul)
def times_minus_one(node: Apply, rw: Rewriting) -> Variable | None:
    """``-1 * x`` is ``-x``."""
    if len(node.inputs) != 2:
        return None
    for value, x in (node.inputs, node.inputs[::-1]):
        if number_of(value) == -1 and x.type.dtype == node.outputs[0].type.dtype:
            return elementwise(pt.neg, x)
    return None


@rule(Mul)
def square(node: Apply, rw: Rewriting) -> Variable | None:
    """``x * x`` is the square of x; what a sum takes its factors from is written alike."""
    if len(node.inputs) == 2 and node.inputs[0] is node.inputs[1] and _is_float(node.outputs[0]):
        return pt.sqr(node.inputs[0])
    return None


@rule(Add, Sub, Mul, TrueDiv)
def two_signs(node: Apply, rw: Rewriting) -> Variable | None:
    """``x + -y`` is ``x - y``, ``x - -y`` is ``x + y``; a product or quotient of two negated
    operands is that of the operands.
    """
    if len(node.inputs) != 2 or not _is_float(node.outputs[0]):
        return None
    op, (x, y) = node.op.scalar_op, node.inputs
    minus_x, minus_y = operand_of(x, Neg), operand_of(y, Neg)
    if isinstance(op, Add):
        if minus_y is not None:
            return elementwise(pt.sub, x, minus_y)
        return None if minus_x is None else elementwise(pt.sub, y, minus_x)
    if minus_y is None:
        return None
    if isinstance(op, Sub):
        return elementwise(pt.add, x, minus_y)
    return None if minus_x is None else node.op(minus_x, minus_y)


@rule(Neg)
def sign_of_sign(node: Apply, rw: Rewriting) -> Variable | None:
    """``-(-x)`` is x."""
    return operand_of(node.inputs[0], Neg)


@rule(Mul, TrueDiv)
def sign_of_number(node: Apply, rw: Rewriting) -> Variable | None:
    """``-x * 2`` is ``x * -2``: the number takes the sign."""
    if len(node.inputs) != 2 or not is_real(node.outputs[0]):
        return None
    for at, x in enumerate(node.inputs):
        value, inside = number_of(node.inputs[1 - at]), operand_of(x, Neg)
        if value is not None and inside is not None and is_real(node.inputs[1 - at]):
            operands = [inside, inside]
            operands[1 - at] = like(-value, node.inputs[1 - at])
            return node.op(*operands)
    return None


@rule(Pow)
def power(node: Apply, rw: Rewriting) -> Variable | None:
    """Powers by 0, 1, -1, 2 and 0.5 are 1, x, 1 / x, a product and a root, as NumPy takes them.

    The 0th power of NaN is 1; the root of -0 is -0, and that of -inf is NaN.
    """
    x, exponent = node.inputs
    out, value = node.outputs[0], number_of(exponent)
    if value is None or x.type.dtype != out.type.dtype:
        return None
    if any(n == 1 and m != 1 for n, m in zip(x.type.shape, out.type.shape, strict=True)):
        return None
    if value == 1:
        return x
    if value == 2:
        return pt.sqr(x)
    if not is_real(x):
        return None
    if value == 0:
        return pt.second(x, like(1, x))
    if value == -1:
        return pt.true_div(like(1, x), x)
    if value == 0.5:
        return pt.sqrt(x)
    return None


@rule(Pow, kind=ACCURATE)
def inverse_root(node: Apply, rw: Rewriting) -> Variable | None:
    """``x**-0.5`` is 1 through a root, but for the last digit.

    It is inf at -0 and 0 at -inf, where the root is -0 and NaN.
    """
    x, exponent = node.inputs
    if number_of(exponent) != -0.5 or not is_real(x) or x.type.dtype != node.outputs[0].type.dtype:
        return None
    own = pt.or_(pt.eq(x, like(0, x)), pt.eq(x, like(-np.inf, x)))
    return pt.true_div(like(1, x), pt.switch(own, pt.abs(x), pt.sqrt(x)))


@rule(Switch)
def arm(node: Apply, rw: Rewriting) -> Variable | None:
    """Replace a selection with a constant condition, or with equal arms, by the arm."""
    condition, then, otherwise = node.inputs
    out = node.outputs[0]
    chosen: Variable | None = None
    if then is otherwise:
        chosen = then
    elif isinstance(condition, Constant):
        if np.all(condition.data):
            chosen = then
        elif not np.any(condition.data):
            chosen = otherwise
    if chosen is None:
        return None
    if chosen.type.dtype != out.type.dtype:
        chosen = pt.cast(chosen, out.type.dtype)
    if all(n != 1 or m == 1 for n, m in zip(chosen.type.shape, out.type.shape, strict=True)):
        return chosen
    return alloc(chosen, *(rw.length(out, axis) for axis in range(out.type.ndim)))


@rule(Switch)
def condition_turned(node: Apply, rw: Rewriting) -> Variable | None:
    """Exchange the arms of a selection by a negated condition."""
    condition, then, otherwise = node.inputs
    inside = operand_of(condition, Invert)
    if inside is None or inside.type.dtype != "bool":
        return None
    return elementwise(pt.switch, inside, otherwise, then)


@rule(AND, OR)
def known_conditions(node: Apply, rw: Rewriting) -> Variable | None:
    """Drop constant True from conjunctions, and constant False from disjunctions."""
    if node.outputs[0].type.dtype != "bool":
        return None
    neutral = isinstance(node.op.scalar_op, AND)
    kept = list(dict.fromkeys(v for v in node.inputs if number_of(v) is not neutral))
    if len(kept) == len(node.inputs):
        return None
    if not kept:
        return node.inputs[0]
    return kept[0] if len(kept) == 1 else node.op(*kept)


@rule(AND, OR)
def condition_and_its_negation(node: Apply, rw: Rewriting) -> Variable | None:
    """Fold a condition or its negation to True, and a condition and its negation to False."""
    for one, other in (node.inputs, node.inputs[::-1]):
        if operand_of(other, Invert) is one is not None and one.type.dtype == "bool":
            return pt.second(one, like(isinstance(node.op.scalar_op, OR), one))
    return None
