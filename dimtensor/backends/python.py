"""The interpreter: runs a positional graph op by op, without compiling anything."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import io_toposort

from dimtensor.backends import Executable


def compile_positional(inputs: Sequence[Any], outputs: Sequence[Any]) -> Executable:
    """A Python function that performs the nodes of the graph in order."""
    started = time.perf_counter()
    nodes = io_toposort(inputs, outputs)
    constants: dict[Any, Any] = {
        v: v.data for node in nodes for v in node.inputs if isinstance(v, Constant)
    }
    constants |= {v: v.data for v in outputs if isinstance(v, Constant)}
    shared = {v for node in nodes for v in node.inputs if hasattr(v, "get_value")}
    shared |= {v for v in outputs if hasattr(v, "get_value")}
    steps = [(_perform_of(node), node, node.inputs, node.outputs) for node in nodes]

    def call(*arrays: Any) -> list[np.ndarray]:
        values = dict(constants)
        values.update(zip(inputs, map(np.asarray, arrays), strict=True))
        values.update((v, v.get_value(borrow=True)) for v in shared)
        # what overflows is inf and what is undefined is nan, as in compiled code
        with np.errstate(all="ignore"):
            for perform, node, node_inputs, node_outputs in steps:
                storage: list[list[Any]] = [[None] for _ in node_outputs]
                perform(node, [values[v] for v in node_inputs], storage)
                for variable, cell in zip(node_outputs, storage, strict=True):
                    values[variable] = cell[0]
        return [np.array(values[v]) for v in outputs]

    return Executable(call, call, {"total": time.perf_counter() - started})


def _perform_of(node: Any) -> Any:
    from pytensor.tensor.blockwise import Blockwise
    from pytensor.tensor.elemwise import Elemwise

    if isinstance(node.op, Blockwise):
        return _perform_batch
    if isinstance(node.op, Elemwise) and len(node.inputs) + len(node.outputs) > 32:
        return _perform_wide
    return node.op.perform


def _perform_batch(node: Any, inputs: list[Any], storage: list[list[Any]]) -> None:
    """An op over leading axes, which NumPy's vectorize refuses where one of them is empty."""
    op = node.op
    cores = [value.ndim - len(core) for value, core in zip(inputs, op.inputs_sig, strict=True)]
    batch = np.broadcast_shapes(*(v.shape[:n] for v, n in zip(inputs, cores, strict=True)))
    if 0 not in batch:
        op.perform(node, inputs, storage)
        return
    # the op itself tells the shapes of its outputs, of an input that none refuses
    one = [
        value[(0,) * n] if 0 not in value.shape[:n] else _unit(value.shape[n:], value.dtype)
        for value, n in zip(inputs, cores, strict=True)
    ]
    core_node = op._create_dummy_core_node(node.inputs)
    cells: list[list[Any]] = [[None] for _ in storage]
    core_node.op.perform(core_node, one, cells)
    for cell, (result,) in zip(storage, cells, strict=True):
        cell[0] = np.empty((*batch, *np.shape(result)), dtype=np.asarray(result).dtype)


def _unit(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An identity matrix, or ones; zeros for integers, which may be positions."""
    if dtype.kind in "iu":
        return np.zeros(shape, dtype=dtype)
    return np.eye(*shape, dtype=dtype) if len(shape) == 2 else np.ones(shape, dtype=dtype)


def _perform_wide(node: Any, inputs: list[Any], storage: list[list[Any]]) -> None:
    """An elementwise op of more operands than a NumPy ufunc takes, element by element."""
    arrays = np.broadcast_arrays(*inputs)
    results = [np.empty(arrays[0].shape, dtype=v.type.dtype) for v in node.outputs]
    for at in np.ndindex(arrays[0].shape):
        values = node.op.scalar_op.impl(*(array[at] for array in arrays))
        for result, value in zip(results, values if len(results) > 1 else (values,), strict=True):
            result[at] = value
    for cell, result in zip(storage, results, strict=True):
        cell[0] = result
