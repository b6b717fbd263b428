"""Functions with a vector form: LLVM's own, and those made of our functions."""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.graph.dtypes import is_complex, is_float
from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.native.functions import library
from dimtensor.kernels.native.functions.table import halves_of
from dimtensor.ops.facts import facts_named
from dimtensor.tuning import SQUARED_POWER

_CLASSIFY = frozenset({"isnan", "isfinite", "isinf", "abs"})


def has_vectors(name: str, operands: Sequence[ir.Expression]) -> bool:
    """Return whether a function of the C library, SciPy or LLVM has a vector form."""
    if len(operands) != 1:
        return False
    row = facts_named(name)
    if name in _CLASSIFY or (row is not None and row.intrinsic and row.exact):
        return is_float(operands[0].dtype)
    return operands[0].dtype == "float64" and library.has_vectors(name)


def has_vector_form(call: ir.Call) -> bool:
    """Return whether a function of numbers has a vector form."""
    if is_complex(call.dtype):
        return False
    if call.function == "power":
        return is_float(call.dtype) and _has_power(call)
    row = facts_named(call.function)
    parts = None if row is None else row.vector_parts
    return parts is not None and all(has_vectors(name, call.operands[:1]) for name in parts)


def _has_power(call: ir.Call) -> bool:
    exponent = call.operands[1]
    if isinstance(exponent, ir.Const):
        whole = float(exponent.value).is_integer() and abs(exponent.value) <= SQUARED_POWER
        if whole or halves_of(exponent.value) is not None:
            return True
    dtypes = {call.dtype, *(each.dtype for each in call.operands)}
    return dtypes == {"float64"} and library.has_vectors("pow")
