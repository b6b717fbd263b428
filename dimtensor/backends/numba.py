"""Numba: the positional graph as one function of loop nests, or through PyTensor's numba linker."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from dimtensor.backends import Executable
from dimtensor.backends.progress import announced


@cache
def register_ops() -> None:
    """Teach PyTensor's numba dispatcher our operations."""
    import numba
    import numpy as np
    from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key

    from dimtensor.backends import numba_loops
    from dimtensor.ops.group import GroupPosition

    @register_funcify_default_op_cache_key(GroupPosition)
    def group_position(op, node, **kwargs):
        first, largest = op.which == "first", op.which == "max"

        @numba_njit
        def find(x, codes, groups):
            n_groups = groups.shape[0]
            at = np.full(n_groups, -1, dtype=np.int64)
            for i in range(x.shape[0]):
                group = codes[i]
                if group < 0 or group >= n_groups:
                    continue
                if at[group] < 0:
                    at[group] = i
                elif not first:
                    best, value = x[at[group]], x[i]
                    if best != best:
                        continue
                    if value != value or (value > best if largest else value < best):
                        at[group] = i
            return at

        return find

    _register_linalg()
    numba_loops.register()
    del numba


def _register_linalg() -> None:
    """Linear algebra that gives nan for a matrix that is singular or holds nan.

    Of those, numba's own raises, and LAPACK's eigenvalues of nan are numbers.
    """
    import numpy as np
    from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
    from pytensor.link.numba.dispatch.linalg.decomposition.eigen import _eigh
    from pytensor.link.numba.dispatch.linalg.solvers.general import _solve_gen

    from dimtensor.ops.linalg import Det, Eigh, Inverse, SLogDet

    @register_funcify_default_op_cache_key(Inverse)
    def inverse(op, node, **kwargs):
        dtype = node.outputs[0].type.numpy_dtype

        @numba_njit
        def invert(x):
            identity = np.eye(x.shape[0]).astype(dtype)
            return _solve_gen(x.astype(dtype), identity, False, True, True, False)

        return invert, 1

    @register_funcify_default_op_cache_key(Det)
    def det(op, node, **kwargs):
        dtype = node.outputs[0].type.numpy_dtype

        @numba_njit
        def determinant(x):
            if not np.isfinite(x).all():
                return np.array(np.nan).astype(dtype)
            return np.array(np.linalg.det(x)).astype(dtype)

        return determinant, 1

    @register_funcify_default_op_cache_key(SLogDet)
    def slogdet(op, node, **kwargs):
        sign_dtype, log_dtype = (v.type.numpy_dtype for v in node.outputs)

        @numba_njit
        def sign_and_log(x):
            if not np.isfinite(x).all():
                return np.array(np.nan).astype(sign_dtype), np.array(np.nan).astype(log_dtype)
            sign, log = np.linalg.slogdet(x)
            return np.array(sign).astype(sign_dtype), np.array(log).astype(log_dtype)

        return sign_and_log, 1

    @register_funcify_default_op_cache_key(Eigh)
    def eigh(op, node, **kwargs):
        dtype = node.outputs[0].type.numpy_dtype
        overwrite = op.overwrite_a

        @numba_njit
        def decompose(x):
            n = x.shape[0]
            if not np.isfinite(x).all():
                # transposed, because LAPACK's is in column order
                return np.full(n, np.nan).astype(dtype), np.full((n, n), np.nan).astype(dtype).T
            return _eigh(x, np.int32(0), overwrite)

        return decompose, 1


