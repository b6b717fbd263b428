"""Signatures of called operations: the operands that they read, and axes of equal lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.tensor.basic import Alloc, AllocDiag, ExtractDiag, Eye, Join, Nonzero
from pytensor.tensor.blas import BatchedDot
from pytensor.tensor.blockwise import Blockwise, BlockwiseWithCoreShape
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.linalg import Cholesky, SolveTriangular
from pytensor.tensor.math import Argmax, Dot
from pytensor.tensor.shape import Reshape
from pytensor.tensor.sort import ArgSortOp, SortOp
from pytensor.tensor.subtensor import Subtensor

from dimtensor.ops.facts import facts_of
from dimtensor.ops.linalg import CholeskyGradient, Inverse
from dimtensor.ops.loop.op import Scan
from dimtensor.tuning import STEP_OPERATIONS
from dimtensor.upstream.pytensor import parse_gufunc_signature

# their rules write loops over expressions of elements
_BY_ELEMENT = (CumOp, Join, Argmax, ExtractDiag, AllocDiag, Eye)
_SHAPE_KEEPING = (CumOp, SortOp, ArgSortOp, Cholesky, CholeskyGradient, Inverse)


def batched(node: Apply) -> Apply:
    """Return the Blockwise node that a node wraps, or the node itself."""
    if isinstance(node.op, BlockwiseWithCoreShape):
        (inner,) = node.op.fgraph.apply_nodes
        return inner
    return node


def core_op(node: Apply) -> Any:
    """Return the op of the trailing axes."""
    op = batched(node).op
    return op.core_op if isinstance(op, Blockwise) else op


def array_inputs(node: Apply) -> list[Variable]:
    """Return the inputs of a call that must be arrays; of others only elements are read."""
    op = core_op(node)
    if isinstance(node.op, _BY_ELEMENT) or isinstance(op, (AllocDiag, Eye)):
        return []
    if isinstance(node.op, Reshape):
        inputs = node.inputs[:1]
    elif isinstance(node.op, BlockwiseWithCoreShape) and has_core_axes(node):
        inputs = node.inputs[: len(batched(node).inputs)]
    else:
        inputs = node.inputs
    if isinstance(node.op, Scan):
        read = read_by_step(node)
        inputs = [v for v in inputs if v not in read]
    if of_one_real_dtype([*inputs, *node.outputs]):
        may_be_turned = {SolveTriangular: 1, Dot: 2, BatchedDot: 2}.get(type(op), 0)
        inputs = [turned(v)[0] if at < may_be_turned else v for at, v in enumerate(inputs)]
    return [v for v in inputs if not isinstance(v, Constant)]


def read_by_step(node: Apply) -> set[Variable]:
    """Sequences of a loop whose elements are as well computed in each step as stored before."""
    given = node.op.split_inputs(node.inputs)
    stored = {*given.states, *given.captured}  # taken as a whole as well
    found = {v for v in given.sequences if v.type.ndim == 1 and is_soon_computed(v)}
    return found - stored


def is_quick(node: Apply) -> bool:
    """Return whether an elementwise operation takes no longer than a product."""
    return facts_of(node.op.scalar_op).is_quick


def is_soon_computed(variable: Variable) -> bool:
    operations, stack = 0, [variable]
    while stack:
        v = stack.pop()
        node = v.owner
        if node is None or getattr(v.type, "ndim", 0) == 0 or isinstance(node.op, (Scan, Join)):
            continue
        if isinstance(node.op, Elemwise):
            if not is_quick(node):
                return False
            operations += 1
            stack += node.inputs
        elif isinstance(node.op, (Alloc, DimShuffle, Subtensor)):
            stack.append(node.inputs[0])
        else:
            return False
    return operations <= STEP_OPERATIONS


def has_core_axes(node: Apply) -> bool:
    """Return whether all inputs of a Blockwise node have core axes."""
    return all(batched(node).op.inputs_sig)


def of_one_real_dtype(variables: Sequence[Variable]) -> bool:
    """Return whether all variables are float64, or all float32, as LAPACK requires."""
    return {getattr(v.type, "dtype", None) for v in variables} in ({"float64"}, {"float32"})


def reads_elements(node: Apply, number: int) -> bool:
    """Return whether a call reads elements of an input at constant positions, as of a shape."""
    if isinstance(node.op, Reshape):
        return number == 1
    if isinstance(node.op, BlockwiseWithCoreShape) and has_core_axes(node):
        return number >= len(batched(node).inputs)
    return False


def turned(variable: Variable) -> tuple[Variable, bool]:
    """Return the matrices behind a transposition, and whether there is one."""
    node = variable.owner
    if node is not None and isinstance(node.op, DimShuffle):
        order, ndim = list(node.op.new_order), node.inputs[0].type.ndim
        if ndim >= 2 and order == [*range(ndim - 2), ndim - 1, ndim - 2]:
            return node.inputs[0], True
    return variable, False


def same_axes(node: Apply) -> list[tuple[tuple[Variable, int], tuple[Variable, int]]]:
    """Pairs of axes of a call that have the same length."""
    op, out = core_op(node), node.outputs[0]
    if isinstance(op, _SHAPE_KEEPING):
        x = node.inputs[0]
        return [((x, axis), (out, axis)) for axis in range(out.type.ndim)]
    if isinstance(node.op, Join):
        return [
            ((x, axis), (out, axis))
            for x in node.inputs
            for axis in range(out.type.ndim)
            if axis != node.op.axis
        ]
    if isinstance(node.op, (Argmax, ExtractDiag)):
        x = node.inputs[0]
        if isinstance(node.op, ExtractDiag):
            gone: Sequence[int] = (node.op.axis1, node.op.axis2)
        else:
            gone = range(x.type.ndim) if node.op.axis is None else node.op.axis
        kept = [axis for axis in range(x.type.ndim) if axis not in gone]
        return [((x, source), (out, axis)) for axis, source in enumerate(kept)]
    if isinstance(node.op, Nonzero):
        return [((out, 0), (other, 0)) for other in node.outputs[1:]]
    if isinstance(node.op, (Dot, BatchedDot)):
        return _same_in_product(node)
    if isinstance(node.op, Scan):
        return _same_steps(node)
    signature = signature_of(node)
    return [] if signature is None else _same_cores(node, *signature)


def signature_of(node: Apply) -> tuple[Any, Any] | None:
    """Core axes of the inputs and of the outputs by name, if the operation says so."""
    op: Any = batched(node).op
    if isinstance(op, Blockwise):
        return op.inputs_sig, op.outputs_sig
    text = getattr(op, "gufunc_signature", None)
    return parse_gufunc_signature(text) if text else None


def _same_steps(node: Apply) -> list[tuple[tuple[Variable, int], tuple[Variable, int]]]:
    """Sequences and traces of a loop are as long as it has steps."""
    op = node.op
    found = [*op.split_inputs(node.inputs).sequences, *op.split_outputs(node.outputs).traces]
    return [((found[0], 0), (other, 0)) for other in found[1:]]


def _same_in_product(node: Apply) -> list[tuple[tuple[Variable, int], tuple[Variable, int]]]:
    (a, b), (out,) = node.inputs, node.outputs
    inner_of_b = max(b.type.ndim - 2, 0)
    pairs = [((a, a.type.ndim - 1), (b, inner_of_b))]
    pairs += [((a, axis), (out, axis)) for axis in range(a.type.ndim - 1)]
    if b.type.ndim > 1:
        pairs.append(((b, b.type.ndim - 1), (out, out.type.ndim - 1)))
    if isinstance(node.op, BatchedDot):
        pairs.append(((a, 0), (b, 0)))
    return pairs


def _same_cores(
    node: Apply, inputs: Any, outputs: Any
) -> list[tuple[tuple[Variable, int], tuple[Variable, int]]]:
    """Axes that a gufunc signature names alike, and batch axes."""
    pairs: list[tuple[tuple[Variable, int], tuple[Variable, int]]] = []
    first: dict[Any, tuple[Variable, int]] = {}
    for variable, core in [
        *zip(node.inputs, inputs, strict=False),
        *zip(node.outputs, outputs, strict=True),
    ]:
        batch = variable.type.ndim - len(core)
        # batch axes are aligned at their ends, which is where the core begins
        keys = [*range(-batch, 0), *core]
        for axis, key in enumerate(keys):
            if variable.type.shape[axis] != 1 or key in core:
                pairs.append((first.setdefault(key, (variable, axis)), (variable, axis)))
    return pairs
