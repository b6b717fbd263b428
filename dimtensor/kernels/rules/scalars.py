"""Scalar operations as expressions that need no function of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pytensor.scalar.basic import (
    Abs,
    Add,
    Cast,
    Identity,
    Invert,
    IsNan,
    Mul,
    Neg,
    Reciprocal,
    Second,
    Sqr,
    Sub,
    Switch,
    TrueDiv,
)

from dimtensor.graph.dtypes import is_float, neutral_extreme
from dimtensor.kernels.ir.make import cast, number, op, select
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Carry,
    Const,
    Expression,
    Load,
    Op,
    Statement,
    Store,
    Var,
)
from dimtensor.ops.facts import Facts, facts_of
from dimtensor.optimize.plan import UnsupportedGraph

# operations before one operand
_BEFORE = {Neg: "neg", Abs: "abs"}
# the extremes that comparisons choose
_EXTREMES = {">": "max", "<": "min"}


def reduction_of(scalar_op: Any) -> str:
    """Return the operation of a reduction: ``+ * & | max min``."""
    sign = facts_of(scalar_op).sign
    return _EXTREMES.get(sign, sign)


def meeting_dtype(scalar_op: Any, at: int, dtypes: Sequence[str], out: str) -> str | None:
    """Return the dtype to which an operand is converted, None if it keeps its own.

    The conversion keeps all numbers of the operand's dtype.
    """
    meets = facts_of(scalar_op).meets
    if meets == "own" or (meets == "arms" and not at):
        return None
    dtype = np.result_type(*dtypes).name if meets == "common" else out
    return dtype if dtype != dtypes[at] and np.can_cast(dtypes[at], dtype) else None


def expression(
    scalar_op: Any, operands: Sequence[Expression], dtypes: Sequence[str], out: str
) -> Expression | None:
    """Return a scalar op as an operation on operands, None if it is a function call."""
    kind, facts = type(scalar_op), facts_of(scalar_op)
    if kind is Second:
        return operands[1] if dtypes[1] == out else None
    if kind is Cast:
        return _cast(operands[0], dtypes[0], out)
    if facts.kind == "comparison" and set(dtypes) <= {"float64", "int64"}:
        return op(facts.sign, *operands)
    if facts.kind == "logic" and facts.sign and set(dtypes) == {"bool"}:
        return Op(facts.sign, tuple(operands), "bool")
    if kind is Invert and dtypes[0] == "bool":
        return op("not", operands[0])
    if kind is Switch and dtypes[0] == "bool" and dtypes[1] == dtypes[2] == out:
        return select(*operands)
    if kind is IsNan and dtypes[0] == "float64":
        return op("!=", operands[0], operands[0])
    if facts.kind in ("arithmetic", "extreme") and out in ("float64", "int64"):
        converted = [_cast(x, dtype, out) for x, dtype in zip(operands, dtypes, strict=True)]
        if all(each is not None for each in converted):
            return _arithmetic(kind, facts, converted, out)  # type: ignore[arg-type]
    if set(dtypes) == {out} and out in ("float64", "int64"):
        return _arithmetic(kind, facts, operands, out)
    return None


def _arithmetic(
    kind: type, facts: Facts, operands: Sequence[Expression], out: str
) -> Expression | None:
    first = operands[0]
    if kind in (Add, Mul):
        return op(facts.sign, *operands) if len(operands) > 1 else first
    if kind is Sqr:
        return op("*", first, first)
    if kind is Identity:
        return first
    if kind is Sub:
        return op("-", *operands)
    if kind in _BEFORE:
        return op(_BEFORE[kind], first)
    if facts.kind == "extreme":
        better = op(facts.sign, *operands)
        if out == "float64":  # NaN of either operand goes through
            better = op("or", better, op("!=", first, first))
        return select(better, *operands)
    if out == "float64" and kind is Reciprocal:
        return op("/", number(1.0, out), first)
    if out == "float64" and kind is TrueDiv:
        return op("/", *operands)
    return None


def _cast(operand: Expression, dtype: str, out: str) -> Expression | None:
    if dtype == out:
        return operand
    if out == "float64" and dtype in ("int64", "int32", "int8", "bool", "float32", "int16"):
        return cast(operand, out)
    if out == "int64" and dtype in ("bool", "int8", "int16", "int32"):
        return cast(operand, out)
    return None


def identity(reduction: str, dtype: str) -> Const:
    """Return the neutral element of a reduction."""
    if reduction in "+*":
        return number(int(reduction == "*"), dtype)
    if reduction in "&|":
        return number(reduction == "&", "bool")
    if dtype.startswith("complex"):
        raise UnsupportedGraph("extremes of complex numbers")
    return number(neutral_extreme(reduction == "max", dtype), dtype)


def combine(reduction: str, total: Var | Load, value: Expression, dtype: str) -> Statement:
    """One step of a reduction."""
    if reduction in "+*":
        return Accumulate(reduction, total, value)
    if reduction in "&|":  # `and` would be a jump, and the loop none that vectorizes
        if isinstance(total, Var):
            return Accumulate(reduction, total, value)
        return Store(total, op(reduction, total, value))
    better = op(">" if reduction == "max" else "<", value, total)
    if is_float(dtype):
        better = op("or", better, op("!=", value, value))
    new = select(better, value, total)
    return Carry(total, new) if isinstance(total, Var) else Store(total, new)
