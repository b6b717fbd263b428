"""numba as a library: routines for operations without a rule, and kernels that numba compiles.

No other module of the compiler asks for numba, which takes a quarter of a second to import.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from pytensor.graph.basic import Apply
from pytensor.scalar.basic import ScalarOp

from dimtensor.kernels.generated import function_of_source
from dimtensor.kernels.ir.nodes import Function
from dimtensor.kernels.ir.walk import summary
from dimtensor.kernels.native.functions.table import is_native
from dimtensor.kernels.native.values import SCALARS
from dimtensor.ops.facts import facts_named
from dimtensor.upstream.pytensor import nothing_kept


class NumbaFunction(NamedTuple):
    """PyTensor's numba function of an operation, made when it is asked for: numba wakes slowly."""

    node: Apply

    def make(self) -> Any:
        """Return the jitted function."""
        from pytensor.link.numba.dispatch.basic import numba_funcify

        return numba_funcify(self.node.op, node=self.node)


class Routine(NamedTuple):
    """A subroutine of LAPACK or BLAS."""

    name: str

    def make(self) -> Any:
        """Return what numba calls."""
        from dimtensor.kernels.routines import routine

        return routine(self.name)


def left_to_numba(function: Function, namespace: Mapping[str, Any]) -> str | None:
    """Return why numba compiles a kernel; None if it becomes machine code here.

    Parameters
    ----------
    function : Function
    namespace : mapping of str to object
        Functions of libraries, by the names in the source.
    """
    consists_of = summary(function)
    foreign = consists_of.dtypes - SCALARS.keys()
    if foreign:
        return f"numbers of dtype {min(foreign)}"
    rows = {name for name in consists_of.calls if facts_named(name) is not None}
    called = [namespace.get(name) for name in consists_of.calls - rows]
    ops = [each.node.op for each in called if isinstance(each, NumbaFunction)]
    calls = {type(op).__name__ for op in ops if not isinstance(op, ScalarOp)}
    if calls:
        return f"calls of {', '.join(sorted(calls))}"
    scalars = {name for name in rows if not is_native(name)} | {type(op).__name__ for op in ops}
    return f"the scalar operation {min(scalars)}" if scalars else None


def jitted(source: str, names: Mapping[str, Any]) -> Any:
    """Return a numba function of the source of a kernel, compiled at its first call.

    It is not cached on disk: numba stores pickles without owner or checksum, and reading a pickle
    executes its content.

    Parameters
    ----------
    source : str
        Defines `kernel`.
    names : mapping of str to object
        Functions of libraries, by the names in the source.
    """
    import numba

    namespace: dict[str, Any] = {"__name__": __name__, "np": np, "math": math}
    namespace |= nothing_kept(
        lambda: {
            name: value if isinstance(value, type) else value.make()
            for name, value in sorted(names.items())
        }
    )
    kernel = function_of_source(source, "kernel", namespace)
    return numba.njit(kernel, error_model="numpy", nogil=True)
