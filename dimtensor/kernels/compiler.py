"""From a positional graph to a compiled function."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import Any

from pytensor.graph.basic import Variable
from pytensor.graph.fg import FunctionGraph

from dimtensor.errors import NotNativeWarning
from dimtensor.kernels.emit.emitter import Emitter
from dimtensor.kernels.foreign import jitted, left_to_numba
from dimtensor.kernels.ir.python import printed
from dimtensor.kernels.native.code import NativeKernel, native_code, translated
from dimtensor.kernels.native.machine import assembly
from dimtensor.kernels.native.values import ArgumentType, NotLoadable, OutOfScope
from dimtensor.kernels.target import NATIVE
from dimtensor.optimize.pipeline import optimize
from dimtensor.optimize.plan import UnsupportedGraph
from dimtensor.optimize.plan.axis_lengths import Axis
from dimtensor.optimize.plan.plan import Plan
from dimtensor.optimize.target import Target
from dimtensor.settings import settings


class Kernel:
    """A compiled positional graph.

    Attributes
    ----------
    loops : Function
        The function of loop nests.
    source : str
        The same as Python.
    constants : tuple of ndarray
        Arrays of the graph that it takes after the inputs.
    stats : dict of str to float
        Seconds that its making took, by step.
    native : NativeKernel or None
        Its machine code, where LLVM is given the source directly.
    left_to_numba : str or None
        Why there is none.
    once : Kernel or None
        Computes what this one takes after its other arguments, of those that many calls share.
    """

    once: Kernel | None = None

    def __init__(
        self,
        emitter: Emitter,
        arguments: Sequence[Variable],
        stats: dict[str, float],
        quick: bool = False,
    ):
        self.stats = stats
        self._quick = quick
        self.loops = emitter.function()
        self.constants = tuple(array for _, array in emitter.constants)
        self._namespace = emitter.namespace
        self._arguments = list(arguments)
        self.left_to_numba: str | None = None
        self.native = self._native()

    @cached_property
    def source(self) -> str:
        return printed(self.loops) if self.native is None else self.native.code.source

    def _native(self) -> NativeKernel | None:
        if settings().native == "off":
            self.left_to_numba = "DIMTENSOR_NATIVE is 0"
            return None
        try:
            if reason := left_to_numba(self.loops, self._namespace):
                raise OutOfScope(reason)
            types = [ArgumentType(v.type.dtype, v.type.shape) for v in self._arguments]
            types += [ArgumentType(a.dtype.name, a.shape) for a in self.constants]
            started = time.perf_counter()
            kernel = NativeKernel(native_code(self.loops, types, self._quick))
            self.stats["jit"] = time.perf_counter() - started
        except OutOfScope as reason:
            if isinstance(reason, NotLoadable):
                _warn_once(str(reason))
            if settings().native == "strict":
                raise
            self.left_to_numba = str(reason)
            return None
        return kernel

    @property
    def assembly(self) -> str:
        """The machine code as text, without the functions around it."""
        return self.assembly_for(None)

    def assembly_for(self, cpu: str | None) -> str:
        """Return the assembly for a processor that LLVM knows by name; None for this one."""
        if self.native is None:
            return "\n".join(self.function.inspect_asm().values())
        return assembly(translated(self.loops, self.native.code.arguments).text, cpu)

    @cached_property
    def function(self) -> Any:
        """A function of numba, compiled when it is first called."""
        return jitted(self.source, self._namespace)


@cache
def _warn_once(problem: str) -> None:
    warnings.warn(
        f"{problem}: kernels are compiled by numba, which takes longer at their first call",
        NotNativeWarning,
    )


def rewritten(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> FunctionGraph:
    """Return the graph after the rewrites that precede loop fusion."""
    graph = FunctionGraph(list(inputs), list(outputs), clone=True)
    optimize(graph, NATIVE, last="absorb_sums")
    return graph


def compile_kernel(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    target: Target = NATIVE,
    given: int | None = None,
) -> Kernel:
    """Compile a positional graph to one function of loop nests.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
    target : Target
    given : int, optional
        How many inputs every call gives anew. What follows from the others alone is left to the
        kernel `once`.

    Raises
    ------
    UnsupportedGraph
        If the graph has something that neither a rule nor PyTensor's numba implementation covers.
    """
    started = time.perf_counter()
    graph = FunctionGraph(list(inputs), list(outputs), clone=True)
    split = optimize(graph, target, () if given is None else graph.inputs[given:])
    stats = {"rewrite": time.perf_counter() - started}
    if split is None:
        return kernel_of(graph, stats=stats)
    kernel = kernel_of(graph, stats=stats, same=split.same_lengths)
    kernel.once = kernel_of(split.once, quick=True)
    return kernel


def kernel_of(
    graph: FunctionGraph,
    emitter_type: type[Emitter] = Emitter,
    stats: dict[str, float] | None = None,
    same: Iterable[tuple[Axis, Axis]] = (),
    quick: bool = False,
) -> Kernel:
    """Compile a graph that is rewritten already; quickly, if it runs once.

    Raises
    ------
    UnsupportedGraph
        As `compile_kernel`.
    """
    stats = {} if stats is None else stats
    started = time.perf_counter()
    plan = Plan(graph, same=same)
    try:
        kernel = Kernel(emitter_type(plan), graph.inputs, stats, quick)
    except UnsupportedGraph:
        if not plan.segments:
            raise
        # segments of other positions than those of a loop, such as shifted ones, are in an array
        plan = Plan(graph, same=same, walks_segments=False)
        kernel = Kernel(emitter_type(plan), graph.inputs, stats, quick)
    stats["kernel"] = time.perf_counter() - started - stats.get("jit", 0.0)
    return kernel
