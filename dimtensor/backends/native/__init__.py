"""Kernels: the positional graph as one function of loop nests, in machine code."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dimtensor.backends import python
from dimtensor.backends.base import DEFAULTS, CompileOptions, Executable
from dimtensor.backends.progress import announced
from dimtensor.kernels.target import NATIVE
from dimtensor.settings import settings


def compile_positional(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    options: CompileOptions = DEFAULTS,
) -> Executable:
    """Compile to one function of loop nests.

    Parameters
    ----------
    inputs, outputs : sequence of pytensor variables
    options : CompileOptions
        Without kernels, and for a graph that the kernel compiler has no rule for, the operations
        are performed one after the other.

    Notes
    -----
    The statistics are seconds: ``rewrite`` (rewrites of the graph), ``kernel`` (writing the loop
    nests) and ``jit`` (LLVM; numba's typing as well where it compiles the kernel, which is at the
    first call).
    """
    from dimtensor.optimize.plan import UnsupportedGraph

    if not options.kernels:
        return _performed(inputs, outputs, "kernels are switched off")
    try:
        return _through_kernels(inputs, outputs, options)
    except UnsupportedGraph as reason:
        if settings().strict_kernels:
            raise
        return _performed(inputs, outputs, str(reason))


def _performed(inputs: Sequence[Any], outputs: Sequence[Any], reason: str) -> Executable:
    """Run the graph by the interpreter, which has no function for numba."""
    found = python.compile_positional(inputs, outputs)
    return Executable(found.call, None, found.stats, reason=reason)


def _through_kernels(
    inputs: Sequence[Any], outputs: Sequence[Any], options: CompileOptions
) -> Executable:
    from pytensor.tensor.type import TensorType

    from dimtensor.kernels.compiler import compile_kernel
    from dimtensor.ops.graphs import shared_variables
    from dimtensor.optimize.plan import UnsupportedGraph

    shared = shared_variables(outputs, set(inputs))
    for variable in (*inputs, *shared):
        if not isinstance(variable.type, TensorType):
            raise UnsupportedGraph(f"an input of type {variable.type}")
    # shared variables may change between calls
    given = None if shared else options.given
    kernel = compile_kernel([*inputs, *shared], outputs, NATIVE.allowing(options.allow), given)
    return _executable(kernel, shared)


def _executable(kernel: Any, shared: Sequence[Any] = ()) -> Executable:
    constants = (*(v.get_value(borrow=True) for v in shared), *kernel.constants)
    native = kernel.native
    once = None if kernel.once is None else _executable(kernel.once)
    if native is not None and not shared:
        call = native.bind(kernel.constants)
        return Executable(
            call, None, kernel.stats, constants, kernel=kernel, native=native, once=once
        )
    run = _with_values(kernel, shared)
    if native is None:
        run = _TimedFirstCall(run, kernel.stats)
    return Executable(run, None, kernel.stats, constants, kernel=kernel, once=once)


def _with_values(kernel: Any, shared: Sequence[Any]) -> Callable[..., Any]:
    """Make the kernel a function of the inputs; shared variables are read in each call."""
    fixed = kernel.constants
    function = kernel.function if kernel.native is None else kernel.native.bind()
    if not shared and not fixed:
        return function

    def run(*arrays: Any) -> Any:
        values = (np.ascontiguousarray(v.get_value(borrow=True)) for v in shared)
        return function(*arrays, *values, *fixed)

    return run


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


class _Native:
    """Backend of loop nests that LLVM compiles to machine code."""

    name = "native"
    compiles = True
    described = native = True
    specializes = on_devices = False
    target = NATIVE

    def check_installed(self) -> None:
        pass

    def compile(
        self, inputs: Sequence[Any], outputs: Sequence[Any], options: CompileOptions
    ) -> Executable:
        return compile_positional(inputs, outputs, options)

    def path(self, executable: Executable) -> str:
        kernel = executable.kernel
        if kernel is None:
            return f"the python interpreter: {executable.reason}"
        reason = getattr(kernel, "left_to_numba", None)
        return "machine code" if reason is None else f"numba: {reason}"


BACKEND = _Native()
