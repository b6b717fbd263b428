"""PyTensor compilation mode that compiles positional graphs with the kernel compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, cast

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.aliasing import Supervisor, insert_deepcopy
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.io import In, Out
from pytensor.compile.mode import NUMBA, Mode, optdb
from pytensor.compile.ops import DeepCopyOp, ViewOp
from pytensor.configdefaults import config
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.rewriting.basic import GraphRewriter
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.graph.traversal import ancestors
from pytensor.link.basic import JITLinker
from pytensor.link.numba.linker import NumbaLinker
from pytensor.scalar.basic import ScalarType
from pytensor.scan.op import Scan
from pytensor.tensor import symbolic
from pytensor.tensor.basic import Split, scalar_from_tensor
from pytensor.tensor.shape import specify_shape
from pytensor.tensor.type import DenseTensorType, TensorType

from dimtensor.kernels.plan import UnsupportedGraph
from dimtensor.ops.graphs import nodes_of
from dimtensor.ops.positions import positions_of_masks
from dimtensor.upstream import pytensor as upstream

# The rewrites of `kernels.compiler.rewritten`, and those that foreign graphs need: merging of
# duplicates, inlining of wrapped graphs, lowering of named dims, simplification of scans.
_INCLUDED = (
    *("canonicalize", "stabilize", "specialize", "introduce_explicit_core_shape_blockwise"),
    *("merge", "inline_ofg_expansion", "minimum_compile", "scan", "scan_save_mem_no_prealloc"),
)
# Graphs inside of ops are run by PyTensor, and rewritten for it when it is linked.
_INNER = "compile_inner_graph"
# A graph linked by PyTensor was simplified by the mode already. It is not simplified again, because
# that would apply rewrites which the mode excludes.
_SIMPLIFIED = ("canonicalize", "stabilize", "specialize", "uncanonicalize")
# `local_merge_alloc` mistakes a length of 1 that is not constant yet for a length other than 1.
_EXCLUDED = (
    *("inplace", "fusion", "cxx_only", "scan_reduce_trace_prealloc", _INNER),
    "local_merge_alloc",
    # `scan_reduce_nsteps` assumes that the buffers of a backward scan are as long as its number of
    # steps, and reads a wrong element unless the index is constant.
    "scan_reduce_nsteps",
)
# Ops that wrap a graph; PyTensor has the second from 3.3.8 on.
_WRAPPED = (OpFromGraph, getattr(symbolic, "FusibleSymbolicOpDerivative", OpFromGraph))
# position of a rewrite before all simplifying ones
_FIRST = 0.01


class _InlineWrappedGraphs(GraphRewriter):
    """Rewriter that inlines wrapped graphs, such as gradients of logsumexp, so that they fuse."""

    def apply(self, fgraph: FunctionGraph) -> None:
        while wrapped := [n for n in fgraph.toposort() if type(n.op) in _WRAPPED]:
            for node in wrapped:
                inner = node.op.fgraph.bind(node.inputs)
                for old, new in zip(node.outputs, inner, strict=True):
                    new = old.type.filter_variable(new)
                    fgraph.replace(old, new, reason="inlined", import_missing=True)


def pytensor_mode(strict: bool = False) -> Mode:
    """Return a PyTensor mode that compiles functions to loop nests, as `dimtensor.function` does.

    Pass it wherever PyTensor or PyMC take a ``mode``. It is an ordinary `Mode`: ``including`` and
    ``excluding`` select rewrites, functions can be copied, pickled and profiled, and shared
    variables are updated. Nothing is registered with PyTensor.

    A graph with ops that the kernel compiler does not support (random generators, sparse matrices,
    typed lists) is compiled by PyTensor's numba linker instead. The same happens at call time if
    the arguments of a function violate assumptions of its loops, for instance if an update has
    length 1 unexpectedly: the result, or the error, is PyTensor's.

    Parameters
    ----------
    strict : bool
        Raise an error instead of falling back to PyTensor's linker.

    Returns
    -------
    pytensor.compile.mode.Mode

    Raises
    ------
    UnsupportedGraph
        With ``strict``, if the kernel compiler does not support the graph. It is raised by
        ``pytensor.function``, or by the first call of the compiled function, and is
        ``dimtensor.kernels.plan.UnsupportedGraph``.

    See Also
    --------
    dimtensor.function : The same for expressions with named dims.

    Notes
    -----
    ``f.vm.jit_fn`` is a `LoopNests`: its ``source`` is the code that runs, its ``reason`` says why
    PyTensor's linker is used instead.

    Examples
    --------
    >>> import pytensor
    >>> import pytensor.tensor as pt
    >>> x = pt.vector("x")
    >>> f = pytensor.function([x], (x**2).sum(), mode=dt.pytensor_mode())
    >>> float(f([1.0, 2.0]))
    5.0
    """
    query = RewriteDatabaseQuery(
        include=_INCLUDED, exclude=_EXCLUDED, extra_rewrites=[(_InlineWrappedGraphs(), _FIRST)]
    )
    return Mode(linker=LoopNestLinker(strict=strict), optimizer=query)


class LoopNestLinker(JITLinker):
    """Linker that compiles a rewritten graph to one function of loop nests.

    Parameters
    ----------
    strict : bool
        Raise an error for an unsupported graph instead of falling back to PyTensor's numba linker.
    """

    # the rewrites are selected by the mode; numba's own would fuse loops before the kernel compiler
    required_rewrites: tuple[str, ...] = ()
    incompatible_rewrites: tuple[str, ...] = ("cxx_only", "fusion", "inplace", _INNER)

    def __init__(self, *, strict: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.strict = strict

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> Any:
        linker = copy(self)  # PyTensor's own copy would lose `strict`
        linker.fgraph = None
        return super(LoopNestLinker, linker).accept(fgraph, no_recycling, profile)

    def fgraph_convert(self, fgraph: FunctionGraph, **kwargs: Any) -> FunctionGraph:
        return fgraph

    def jit_compile(self, fgraph: FunctionGraph) -> LoopNests:
        return LoopNests(fgraph, self.strict)

    def create_thunk_inputs(self, storage_map: dict[Variable, list[Any]]) -> list[Any]:
        assert self.fgraph is not None
        return [storage_map[v] for v in self.fgraph.inputs]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(strict={self.strict})"


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
        from dimtensor.kernels.compiler import kernel_of
        from dimtensor.kernels.emit.guards import GuardedEmitter

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
        from dimtensor.kernels.emit.guards import UNFIT

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
        from dimtensor.kernels.graph.canonical_forms import (
            conditionals_as_branches,
            conditionals_together,
        )

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
            _scans_as_loops(self.graph)
        _rewrite_inner_graphs(self.graph)
        _write_out(self.graph)
        conditionals_together(self.graph)
        conditionals_as_branches(self.graph)
        scalars = [at for at, v in enumerate(fgraph.inputs) if isinstance(v.type, ScalarType)]
        self.taken = _arrays_of(scalars) if scalars else None
        self.given = _results(self.graph.outputs, [distinct.index(v) for v in outputs])


def _write_out(graph: FunctionGraph) -> None:
    """Rewrite a graph to the canonical form that the kernel compiler supports."""
    from dimtensor.kernels.graph.canonical_forms import (
        accumulated_as_asked,
        composites_written_out,
        empty_as_zeros,
        parts_of_real_numbers,
        softmax_written_out,
        solves_by_factors,
        split_as_slices,
        updates_once,
    )

    _promise_lengths_of_splits(graph)
    softmax_written_out(graph)
    composites_written_out(graph)
    parts_of_real_numbers(graph)
    positions_of_masks(graph)
    empty_as_zeros(graph)
    solves_by_factors(graph)
    split_as_slices(graph)
    updates_once(graph)
    accumulated_as_asked(graph)


def _scans_as_loops(graph: FunctionGraph) -> None:
    """Replace PyTensor's scans by loops, and simplify these."""
    if not nodes_of(graph, Scan):
        return
    from dimtensor.interop.scans import scans_as_loops
    from dimtensor.kernels.compiler import rewrite_with_loops

    if scans_as_loops(graph, _prepare_step):
        rewrite_with_loops(graph)


