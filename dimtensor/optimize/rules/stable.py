"""Formulas that are written in a way that keeps digits.

NaN stays NaN. Of everything else a result is the value of the formula, also where the formula as it
was written overflows, or loses digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.scalar.basic import Add, Exp, Log, Log1p, Mul, Neg, Sub, Switch, TrueDiv
from pytensor.scalar.math import Sigmoid
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.math import Sum

from dimtensor.ops.along import LogSumExp
from dimtensor.ops.constants import number_of
from dimtensor.optimize.rules.arithmetic import is_real, operand_of
from dimtensor.optimize.rules.table import ACCURATE, rule, scalar_op

if TYPE_CHECKING:
    from dimtensor.optimize.rules.driver import Rewriting


def _one_and(node: Apply, kind: type) -> Variable | None:
    """Return the operand that is added to 1, or subtracted from it."""
    if not isinstance(node.op.scalar_op, kind) or len(node.inputs) != 2:
        return None
    pairs = [node.inputs] if kind is Sub else [node.inputs, node.inputs[::-1]]
    for one, other in pairs:
        if number_of(one) == 1 and other.type.dtype == node.outputs[0].type.dtype:
            return other
    return None


def _inside(variable: Variable, kind: type) -> Variable | None:
    """X where a variable is ``1 + x``, or ``1 - x``."""
    node = variable.owner
    if scalar_op(variable) is None or not is_real(variable):
        return None
    return _one_and(node, kind)


@rule(Log, kind=ACCURATE)
def log_of_one_and(node: Apply, rw: Rewriting) -> Variable | None:
    """``log(1 + x)`` is ``log1p(x)``, ``log(1 - x)`` is ``log1p(-x)``: digits of small x count."""
    x = node.inputs[0]
    above, below = _inside(x, Add), _inside(x, Sub)
    if above is not None:
        return pt.log1p(above)
    return None if below is None else pt.log1p(pt.neg(below))


@rule(Log1p, kind=ACCURATE)
def log_of_one_and_exp(node: Apply, rw: Rewriting) -> Variable | None:
    """``log1p(exp(x))`` is ``softplus(x)``, which does not overflow; ``log1p(-exp(x))`` is
    ``log1mexp(x)``, precise at both ends; ``log1p(-sigmoid(x))`` is ``-softplus(x)``.
    """
    x = node.inputs[0]
    if not is_real(x):
        return None
    inside = operand_of(x, Exp)
    if inside is not None:
        return pt.softplus(inside)
    minus = operand_of(x, Neg)
    if minus is None:
        return None
    inside = operand_of(minus, Exp)
    if inside is not None:
        return pt.log1mexp(inside)
    inside = operand_of(minus, Sigmoid)
    return None if inside is None else pt.neg(pt.softplus(inside))


@rule(Log, kind=ACCURATE)
def log_of_logistic(node: Apply, rw: Rewriting) -> Variable | None:
    """``log(sigmoid(x))`` is ``-softplus(-x)``."""
    x = node.inputs[0]
    inside = operand_of(x, Sigmoid) if is_real(x) else None
    return None if inside is None else pt.neg(pt.softplus(pt.neg(inside)))


@rule(Sub, kind=ACCURATE)
def exp_minus_one(node: Apply, rw: Rewriting) -> Variable | None:
    """``exp(x) - 1`` is ``expm1(x)``."""
    x, one = node.inputs
    inside = operand_of(x, Exp)
    if inside is None or number_of(one) != 1 or x.type.dtype != node.outputs[0].type.dtype:
        return None
    return pt.expm1(inside) if is_real(x) else None


@rule(TrueDiv, kind=ACCURATE)
def logistic(node: Apply, rw: Rewriting) -> Variable | None:
    """``1 / (1 + exp(-x))`` and ``exp(x) / (1 + exp(x))`` are ``sigmoid(x)``."""
    above, below = node.inputs
    other = _inside(below, Add)
    inside = None if other is None else operand_of(other, Exp)
    if inside is None or above.type.dtype != below.type.dtype:
        return None
    if above is other:
        return pt.sigmoid(inside)
    return pt.sigmoid(pt.neg(inside)) if number_of(above) == 1 else None


@rule(Mul, kind=ACCURATE)
def logistic_in_product(node: Apply, rw: Rewriting) -> Variable | None:
    """Simplify ``a / (1 + exp(x)) * exp(x)`` to ``a * sigmoid(x)``, and ``a * sigmoid(-x) *
    exp(x)``, too.
    """
    if not is_real(node.outputs[0]):
        return None
    for at, quotient in enumerate(node.inputs):
        minus = operand_of(quotient, Sigmoid)
        inside = None if minus is None else operand_of(minus, Neg)
        if inside is not None:
            rest = [v for k, v in enumerate(node.inputs) if k != at]
            found = next((v for v in rest if operand_of(v, Exp) is inside), None)
            if found is not None:
                rest.remove(found)
                return pt.mul(pt.sigmoid(inside), *rest) if rest else pt.sigmoid(inside)
        if not isinstance(scalar_op(quotient), TrueDiv):
            continue
        above, below = quotient.owner.inputs
        other = _inside(below, Add)
        inside = None if other is None else operand_of(other, Exp)
        if other is None or inside is None or other not in node.inputs:
            continue
        rest = [v for k, v in enumerate(node.inputs) if k != at]
        rest.remove(other)
        if quotient.type.dtype == other.type.dtype:
            return pt.mul(above, pt.sigmoid(inside), *rest)
    return None


@rule(Sub, kind=ACCURATE)
def one_minus_logistic(node: Apply, rw: Rewriting) -> Variable | None:
    """``1 - sigmoid(x)`` is ``sigmoid(-x)``."""
    other = _one_and(node, Sub)
    inside = None if other is None or not is_real(other) else operand_of(other, Sigmoid)
    return None if inside is None else pt.sigmoid(pt.neg(inside))


@rule(Log, kind=ACCURATE)
def log_of_sum_of_exp(node: Apply, rw: Rewriting) -> Variable | None:
    """``log(sum(exp(x)))`` is one operation, which subtracts the maximum and does not overflow."""
    total = node.inputs[0]
    made = total.owner
    if made is None or not isinstance(made.op, Sum) or not is_real(total):
        return None
    inside = operand_of(made.inputs[0], Exp)
    if inside is None or inside.type.dtype != total.type.dtype or _is_shifted(inside):
        return None
    axes = range(inside.type.ndim) if made.op.axis is None else made.op.axis
    if not axes or not all(inside.type.shape[axis] for axis in axes):
        return None
    return LogSumExp(axis % inside.type.ndim for axis in axes)(inside)


def _is_shifted(exponent: Variable) -> bool:
    """Return whether a selection, such as a finite maximum, is subtracted from an exponent."""
    if not isinstance(scalar_op(exponent), Sub):
        return False
    taken = exponent.owner.inputs[1]
    while taken.owner is not None and isinstance(taken.owner.op, DimShuffle):
        taken = taken.owner.inputs[0]
    return isinstance(scalar_op(taken), Switch)
