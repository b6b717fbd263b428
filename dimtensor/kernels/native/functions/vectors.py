"""Which functions can be written of vectors: LLVM has them, or they are made of some of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytensor.scalar import basic as s
from pytensor.scalar import math as m

from dimtensor.graph.dtypes import is_float
from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.native.functions import library
from dimtensor.kernels.native.functions.table import MOST_SQUARED, halves_of
from dimtensor.ops.facts import facts_of
from dimtensor.ops.special import Log1pUnit, Vanishing

# functions that LLVM has of vectors, and those that are made of functions of ours
_OWN = frozenset({"sqrt", "floor", "ceil", "trunc", "rint", "fabs"})
_MADE_OF = {
    m.Sigmoid: ("exp",), m.Softplus: ("exp", "log"), m.Log1mexp: ("exp", "tanh", "log"),
    s.Abs: (), s.Cast: (), s.Clip: (),
    s.Identity: (), s.Invert: (), s.IsInf: (), s.IsNan: (), s.Neg: (), s.Reciprocal: (),
    s.ScalarMaximum: (), s.ScalarMinimum: (), s.Second: (), s.Sign: (), s.Sqr: (), s.Switch: (),
    Vanishing: (), Log1pUnit: ("log1p_unit",),
}  # fmt: skip
_CLASSIFY = ("isnan", "isfinite", "isinf", "abs")


def has_function(name: str, operands: Sequence[ir.Expression]) -> bool:
    """Whether a function of one operand can be written of vectors."""
    if len(operands) != 1:
        return False
    if name in _OWN or name in _CLASSIFY:
        return is_float(operands[0].dtype)
    return operands[0].dtype == "float64" and library.has_vectors(name)


def has_operation(op: Any, dtype: str, operands: Sequence[ir.Expression]) -> bool:
    """Whether a scalar operation of PyTensor can be."""
    if "complex" in dtype:
        return False
    facts = facts_of(op)
    if type(op) is s.Pow:
        return is_float(dtype) and _has_power(dtype, operands)
    if (needed := _MADE_OF.get(type(op))) is not None:
        return all(has_function(name, operands[:1]) for name in needed)
    if facts.kind in ("arithmetic", "logic", "comparison"):
        return bool(facts.sign)
    name = facts.function or (facts.scipy[0] if facts.scipy else "")
    return bool(name) and has_function(name, operands)


def _has_power(dtype: str, operands: Sequence[ir.Expression]) -> bool:
    exponent = operands[1]
    if isinstance(exponent, ir.Const):
        whole = float(exponent.value).is_integer() and abs(exponent.value) <= MOST_SQUARED
        if whole or halves_of(exponent.value) is not None:
            return True
    dtypes = {dtype, *(each.dtype for each in operands)}
    return dtypes == {"float64"} and library.has_vectors("pow")