def with_loops(outputs: Sequence[Variable]) -> list[Variable]:
    """Replace PyTensor's scans by loops in graphs that may be changed in place."""
    if not any(v.owner is not None and isinstance(v.owner.op, Scan) for v in ancestors(outputs)):
        return list(outputs)
    from dimtensor.interop.scans import scans_as_loops

    graph = FunctionGraph(outputs=list(outputs), clone=False)
    scans_as_loops(graph, _prepare_step, checked=False)
    return list(graph.outputs)


def _prepare_step(graph: FunctionGraph) -> None:
    """Apply the rewrites of the outer graph to the graph of a step."""
    query = RewriteDatabaseQuery(include=_INCLUDED, exclude=_EXCLUDED)
    with upstream.compiled_in(graph, NUMBA), config.change_flags(mode=NUMBA):
        optdb.query(query).rewrite(graph)
    _InlineWrappedGraphs().apply(graph)
    if nodes_of(graph, Scan):
        from dimtensor.interop.scans import scans_as_loops

        scans_as_loops(graph, _prepare_step)
    _write_out(graph)


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


def _promise_lengths_of_splits(graph: FunctionGraph) -> None:
    """Assert the length of split arrays, since slices would silently drop surplus elements."""
    for node in nodes_of(graph, Split):
        x, sizes = node.inputs
        axis = node.op.axis % x.type.ndim
        if isinstance(sizes, Constant):
            total: Any = int(np.sum(sizes.data))
        else:  # no axis has the length -1
            total = pt.switch(pt.all(pt.ge(sizes, 0)), pt.sum(sizes), -1)
        if x.type.shape[axis] is None or not isinstance(sizes, Constant):
            lengths: list[Any] = [None] * x.type.ndim
            lengths[axis] = total
            graph.change_node_input(node, 0, specify_shape(x, lengths), reason="splits")


def _rewrite_inner_graphs(graph: FunctionGraph) -> None:
    """Rewrite the graphs inside of ops for PyTensor's numba linker, which runs them."""
    if not any(
        hasattr(node.op, "fgraph") or hasattr(node.op, "core_op") for node in graph.apply_nodes
    ):
        return
    with upstream.compiled_in(graph, NUMBA), config.change_flags(mode=NUMBA):
        optdb.query(RewriteDatabaseQuery(include=[_INNER])).rewrite(graph)


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
    from dimtensor.kernels.graph.canonical_forms import conditionals_together

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
