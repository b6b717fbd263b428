"""Loop nests of a graph that PyTensor has linked, with PyTensor's own function as the fallback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from pytensor.compile.aliasing import Supervisor, insert_deepcopy
from pytensor.compile.io import In, Out
from pytensor.compile.mode import NUMBA, optdb
from pytensor.compile.ops import DeepCopyOp, ViewOp
from pytensor.configdefaults import config
from pytensor.graph.basic import Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.link.numba.linker import NumbaLinker
from pytensor.scalar.basic import ScalarType
from pytensor.scan.op import Scan
from pytensor.tensor.basic import scalar_from_tensor
from pytensor.tensor.type import DenseTensorType, TensorType

from dimtensor.interop.scans.canonical_forms import canonical, conditionals_together
from dimtensor.interop.scans.outputs import UNFIT
from dimtensor.interop.scans.steps import INNER, simplify_scans
from dimtensor.kernels.compiler import kernel_of
from dimtensor.ops.graphs import nodes_of
from dimtensor.optimize.canonical_forms import conditionals_as_branches
from dimtensor.optimize.exponentials import write_out_exponentials
from dimtensor.optimize.plan import UnsupportedGraph
from dimtensor.plugins.pytensor_mode.guards import GuardedEmitter
from dimtensor.upstream import pytensor as upstream

# A graph linked by PyTensor was simplified by the mode already. It is not simplified again, because
# that would apply rewrites which the mode excludes.
_SIMPLIFIED = ("canonicalize", "stabilize", "specialize", "uncanonicalize")


class LoopNests:
    """Callable of a linked graph: the kernel, with PyTensor's function as the fallback.

    Attributes
    ----------
    source : str or None
        Source of the kernel.
    native : bool
        True if LLVM code was emitted directly; else numba compiles the source at the first call.
    reason : str or None
        The reason for the fallback, if PyTensor's function is used.
    stats : dict
        Compile times in seconds.
    """

    def __init__(self, fgraph: FunctionGraph, strict: bool = False):
        self._fgraph = fgraph
        self._strict = strict
        self._other: Callable[..., Any] | None = None
        self.source: str | None = None
        self.native = False
        self.reason: str | None = None
        self.stats: dict[str, float] = {}
        self._run = self._compiled()

    def __call__(self, *values: Any) -> Any:
        return self._run(*values)

    def _compiled(self) -> Callable[..., Any]:
        if not self._fgraph.outputs:
            return lambda *values: None
        try:
            border, kernel = self._kernel()
        except (UnsupportedGraph, NotImplementedError) as error:
            return self._use_pytensor(error)
        self.source, self.stats = kernel.source, kernel.stats
        if kernel.native is not None:
            self.native = True
            dtypes = [v.type.dtype for v in border.graph.inputs]
            return self._guarded(kernel.native.bind(kernel.constants), border, dtypes)
        return self._first_call(kernel.function, kernel.constants, border)

    def _kernel(self, loops: bool = True) -> tuple[_GraphBoundary, Any]:
        """Compile the kernel; scans become loops, or stay PyTensor's if that is not supported."""
        try:
            border = _GraphBoundary(self._fgraph, loops)
            return border, kernel_of(border.graph, GuardedEmitter)
        except (UnsupportedGraph, NotImplementedError):
            if not loops or not nodes_of(self._fgraph, Scan):
                raise
            return self._kernel(loops=False)

    def _first_call(
        self, function: Callable[..., Any], constants: tuple[Any, ...], border: _GraphBoundary
    ) -> Callable[..., Any]:
        """Return a function that numba compiles at its first call, with PyTensor as fallback."""
        guarded = self._guarded(lambda *arrays: function(*arrays, *constants), border)

        def first(*values: Any) -> Any:
            from dimtensor.upstream.numba import NumbaError

            try:
                result = guarded(*values)
            except NumbaError as error:
                self._run = self._use_pytensor(error)
                return self._run(*values)
            self._run = guarded
            return result

        return first

    def _guarded(
        self,
        function: Callable[..., Any],
        border: _GraphBoundary,
        dtypes: Sequence[str] | None = None,
    ) -> Callable[..., Any]:
        """Return the kernel, guarded by a fallback for arguments that violate its assumptions.

        Native code, for which `dtypes` is given, takes contiguous, aligned arrays; others are
        copied.
        """
        taken, given = border.taken, border.given

        def run(*values: Any) -> Any:
            arrays = values if taken is None else taken(values)
            try:
                try:
                    results = function(*arrays)
                except TypeError:
                    if dtypes is None:
                        raise
                    results = function(*map(_plain, arrays, dtypes))
            except ValueError as error:
                if self._strict or error.args != (UNFIT,):
                    raise
                return self._pytensor_function()(*values)
            return results if given is None else given(results)

        return run

    def _use_pytensor(self, error: Exception) -> Callable[..., Any]:
        if self._strict:
            if isinstance(error, UnsupportedGraph):
                raise error
            raise UnsupportedGraph(str(error)) from error
        self.source, self.reason = None, str(error)
        return self._pytensor_function()

    def _pytensor_function(self) -> Callable[..., Any]:
        if self._other is None:
            self._other = link_with_pytensor(self._fgraph)
        return self._other


