"""Scalar operations as expressions that need no function of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

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

# class name of the scalar op → operation on operands of float64
_FLOAT = {
    "Sub": "-", "TrueDiv": "/", "Neg": "neg", "Sqrt": "sqrt", "Exp": "exp", "Log": "log",
    "Log1p": "log1p", "Expm1": "expm1", "Sin": "sin", "Cos": "cos", "Tanh": "tanh", "Abs": "abs",
}  # fmt: skip
_NARY = {"Add": "+", "Mul": "*"}
_MEETING = frozenset({"Add", "Mul", "Sub", "TrueDiv", "Maximum", "Minimum"})
_COMPARE = {"LT": "<", "GT": ">", "LE": "<=", "GE": ">=", "EQ": "==", "NEQ": "!="}
_BOOL = {"AND": "&", "OR": "|", "XOR": "^"}


# scalar operations that are cheaper to repeat than to store and load
CHEAP = frozenset(
    {"Abs", "Add", "AND", "Cast", "EQ", "GE", "GT", "Identity", "Invert", "IsInf", "IsNan", "LE"}
    | {"LT", "Maximum", "Minimum", "Mul", "Neg", "NEQ", "OR", "Reciprocal", "Second", "Sqr"}
    | {"Sqrt", "Sub", "Switch", "TrueDiv", "XOR"}
)
# those that also take no longer than a sum
QUICK = CHEAP - {"Reciprocal", "Sqrt", "TrueDiv"}
# of the expensive operations, those that do not keep LLVM from vectorising the loop around them:
# arithmetic (see native.elementary), and functions of which it knows that it may call them for each
# number of a vector
_WIDENED = frozenset(
    {"Exp", "Log", "Log1p", "Sigmoid", "Softplus", "Sign", "Floor", "Ceil", "Trunc", "Clip"}
    | {"RoundHalfToEven", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh", "ArcSin", "ArcCos"}
    | {"ArcTan", "Exp2", "Log2", "Log10", "Pow", "IntDiv", "Mod"}
)


def is_call(scalar_op: Any) -> bool:
    """Whether a scalar op is a call that keeps LLVM from vectorising what is around it."""
    name = type(scalar_op).__name__
    return name not in CHEAP and name not in _WIDENED


def meeting_dtype(scalar_op: Any, at: int, dtypes: Sequence[str], out: str) -> str | None:
    """The dtype in which an operand meets the others, if that is another one than its own.

    All numbers of a dtype can be written in the one in which it meets others.
    """
    name = type(scalar_op).__name__
    if name in _MEETING or (name == "Switch" and at):
        dtype = out
    elif name in _COMPARE:
        dtype = np.result_type(*dtypes).name
    else:
        return None
    return dtype if dtype != dtypes[at] and np.can_cast(dtypes[at], dtype) else None


def expression(
    scalar_op: Any, operands: Sequence[Expression], dtypes: Sequence[str], out: str
) -> Expression | None:
    """A scalar op of operands; None where PyTensor's own numba function has to be called."""
    name = type(scalar_op).__name__
    if name == "Second":
        return operands[1] if dtypes[1] == out else None
    if name == "Cast":
        return _cast(operands[0], dtypes[0], out)
    if name in _COMPARE and set(dtypes) <= {"float64", "int64"}:
        return op(_COMPARE[name], *operands)
    if name in _BOOL and set(dtypes) == {"bool"}:
        return Op(_BOOL[name], tuple(operands), "bool")
    if name == "Invert" and dtypes[0] == "bool":
        return op("not", operands[0])
    if name == "Switch" and dtypes[0] == "bool" and dtypes[1] == dtypes[2] == out:
        return select(*operands)
    if name == "IsNan" and dtypes[0] == "float64":
        return op("!=", operands[0], operands[0])
    if name in _MEETING and out in ("float64", "int64"):
        converted = [_cast(x, dtype, out) for x, dtype in zip(operands, dtypes, strict=True)]
        if all(each is not None for each in converted):
            return _arithmetic(name, converted, out)  # type: ignore[arg-type]
    if set(dtypes) == {out} and out in ("float64", "int64"):
        return _arithmetic(name, operands, out)
    return None


def _arithmetic(name: str, operands: Sequence[Expression], out: str) -> Expression | None:
    first = operands[0]
    if name in _NARY:
        return op(_NARY[name], *operands) if len(operands) > 1 else first
    if name == "Sqr":
        return op("*", first, first)
    if name == "Identity":
        return first
    if name in ("Sub", "Neg", "Abs"):
        return op(_FLOAT[name], *operands)
    if name in ("Maximum", "Minimum"):
        better = op(">" if name == "Maximum" else "<", *operands)
        if out == "float64":  # NaN of either operand goes through
            better = op("or", better, op("!=", first, first))
        return select(better, *operands)
    if out == "float64" and name == "Reciprocal":
        return op("/", number(1.0, out), first)
    if out == "float64" and name in _FLOAT:
        return op(_FLOAT[name], *operands)
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
    """What a reduction starts from."""
    if reduction == "Add":
        return number(0, dtype)
    if reduction == "Mul":
        return number(1, dtype)
    if reduction in ("AND", "OR"):
        return number(reduction == "AND", "bool")
    lowest = reduction == "Maximum"
    if dtype.startswith("float"):
        return number(-math.inf if lowest else math.inf, dtype)
    if dtype == "bool":
        return number(not lowest, dtype)
    info = np.iinfo(dtype)
    return number(info.min if lowest else info.max, dtype)


def combine(reduction: str, total: Var | Load, value: Expression, dtype: str) -> Statement:
    """One step of a reduction."""
    if reduction in _NARY:
        return Accumulate(_NARY[reduction], total, value)
    if reduction in ("AND", "OR"):  # `and` would be a jump, and the loop none that vectorises
        new: Expression = op(_BOOL[reduction], total, value)
    else:
        better = op(">" if reduction == "Maximum" else "<", value, total)
        if dtype.startswith("float"):
            better = op("or", better, op("!=", value, value))
        new = select(better, value, total)
    return Carry(total, new) if isinstance(total, Var) else Store(total, new)
