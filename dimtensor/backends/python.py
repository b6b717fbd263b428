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
    steps = [(node.op.perform, node, node.inputs, node.outputs) for node in nodes]

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