class _GraphBoundary:
    """Graph of dense arrays only, with the conversion of its arguments and results."""

    def __init__(self, fgraph: FunctionGraph, loops: bool = True):
        inputs = [_dense_input(v) for v in fgraph.inputs]
        replaced = {
            v: inside
            for v, (_, inside) in zip(fgraph.inputs, inputs, strict=True)
            if inside is not v
        }
        peeled = [_without_copies(v) for v in fgraph.outputs]
        outputs = clone_replace(peeled, replaced) if replaced else peeled
        for v in [v for v, _ in inputs] + outputs:
            if not isinstance(v.type, DenseTensorType):
                raise UnsupportedGraph(f"a value of type {v.type}")
        distinct = list(dict.fromkeys(outputs))
        self.graph = FunctionGraph([v for v, _ in inputs], distinct, clone=True)
        _drop_named_round_trips(self.graph)
        if loops:
            simplify_scans(self.graph)
        write_out_exponentials(self.graph)  # of models of ours that were given to PyMC
        _rewrite_inner_graphs(self.graph)
        canonical(self.graph)
        conditionals_together(self.graph)
        conditionals_as_branches(self.graph)
        scalars = [at for at, v in enumerate(fgraph.inputs) if isinstance(v.type, ScalarType)]
        self.taken = _arrays_of(scalars) if scalars else None
        self.given = _results(self.graph.outputs, [distinct.index(v) for v in outputs])


def _dense_input(variable: Variable) -> tuple[Variable, Variable]:
    """Return an array input, and the expression of it that replaces a variable in the graph."""
    kind: Any = variable.type
    if isinstance(kind, ScalarType):
        array = TensorType(kind.dtype, ())()
        return array, scalar_from_tensor(array)
    if isinstance(kind, upstream.xtensor_class("type", "XTensorType")):
        from pytensor.xtensor.basic import xtensor_from_tensor

        array = TensorType(kind.dtype, kind.shape)()
        return array, xtensor_from_tensor(array, dims=kind.dims)
    return variable, variable


def _without_copies(variable: Variable) -> Variable:
    """Strip copies and dim names off an output; kernels return fresh arrays anyway."""
    node = variable.owner
    while node is not None and (
        isinstance(
            node.op, (DeepCopyOp, ViewOp, upstream.xtensor_class("basic", "XTensorFromTensor"))
        )
    ):
        variable = node.inputs[0]
        node = variable.owner
    return variable


def _drop_named_round_trips(graph: FunctionGraph) -> None:
    """Remove conversions of arrays to named arrays and back."""
    for node in graph.toposort():
        inner = node.inputs[0].owner if node.inputs else None
        if (
            isinstance(node.op, upstream.xtensor_class("basic", "TensorFromXTensor"))
            and inner is not None
            and isinstance(inner.op, upstream.xtensor_class("basic", "XTensorFromTensor"))
        ):
            graph.replace(node.outputs[0], inner.inputs[0], reason="open_borders")


def _rewrite_inner_graphs(graph: FunctionGraph) -> None:
    """Rewrite the graphs inside of ops for PyTensor's numba linker, which runs them."""
    if not any(
        hasattr(node.op, "fgraph") or hasattr(node.op, "core_op") for node in graph.apply_nodes
    ):
        return
    with upstream.compiled_in(graph, NUMBA), config.change_flags(mode=NUMBA):
        optdb.query(RewriteDatabaseQuery(include=[INNER])).rewrite(graph)


def _arrays_of(scalars: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    def taken(values: Sequence[Any]) -> Sequence[Any]:
        arrays = list(values)
        for at in scalars:
            arrays[at] = np.asarray(arrays[at])
        return arrays

    return taken


def _plain(array: Any, dtype: str) -> np.ndarray:
    return np.require(array, dtype, ("C", "A"))


def _results(
    outputs: Sequence[Variable], places: Sequence[int]
) -> Callable[[tuple[Any, ...]], Sequence[Any]] | None:
    """Return the conversion of kernel results to distinct arrays, or None if none is needed."""
    scalars = [(at, v.type.dtype) for at, v in enumerate(outputs) if v.type.ndim == 0]
    repeated = len(set(places)) < len(places)
    if not scalars and not repeated:
        return None

    def given(results: tuple[Any, ...]) -> Sequence[Any]:
        arrays = list(results)
        for at, dtype in scalars:
            arrays[at] = np.asarray(arrays[at], dtype)
        if not repeated:
            return arrays
        seen: set[int] = set()
        spread = []
        for at in places:
            spread.append(arrays[at].copy() if at in seen else arrays[at])
            seen.add(at)
        return spread

    return given


def link_with_pytensor(fgraph: FunctionGraph) -> Callable[..., Any]:
    """Compile a graph with PyTensor's numba linker."""
    graph, memo = fgraph.clone_get_equiv(attach_feature=False)
    conditionals_together(graph)
    graph.attach_feature(Supervisor(memo[v] for v in upstream.protected_inputs(fgraph)))
    with config.change_flags(mode=NUMBA):
        mode = NUMBA.excluding(*_SIMPLIFIED, "shape_unsafe", "scan_reduce_nsteps")  # as above
        mode.optimizer.rewrite(graph)
    insert_deepcopy(graph, [In(v) for v in graph.inputs], [Out(v) for v in graph.outputs])
    linker = NumbaLinker()
    made = upstream.kept_as_asked(lambda: linker.jit_compile(linker.fgraph_convert(graph)))
    return cast("Callable[..., Any]", made)
