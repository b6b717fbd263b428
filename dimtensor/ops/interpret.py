"""An interpreter of positional graphs: it performs the nodes in order and compiles nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.traversal import io_toposort
from pytensor.tensor.type import TensorType

from dimtensor.graph.dtypes import accumulator
from dimtensor.ops.positions import Inhabited, without_empty
from dimtensor.ops.special import Vanishing
from dimtensor.upstream.pytensor import core_node, refuse_broadcast_of_batch


class Interpreter:
    """A Python function of a positional graph.

    Parameters
    ----------
    inputs, outputs : sequence of pytensor variables
        Shared variables that the graph reaches have their values of the call.

    Notes
    -----
    What is given back may be a view of an input, or an input itself.
    """

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable]):
        nodes = io_toposort(inputs, outputs)
        used = [*(v for node in nodes for v in node.inputs), *outputs]
        self._inputs, self._outputs = list(inputs), list(outputs)
        self._constants = {v: v.data for v in used if isinstance(v, Constant)}
        self._shared = {v for v in used if hasattr(v, "get_value")}.difference(inputs)
        guarded = any(isinstance(node.op, Inhabited) for node in nodes)
        self._steps = [
            (perform_of(node, guarded), node, node.inputs, node.outputs) for node in nodes
        ]

    def __call__(self, *arrays: Any) -> list[Any]:
        values = dict(self._constants)
        values.update((v, v.get_value(borrow=True)) for v in self._shared)
        values.update(zip(self._inputs, arrays, strict=True))
        for perform, node, node_inputs, node_outputs in self._steps:
            storage: list[list[Any]] = [[None] for _ in node_outputs]
            perform(node, [values[v] for v in node_inputs], storage)
            for variable, cell in zip(node_outputs, storage, strict=True):
                values[variable] = cell[0]
        return [values[v] for v in self._outputs]


def perform_of(node: Apply, guarded: bool = False) -> Callable[..., None]:
    """Return a function that performs a node; guarded graphs may read empty arrays."""
    from pytensor.compile.builders import OpFromGraph
    from pytensor.conditional.op import IfElse
    from pytensor.scalar.math import Log1mexp, Softplus
    from pytensor.tensor.basic import Alloc
    from pytensor.tensor.blockwise import Blockwise
    from pytensor.tensor.elemwise import Elemwise
    from pytensor.tensor.subtensor import (
        AdvancedIncSubtensor,
        AdvancedSubtensor,
        IncSubtensor,
        Subtensor,
    )

    if guarded and isinstance(node.op, (Subtensor, AdvancedSubtensor)):
        return _perform_read
    if guarded and isinstance(node.op, (IncSubtensor, AdvancedIncSubtensor)):
        return _perform_update
    if isinstance(node.op, IfElse):
        return _perform_branch
    if isinstance(node.op, OpFromGraph):
        inner = node.op.fgraph.unfreeze()
        return partial(_perform_graph, Interpreter(inner.inputs, inner.outputs))
    if isinstance(node.op, Alloc):
        return _perform_repetition
    if isinstance(node.op, Blockwise):
        return _Batch(node)
    if isinstance(node.op, Elemwise) and len(node.inputs) + len(node.outputs) > 32:
        return _perform_wide
    if isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, Vanishing):
        return _perform_zeros
    if isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, (Log1mexp, Softplus)):
        whole = _softplus if isinstance(node.op.scalar_op, Softplus) else _log1mexp
        return partial(_perform_at_once, whole)
    narrow = _performed_in_double(node)
    if narrow is not None:
        return narrow
    prepare(node)
    return node.op.perform


def _performed_in_double(node: Apply) -> Callable[..., None] | None:
    """Return a double-precision `perform` for single-precision sums and products, else None.

    NumPy adds up in pairs along the last axis only, and neither running sums nor sums by position.
    """
    from pytensor.scalar.basic import Add, Mul
    from pytensor.tensor.elemwise import CAReduce
    from pytensor.tensor.extra_ops import CumOp
    from pytensor.tensor.subtensor import AdvancedIncSubtensor

    dtype, op = getattr(node.outputs[0].type, "dtype", ""), node.op
    if accumulator(dtype) == dtype:
        return None
    if isinstance(op, CAReduce) and isinstance(op.scalar_op, (Add, Mul)):
        return op.clone(acc_dtype=accumulator(dtype)).perform
    if isinstance(op, CumOp):
        return partial(_perform_in_double, 1)
    if isinstance(op, AdvancedIncSubtensor) and not op.set_instead_of_inc:
        return partial(_perform_in_double, 2)
    return None


def _perform_in_double(
    operands: int, node: Any, inputs: list[Any], storage: list[list[Any]]
) -> None:
    """Perform an operation with its first operands in the dtype of accumulators."""
    dtype = node.outputs[0].type.dtype
    wide = [value.astype(accumulator(dtype)) for value in inputs[:operands]]
    node.op.perform(node, [*wide, *inputs[operands:]], storage)
    storage[0][0] = np.asarray(storage[0][0]).astype(dtype)


def prepare(node: Apply) -> None:
    """Have an operation performed by Python, as PyTensor's linkers do before they perform it.

    An elementwise operation is told in which dtype it computes (NumPy's reciprocal of the int 2 is
    0); `perform` by itself does so for the first node of an operation only. One over a batch would
    have C code compiled for each element of it.
    """
    from pytensor.tensor.blockwise import Blockwise
    from pytensor.tensor.elemwise import Elemwise

    if isinstance(node.op, (Blockwise, Elemwise)):
        node.op.prepare_node(node, None, None, "py")


def _perform_at_once(
    whole: Callable[[np.ndarray], np.ndarray], node: Any, inputs: list[Any], storage: list[Any]
) -> None:
    """Compute a function for an array at once; PyTensor calls Python for each element."""
    dtype = node.outputs[0].type.dtype
    with np.errstate(all="ignore"):
        storage[0][0] = np.asarray(whole(np.asarray(inputs[0], dtype)), dtype)


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x.dtype.type(0), x)


def _log1mexp(x: np.ndarray) -> np.ndarray:
    return np.where(x < np.log(0.5), np.log1p(-np.exp(x)), np.log(-np.expm1(x)))


def _perform_branch(node: Any, inputs: list[Any], storage: list[list[Any]]) -> None:
    """Store the result of the selected branch; PyTensor's machine runs that branch alone."""
    condition, *values = inputs
    start = 0 if condition else len(storage)
    for cell, value in zip(storage, values[start:], strict=False):
        cell[0] = value


