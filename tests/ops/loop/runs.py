"""What the tests of positional loops share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pytensor.graph.basic import Variable
from pytensor.graph.fg import FunctionGraph

from dimtensor.backends import compile_positional
from dimtensor.ops.interpret import Interpreter
from dimtensor.ops.loop import Loop, Scan
from dimtensor.optimize.loops.driver import rewrite_loops
from dimtensor.optimize.target import Target


def evaluate(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    *values: Any,
    backend: str | None = None,
) -> list[Any]:
    """Values of outputs: by the interpreter, by a backend, or after the rewrites of loops."""
    arrays = [np.asarray(v) if not isinstance(v, np.random.Generator) else v for v in values]
    if backend == "rewritten":
        graph = rewritten(inputs, outputs)
        return Interpreter(graph.inputs, graph.outputs)(*arrays)
    if backend is not None:
        return list(compile_positional(backend, inputs, outputs).call(*arrays))
    return Interpreter(inputs, outputs)(*arrays)


def rewritten(
    inputs: Sequence[Variable], outputs: Sequence[Variable], reassociates: bool = False
) -> FunctionGraph:
    graph = FunctionGraph(list(inputs), list(outputs), clone=True)
    rewrite_loops(graph, target=Target(rewrites=True, reassociates=reassociates))
    return graph


def loops_of(graph: FunctionGraph) -> list[Any]:
    """Ops of the loops of a graph."""
    return [node.op for node in graph.toposort() if isinstance(node.op, (Scan, Loop))]


def assert_close(found: Sequence[Any], wanted: Sequence[Any], rtol: float = 1e-9) -> None:
    assert len(found) == len(wanted)
    for number, (x, y) in enumerate(zip(found, wanted, strict=True)):
        assert np.shape(x) == np.shape(y), f"output {number}"
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-12, err_msg=f"output {number}")
