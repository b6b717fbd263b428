"""Canonical forms: gradients and updates written with the operations that have rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import pytensor.tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode, optdb
from pytensor.compile.rewriting import inline_ofg_node
from pytensor.conditional.op import IfElse
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.scalar.basic import Mul
from pytensor.tensor.basic import MakeVector, ScalarFromTensor, Split, TensorFromScalar
from pytensor.tensor.blockwise import Blockwise, BlockwiseWithCoreShape, OpWithCoreShape
from pytensor.tensor.elemwise import CAReduce, DimShuffle
from pytensor.tensor.linalg import (
    SVD,
    Cholesky,
    CholeskySolve,
    Det,
    Eigh,
    MatrixInverse,
    SLogDet,
    Solve,
    SolveTriangular,
)
from pytensor.tensor.math import ProdWithoutZeros
from pytensor.tensor.shape import Shape, Shape_i
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    Subtensor,
)

from dimtensor.graph.dtypes import accumulator
from dimtensor.ops import linalg as ours
from dimtensor.ops.batching import over_batch
from dimtensor.ops.constants import integer_of
from dimtensor.ops.graphs import nodes_of, on_nodes
from dimtensor.ops.slices import WHOLE
from dimtensor.upstream.pytensor import compiled_in

_BATCHED = (Blockwise, BlockwiseWithCoreShape)


def inline_graphs(graph: FunctionGraph) -> None:
    """Inline operations that are graphs of their own, whose derivatives have been taken.

    Those that PyTensor inlines late or not at all, such as softmax and padding, are among them,
    and those over batches.
    """
    while _inline(graph):  # the graphs of operations have such operations
        pass


@on_nodes(OpFromGraph, Blockwise)
def _inline(node: Apply) -> list[Variable] | None:
    if isinstance(node.op, OpWithCoreShape):  # its graph is what it computes the shape of
        return None
    if isinstance(node.op, OpFromGraph):
        return inline_ofg_node(node)
    op = node.op.core_op
    if not isinstance(op, OpFromGraph):
        return None
    inputs = [kind() for kind in op.input_types]
    outputs = op.fgraph.bind(dict(zip(op.fgraph.inputs, inputs, strict=True)))
    found = over_batch(outputs, dict(zip(inputs, node.inputs, strict=True)))
    # an output that does not depend on all inputs may lack batch axes, or have length 1 along them
    batch = node.op.batch_ndim(node)
    pairs = [(x.type, y.type) for x, y in zip(found, node.outputs, strict=True)]
    same = all(
        x.ndim == y.ndim and x.broadcastable[:batch] == y.broadcastable[:batch] for x, y in pairs
    )
    return found if same else None


@on_nodes(Split)
def split_as_slices(node: Apply) -> list[Variable] | None:
    """Replace every split by slices.

    A slice is a view in a loop nest; PyTensor's split for numba takes ten seconds to compile. A
    split that does not fit is left to it: it has the error.
    """
    x, sizes = node.inputs
    known = _known_sizes(sizes)
    axis = node.op.axis % x.type.ndim
    if known is not None and not _fits(known, x.type.shape[axis]):
        return None
    if known is None or known.count(None) > 1:
        slices = _computed_slices(sizes, len(node.outputs))
    else:
        slices = _slices(known)
    return [x[(*(WHOLE,) * axis, part)] for part in slices]


def _fits(sizes: Sequence[int | None], length: int | None) -> bool:
    """Return whether sizes of parts, as far as known, may add up to the length of an axis."""
    found = [n for n in sizes if n is not None]
    if any(n < 0 for n in found):
        return False
    return length is None or (sum(found) == length or (sum(found) < length and None in sizes))


def _computed_slices(sizes: Variable, count: int) -> list[slice]:
    """Slices whose ends are sums of sizes."""
    node = sizes.owner
    if node is not None and isinstance(node.op, MakeVector):
        parts = list(node.inputs)
    else:
        parts = [sizes[k] for k in range(count)]
    stops = list(accumulate(parts, initial=pt.constant(0, dtype="int64")))
    return [slice(start, stop) for start, stop in pairwise(stops)]


@on_nodes(ProdWithoutZeros)
def products_as_reductions(node: Apply) -> Variable:
    """Replace products that leave zeros out, which gradients of products are made of."""
    x = node.inputs[0]
    ones = pt.switch(pt.eq(x, 0), pt.ones((), x.type.dtype), x)
    return pt.prod(ones, axis=node.op.axis, dtype=node.outputs[0].type.dtype)


@on_nodes(CAReduce)
def accumulated_as_asked(node: Apply) -> Variable | None:
    """Cast operands that are accumulated in another dtype than that of the result.

    PyTensor accumulates single precision in double precision by default. Kernels do the same for
    sums, see :mod:`dimtensor.kernels.passes.totals`; operands of products are cast.
    """
    (x,), (out,), dtype = node.inputs, node.outputs, node.op.acc_dtype
    if isinstance(node.op.scalar_op, Mul) and dtype in (None, out.type.dtype):
        dtype = accumulator(out.type.dtype)
    if dtype in (None, out.type.dtype):
        return None
    reduced = node.op.clone(dtype=dtype, acc_dtype=dtype)(pt.cast(x, dtype))
    return pt.cast(reduced, out.type.dtype)


@on_nodes(AdvancedIncSubtensor)
def updates_once(node: Apply) -> Variable | None:
    """Replace updates that add once to an element, however often its position is given.

    They set it to the sum with what was there before.
    """
    op = node.op
    if not op.ignore_duplicates or op.set_instead_of_inc:
        return None
    x, y, *positions = node.inputs
    total = AdvancedSubtensor(op.idx_list)(x, *positions) + y
    put = AdvancedIncSubtensor(op.idx_list, set_instead_of_inc=True)
    return put(x, total.astype(x.type.dtype), *positions)


def _known_sizes(sizes: Variable) -> list[int | None] | None:
    if isinstance(sizes, Constant):
        return sizes.data.tolist()
    if sizes.owner is not None and isinstance(sizes.owner.op, MakeVector):
        return [_known_size(size) for size in sizes.owner.inputs]
    return None


def _known_size(size: Variable) -> int | None:
    """Return a number, or a static length."""
    node = size.owner
    if node is None or isinstance(node.op, (ScalarFromTensor, TensorFromScalar)):
        return integer_of(size)
    if isinstance(node.op, Shape_i):
        return node.inputs[0].type.shape[node.op.i]
    shape = node.inputs[0].owner
    if shape is None or not isinstance(shape.op, Shape):
        return None
    if isinstance(node.op, DimShuffle):  # the shape of a vector, as a number
        return shape.inputs[0].type.shape[0]
    at = integer_of(node.inputs[-1]) if isinstance(node.op, Subtensor) else None
    return None if at is None else shape.inputs[0].type.shape[at]


def _slices(sizes: Sequence[int | None]) -> list[slice]:
    """Return slices with constant ends; those after a part of unknown size count from the end."""
    at = sizes.index(None) if None in sizes else len(sizes)
    before = [size for size in sizes[:at] if size is not None]
    behind = [size for size in sizes[at + 1 :] if size is not None]
    starts = list(accumulate(before, initial=0))
    slices = [slice(start, start + size) for start, size in zip(starts, before, strict=False)]
    if at < len(sizes):
        slices.append(slice(starts[-1], -sum(behind) or None))
    left = sum(behind)
    for size in behind:
        slices.append(slice(-left, (size - left) or None) if size else slice(0, 0))
        left -= size
    return slices


@on_nodes(*_BATCHED, Cholesky, CholeskySolve, Solve)
def solves_by_factors(node: Apply) -> Variable | None:
    """Solve equations with positive definite matrices by their Cholesky factors, by triangles.

    Lower factors and triangles have rules, these solutions and upper factors have none.
    """
    core = getattr(node.op, "core_op", node.op)
    if isinstance(core, Cholesky) and not core.lower:
        # of the upper triangle, which is the lower one of the transpose
        return Blockwise(Cholesky(lower=True))(node.inputs[0].mT).mT
    if isinstance(core, CholeskySolve):
        factor, lower = node.inputs[0], core.lower
    elif isinstance(core, Solve) and core.assume_a == "pos":
        # the triangle that is read, of a matrix whose other one is its mirror image
        a = node.inputs[0] if core.lower else node.inputs[0].mT
        factor, lower = Blockwise(Cholesky(lower=True))(a), True
    else:
        return None
    below, above = (factor, factor.mT) if lower else (factor.mT, factor)
    half = Blockwise(SolveTriangular(lower=True, b_ndim=core.b_ndim))(below, node.inputs[1])
    return Blockwise(SolveTriangular(lower=False, b_ndim=core.b_ndim))(above, half)


def _thin(core: Any) -> Op | None:
    """Decompositions of which the vectors are as many as the values."""
    thin = not (core.full_matrices and core.compute_uv)
    return ours.SVD(compute_uv=core.compute_uv) if thin else None


_AS_OURS: dict[type, Callable[[Any], Op | None]] = {
    Det: lambda core: ours.Det(),
    Eigh: lambda core: ours.Eigh(lower=core.lower, driver=core.driver),
    MatrixInverse: lambda core: ours.Inverse(),
    SLogDet: lambda core: ours.SLogDet(),
    SVD: _thin,
}


@on_nodes(*_BATCHED, *_AS_OURS)
def decompositions_as_ours(node: Apply) -> list[Variable] | None:
    """Replace PyTensor's matrix operations by dimtensor's, which have kernel rules.

    They give nan where PyTensor's raise: a sampler that proposes such a matrix rejects it.
    """
    core = getattr(node.op, "core_op", node.op)
    make = _AS_OURS.get(type(core))
    floats = all(v.type.dtype == node.inputs[0].type.dtype for v in node.outputs)
    new_core = make(core) if make and len(node.inputs) == 1 and floats else None
    if new_core is None:
        return None
    op = new_core if core is node.op else Blockwise(new_core)
    return op(node.inputs[0], return_list=True)


def conditionals_as_branches(graph: FunctionGraph) -> None:
    """Sink computations into the only branch of a conditional that uses them.

    Branches are rewritten in the same way.
    """
    if not nodes_of(graph, IfElse):
        return
    query = RewriteDatabaseQuery(include=["lazy_ifelse"])
    with compiled_in(graph, Mode(linker="py", optimizer=query)):
        optdb.query(query).rewrite(graph)
