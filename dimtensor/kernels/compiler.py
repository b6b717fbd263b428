"""From a positional graph to a compiled function."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterable, Sequence
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
from dimtensor.lower.border import Remembered, remembering
from dimtensor.optimize.canonical_forms import (
    accumulated_as_asked,
    conditionals_as_branches,
    decompositions_as_ours,
    products_as_reductions,
    reductions_before_new_axes,
    reshapes_before_transposes,
    solves_by_factors,
    split_as_slices,
    updates_once,
)
from dimtensor.optimize.lag_gradients import first_of_padded
from dimtensor.optimize.loops.driver import KEEP_INNER, Settled, rewrite_loops
from dimtensor.optimize.loops.fission import split_known_states
from dimtensor.optimize.once import split_once
from dimtensor.optimize.pairs import one_exponential_of_two
from dimtensor.optimize.plan.axis_lengths import Axis
from dimtensor.optimize.plan.plan import Plan
from dimtensor.optimize.products import products_of_looked_up
from dimtensor.optimize.rules import rewrite
from dimtensor.optimize.rules.batched import with_core_shapes
from dimtensor.optimize.short_axes import write_out_short_axes, write_out_short_products
from dimtensor.optimize.sums import factor_sums
from dimtensor.optimize.trace_sums import absorb_sums
from dimtensor.optimize.views import drop_views
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


def rewritten(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    allow: Collection[str] = (),
    given: int | None = None,
) -> FunctionGraph:
    """Return the graph after the rewrites that precede loop fusion."""
    graph = FunctionGraph(list(inputs), list(outputs), clone=True)
    if remembering.get():
        graph.attach_feature(Remembered())
    allow = (*allow, KEEP_INNER)
    rewrite_with_loops(graph, allow, graph.inputs[given:] if given is not None else None)
    return graph


def rewrite_with_loops(
    graph: FunctionGraph, allow: Collection[str] = (), given: Sequence[Variable] | None = None
) -> None:
    """Rewrite a graph and its loops in place; `given` are inputs that are not known before."""
    settled: Settled = {}
    if rewrite_loops(graph, _rewrite, allow, settled):
        if given is not None and split_known_states(graph, given):
            rewrite_loops(graph, _rewrite, allow, settled)
        _rewrite(graph)
        rewrite_loops(graph, _rewrite, allow, settled)
        if absorb_sums(graph):
            rewrite_loops(graph, _rewrite, allow, settled)
    else:
        _rewrite(graph)


def _rewrite(graph: FunctionGraph) -> None:
    """Rewrite a graph, or the body of a loop."""
    conditionals_as_branches(graph)
    drop_views(graph)
    rewrite(graph)
    decompositions_as_ours(graph)
    solves_by_factors(graph)
    split_as_slices(graph)
    updates_once(graph)
    first_of_padded(graph)
    products_as_reductions(graph)
    accumulated_as_asked(graph)
    write_out_short_products(graph)
    factor_sums(graph)
    rewrite(graph)
    reductions_before_new_axes(graph)
    reshapes_before_transposes(graph)
    with_core_shapes(graph)


def compile_kernel(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    allow: Collection[str] = (),
    given: int | None = None,
) -> Kernel:
    """Compile a positional graph to one numba function of loop nests.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
    allow : collection of str
        Rewrites that are asked for.
    given : int, optional
        How many inputs every call gives anew. What follows from the others alone is left to the
        kernel `once`.

    Raises
    ------
    UnsupportedGraph
        If the graph has something that neither a rule nor PyTensor's numba implementation covers.
    """
    started = time.perf_counter()
    graph = rewritten(inputs, outputs, allow, given)
    split = None if given is None else split_once(graph, graph.inputs[given:])
    write_out_short_axes(graph)
    products_of_looked_up(graph)
    one_exponential_of_two(graph)
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
    kernel = Kernel(emitter_type(Plan(graph, same=same)), graph.inputs, stats, quick)
    stats["kernel"] = time.perf_counter() - started - stats.get("jit", 0.0)
    return kernel
