"""From a positional graph to a jitted function."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from pytensor.compile.mode import optdb
from pytensor.graph.basic import Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

from dimtensor.kernels.emit import Emitter, NumbaFunction
from dimtensor.kernels.plan import Plan
from dimtensor.kernels.splits import split_as_slices
from dimtensor.kernels.sums import factor_sums

# reassociation lets reductions vectorise, reciprocals take divisions out of loops; NaN and
# infinities keep their meaning
FASTMATH = {"reassoc", "contract", "nsz", "arcp", "afn"}
_WITH_CORE_SHAPE = "introduce_explicit_core_shape_blockwise"


class Kernel(NamedTuple):
    """A compiled positional graph."""

    function: Any
    constants: tuple[np.ndarray, ...]
    source: str
    stats: dict[str, float]


def rewritten(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> FunctionGraph:
    """The graph after the rewrites that are worth their time before loops are fused."""
    graph = FunctionGraph(list(inputs), list(outputs), clone=True)
    query = RewriteDatabaseQuery(
        # a batched operation is jitted once it is told the shape of what it gives
        include=["canonicalize", "stabilize", "specialize", _WITH_CORE_SHAPE],
        # what is for PyTensor's C code looks for a BLAS to link, and warns where there is none
        exclude=["inplace", "fusion", "cxx_only"],
    )
    optdb.query(query).rewrite(graph)
    split_as_slices(graph)
    factor_sums(graph)
    return graph


def compile_kernel(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Kernel:
    """Compile a positional graph to one numba function of loop nests.

    Raises
    ------
    UnsupportedGraph
        If the graph has something that neither a rule nor PyTensor's numba implementation covers.
    """
    started = time.perf_counter()
    graph = rewritten(inputs, outputs)
    rewrite = time.perf_counter() - started
    kernel = kernel_of(graph)
    return kernel._replace(stats={"rewrite": rewrite, **kernel.stats})


def kernel_of(graph: FunctionGraph, emitter_type: type[Emitter] = Emitter) -> Kernel:
    """Compile a graph that is rewritten already.

    Raises
    ------
    UnsupportedGraph
        As `compile_kernel`.
    """
    import numba

    started = time.perf_counter()
    emitter = emitter_type(Plan(graph))
    source = emitter.source()
    namespace: dict[str, Any] = {"np": np, "math": math}
    for name, value in emitter.namespace.items():
        namespace[name] = value.make() if isinstance(value, NumbaFunction) else value
    exec(compile(source, "<dimtensor kernel>", "exec"), namespace)
    function = numba.njit(namespace["kernel"], fastmath=FASTMATH, error_model="numpy", nogil=True)
    stats = {"kernel": time.perf_counter() - started}
    constants = tuple(array for _, array in emitter.constants)
    return Kernel(function, constants, source, stats)
