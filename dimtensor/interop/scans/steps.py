"""Rewriting of PyTensor's graphs and of the steps of their scans before these become loops."""

from __future__ import annotations

from collections.abc import Sequence

from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import NUMBA, optdb
from pytensor.configdefaults import config
from pytensor.graph.basic import Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.basic import GraphRewriter
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.graph.traversal import ancestors
from pytensor.scan.op import Scan
from pytensor.tensor import symbolic

from dimtensor.interop.scans.canonical_forms import canonical
from dimtensor.interop.scans.convert import scans_as_loops
from dimtensor.ops.graphs import nodes_of
from dimtensor.upstream import pytensor as upstream

# The steps of `optimize.pipeline`, and others for PyTensor's graphs: merging of
# duplicates, inlining of wrapped graphs, lowering of named dims, simplification of scans.
INCLUDED = (
    *("canonicalize", "stabilize", "specialize", "introduce_explicit_core_shape_blockwise"),
    *("merge", "inline_ofg_expansion", "minimum_compile", "scan", "scan_save_mem_no_prealloc"),
)
# Graphs inside of ops are run by PyTensor, and rewritten for it when it is linked.
INNER = "compile_inner_graph"
# `local_merge_alloc` mistakes a length of 1 that is not constant yet for a length other than 1.
EXCLUDED = (
    *("inplace", "fusion", "cxx_only", "scan_reduce_trace_prealloc", INNER),
    "local_merge_alloc",
    # `scan_reduce_nsteps` assumes that the buffers of a backward scan are as long as its number of
    # steps, and reads a wrong element unless the index is constant.
    "scan_reduce_nsteps",
)
# Ops that wrap a graph; PyTensor has the second from 3.3.8 on.
_WRAPPED = (OpFromGraph, getattr(symbolic, "FusibleSymbolicOpDerivative", OpFromGraph))


class InlineWrappedGraphs(GraphRewriter):
    """Rewriter that inlines wrapped graphs, such as gradients of logsumexp, so that they fuse."""

    def apply(self, fgraph: FunctionGraph) -> None:
        while wrapped := [n for n in fgraph.toposort() if type(n.op) in _WRAPPED]:
            for node in wrapped:
                inner = node.op.fgraph.bind(node.inputs)
                for old, new in zip(node.outputs, inner, strict=True):
                    new = old.type.filter_variable(new)
                    fgraph.replace(old, new, reason="inlined", import_missing=True)


def simplify_scans(graph: FunctionGraph) -> None:
    """Replace PyTensor's scans by loops, and simplify these."""
    if not nodes_of(graph, Scan):
        return
    from dimtensor.kernels.target import NATIVE
    from dimtensor.optimize.pipeline import optimize

    if scans_as_loops(graph, prepare_step):
        optimize(graph, NATIVE, last="absorb_sums")


def with_loops(outputs: Sequence[Variable]) -> list[Variable]:
    """Replace PyTensor's scans by loops in graphs that may be changed in place."""
    if not any(v.owner is not None and isinstance(v.owner.op, Scan) for v in ancestors(outputs)):
        return list(outputs)
    graph = FunctionGraph(outputs=list(outputs), clone=False)
    scans_as_loops(graph, prepare_step, checked=False)
    return list(graph.outputs)


def prepare_step(graph: FunctionGraph) -> None:
    """Apply the rewrites of the outer graph to the graph of a step."""
    query = RewriteDatabaseQuery(include=INCLUDED, exclude=EXCLUDED)
    with upstream.compiled_in(graph, NUMBA), config.change_flags(mode=NUMBA):
        optdb.query(query).rewrite(graph)
    InlineWrappedGraphs().apply(graph)
    if nodes_of(graph, Scan):
        scans_as_loops(graph, prepare_step)
    canonical(graph)
