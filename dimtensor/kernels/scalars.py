"""Scalar operations as Python expressions that numba compiles without a function of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

# class name of the scalar op → expression of its operands, all float64
_FLOAT = {
    "Sub": "({} - {})",
    "TrueDiv": "({} / {})",
    "Neg": "(-{})",
    "Reciprocal": "(1.0 / {})",
    "Sqrt": "math.sqrt({})",
    "Exp": "math.exp({})",
    "Log": "np.log({})",
    "Log1p": "np.log1p({})",
    "Expm1": "math.expm1({})",
    "Sin": "math.sin({})",
    "Cos": "math.cos({})",
    "Tanh": "math.tanh({})",
    "Abs": "abs({})",
    "Identity": "{}",
}
_NARY = {"Add": " + ", "Mul": " * "}
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


def is_call(op: Any) -> bool:
    """Whether a scalar op is a call that keeps LLVM from vectorising what is around it."""
    name = type(op).__name__
    return name not in CHEAP and name not in _WIDENED


def literal(value: Any, dtype: str) -> str:
    """A number as source, of exactly its dtype."""
    number = np.asarray(value, dtype=dtype).item()
    if dtype == "float64":
        if math.isnan(number):
            return "np.nan"
        if math.isinf(number):
            return "np.inf" if number > 0 else "(-np.inf)"
        return repr(number) if math.copysign(1, number) > 0 else f"({number!r})"
    if dtype == "bool":
        return repr(bool(number))
    if dtype == "int64":
        return repr(number) if number >= 0 else f"({number!r})"
    if dtype.startswith(("float", "int", "uint")):
        text = "np.nan" if number != number else repr(number)
        if number in (math.inf, -math.inf):
            text = "np.inf" if number > 0 else "-np.inf"
        return f"np.{dtype}({text})"
    return f"np.{dtype}({number!r})"


def meeting_dtype(op: Any, at: int, dtypes: Sequence[str], out: str) -> str | None:
    """The dtype in which an operand meets the others, if that is another one than its own.

    All numbers of a dtype can be written in the one in which it meets others.
    """
    name = type(op).__name__
    if name in _MEETING or (name == "Switch" and at):
        dtype = out
    elif name in _COMPARE:
        dtype = np.result_type(*dtypes).name
    else:
        return None
    return dtype if dtype != dtypes[at] and np.can_cast(dtypes[at], dtype) else None


def expression(op: Any, operands: Sequence[str], dtypes: Sequence[str], out: str) -> str | None:
    """Source of a scalar op; None where PyTensor's own numba function has to be called."""
    name = type(op).__name__
    if name == "Second":
        return operands[1] if dtypes[1] == out else None
    if name == "Cast":
        return _cast(operands[0], dtypes[0], out)
    if name in _COMPARE and set(dtypes) <= {"float64", "int64"}:
        return f"({operands[0]} {_COMPARE[name]} {operands[1]})"
    if name in _BOOL and set(dtypes) == {"bool"}:
        return f"({operands[0]} {_BOOL[name]} {operands[1]})"
    if name == "Invert" and dtypes[0] == "bool":
        return f"(not {operands[0]})"
    if name == "Switch" and dtypes[0] == "bool" and dtypes[1] == dtypes[2] == out:
        return f"({operands[1]} if {operands[0]} else {operands[2]})"
    if name == "IsNan" and dtypes[0] == "float64":
        return f"({operands[0]} != {operands[0]})"
    if name in _MEETING and out in ("float64", "int64"):
        cast = [_cast(text, dtype, out) for text, dtype in zip(operands, dtypes, strict=True)]
        if all(text is not None for text in cast):
            return _arithmetic(name, cast, out)  # type: ignore[arg-type]
    if set(dtypes) == {out} and out in ("float64", "int64"):
        return _arithmetic(name, operands, out)
    return None


def _arithmetic(name: str, operands: Sequence[str], out: str) -> str | None:
    if name in _NARY:
        return f"({_NARY[name].join(operands)})"
    if name == "Sqr":
        return f"({operands[0]} * {operands[0]})"
    if name in ("Sub", "Neg", "Identity", "Abs"):
        return _FLOAT[name].format(*operands)
    if name in ("Maximum", "Minimum"):
        sign = ">" if name == "Maximum" else "<"
        a, b = operands
        if out == "float64":  # NaN of either operand goes through
            return f"({a} if ({a} {sign} {b} or {a} != {a}) else {b})"
        return f"({a} if {a} {sign} {b} else {b})"
    if out == "float64" and name in _FLOAT:
        return _FLOAT[name].format(*operands)
    return None


def _cast(operand: str, dtype: str, out: str) -> str | None:
    if dtype == out:
        return operand
    if out == "float64" and dtype in ("int64", "int32", "int8", "bool", "float32", "int16"):
        return f"np.float64({operand})"
    if out == "int64" and dtype in ("bool", "int8", "int16", "int32"):
        return f"np.int64({operand})"
    return None


def identity(reduction: str, dtype: str) -> str:
    """What a reduction starts from."""
    if reduction == "Add":
        return literal(0, dtype)
    if reduction == "Mul":
        return literal(1, dtype)
    if reduction in ("AND", "OR"):
        return repr(reduction == "AND")
    lowest = reduction == "Maximum"
    if dtype.startswith("float"):
        return literal(-math.inf if lowest else math.inf, dtype)
    if dtype == "bool":
        return repr(not lowest)
    info = np.iinfo(dtype)
    return literal(info.min if lowest else info.max, dtype)


def combine(reduction: str, total: str, value: str, dtype: str) -> str:
    """Source of one step of a reduction, as an assignment."""
    if reduction == "Add":
        return f"{total} += {value}"
    if reduction == "Mul":
        return f"{total} *= {value}"
    if reduction == "AND":  # `and` would be a jump, and the loop none that vectorises
        return f"{total} = {total} & {value}"
    if reduction == "OR":
        return f"{total} = {total} | {value}"
    sign = ">" if reduction == "Maximum" else "<"
    nan = f" or {value} != {value}" if dtype.startswith("float") else ""
    return f"{total} = {value} if ({value} {sign} {total}{nan}) else {total}"
