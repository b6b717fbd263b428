"""The source of kernels run by Python itself: what it says is checked without compiling it."""

import math

import numpy as np
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import ScalarOp

from dimtensor.kernels.compiler import rewritten
from dimtensor.kernels.emit.emitter import Emitter
from dimtensor.optimize.plan.plan import Plan


def interpreted(inputs, outputs, **options):
    """A function of arrays that runs the source of a kernel; it has the source as an attribute."""
    graph = rewritten(inputs, outputs)
    return run_source(graph, Emitter(Plan(graph, **options)))


def run_source(graph: FunctionGraph, emitter: Emitter):
    source = emitter.source()
    namespace = {"np": np, "math": math}
    for name, made in emitter.namespace.items():
        namespace[name] = operation(made.node) if hasattr(made, "node") else made.make()
    exec(compile(source, "<kernel>", "exec"), namespace)
    constants = [array for _, array in emitter.constants]

    def run(*arrays):
        with np.errstate(all="ignore"):
            return namespace["kernel"](*arrays, *constants)

    run.source = source
    return run


def operation(node):
    """An operation that is called, as PyTensor performs it."""
    op = node.op

    def call(*operands):
        if isinstance(op, ScalarOp):
            return np.asarray(op.impl(*operands), dtype=node.outputs[0].type.dtype)[()]
        storage = [[None] for _ in node.outputs]
        values = [v.type.filter(np.asarray(a)) for v, a in zip(node.inputs, operands, strict=True)]
        op.perform(node, values, storage)
        return storage[0][0] if len(storage) == 1 else tuple(cell[0] for cell in storage)

    return call


def compile_interpreted(inputs, outputs, **options):
    """In place of the interpreter of graphs: the interpreter of their kernels' source."""
    from pytensor.graph.traversal import graph_inputs

    from dimtensor.backends import Executable

    shared = [v for v in graph_inputs(outputs) if hasattr(v, "get_value")]
    run = interpreted([*inputs, *shared], outputs, **options)

    def call(*arrays):
        arrays = [*map(np.asarray, arrays), *(v.get_value() for v in shared)]
        found = run(*arrays)
        return [np.asarray(each, v.type.dtype) for each, v in zip(found, outputs, strict=True)]

    return Executable(call, call, {})
