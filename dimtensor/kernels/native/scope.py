"""What is left to numba: decided by what a kernel consists of, before LLVM gets anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytensor.scalar.basic import ScalarOp

from dimtensor.kernels.ir.functions import NumbaFunction
from dimtensor.kernels.ir.nodes import Function
from dimtensor.kernels.ir.walk import summary
from dimtensor.kernels.native.functions.table import is_native
from dimtensor.kernels.native.values import SCALARS


def left_to_numba(function: Function, namespace: Mapping[str, Any]) -> str | None:
    """Why numba compiles a kernel; None if it becomes machine code here.

    Parameters
    ----------
    function : Function
    namespace : mapping of str to object
        What it calls, by name.
    """
    consists_of = summary(function)
    foreign = consists_of.dtypes - SCALARS.keys()
    if foreign:
        return f"numbers of dtype {min(foreign)}"
    called = [namespace.get(name) for name in consists_of.calls]
    nodes = [each.node for each in called if isinstance(each, NumbaFunction)]
    calls = {type(node.op).__name__ for node in nodes if not isinstance(node.op, ScalarOp)}
    if calls:
        return f"calls of {', '.join(sorted(calls))}"
    scalars = {type(node.op).__name__ for node in nodes if not is_native(node.op)}
    return f"the scalar operation {min(scalars)}" if scalars else None