def compile_positional(
    inputs: Sequence[Any], outputs: Sequence[Any], kernels: bool = True
) -> Executable:
    """Compile to one function of loop nests.

    Parameters
    ----------
    inputs, outputs : sequence of pytensor variables
    kernels : bool
        Whether to use the kernel compiler; otherwise, and where it has no rule, the graph goes
        through PyTensor's rewrites and its numba linker, one function per operation.

    Notes
    -----
    The statistics are seconds: ``rewrite`` (PyTensor's graph rewrites), ``kernel`` (writing the
    loop nests) and ``jit`` (numba's typing and LLVM, measured at the first call).
    """
    from dimtensor.kernels.plan import UnsupportedGraph

    if kernels:
        try:
            return _through_kernels(inputs, outputs)
        except UnsupportedGraph:
            if os.environ.get("DIMTENSOR_STRICT_KERNELS"):
                raise
    register_ops()
    return _through_pytensor(inputs, outputs)


def _through_kernels(inputs: Sequence[Any], outputs: Sequence[Any]) -> Executable:
    from pytensor.tensor.type import TensorType

    from dimtensor.kernels.compiler import compile_kernel
    from dimtensor.kernels.plan import UnsupportedGraph

    shared = _shared_variables(outputs, set(inputs))
    for variable in (*inputs, *shared):
        if not isinstance(variable.type, TensorType):
            raise UnsupportedGraph(f"an input of type {variable.type}")
    kernel = compile_kernel([*inputs, *shared], outputs)
    kernel.before_numba = register_ops
    constants = (*(v.get_value(borrow=True) for v in shared), *kernel.constants)
    native = kernel.native
    if native is not None and not shared:
        call = native.bind(kernel.constants)
        return Executable(call, None, kernel.stats, constants, kernel=kernel, native=native)
    run = _with_values(kernel, shared)
    if native is None:
        run = _TimedFirstCall(run, kernel.stats)
    return Executable(run, None, kernel.stats, constants, kernel=kernel)


def _with_values(kernel: Any, shared: Sequence[Any]) -> Callable[..., Any]:
    """The kernel as a function of the inputs; shared variables have their values of the call."""
    fixed = kernel.constants
    function = kernel.function if kernel.native is None else kernel.native.bind()
    if not shared and not fixed:
        return function

    def run(*arrays: Any) -> Any:
        values = (np.ascontiguousarray(v.get_value(borrow=True)) for v in shared)
        return function(*arrays, *values, *fixed)

    return run


def _through_pytensor(inputs: Sequence[Any], outputs: Sequence[Any]) -> Executable:
    import pytensor
    from pytensor.compile.io import In, Out
    from pytensor.compile.mode import get_mode

    from dimtensor.backends.numba_loops import with_loops_rewritten

    started = time.perf_counter()
    outputs = with_loops_rewritten(inputs, outputs)
    function = pytensor.function(
        [In(v, borrow=True) for v in inputs],
        [Out(v, borrow=True) for v in outputs],
        mode=get_mode("NUMBA").excluding("local_div_by_one"),
        on_unused_input="ignore",
        trust_input=True,
    )
    jitted = function.vm.jit_fn
    stats = {"rewrite": time.perf_counter() - started}
    shared = list(function.input_storage[len(inputs) :])
    if shared:

        def run(*arrays: Any) -> Any:
            return jitted(*arrays, *(cell.storage[0] for cell in shared))
    else:
        run = jitted
    constants = tuple(cell.storage[0] for cell in shared)
    return Executable(_TimedFirstCall(run, stats), jitted, stats, constants)


def _shared_variables(outputs: Sequence[Any], known: set[Any]) -> list[Any]:
    from pytensor.graph.traversal import graph_inputs

    return [v for v in graph_inputs(outputs) if hasattr(v, "get_value") and v not in known]


class _TimedFirstCall:
    """Calls a function and, the first time, notes how long that took."""

    __slots__ = ("_function", "_run", "_stats")

    def __init__(self, function: Callable[..., Any], stats: dict[str, float]):
        self._function = function
        self._stats = stats
        self._run = self._first

    def _first(self, *arrays: Any) -> Any:
        started = time.perf_counter()
        with announced("with numba what has no machine code yet"):
            result = self._function(*arrays)
        self._stats["jit"] = time.perf_counter() - started
        self._run = self._function
        return result

    def __call__(self, *arrays: Any) -> Any:
        return self._run(*arrays)