def _perform_graph(
    inner: Interpreter, node: Any, inputs: list[Any], storage: list[list[Any]]
) -> None:
    """Run the graph inside of an operation, which PyTensor would compile."""
    for cell, result in zip(storage, inner(*inputs), strict=True):
        cell[0] = result


def _perform_repetition(node: Any, inputs: list[Any], storage: list[list[Any]]) -> None:
    """Repeat an array; PyTensor drops the sign of a repeated zero."""
    node.op.perform(node, inputs, storage)
    if inputs[0].size == 1 and not inputs[0].any():
        storage[0][0][...] = inputs[0]


def _perform_read(node: Any, inputs: list[Any], storage: list[list[Any]]) -> None:
    """Perform a look-up, which gives zeros for empty arrays."""
    x, *positions = inputs
    if 0 in x.shape:
        x = np.zeros(without_empty(node.op.idx_list, x.shape), x.dtype)
    node.op.perform(node, [x, *positions], storage)


def _perform_update(node: Any, inputs: list[Any], storage: list[list[Any]]) -> None:
    """Perform an update, which leaves an empty array unchanged."""
    if 0 in inputs[0].shape:
        storage[0][0] = inputs[0]
    else:
        node.op.perform(node, inputs, storage)


class _Batch:
    """An op over leading axes, which may be empty, performed for each element of the batch.

    PyTensor's own loop has one place for the results of all calls of a node, so of two threads that
    run one graph the second would overwrite what the first is about to read.
    """

    def __init__(self, node: Apply):
        op = node.op
        self._core = core_node(op, node.inputs)
        self._perform_core = perform_of(self._core)
        inputs = enumerate(self._core.inputs)
        self._numbers = [at for at, v in inputs if isinstance(v.type, TensorType) and not v.ndim]
        self._has_ufunc = (op.gufunc_spec or getattr(op.core_op, "gufunc_spec", None)) is not None
        if self._has_ufunc:
            prepare(node)

    def __call__(self, node: Any, inputs: list[Any], storage: list[list[Any]]) -> None:
        op = node.op
        ranks = [value.ndim - len(core) for value, core in zip(inputs, op.inputs_sig, strict=True)]
        batch = np.broadcast_shapes(*(v.shape[:n] for v, n in zip(inputs, ranks, strict=True)))
        if self._has_ufunc and 0 not in batch:
            op.perform(node, inputs, storage)
            return
        if 0 in batch:
            # the op itself tells the shapes of its outputs, of an input that none refuses
            elements = [
                v[(0,) * n] if 0 not in v.shape[:n] else _unit(v.shape[n:], v.dtype)
                for v, n in zip(inputs, ranks, strict=True)
            ]
            for cell, (result,) in zip(storage, self._element(elements), strict=True):
                cell[0] = np.empty((*batch, *np.shape(result)), dtype=np.asarray(result).dtype)
            return
        refuse_broadcast_of_batch(op, node, inputs)
        arrays = [
            v if v.shape[:n] == batch else np.broadcast_to(v, (*batch, *v.shape[n:]))
            for v, n in zip(inputs, ranks, strict=True)
        ]
        made: list[np.ndarray] = []
        for index in product(*map(range, batch)):
            cells = self._element([array[index] for array in arrays])
            if not made:
                parts = [np.asarray(cell[0]) for cell in cells]
                made = [np.empty((*batch, *each.shape), dtype=each.dtype) for each in parts]
            for array, cell in zip(made, cells):  # noqa: B905 (for each element of the batch)
                array[index] = cell[0]
        for cell, array in zip(storage, made, strict=True):
            cell[0] = array

    def _element(self, inputs: list[Any]) -> list[list[Any]]:
        """Perform the op for one element of the batch; return the cells of its results."""
        for at in self._numbers:  # a selected element is no array
            inputs[at] = np.asarray(inputs[at])
        cells: list[list[Any]] = [[None] for _ in self._core.outputs]
        self._perform_core(self._core, inputs, cells)
        return cells


def _unit(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an identity matrix, or ones; zeros for integers, which may be positions."""
    if dtype.kind in "iu":
        return np.zeros(shape, dtype=dtype)
    return np.eye(*shape, dtype=dtype) if len(shape) == 2 else np.ones(shape, dtype=dtype)


def _perform_zeros(node: Any, inputs: list[Any], storage: list[list[Any]]) -> None:
    """Zeros at once: NumPy has no function for it, and would call one of Python's per element."""
    shape = np.broadcast_shapes(*(np.shape(value) for value in inputs))
    storage[0][0] = np.zeros(shape, dtype=node.outputs[0].type.dtype)


def _perform_wide(node: Any, inputs: list[Any], storage: list[list[Any]]) -> None:
    """Perform an elementwise op with more operands than a NumPy ufunc takes."""
    arrays = np.broadcast_arrays(*inputs)
    results = [np.empty(arrays[0].shape, dtype=v.type.dtype) for v in node.outputs]
    for at in np.ndindex(arrays[0].shape):
        values = node.op.scalar_op.impl(*(array[at] for array in arrays))
        for result, value in zip(results, values if len(results) > 1 else (values,), strict=True):
            result[at] = value
    for cell, result in zip(storage, results, strict=True):
        cell[0] = result
